"""Programs for another architecture, linked by a cross compiler and run by an emulator."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from glow.compiler import load_model
from glow.runtime.cpu_backend import CpuBackend, arena_bytes
from glow.runtime.cpu_program import aligned_bytes
from glow.runtime.memory_plan import WEIGHTS_SIZE, function_bytes
from glow.runtime.signature import main_function, signature_of
from glow.runtime.stages import Stages
from glow.runtime.weights import fill_weights
from xdsl.dialects.builtin import ModuleOp

PREFIX = "aarch64-linux-gnu-"
EMULATOR = "qemu-aarch64"
TOOLS = [PREFIX + "gcc", PREFIX + "ld", PREFIX + "objcopy", EMULATOR]

MAIN = """
#include <stdio.h>
#include <stdlib.h>

void glow_main(void *weights, void **io, void *arena);

static char *memory(size_t size) {{
  return aligned_alloc(64, (size / 64 + 1) * 64);
}}

static char *file(const char *name, size_t size) {{
  char *data = memory(size);
  FILE *f = fopen(name, "rb");
  if (!f || fread(data, 1, size, f) != size) exit(1);
  return data;
}}

int main(void) {{
  char *in = file("inputs", {inputs}), *out = memory({outputs});
  void *io[] = {{{pointers}}};
  glow_main(file("weights", {weights}), io, memory({arena}));
  FILE *f = fopen("outputs", "wb");
  if (!f || fwrite(out, 1, {outputs}, f) != {outputs}) return 1;
  return fclose(f);
}}
"""


def missing_tools() -> list[str]:
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def object_files(module: ModuleOp, backend: CpuBackend, folder: Path) -> tuple[Stages, list[str]]:
    """The program's object files, and the stages they came from."""
    stages = Stages(module, backend.stages(), None)
    names = []
    for i, data in enumerate(backend.objects(stages)):
        names.append(f"{i}.o")
        (folder / names[-1]).write_bytes(data)
    return stages, names


def run_emulated(
    module: ModuleOp, inputs: Sequence[np.ndarray], backend: CpuBackend, folder: Path
) -> list[np.ndarray]:
    """The outputs of a graph, computed by an emulated machine."""
    module = load_model(module)
    signature = signature_of(module)
    stages, names = object_files(module, backend, folder)
    main = main_function(stages["allocated"])
    weights = aligned_bytes(function_bytes(main, WEIGHTS_SIZE))
    fill_weights(weights, main)
    (folder / "weights").write_bytes(weights.tobytes())
    (folder / "inputs").write_bytes(b"".join(a.tobytes() for a in inputs))
    outputs = [np.empty(info.shape, info.dtype) for info in signature.outputs]
    size = sum(a.nbytes for a in outputs)
    text = MAIN.format(
        pointers=", ".join(_places("in", inputs) + _places("out", outputs)),
        inputs=sum(a.nbytes for a in inputs),
        outputs=size,
        weights=weights.nbytes,
        arena=arena_bytes(stages["llvm"]),
    )
    (folder / "run.c").write_text(text)
    for command in (
        [PREFIX + "ld", "-r", "-o", "program.o", *names],
        # nothing but the entry can meet a name of the C program
        [PREFIX + "objcopy", "--keep-global-symbol=glow_main", "program.o"],
        [PREFIX + "gcc", "-static", "-o", "run", "run.c", "program.o", "-lm"],
        [EMULATOR, "./run"],
    ):
        subprocess.run(command, cwd=folder, check=True, timeout=300)
    data, at = (folder / "outputs").read_bytes(), 0
    found = []
    for array in outputs:
        part = data[at : at + array.nbytes]
        found.append(np.frombuffer(part, array.dtype).reshape(array.shape))
        at += array.nbytes
    return found


def _places(base: str, arrays: Sequence[np.ndarray]) -> list[str]:
    """The address of each of some arrays that lie one after the other."""
    ends = np.cumsum([0, *(a.nbytes for a in arrays)])
    return [f"{base} + {end}" for end in ends[:-1]]
