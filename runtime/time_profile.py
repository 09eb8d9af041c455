"""
Measures where the time of a program goes.

A program that was compiled with `timed=True` records the processor's counter before and after each
kernel (`lowering.instrument_kernels`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import FuncOp

from ..errors import GlowError
from ..glow_dialects.elements import storage_type
from ..glow_dialects.glow_inst.instruction import Instruction
from ..glow_dialects.glow_inst.work import flops_of, moved_bytes
from ..interface.time_profile import InstructionTime, TimedRun, TimeProfile
from ..lowering.instrument_kernels import record_shape
from .clock import Clock
from .cpu_program import CpuProgram


def measure(
    program: CpuProgram, main: FuncOp, threads: int, inputs: Sequence[np.ndarray], repeat: int
) -> TimeProfile:
    """
    Returns the profile of a timed program whose instructions are those of `main`, which
    `glow-allocate` made: one run that does not count, then `repeat` that do. If the program is not
    divided, all but the first of `threads` threads wait until that has done each instruction.
    Raises GlowError for `repeat` below 1, and where the processor's counter cannot be read.
    """

    if repeat < 1:
        raise GlowError(f"expected repeat to be at least 1, found {repeat}")
    instructions = [op for op in main.body.block.ops if isinstance(op, Instruction)]
    shape = record_shape(program.plan.threads, len(instructions))
    clock = Clock()
    found = [program.run_timed(inputs, shape) for _ in range(repeat + 1)]
    step = clock.step()
    runs = tuple(
        TimedRun(
            (end - begin) * step,
            _of_threads((records[:, : len(instructions)] - begin).astype(float) * step, threads),
        )
        for begin, records, end in found[1:]
    )
    times = np.stack([run.times[0] for run in runs])
    seconds = np.median(times[:, :, 1] - times[:, :, 0], axis=0)
    gaps = np.zeros_like(times[:, :, 0])
    gaps[:, 1:] = times[:, 1:, 0] - times[:, :-1, 1]
    waiting = np.median(gaps, axis=0)
    described = tuple(
        _described(op, i, float(seconds[i]), float(waiting[i])) for i, op in enumerate(instructions)
    )
    return TimeProfile(described, runs, threads)


def _of_threads(times: np.ndarray, threads: int) -> np.ndarray:
    """Returns times of so many threads, of which some may not run the program."""
    waiting = np.repeat(times[:1, :, 1:], 2, axis=2)
    return np.concatenate([times, *[waiting] * (threads - len(times))])


def _described(op: Instruction, number: int, seconds: float, waiting: float) -> InstructionTime:

    written = op.written()
    return InstructionTime(
        seconds,
        waiting,
        flops_of(op),
        moved_bytes(op),
        number,
        written[0].name_hint or f"instruction {number}",
        op.name.removeprefix("glow_inst."),
        tuple(_fused(op)),
        tuple(_type_text(v.type) for v in written),
        tuple(_type_text(v.type) for v in op.read() if v not in written),
    )


def _fused(op: Instruction) -> Iterator[str]:
    for region in op.regions:
        for inner in (o for block in region.blocks for o in block.ops):
            if inner.name.startswith("glow."):
                yield inner.name.removeprefix("glow.")


def _type_text(t: object) -> str:
    """Returns sizes and elements of a memref: neither strides nor scales."""

    assert isinstance(t, MemRefType)
    return "x".join(map(str, (*t.get_shape(), storage_type(t.element_type))))
