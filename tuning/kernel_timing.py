"""
Single kernels of a network as machine code, to measure them: on random data, on one thread.

A kernel is called in a loop of machine code. What the network keeps in its weights lies in several
copies that take turns, as far as these are needed to be larger than the last cache: in a network,
weights come from memory.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import MemRefType, ModuleOp

from ..context import make_context
from ..glow_dialects.elements import element_bytes, extent
from ..glow_dialects.glow.machine import MACHINE, MachineAttr
from ..glow_dialects.glow_nest.kernel import KernelOp
from ..glow_dialects.machine import MachineDescription
from ..lowering.kernels.function import KernelInterface, build_function
from ..lowering.llvm.translate import translate_module
from ..lowering.target import Target
from ..passes.collector import without_garbage_collection
from ..runtime.cpu_program import aligned_bytes
from ..runtime.jit import Executable, compile_object
from ..runtime.stages import apply_pass, parse_pipeline
from ..semantics import numpy_dtype
from .jobs import Job, indices_of, listed_of

_ENTRY = "glow_timed"
_MOST_COPIES = 32
_MOST_BYTES = 256 << 20
"""The largest number of bytes of all copies of weights."""


@dataclass(frozen=True)
class Arguments:
    """Memory for the parameters of a kernel."""

    arrays: Sequence[np.ndarray]
    """The first set of parameters, as uint8."""
    addresses: ctypes.Array[ctypes.c_void_p]
    """The addresses of all sets, one after the other."""
    sets: int
    kept: Sequence[np.ndarray]
    """The arrays that hold the addresses' memory."""


def arguments_for(job: Job, machine_l3: int, scratch: int, seed: int = 0) -> Arguments:
    """
    Returns random memory for a kernel: normally distributed floats, half of them zeros where a
    kernel lists what is not zero; integers that are small and not zero; indices of all places.
    `scratch` is the number of bytes of temporary memory.
    """
    rng, weights = np.random.default_rng(seed), job.weights
    indices, listed = indices_of(job.kernel), set(listed_of(job.kernel))
    arrays = [
        _random(rng, a.type, indices.get(i), i in listed)
        for i, a in enumerate(job.kernel.body.block.args)
    ]
    size = sum(a.nbytes for a, is_weight in zip(arrays, weights, strict=True) if is_weight)
    sets = 1
    if size:
        wanted = -(-2 * machine_l3 // size)
        sets = max(1, min(wanted, _MOST_COPIES, _MOST_BYTES // size))
    kept = [*arrays, aligned_bytes(max(64, scratch))]
    kept[-1][:] = 0
    addresses: list[int] = [a.ctypes.data for a in kept]
    for _ in range(1, sets):
        for array, is_weight in zip(arrays, weights, strict=True):
            copy = array
            if is_weight:
                copy = aligned_bytes(array.nbytes)
                copy[:] = array
                kept.append(copy)
            addresses.append(copy.ctypes.data)
        addresses.append(kept[len(arrays)].ctypes.data)
    return Arguments(arrays, (ctypes.c_void_p * len(addresses))(*addresses), sets, kept)


def _random(rng: np.random.Generator, t: object, places: int | None, has_zeros: bool) -> np.ndarray:
    """Elements of a memref, as uint8; of indices, `places` is how many they choose from."""
    assert isinstance(t, MemRefType)
    dtype, count = numpy_dtype(t.element_type), extent(t)
    memory = aligned_bytes(max(64, count * element_bytes(t.element_type)))
    memory[:] = 0
    values = memory[: count * dtype.itemsize].view(dtype)
    if dtype.kind in "iu":
        # no zeros, because integers may be divided
        signs = rng.choice((-1, 1), count) if dtype.kind == "i" else 1
        small = rng.integers(1, 9, count) * signs
        values[:] = small if places is None else rng.integers(0, places, count)
    elif dtype.kind != "b":
        values[:] = rng.standard_normal(count, dtype=np.float32)
    if has_zeros:
        values[rng.random(count) < 1 / 2] = 0
    return memory


class TimedKernel:
    """A kernel with schedules, as machine code."""

    def __init__(self, kernel: KernelOp, target: Target, machine: MachineDescription):
        """`kernel` has schedules, and is changed."""
        text, self.scratch_bytes, count = _llvm_text(kernel, machine)
        loop = _loop(kernel.sym_name.data, count, self.scratch_bytes > 0)
        objects = [compile_object(t, target) for t in (text, loop)]
        self._executable = Executable(objects, _ENTRY, target)

    def run(self, arguments: Arguments, times: int = 1) -> float:
        """
        Returns seconds of one of `times` calls, with the sets of parameters in turns. It is the
        time of this thread, so other programs on the same core do not count.
        """
        start = time.thread_time()
        self._executable(times, arguments.addresses, arguments.sets)
        return (time.thread_time() - start) / times


def _llvm_text(kernel: KernelOp, machine: MachineDescription) -> tuple[str, int, int]:
    """
    Returns a kernel in LLVM IR, the bytes of its temporary memory, and its number of parameters.
    """
    with without_garbage_collection():
        made = build_function(kernel, machine)
        scratch_bytes = KernelInterface.of(made).scratch_bytes
        module = ModuleOp([made], {MACHINE: MachineAttr(machine)})
        for each in parse_pipeline("glow-expand-math,glow-convert-to-llvm"):
            apply_pass(each, make_context(), module)
        text = translate_module(module)
    return text, scratch_bytes, len(kernel.body.block.args)


def _loop(name: str, parameters: int, has_scratch: bool) -> str:
    """
    Returns LLVM IR that calls a kernel as often as the address of the weights says, with as many
    sets of parameters in turns as the address of the arena says. Each set ends with temporary
    memory.
    """
    given = parameters + has_scratch
    types = ", ".join(["ptr"] * given)
    loads = "\n".join(
        f"  %p{i} = getelementptr ptr, ptr %set, i64 {i}\n  %a{i} = load ptr, ptr %p{i}"
        for i in range(given)
    )
    called = ", ".join(f"ptr %a{i}" for i in range(given))
    return f"""
declare void @{name}({types})
define void @{_ENTRY}(ptr %w, ptr %io, ptr %arena) {{
entry:
  %count = ptrtoint ptr %w to i64
  %sets = ptrtoint ptr %arena to i64
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %number = urem i64 %i, %sets
  %place = mul i64 %number, {parameters + 1}
  %set = getelementptr ptr, ptr %io, i64 %place
{loads}
  call void @{name}({called})
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""
