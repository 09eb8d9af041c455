"""
Programs as files that a C program is linked with, for this machine or another one.

A bundle is a folder of the program's object files, `weights.bin` (the weight segment), and
`network.h`, which declares the functions and says how large everything is:

| in network.h | |
|---|---|
| `GLOW_WEIGHT_BYTES`, `GLOW_ARENA_BYTES` | sizes of the weight segment and of the arena |
| `GLOW_INPUTS`, `GLOW_OUTPUTS` | how many inputs and outputs there are |
| `GLOW_INPUT_BYTES`, `GLOW_OUTPUT_BYTES` | the size of each, as initializers of arrays |
| `GLOW_THREADS` | how many threads run the program together |
| `GLOW_TEAM_BYTES`, `GLOW_LINES`, ... | of several threads: offsets in their team |

`examples/c_program/main.c` runs any bundle; `lowering.threads` describes teams.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import GlowError
from ..glow_dialects.plan_attributes import WEIGHTS_SIZE
from ..interface.signature import TensorInfo
from ..lowering import threads as layout
from .cpu_backend import CpuBackend
from .cpu_compilation import arena_bytes, planned_module, runs_on_team
from .cpu_program import ALIGNMENT, aligned_bytes
from .memory_plan import function_bytes
from .signature import main_function, signature_of
from .stages import Stages
from .weights import fill_weights

HEADER = "network.h"
WEIGHTS = "weights.bin"

_SINGLE = """
void glow_main(const void *weights, void *const *io, void *arena);
"""
_SEVERAL = f"""
/* offsets in a team, and in the line of each of its threads, and how far lines are apart */
#define GLOW_TEAM_BYTES {{team}}
#define GLOW_TEAM_THREADS {layout.THREADS}
#define GLOW_TEAM_SPINS {layout.SPINS}
#define GLOW_TEAM_IDLE_SPINS {layout.IDLE_SPINS}
#define GLOW_LINES {layout.LINES}
#define GLOW_LINE {layout.LINE}
#define GLOW_LINE_TEAM {layout.LINE_TEAM}
#define GLOW_LINE_THREAD {layout.LINE_THREAD}

void glow_main(const void *weights, void *const *io, void *arena, void *team, int64_t thread);
void {layout.RUN}(void *team, void (*entry)(const void *, void *const *, void *, void *, int64_t),
              const void *weights, void *const *io, void *arena);
void *{layout.WORKER}(void *line);
void {layout.END}(void *team);
"""
_HEADER = """/* A network that was compiled for {cpu} ({triple}). */
#ifndef GLOW_NETWORK_H
#define GLOW_NETWORK_H

#include <stdint.h>

/* in bytes; weights and the arena start at multiples of GLOW_ALIGNMENT */
#define GLOW_ALIGNMENT {alignment}
#define GLOW_WEIGHT_BYTES {weights}
#define GLOW_ARENA_BYTES {arena}

/* io has the addresses of the inputs, then of the outputs */
{inputs}
{outputs}
#define GLOW_THREADS {threads}
{functions}
#endif
"""


def write_bundle(stages: Stages, backend: CpuBackend, folder: Path) -> list[Path]:
    """
    Writes the bundle of a network to a folder, which is made if need be, and returns the object
    files. `stages` are the backend's. Objects that an earlier bundle left there are removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("glow*.o"):
        old.unlink()
    objects: list[Path] = []
    for number, data in enumerate(backend.objects(stages)):
        objects.append(folder / f"glow{number:04}.o")
        objects[-1].write_bytes(data)
    main = main_function(planned_module(stages))
    weights = aligned_bytes(function_bytes(main, WEIGHTS_SIZE))
    fill_weights(weights, main)
    (folder / WEIGHTS).write_bytes(weights.data)
    (folder / HEADER).write_text(_header(stages, backend, weights.nbytes), encoding="utf-8")
    return objects


def _header(stages: Stages, backend: CpuBackend, weights: int) -> str:
    target = backend.target()
    threads = backend.threads if runs_on_team(stages["llvm"]) else 1
    signature = signature_of(stages["imported"])
    if signature.states:
        names = ", ".join(signature.inputs[i].name for i in signature.states)
        raise GlowError(f"C programs have no states yet: {names}; compile without `states`")
    functions = _SINGLE if threads == 1 else _SEVERAL.format(team=layout.team_bytes(threads))
    return _HEADER.format(
        cpu=target.cpu,
        triple=target.triple,
        alignment=ALIGNMENT,
        weights=weights,
        arena=arena_bytes(stages["llvm"]),
        inputs=_tensors("INPUT", signature.inputs),
        outputs=_tensors("OUTPUT", signature.outputs),
        threads=threads,
        functions=functions,
    )


def _tensors(kind: str, infos: Sequence[TensorInfo]) -> str:
    """Returns the number of inputs or outputs, and the size of each with its name."""
    lines = [f"#define GLOW_{kind}S {len(infos)}", f"#define GLOW_{kind}_BYTES {{ \\"]
    for info in infos:
        size = info.dtype.itemsize
        for n in info.shape:
            size *= n
        name = "".join(c if c.isalnum() or c in "_-.:[], " else "?" for c in f"{info.name}: {info}")
        lines.append(f"  {size}, /* {name} */ \\")
    return "\n".join([*lines, "}"])
