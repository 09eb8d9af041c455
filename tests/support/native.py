"""Runs instruction programs as machine code, beside the interpreter."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from glow.context import make_context
from glow.glow_dialects.glow_nest.kernel import KernelOp
from glow.glow_dialects.machine import MachineDescription
from glow.glow_dialects.plan_attributes import ARENA_SIZE, WEIGHTS_SIZE
from glow.lowering.llvm.translate import translate_module
from glow.lowering.target import find_target
from glow.lowering.threads import llvm_text
from glow.runtime.cpu_compilation import runs_on_team
from glow.runtime.cpu_program import aligned_bytes
from glow.runtime.interpreter import interpret
from glow.runtime.jit import Executable, object_of
from glow.runtime.memory_plan import function_bytes
from glow.runtime.signature import main_function
from glow.runtime.stages import parse_pipeline
from glow.runtime.teams import ParallelExecutable
from glow.runtime.weights import fill_weights
from glow.semantics import numpy_dtype
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.parser import Parser

CONTEXT = make_context()
GARBAGE = 0xAB
THREADS = int(os.environ.get("GLOW_TEST_THREADS", "1"))
"""The number of threads that run programs by default."""


def parse(text: str) -> ModuleOp:
    return Parser(CONTEXT, text).parse_module()


def apply(module: ModuleOp, pipeline: str, verify: bool = True) -> ModuleOp:
    """Returns the module, changed in place by passes."""
    for single in parse_pipeline(pipeline):
        single.apply(CONTEXT, module)
        if verify:
            module.verify()
    return module


def needs(feature: str) -> None:
    """Skips a test if the target is no x86-64 with a feature, in LLVM's names."""
    target = find_target()
    if target.architecture != "x86_64" or not target.feature_set().get(feature, feature == "sse2"):
        pytest.skip(f"the target has no {feature}")


def kernels_pipeline(machine: MachineDescription, threads: int = 1) -> str:
    return f"{set_machine(machine)},{kernels_passes(threads)}"


def nests_passes(threads: int = 1) -> str:
    """Returns the passes from an allocated program to nests with schedules."""
    options = f"{{threads={threads}}}"
    return (
        f"glow-build-nests{options},glow-split-reductions,glow-schedule-nests,"
        f"glow-divide-nests{options}"
    )


def kernels_passes(threads: int = 1) -> str:
    """Returns the passes from an allocated program to kernels."""
    return f"{nests_passes(threads)},glow-generate-loops"


def set_machine(machine: MachineDescription) -> str:
    """Returns the pass that gives a module the machine."""
    return f"glow-set-machine{{{machine.pass_options()}}}"


def run_native(
    allocated: ModuleOp,
    inputs: Sequence[np.ndarray],
    machine: MachineDescription | None = None,
    threads: int = THREADS,
) -> list[np.ndarray]:
    """Returns the outputs of an allocated program, compiled and run: see `compile_native`."""
    return compile_native(allocated, machine, threads)(inputs)


def compile_native(
    allocated: ModuleOp, machine: MachineDescription | None = None, threads: int = THREADS
) -> Callable[[Sequence[np.ndarray]], list[np.ndarray]]:
    """
    Returns an allocated program as a function of its inputs. Outputs and the arena start as
    garbage; what lies behind each output and the arena must not change.
    """
    program = main_function(allocated)
    target = find_target()
    machine = machine or target.describe()
    passes = nests_passes(threads)
    if any(isinstance(op, KernelOp) for op in allocated.ops):
        _, passes = passes.split(",", 1)  # the nests are given
    nests = f"{set_machine(machine)},{passes}"
    kernels = apply(allocated.clone(), nests, verify=False)
    # a third of the time would go into verifying nests after each pass, as FileCheck tests do
    kernels.verify()
    apply(kernels, "glow-generate-loops")
    arena_size = function_bytes(main_function(kernels), ARENA_SIZE)
    # a machine of a test may have what this one lacks; the conversion takes no wrong module
    apply(kernels, f"{set_machine(target.describe())},glow-expand-math", verify=False)
    # LLVM verifies the result itself, which costs less than xDSL's verification
    apply(kernels, "glow-convert-to-llvm", verify=False)
    # a program without work for others is for one thread
    is_shared = runs_on_team(kernels)
    texts = [translate_module(kernels), *([llvm_text(target.triple)] if is_shared else [])]
    executable = Executable([object_of(t, target, "", None) for t in texts], "glow_main", target)
    run = ParallelExecutable(executable, threads, pin=False) if is_shared else executable
    weights = aligned_bytes(function_bytes(program, WEIGHTS_SIZE))
    fill_weights(weights, program)

    def run_on(inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        types = [a.type for a in program.body.block.args][len(inputs) :]
        guards = [_guarded(t) for t in types]
        arena = _guard(arena_size)
        contiguous = [np.ascontiguousarray(a) for a in inputs]
        addresses = [a.ctypes.data for a in contiguous] + [g.ctypes.data for g, _ in guards]
        io = (ctypes.c_void_p * len(addresses))(*addresses)
        run(weights.ctypes.data, io, arena.ctypes.data)
        for guard, size in [*((g, a.nbytes) for g, a in guards), (arena, arena_size)]:
            assert (guard[size:] == GARBAGE).all(), "wrote beyond a buffer"
        return [a for _, a in guards]

    return run_on


def _guard(size: int) -> np.ndarray:
    guard = aligned_bytes(size + 256)
    guard[:] = GARBAGE
    return guard


def _guarded(t: object) -> tuple[np.ndarray, np.ndarray]:
    assert isinstance(t, MemRefType)
    dtype = numpy_dtype(t.element_type)
    count = int(np.prod(t.get_shape(), dtype=np.int64))
    guard = _guard(count * dtype.itemsize)
    flat = guard[: count * dtype.itemsize].view(dtype)
    return guard, flat.reshape(t.get_shape())


def check_native(
    allocated: ModuleOp,
    inputs: Sequence[np.ndarray],
    machine: MachineDescription | None = None,
    tolerance: float = 1e-5,
    threads: int = THREADS,
    slack: Sequence[float] | None = None,
) -> None:
    """
    Checks that the compiled program agrees with the interpreter; integers exactly. Floats may
    differ by `tolerance` of the largest one, or of 1, and by the `slack` of their result.
    """
    check_runs(allocated, [inputs], machine, tolerance, threads, slack)


def check_runs(
    allocated: ModuleOp,
    runs: Sequence[Sequence[np.ndarray]],
    machine: MachineDescription | None = None,
    tolerance: float = 1e-5,
    threads: int = THREADS,
    slack: Sequence[float] | None = None,
) -> None:
    """Checks several runs of a program, which is compiled once, as `check_native` does."""
    run = compile_native(allocated, machine, threads)
    for inputs in runs:
        wanted = list(interpret(allocated, inputs).values())
        found = run(inputs)
        for want, have, more in zip(wanted, found, slack or [0.0] * len(found), strict=True):
            assert want.dtype == have.dtype
            if want.dtype.kind in "iub":
                np.testing.assert_array_equal(have, want)
                continue
            a, b = want.astype(np.float64), have.astype(np.float64)
            finite = np.abs(a[np.isfinite(a)])
            scale = max(1.0, float(finite.max(initial=0)))
            np.testing.assert_allclose(b, a, rtol=0, atol=tolerance * scale + more)
