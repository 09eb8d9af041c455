"""The CPU backend: kernels in LLVM IR, compiled and linked into this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..backend import Backend, DeviceMemory, Program, Rates, Restored, Stage
from ..errors import GlowError
from .cpu_program import ALIGNMENT, Addresses, CpuProgram, aligned_bytes, mapped_bytes

if TYPE_CHECKING:
    import numpy as np
    from xdsl.dialects import llvm
    from xdsl.dialects.builtin import ModuleOp

    from ..glow_dialects.claims import Claim
    from ..glow_dialects.machine import MachineDescription
    from ..glow_dialects.operator import Call
    from ..lowering.target import Target
    from .model_source import ModelSource
    from .object_cache import ObjectCache
    from .program_plan import LinkPlan
    from .time_profile import TimeProfile

MOST_THREADS = 1024
"""More are a mistake: they would take longer to meet than to compute."""
CONV_ALGORITHMS = ("auto", "direct", "winograd")
PRECISIONS = ("f32", "bf16")

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


class CpuBackend(Backend):
    """
    Machine code for the CPU of this process, or for another: `cpu`, `features` and `triple` are
    names of LLVM, such as `haswell` and `-fma`, and where there is none, GLOW_TARGET_CPU may name
    one (see `lowering.target.find_target`).

    `cache` is True for the default directory of object code, False for none, or a directory.
    `conv_algorithm` is how convolutions are computed: `auto` for what is estimated to be fastest,
    `direct` to sum products in the order of the definition, `winograd` wherever it applies.
    `precision` is `f32`, or `bf16` to round operands of products to bf16 (needs AVX512-BF16).
    `threads` is how many threads run a program together, the calling one included; with `pin`, the
    others stay on processors of their own. `quantize` is a pass, with options, that quantizes the
    optimized graph, such as `glow-quantize{dynamic=true}`. `timed` programs record when each of
    their kernels began and ended, for `profile`.
    """

    name: ClassVar[str] = "cpu"
    keeps_code: ClassVar[bool] = True

    def __init__(
        self,
        threads: int = 1,
        cache: bool | str | Path | ObjectCache = True,
        cpu: str | None = None,
        features: str | None = None,
        triple: str | None = None,
        conv_algorithm: str = "auto",
        pin: bool = False,
        precision: str = "f32",
        quantize: str | None = None,
        timed: bool = False,
    ):
        from .object_cache import open_cache

        if not 1 <= threads <= MOST_THREADS:
            raise GlowError(f"expected threads to be 1 to {MOST_THREADS}, found {threads}")
        if conv_algorithm not in CONV_ALGORITHMS:
            raise GlowError(
                f"expected conv_algorithm to be one of {', '.join(CONV_ALGORITHMS)}, "
                f"found {conv_algorithm!r}"
            )
        if precision not in PRECISIONS:
            raise GlowError(f"expected precision to be f32 or bf16, found {precision!r}")
        self.precision = precision
        self.quantize = quantize
        self.threads = threads
        self.timed = timed
        self.pin = pin
        self.cache = open_cache(cache)
        self.cpu = cpu
        self.features = features
        self.triple = triple
        self.conv_algorithm = conv_algorithm

    def claims(self) -> Sequence[Claim]:
        from ..lowering.kernels import kernel_claims

        # products of bf16 are made by a pass behind `glow-lower-nodes`, and only if asked for
        return kernel_claims(replace(self.target().describe(), has_bf16_dot=False))

    def memories(self) -> Sequence[DeviceMemory]:
        block = self.target().describe().channel_block
        layouts = ("row-major", f"channels in blocks of {block}")
        return (DeviceMemory("host", None, ALIGNMENT, layouts),)

    def rates(self, call: Call) -> Rates:
        from ..lowering.host_machine import usable_cores
        from .cpu_rates import cpu_rates

        return cpu_rates(self.target().describe(), call, min(self.threads, usable_cores()))

    def stages(self) -> Sequence[Stage]:
        m = self.target().describe()
        kernels = "glow-lower-to-kernels"
        kernels += f"{{threads={self.threads}}}" if self.threads > 1 else ""
        if self.timed:
            kernels += f",glow-instrument-kernels{{threads={self.threads}}}"
        split = f"glow-tile-batch{{images={self.threads}}}"
        choose = f"glow-choose-convolutions{{algorithm={self._algorithm(m)}}}"
        return (
            *self._optimized(m),
            self._lowered(),
            Stage("laid-out", "glow-assign-layouts,cse,dce"),
            Stage("convolutions", f"{choose},glow-fuse-pooling"),
            Stage("packed", f"glow-pack-weights,glow-simplify-shapes,{_CLEAN}"),
            *self._bf16(m),
            Stage("scheduled", f"glow-schedule-nodes,{split}"),
            *_TO_ALLOCATED,
            Stage("kernels", kernels, bulky=True),
            Stage("llvm", "glow-expand-math,glow-convert-to-llvm", bulky=True),
        )

    def _optimized(self, machine: MachineDescription) -> Sequence[Stage]:
        """
        The passes that optimise a graph. On quantized graphs, integer products are made before
        constants are folded.
        """
        unsign = "" if machine.byte_dot(unsigned=False) else "glow-activations-to-u8,"
        integers = f"{unsign}glow-legalize-quantized"
        optimized = Stage(
            "optimized",
            f"glow-set-machine{{{machine.pass_options()}}},"
            "glow-fold-constants{keep-quantized=true},canonicalize,cse,glow-fuse-operators,"
            f"{integers},glow-fold-batch-norm,glow-simplify-shapes,"
            f"glow-fuse-attention,glow-sink-transposes,{_CLEAN}",
        )
        if self.quantize is None:
            return (optimized,)
        return optimized, Stage("quantized", f"{self.quantize},{integers},{_CLEAN}")

    def _lowered(self) -> Stage:
        """What has no kernel on the target is decomposed."""
        given = {"cpu": self.cpu, "features": self.features, "triple": self.triple}
        options = "".join(f' target-{n}="{v}"' for n, v in given.items() if v is not None)
        return Stage("lowered", f"glow-lower-nodes{{backend=cpu{options}}},{_CLEAN}")

    def _algorithm(self, machine: MachineDescription) -> str:
        """
        How convolutions are computed. Those that are rounded to bf16 are faster with tiles of it
        than Winograd's.
        """
        direct = self.precision == "bf16" and machine.has_bf16_tiles
        return "direct" if direct and self.conv_algorithm == "auto" else self.conv_algorithm

    def _bf16(self, machine: MachineDescription) -> Sequence[Stage]:
        """The stage that rounds to bf16, if that is asked for."""
        if self.precision != "bf16":
            return ()
        if not machine.has_bf16_dot:
            raise GlowError(
                f"precision bf16 needs a CPU with AVX512-BF16, which {self.target().cpu!r} lacks; "
                "leave out the precision to compute in f32"
            )
        return (Stage("rounded", "glow-demote-products-to-bf16,cse,dce"),)

    def target(self) -> Target:
        """What code is generated for. Raises GlowError for names that LLVM does not know."""
        from ..lowering.target import find_target

        return find_target(self.cpu, self.features, self.triple)

    def resume(self, module: ModuleOp) -> None:
        from ..glow_dialects.glow.machine import MACHINE, MachineAttr, machine_of

        target = self.target()
        if MACHINE in module.attributes:
            target.expect_runs(machine_of(module))
        else:
            module.attributes[MACHINE] = MachineAttr(target.describe())

    def compile(self, stages: Mapping[str, ModuleOp]) -> Program:
        from .gil_switch import short_gil_switch
        from .memory_plan import WEIGHTS_SIZE, function_bytes
        from .signature import main_function, signature_of
        from .weights import fill_weights, segment_key, shared_segment

        target = self.target()
        target.expect_host_runs_it()
        main = main_function(stages["allocated"])
        own = aligned_bytes(function_bytes(main, WEIGHTS_SIZE))

        def fill() -> str:
            fill_weights(own, main)
            return segment_key(own)

        with short_gil_switch(), ThreadPoolExecutor(1) as pool:
            # numpy and LLVM release Python's global lock, so weights are packed meanwhile
            filled = pool.submit(fill)
            objects, plan = self._objects(stages, target)
            key = filled.result()
        run = self._linked(objects, target)
        weights = shared_segment(key, own)
        return CpuProgram(run, weights, key, plan, signature_of(_first(stages)).outputs)

    def restore(self, source: ModelSource) -> Restored | None:
        from .drop_clean_pages import drop_clean_pages
        from .program_plan import LinkPlan
        from .saved_program import find_program
        from .weights import shared_segment

        cache, target = self.cache, self.target()
        if cache is None or target.missing_here():
            return None
        found = find_program(cache, source, self._details(target))
        if found is None:
            return None
        # loading LLVM touched much that linking does not need
        drop_clean_pages("llvmlite")
        objects = [cache.get(k) for k in found.objects]
        if None in objects:
            return None
        run = self._linked([data for data in objects if data is not None], target)
        # before weights come in, so that both are not in memory at once
        drop_clean_pages("llvmlite")
        key = found.weights
        mapped = cache.map_weights(key, found.memory.weight_bytes)
        if mapped is None:
            return None
        weights = shared_segment(key, mapped_bytes(mapped))
        plan = LinkPlan(found.objects, found.arena_bytes)
        program = CpuProgram(run, weights, key, plan, found.signature.outputs)
        return Restored(program, found.signature, found.memory)

    def remember(
        self, source: ModelSource, stages: Mapping[str, ModuleOp], program: Program
    ) -> None:
        from .memory_plan import plan_of
        from .saved_program import SavedProgram, store_program
        from .signature import signature_of

        cache = self.cache
        if cache is None or not isinstance(program, CpuProgram):
            return
        plan, signature = program.plan, signature_of(_first(stages))
        memory = plan_of(stages["allocated"])
        key = program.weights_key
        saved = SavedProgram(signature, memory, plan.objects, plan.arena_bytes, key)
        details = self._details(self.target())
        store_program(cache, source, details, saved, program.weights.data)

    def profile(
        self,
        program: Program,
        stages: Mapping[str, ModuleOp],
        inputs: Sequence[np.ndarray],
        repeat: int,
    ) -> TimeProfile:
        from .signature import main_function
        from .time_profile import measure

        if not self.timed or not isinstance(program, CpuProgram):
            raise GlowError("the program records no times: compile it with timed=True")
        return measure(program, main_function(stages["allocated"]), self.threads, inputs, repeat)

    def _details(self, target: Target) -> list[str]:
        """Everything but the network that a program depends on."""
        stages = [f"{stage.name}: {stage.pipeline}" for stage in self.stages()]
        return [self.name, str(self.threads), *target.key(), *stages]

    def _linked(
        self, objects: Sequence[bytes], target: Target
    ) -> Callable[[int, Addresses, int], None]:
        """What runs a program on addresses of its weights, inputs and outputs, and arena."""
        from .jit import Executable

        executable = Executable(objects, "glow_main", target)
        if self.threads == 1:
            return executable
        from .teams import ParallelExecutable

        # the last object is that of `lowering.threads`, which the workers themselves run too
        return ParallelExecutable(executable, self.threads, self.pin, objects[-1])

    def objects(self, stages: Mapping[str, ModuleOp]) -> Sequence[bytes]:
        """
        The object files of a program, which may be for another machine than this one. Linked
        together and with the C library's `libm`, their entry is
        `void glow_main(void *weights, void **io, void *arena)`, where `arena_bytes` says how large
        the arena must be; a program for several threads is called as `lowering.threads` says. Where
        the target has tile registers, the process must ask for them first. docs/targets.md lists
        all functions that they call; those for 16-bit floats that the target needs are in the last
        object. What else a C program needs is written by `bundle.write_bundle`.
        """
        from .jit import support_object

        target = self.target()
        objects = self._objects(stages, target)[0]
        support = support_object(target)
        return objects if support is None else [*objects, support]

    def _objects(
        self, stages: Mapping[str, ModuleOp], target: Target
    ) -> tuple[Sequence[bytes], LinkPlan]:
        """The objects of the program, generated or from the cache, and what they are."""
        from . import program_cache

        cache = self.cache
        if cache is None:
            return self._generate(stages, target, None)
        key = program_cache.program_key(stages["allocated"], target, self.threads, self.timed)
        plan = program_cache.find_plan(cache, key)
        found = [cache.get(k) for k in plan.objects] if plan is not None else []
        objects = [data for data in found if data is not None]
        if plan is not None and len(objects) == len(found):
            return objects, plan
        objects, plan = self._generate(stages, target, cache)
        program_cache.store_plan(cache, key, plan)
        return objects, plan

    def _generate(
        self, stages: Mapping[str, ModuleOp], target: Target, cache: ObjectCache | None
    ) -> tuple[list[bytes], LinkPlan]:
        """The objects of the functions of the `llvm` stage."""
        from ..lowering.llvm.translate import translate_function
        from ..lowering.threads import llvm_text
        from .jit import object_key, object_of
        from .program_plan import LinkPlan

        arena = 0

        def texts() -> Iterator[str]:
            nonlocal arena
            for module in _llvm_modules(stages):
                arena = max(arena, arena_bytes(module))
                for function in _defined_functions(module):
                    yield translate_function(function, module)
            if self.threads > 1:
                yield llvm_text(target.triple)

        keys: list[str] = []
        jobs: list[Future[bytes]] = []
        objects: list[bytes] = []
        with ThreadPoolExecutor(1) as pool:
            # LLVM compiles one function, without Python's global lock, while the next ones are made
            for text in texts():
                keys.append(object_key(text, target, _version()))
                jobs.append(pool.submit(object_of, text, target, _version(), cache))
                _tell(stages, objects, jobs)
            while len(objects) < len(jobs):
                objects.append(jobs[len(objects)].result())
                _tell(stages, objects, jobs)
        return objects, LinkPlan(keys, arena)

    def texts(self, stages: Mapping[str, ModuleOp]) -> Mapping[str, str]:
        from ..lowering.llvm.translate import translate_module

        return {"llvm.ll": translate_module(stages["llvm"])}


def _first(stages: Mapping[str, ModuleOp]) -> ModuleOp:
    """What compilation began with: the imported graph, or what some stage had made before."""
    return stages[next(iter(stages))]


def _llvm_modules(stages: Mapping[str, ModuleOp]) -> Iterable[ModuleOp]:
    """The `llvm` stage, one function after the other if it is still to be computed."""
    from .stages import Stages

    return stages.by_function("llvm") if isinstance(stages, Stages) else [stages["llvm"]]


def _tell(
    stages: Mapping[str, ModuleOp], objects: list[bytes], jobs: Sequence[Future[bytes]]
) -> None:
    """Take the objects that are finished, and say how many there are, if somebody listens."""
    from .stages import Progress, Stages

    if not isinstance(stages, Stages) or stages.progress is None:
        return
    while len(objects) < len(jobs) and jobs[len(objects)].done():
        objects.append(jobs[len(objects)].result())
    total = None if stages.functions is None else max(stages.functions, len(jobs))
    stages.progress(Progress("llvm", len(objects), total))


def _defined_functions(module: ModuleOp) -> list[llvm.FuncOp]:
    from xdsl.dialects.llvm import FuncOp

    return [op for op in module.body.block.ops if isinstance(op, FuncOp) and op.body.blocks]


def arena_bytes(module: ModuleOp) -> int:
    """
    How large an arena the program needs: what @glow_program of the `llvm` stage says of its last
    parameter. It includes temporary memory of kernels, so it may be more than was planned for
    activations.
    """
    from xdsl.dialects.builtin import IntegerAttr

    from ..lowering.llvm.convert import PROGRAM

    for function in _defined_functions(module):
        if function.sym_name.data == PROGRAM and function.arg_attrs is not None:
            size = function.arg_attrs.data[-1].data.get("llvm.dereferenceable")
            return size.value.data if isinstance(size, IntegerAttr) else 0
    return 0


@cache
def _version() -> str:
    from importlib.metadata import version

    return f"glow {version('glow-compiler')}"
