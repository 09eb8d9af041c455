"""The stages of the backend `cpu`: which passes take a graph to the `llvm` dialect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import GlowError
from ..interface.backend import Stage
from .cpu_options import CpuOptions

if TYPE_CHECKING:
    from ..lowering.target import Target

_CLEAN = "glow-fold-constants,canonicalize,cse,dce"

_TO_ALLOCATED = (
    Stage("instructions", "glow-irgen"),
    Stage(
        "optimized-instructions",
        "glow-eliminate-copies,glow-stack-ops,glow-share-buffers,glow-eliminate-dead-stores,"
        "glow-hoist-padding-fills",
    ),
    Stage("allocated", "glow-allocate"),
)


class CpuStages:
    """The stages for some options and a target."""

    def __init__(self, options: CpuOptions, target: Target):
        self._options = options
        self._target = target
        self._machine = target.describe()

    def all(self) -> Sequence[Stage]:
        """Those of a whole compilation, in order. Raises GlowError if the CPU lacks bf16."""
        m, threads = self._machine, self._options.threads
        layouts = f"glow-assign-layouts{{{m.layout_options()}}},cse,dce"
        bf16 = self._bf16()
        options = m.pass_options() + (" has-bf16-dot=true" if bf16 else "")
        options += f" threads={threads}" if threads > 1 else ""
        kernels = f"glow-lower-to-kernels{{{options}}}"
        if self._options.timed:
            kernels += f",glow-instrument-kernels{{threads={threads}}}"
        split = f"glow-tile-batch{{images={threads} cache={m.l2_bytes}}}"
        convolutions = self._convolutions()
        pack = f"glow-pack-weights{{{m.packing_options()}}}"
        expand = "glow-expand-math" if m.has_fma else "glow-expand-math{has-fma=false}"
        return (
            *self.optimized(),
            self._lowered(),
            Stage("laid-out", layouts),
            Stage("convolutions", f"glow-choose-convolutions{{{convolutions}}},glow-fuse-pooling"),
            Stage("packed", f"{pack},glow-simplify-shapes,{_CLEAN}"),
            *bf16,
            Stage("scheduled", f"glow-schedule-nodes,{split}"),
            *_TO_ALLOCATED,
            Stage("kernels", kernels, bulky=True),
            Stage("llvm", f"{expand},glow-convert-to-llvm", bulky=True),
        )

    def optimized(self) -> Sequence[Stage]:
        """On quantized graphs, products of integers are made before constants are folded."""
        unsign = "" if self._machine.byte_dot(unsigned=False) else "glow-activations-to-u8,"
        integers = f"{unsign}glow-legalize-quantized"
        optimized = Stage(
            "optimized",
            "glow-fold-constants{keep-quantized=true},canonicalize,cse,glow-fuse-operators,"
            f"{integers},glow-fold-batch-norm,glow-simplify-shapes,"
            f"glow-fuse-attention,glow-sink-transposes,{_CLEAN}",
        )
        if self._options.quantize is None:
            return (optimized,)
        return optimized, Stage("quantized", f"{self._options.quantize},{integers},{_CLEAN}")

    def _lowered(self) -> Stage:
        """What has no kernel on the target is decomposed."""
        o = self._options
        given = {"cpu": o.target_cpu, "features": o.target_features, "triple": o.target_triple}
        options = "".join(f' target-{n}="{v}"' for n, v in given.items() if v is not None)
        return Stage("lowered", f"glow-lower-nodes{{backend=cpu{options}}},{_CLEAN}")

    def _convolutions(self) -> str:
        """
        How convolutions are computed, as options. Those that are rounded to bf16 are faster with
        tiles of it than Winograd's.
        """
        machine, algorithm = self._machine, self._options.conv_algorithm
        if algorithm == "auto" and self._options.precision == "bf16" and machine.has_bf16_tiles:
            algorithm = "direct"
        tiles = str(machine.has_bf16_tiles).lower()
        return f"algorithm={algorithm} has-bf16-tiles={tiles} cache={machine.l2_bytes}"

    def _bf16(self) -> Sequence[Stage]:
        """The stage that rounds to bf16, if that is asked for."""
        machine = self._machine
        if self._options.precision != "bf16":
            return ()
        if not machine.has_bf16_dot:
            raise GlowError(
                f"precision bf16 needs a CPU with AVX512-BF16, which {self._target.cpu!r} lacks; "
                "leave out the precision to compute in f32"
            )
        return (
            Stage(
                "rounded",
                f"glow-demote-products-to-bf16{{lanes={machine.channel_block}}},cse,dce",
            ),
        )
