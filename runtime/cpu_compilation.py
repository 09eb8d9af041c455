"""
Compilation by the backend `cpu`: from the stages of a network to objects and weights, and what the
backend says of networks before.

A process that finds its program in the cache needs none of this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from importlib.metadata import version

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.llvm import CallOp, FuncOp

from ..glow_dialects.claims import Claim
from ..glow_dialects.glow.machine import MACHINE, MachineAttr, machine_of
from ..glow_dialects.machine import MachineDescription
from ..glow_dialects.operator import Call
from ..glow_dialects.plan_attributes import WEIGHTS_SIZE
from ..interface.backend import Rates
from ..interface.cache import Cache
from ..interface.time_profile import TimeProfile
from ..lowering.host_machine import usable_cores
from ..lowering.kernels.claims import kernel_claims
from ..lowering.llvm.convert import ENTRY, PROGRAM, is_shared
from ..lowering.llvm.translate import translate_functions, translate_module
from ..lowering.target import Target
from ..lowering.threads import llvm_text
from ..passes.collector import collect_young, settle
from . import program_cache
from .cpu_link import linked
from .cpu_options import CpuOptions
from .cpu_program import CpuProgram, aligned_bytes
from .cpu_rates import cpu_rates
from .gil_switch import short_gil_switch
from .jit import object_key, object_of, support_object
from .memory_plan import function_bytes, plan_of
from .program_plan import LinkPlan
from .sanitized_program import SanitizedProgram
from .saved_program import SavedProgram
from .signature import main_function, signature_of
from .stages import Progress, Stages
from .time_profile import measure
from .weight_segments import segment_key, shared_segment
from .weights import fill_weights

Modules = Mapping[str, ModuleOp]
"""The module after each stage, by name."""


class CpuCompilation:
    """A compilation: the stages of a network, and the generation of its code."""

    def __init__(
        self,
        stages: Modules,
        options: CpuOptions,
        target: Target,
        objects_cache: Cache | None,
        schedules: str | None = None,
    ):
        """`schedules` is the hash of the file of measured schedules, if there is one."""
        self._schedules = schedules
        self._stages = stages
        self._options = options
        self._target = target
        self._cache = objects_cache

    def program(self) -> CpuProgram:
        """
        Returns the program, linked into this process. Raises CompileError if it cannot run here.
        """
        self._target.expect_host_runs_it()
        settle()
        main = main_function(planned_module(self._stages))
        own = aligned_bytes(function_bytes(main, WEIGHTS_SIZE))

        def fill() -> str:
            fill_weights(own, main)
            return segment_key(own)

        with short_gil_switch(), ThreadPoolExecutor(1) as pool:
            # numpy and LLVM release Python's global lock, so weights can be packed at the same time
            filled = pool.submit(fill)
            objects, plan = self._objects()
            key = filled.result()
        run = linked(objects, plan, self._options, self._target)
        weights = shared_segment(key, own)
        signature = signature_of(first_module(self._stages))
        if self._options.sanitize:
            return SanitizedProgram(run, weights, key, plan, signature, self._stages)
        return CpuProgram(run, weights, key, plan, signature)

    def objects(self) -> Sequence[bytes]:
        """Returns all objects of the program, with the conversions that the target lacks."""
        objects = self._objects()[0]
        support = support_object(self._target)
        return objects if support is None else [*objects, support]

    def _objects(self) -> tuple[Sequence[bytes], LinkPlan]:
        """Returns the objects of the program, generated or from the cache, and their keys."""
        cache, options = self._cache, self._options
        if cache is None or options.sanitize:
            return self._generate()
        allocated = planned_module(self._stages)
        passes = [name for name in ("timed", "reports") if getattr(options, name)]
        key = program_cache.program_key(
            allocated, self._target, options.threads, passes, self._schedules
        )
        plan = program_cache.find_plan(cache, key)
        found = [cache.get(k) for k in plan.objects] if plan is not None else []
        objects = [data for data in found if data is not None]
        if plan is not None and len(objects) == len(found):
            return objects, plan
        objects, plan = self._generate()
        program_cache.store_plan(cache, key, plan)
        return objects, plan

    def _generate(self) -> tuple[list[bytes], LinkPlan]:
        """Returns the objects of the functions of the `llvm` stage."""
        arena, is_shared = 0, False

        def texts() -> Iterator[str]:
            nonlocal arena, is_shared
            for module in _llvm_modules(self._stages):
                arena = max(arena, arena_bytes(module))
                is_shared |= runs_on_team(module)
                translated = [translate_functions(f) for f in functions_of_objects(module)]
                del module
                collect_young()
                yield from translated
            if is_shared:
                yield llvm_text(self._target.triple)

        keys: list[str] = []
        jobs: list[Future[bytes]] = []
        objects: list[bytes] = []
        with ThreadPoolExecutor(1) as pool:
            # LLVM compiles one function, without Python's global lock, while the next ones are made
            for text in texts():
                keys.append(object_key(text, self._target, _version()))
                jobs.append(pool.submit(object_of, text, self._target, _version(), self._cache))
                _tell(self._stages, objects, jobs)
            while len(objects) < len(jobs):
                objects.append(jobs[len(objects)].result())
                _tell(self._stages, objects, jobs)
        return objects, LinkPlan(keys, arena, self._options.threads if is_shared else 1)


def claims_of(machine: MachineDescription) -> Sequence[Claim]:
    """Returns what kernels for the machine compute."""
    # a pass after `glow-lower-nodes` makes products of bf16, if asked for
    return kernel_claims(replace(machine, has_bf16_dot=False))


def rates_of(target: Target, call: Call, threads: int) -> Rates:
    """Returns how fast the cores that can be used compute an operator."""
    return cpu_rates(target.describe(), call, min(threads, usable_cores()))


def set_machine(module: ModuleOp, target: Target) -> None:
    """
    Notes the target in a module. Raises CompileError if the module was made for one that the target
    does not run.
    """
    if MACHINE in module.attributes:
        target.expect_runs(machine_of(module))
    else:
        module.attributes[MACHINE] = MachineAttr(target.describe())


def time_profile_of(
    program: CpuProgram,
    stages: Modules,
    threads: int,
    inputs: Sequence[np.ndarray],
    repeat: int,
) -> TimeProfile:
    """Returns the measured times of the instructions of a program that records them."""
    return measure(program, main_function(planned_module(stages)), threads, inputs, repeat)


def texts_of(stages: Modules) -> Mapping[str, str]:
    """Returns what there is to show beside the stages, by the name of a file."""
    return {"llvm.ll": translate_module(stages["llvm"])}


def saved_program(stages: Modules, program: CpuProgram) -> SavedProgram:
    """Returns the entry that the cache keeps of a program."""
    return SavedProgram(
        signature_of(first_module(stages)),
        plan_of(planned_module(stages)),
        program.plan,
        program.weights_key,
    )


def planned_module(stages: Modules) -> ModuleOp:
    """
    Returns the program with planned memory; where compilation began with its nests, these. Raises
    GlowError if it began later, without weights.
    """
    first = first_module(stages)
    has_nests = any(op.name == "glow_nest.kernel" for op in first.body.block.ops)
    return first if has_nests else stages["allocated"]


def first_module(stages: Modules) -> ModuleOp:
    """
    Returns the first module of the compilation: the imported graph, or the result of an earlier
    stage.
    """
    return stages[next(iter(stages))]


def arena_bytes(module: ModuleOp) -> int:
    """
    Returns the bytes of the arena, which @glow_program of the `llvm` stage states for its last
    parameter. They include temporary memory of kernels, so they may exceed the plan for
    activations.
    """
    for function in _defined_functions(module):
        if function.sym_name.data == PROGRAM and function.arg_attrs is not None:
            size = function.arg_attrs.data[-1].data.get("llvm.dereferenceable")
            return size.value.data if isinstance(size, IntegerAttr) else 0
    return 0


def runs_on_team(module: ModuleOp) -> bool:
    """Returns whether threads run the program of the `llvm` stage together."""
    return any(f.sym_name.data == PROGRAM and is_shared(f) for f in _defined_functions(module))


def _llvm_modules(stages: Modules) -> Iterable[ModuleOp]:
    """Returns the `llvm` stage, one function after the other if it is still to be computed."""
    return stages.by_function("llvm") if isinstance(stages, Stages) else [stages["llvm"]]


def _tell(stages: Modules, objects: list[bytes], jobs: Sequence[Future[bytes]]) -> None:
    """Collects the objects that are finished, and reports their number if `progress` is given."""
    if not isinstance(stages, Stages) or stages.progress is None:
        return
    while len(objects) < len(jobs) and jobs[len(objects)].done():
        objects.append(jobs[len(objects)].result())
    total = None if stages.functions is None else max(stages.functions, len(jobs))
    stages.progress(Progress("llvm", len(objects), total))


def functions_of_objects(module: ModuleOp) -> list[list[FuncOp]]:
    """
    Returns the functions of each object: a kernel has one of its own, because other programs have
    the same kernel; the program and its entry share one. Each object has the internal functions
    that it calls.
    """
    functions = _defined_functions(module)
    internal = {f.sym_name.data: f for f in functions if f.linkage.linkage.data == "internal"}
    together = [f for f in functions if f.sym_name.data in (PROGRAM, ENTRY)]
    alone = [[f] for f in functions if f not in together and f.sym_name.data not in internal]
    objects = [*alone, together] if together else alone
    return [[*of, *_called(of, internal)] for of in objects] if internal else objects


def _called(functions: Sequence[FuncOp], among: Mapping[str, FuncOp]) -> list[FuncOp]:
    """Returns those of some functions that others call."""
    calls = (op for f in functions for op in f.walk() if isinstance(op, CallOp) and op.callee)
    names = dict.fromkeys(op.callee.string_value() for op in calls if op.callee)
    return [among[name] for name in names if name in among]


def _defined_functions(module: ModuleOp) -> list[FuncOp]:
    return [op for op in module.body.block.ops if isinstance(op, FuncOp) and op.body.blocks]


@cache
def _version() -> str:
    return f"glow {version('glow-compiler')}"
