"""
The CPU backend: kernels in LLVM IR, compiled and linked into this process.

The code that finds a program in the cache, links it and runs it is imported with this module. The
code that compiles (xDSL, the lowering to LLVM) is imported when a compilation begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import GlowError
from ..interface.backend import Backend, DeviceMemory, Rates, Stage
from ..interface.program import Program, Restored
from ..lowering.target import Target, find_target
from .cpu_link import linked
from .cpu_options import CpuOptions
from .cpu_program import ALIGNMENT, CpuProgram, mapped_bytes
from .cpu_stages import CpuStages
from .drop_clean_pages import drop_clean_pages
from .object_cache import ObjectCache, open_cache
from .saved_program import find_program, store_program
from .used_schedules import UsedSchedules, used_schedules
from .weight_segments import shared_segment

if TYPE_CHECKING:
    import numpy as np
    from xdsl.dialects.builtin import ModuleOp

    from ..glow_dialects.claims import Claim
    from ..glow_dialects.machine import MachineDescription
    from ..glow_dialects.operator import Call
    from ..interface.model_source import ModelSource
    from ..interface.time_profile import TimeProfile
    from .cpu_compilation import CpuCompilation


class CpuBackend(Backend):
    """
    Machine code for the CPU of this process, or for another (see `lowering.target.find_target`).

    `cache` is True for the default directory of object code, False for none, or a directory. The
    `options` are the fields of `CpuOptions`.
    """

    name: ClassVar[str] = "cpu"
    keeps_code: ClassVar[bool] = True
    is_replaceable: ClassVar[bool] = True
    limits_rows: ClassVar[bool] = True

    def __init__(self, cache: bool | str | Path | ObjectCache = True, **options: Any):
        self._machine: MachineDescription | None = None
        """The machine that claims are for, if it is not the target."""
        self.options = CpuOptions(**self.expect_options(options))
        self.cache = open_cache(cache)

    @classmethod
    def option_defaults(cls) -> Mapping[str, object]:
        return {field.name: field.default for field in fields(CpuOptions)}

    @property
    def threads(self) -> int:
        """The number of threads that run a program together."""
        return self.options.threads

    def option(self, name: str) -> object:
        return getattr(self.options, name)

    def target(self) -> Target:
        """
        Returns the target of code generation. Raises GlowError for names that LLVM does not know.
        """
        o = self.options
        return find_target(o.target_cpu, o.target_features, o.target_triple)

    def schedules(self) -> UsedSchedules | None:
        """
        Returns the measured schedules that are used. Raises GlowError if their file is broken.
        """
        directory = self.cache.directory if isinstance(self.cache, ObjectCache) else None
        return used_schedules(self.options.schedules, directory, self.target().describe())

    # claims, and properties of the device

    def on(self, machine: MachineDescription) -> CpuBackend:
        other = CpuBackend(cache=False)
        other.cache, other.options, other._machine = self.cache, self.options, machine
        return other

    def claims(self) -> Sequence[Claim]:
        return _compiler().claims_of(self._machine or self.target().describe())

    def memories(self) -> Sequence[DeviceMemory]:
        block = self.target().describe().channel_block
        layouts = ("row-major", f"channels in blocks of {block}")
        return (DeviceMemory("host", None, ALIGNMENT, layouts),)

    def rates(self, call: Call) -> Rates:
        return _compiler().rates_of(self.target(), call, self.threads)

    # programs from the cache

    def restore(self, source: ModelSource) -> Restored | None:
        cache, target = self.cache, self.target()
        if cache is None or self.options.sanitize or target.missing_here():
            return None
        found = find_program(cache, source, self._details(target))
        if found is None:
            return None
        # loading LLVM touched much that linking does not need
        drop_clean_pages("llvmlite")
        objects = [cache.get(k) for k in found.plan.objects]
        if None in objects:
            return None
        present = [data for data in objects if data is not None]
        run = linked(present, found.plan, self.options, target)
        # before weights come in, so that both are not in memory at once
        drop_clean_pages("llvmlite")
        key = found.weights
        mapped = cache.map_weights(key, found.memory.weight_bytes)
        if mapped is None:
            return None
        weights = shared_segment(key, mapped_bytes(mapped))
        program = CpuProgram(run, weights, key, found.plan, found.signature)
        return Restored(program, found.signature, found.memory)

    def _details(self, target: Target) -> list[str]:
        """Returns everything but the network that a program depends on."""
        used = self.schedules()
        stages = [f"{stage.name}: {stage.pipeline}" for stage in self._stages(used)]
        content = () if used is None else (used.content,)
        return [self.name, str(self.threads), *target.key(), *stages, *content]

    # compilation

    def stages(self) -> Sequence[Stage]:
        return self._stages(self.schedules())

    def _stages(self, used: UsedSchedules | None) -> Sequence[Stage]:
        path = None if used is None else used.path
        return CpuStages(self.options, self.target(), path).all()

    def optimizing_stages(self) -> Sequence[Stage]:
        """Returns the stages that optimise a graph and, if that is asked for, quantize it."""
        return CpuStages(self.options, self.target()).optimized()

    def resume(self, module: ModuleOp) -> None:
        _compiler().set_machine(module, self.target())

    def compile(self, stages: Mapping[str, ModuleOp]) -> Program:
        return self._compilation(stages).program()

    def objects(self, stages: Mapping[str, ModuleOp]) -> Sequence[bytes]:
        """
        Returns the object files of a program, which may be for another machine than this one.
        Linked together and with the C library's `libm`, their entry is
        `void glow_main(void *weights, void **io, void *arena)`, where the arena must have
        `arena_bytes` bytes; a program for several threads is called as `lowering.threads` says. If
        the target has AMX tiles, the process must ask the system for them first. docs/targets.md
        lists all functions that they call; those for 16-bit floats that the target needs are in the
        last object. What else a C program needs is written by `bundle.write_bundle`.
        """
        return self._compilation(stages).objects()

    def _compilation(self, stages: Mapping[str, ModuleOp]) -> CpuCompilation:
        used = self.schedules()
        content = None if used is None else used.content
        return _compiler().CpuCompilation(stages, self.options, self.target(), self.cache, content)

    def remember(
        self, source: ModelSource, stages: Mapping[str, ModuleOp], program: Program
    ) -> None:
        if self.cache is None or self.options.sanitize or not isinstance(program, CpuProgram):
            return
        saved, details = _compiler().saved_program(stages, program), self._details(self.target())
        store_program(self.cache, source, details, saved, program.weights.data)

    # what may be shown

    def profile(
        self,
        program: Program,
        stages: Mapping[str, ModuleOp],
        inputs: Sequence[np.ndarray],
        repeat: int,
    ) -> TimeProfile:
        if not self.options.timed or not isinstance(program, CpuProgram):
            raise GlowError("the program records no times: compile it with timed=True")
        return _compiler().time_profile_of(program, stages, self.threads, inputs, repeat)

    def texts(self, stages: Mapping[str, ModuleOp]) -> Mapping[str, str]:
        return _compiler().texts_of(stages)


def _compiler():
    """Returns the module of all that a program from the cache does not need."""
    # xDSL and the lowering take most of the start
    from . import cpu_compilation

    return cpu_compilation
