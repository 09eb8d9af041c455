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
        "glow-hoist-padding-fills,glow-share-bodies",
    ),
    Stage("allocated", "glow-allocate"),
)


class CpuStages:
    """The stages for some options and a target."""

    def __init__(self, options: CpuOptions, target: Target, schedules: str | None = None):
        """`schedules` is a file of measured schedules of this machine."""
        self._schedules = schedules
        self._options = options
        self._target = target
        self._machine = target.describe()

    def all(self) -> Sequence[Stage]:
        """
        Returns the stages of a whole compilation, in order. Raises GlowError if the CPU lacks bf16.
        """
        threads = self._options.threads
        build = "glow-build-nests" + (f"{{threads={threads}}}" if threads > 1 else "")
        schedule = "glow-split-reductions,glow-schedule-nests"
        if self._schedules is not None:
            schedule += f'{{schedules="{self._schedules}"}}'
        # a file of schedules is read once, for all functions together
        alone = self._schedules is None
        merge = f"glow-merge-products{{threads={threads}}}"
        rounded = " rounded=true" if self._rounds else ""
        choose = f"glow-choose-convolutions{{algorithm={self._algorithm()}{rounded}}}"
        return (
            *self.optimized(),
            Stage(
                "lowered",
                "glow-use-lookup-tables,glow-lower-nodes{backend=cpu},glow-skip-padding,"
                f"glow-split-pooling,{merge},{_CLEAN}",
            ),
            Stage("laid-out", "glow-assign-layouts,cse,dce"),
            Stage("convolutions", f"{choose},glow-fuse-pooling"),
            Stage("packed", f"glow-pack-weights,glow-simplify-shapes,{_CLEAN}"),
            *self._bf16(),
            Stage("ordered", f"{self._order()},glow-tile-batch{{images={threads}}}"),
            *_TO_ALLOCATED,
            *((Stage("verified", "glow-verify-memory"),) if self._options.sanitize else ()),
            Stage("nests", build, bulky=True),
            Stage("scheduled", schedule, bulky=True, by_function=alone),
            *self._divided(),
            self._kernels(),
            Stage("llvm", "glow-expand-math,glow-convert-to-llvm", bulky=True, by_function=True),
        )

    def _order(self) -> str:
        """Returns the passes that order nodes, and compute some of them again."""
        budget = self._options.memory_budget
        again = "" if budget is None else f",glow-rematerialize{{budget={budget}}}"
        return f"glow-schedule-nodes{again}"

    def _divided(self) -> Sequence[Stage]:
        """Returns the stage that divides work between threads, if there are several."""
        threads = self._options.threads
        if threads == 1:
            return ()
        divide = f"glow-divide-nests{{threads={threads}}}"
        return (Stage("divided", divide, bulky=True, by_function=True),)

    def _kernels(self) -> Stage:
        """Returns the stage that generates loops. Further passes on request need whole programs."""
        options = self._options
        whole = {
            f"glow-instrument-kernels{{threads={options.threads}}}": options.timed,
            "glow-report-outputs": options.reports,
            "glow-sanitize": options.sanitize,
        }
        further = [name for name, wanted in whole.items() if wanted]
        pipeline = ",".join(["glow-generate-loops", *further])
        return Stage("kernels", pipeline, bulky=True, by_function=not further)

    def optimized(self) -> Sequence[Stage]:
        """
        Returns the passes that optimize a graph. On quantized graphs, integer products are made
        before constants are folded.
        """
        unsign = "" if self._machine.byte_dot(unsigned=False) else "glow-activations-to-u8,"
        integers = f"{unsign}glow-legalize-quantized"
        optimized = Stage(
            "optimized",
            f"glow-set-machine{{{self._machine.pass_options()}}},"
            "glow-fold-constants{keep-quantized=true},canonicalize,cse,glow-fuse-operators,"
            f"{integers},glow-fold-batch-norm,glow-merge-branches,glow-fold-batch-norm,"
            "glow-simplify-shapes,glow-fuse-attention,glow-widen-products,"
            f"glow-sink-transposes,{_CLEAN},glow-fold-batch-norm",
        )
        passes = self._options.quantizing
        if not passes:
            return (optimized,)
        return optimized, Stage("quantized", f"{','.join(passes)},{integers},{_CLEAN}")

    @property
    def _rounds(self) -> bool:
        return self._options.precision == "bf16"

    def _algorithm(self) -> str:
        """
        Returns the algorithm of convolutions. Convolutions that are rounded to bf16 are faster with
        AMX tiles of bf16 than with Winograd's algorithm.
        """
        machine, algorithm = self._machine, self._options.conv_algorithm
        if algorithm == "auto" and self._rounds and machine.has_bf16_tiles:
            algorithm = "direct"
        return algorithm

    def _bf16(self) -> Sequence[Stage]:
        """Returns the stage that rounds to bf16, if that is asked for."""
        machine = self._machine
        if not self._rounds:
            return ()
        if not machine.has_bf16_dot:
            raise GlowError(
                f"precision bf16 needs a CPU with AVX512-BF16, which {self._target.cpu!r} lacks; "
                "leave out the precision to compute in f32"
            )
        return (Stage("rounded", "glow-demote-products-to-bf16,cse,dce"),)
