"""
An estimate of the time of a program on a VTA, and of the use of its engines.

The model: each engine executes its instructions one after the other; one starts as soon as the
engine is free and the tokens that it pops are there, and pushes its tokens when it ends.

- GEMM begins a micro-op iteration every `gemm_interval` cycles, after `start` cycles.
- ALU begins one every `alu_interval` cycles, or less often if an accumulator has more numbers than
  there are lanes.
- A transfer waits for `dram_latency` cycles and then moves `bytes_per_cycle`; rows that are not
  next to each other in DRAM begin a beat each. Zeros for padding are written one element a cycle.
- All engines share one AXI port, as in the published designs: LOADs its read channel, one after the
  other in the order of their requests, STOREs its write channel.

Instruction fetch and the time for which engines wait at full queues are left out. The intervals are
those of the design for Xilinx FPGAs in `tvm-vta` (`hardware/xilinx/src/vta.cc`: the pipelines of
GEMM and ALU begin an iteration every cycle and every second one) and so is the shared 64-bit port
(`hardware/xilinx/scripts/vivado.tcl`). That design says nothing about `start` and `dram_latency`:
their defaults are assumptions, to be replaced by what is measured on a board.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...glow_dialects.vta.timing import VtaTiming
from .program import LayerRange, VtaProgram
from .tokens import Dependences, Progress, dependences
from .words import (
    Alu,
    Engine,
    Finish,
    Gemm,
    Instruction,
    MemoryCode,
    Transfer,
    decode_instructions,
    element_bytes,
)


@dataclass(frozen=True)
class LayerEstimate:
    """The estimate of a layer of a program, or of all of it."""

    name: str
    cycles: int
    """
    Cycles from the end of the layers before to the layer's own end, so that the layers add up to
    all.
    """
    gemm_iterations: int
    """Products of an input and a weight matrix; those of resets are not counted."""
    gemm_utilisation: float
    """The share of `cycles` in which the GEMM core begins a product."""
    dram_bytes: Mapping[MemoryCode, int]
    """Bytes of DRAM traffic by memory type, without padding."""


@dataclass(frozen=True)
class Estimate:
    """The result of `estimate`."""

    total: LayerEstimate
    layers: tuple[LayerEstimate, ...]
    busy: Mapping[Engine, int]
    """Cycles in which each engine executes an instruction."""
    instruction_bytes: int
    start: Sequence[int]
    """The cycle in which each instruction starts."""
    end: Sequence[int]
    """The first cycle after it."""

    @property
    def cycles(self) -> int:
        return self.total.cycles


def estimate(program: VtaProgram, timing: VtaTiming | None = None) -> Estimate:
    """
    Estimates the time of a program. Raises VtaError for words that are no instructions, and for
    deadlock.
    """
    instructions = decode_instructions(program.instructions, program.config)
    clock = _Clock(program, timing or VtaTiming(), instructions)
    clock.run(dependences(instructions, program.config))
    everything = LayerRange("total", 0, len(instructions) - 1)
    (total,) = _layers(program, instructions, clock, [everything])
    busy = dict.fromkeys(Engine, 0)
    for i in instructions:
        busy[i.engine] += clock.end[i.number] - clock.start[i.number]
    return Estimate(
        total,
        tuple(_layers(program, instructions, clock, program.layers)),
        busy,
        program.instructions.nbytes,
        clock.start,
        clock.end,
    )


class _Clock:
    """The starts and ends of instructions."""

    def __init__(self, program: VtaProgram, timing: VtaTiming, instructions: Sequence[Instruction]):
        self._config = program.config
        self._timing = timing
        self._instructions = instructions
        self._channels = {False: 0, True: 0}
        """The times at which the read and the write channel of the port are free, by `store`."""
        self.start = [0] * len(instructions)
        self.end = [0] * len(instructions)

    def run(self, found: Dependences) -> None:
        """Raises VtaError for deadlock."""
        progress = Progress(found)
        free = dict.fromkeys(Engine, 0)
        while ready := progress.ready():
            start, number = min((self._start(n, free, found), n) for n in ready)
            i = self._instructions[number]
            progress.finish(number)
            self.start[number] = start
            self.end[number] = free[i.engine] = _DURATIONS[type(i)](self, i, start)

    def _start(self, number: int, free: Mapping[Engine, int], found: Dependences) -> int:
        start = free[self._instructions[number].engine]
        return max([start, *(self.end[w] for w in found.waits[number])])

    def transfer(self, i: Transfer, start: int) -> int:
        if not i.x_size:
            return start + 1
        t = self._timing
        row = i.x_size * element_bytes(self._config, i.memory)
        adjacent = i.x_stride == i.x_size
        rows, size = (1, row * i.y_size) if adjacent else (i.y_size, row)
        beats = rows * -(-size // t.bytes_per_cycle)
        padding = i.width * i.height - i.x_size * i.y_size
        if not beats:
            return start + 1 + padding
        begin = max(start + t.dram_latency, self._channels[i.store])
        self._channels[i.store] = begin + beats
        return begin + beats + padding

    def gemm(self, i: Gemm, start: int) -> int:
        return start + self._timing.start + i.iterations * self._timing.gemm_interval

    def alu(self, i: Alu, start: int) -> int:
        t = self._timing
        numbers = self._config.batch * self._config.block_out
        passes = -(-numbers // (t.alu_lanes or numbers))
        return start + t.start + i.iterations * passes * t.alu_interval

    def finish(self, i: Finish, start: int) -> int:
        return start + 1


_DURATIONS: dict[type, Callable[[_Clock, Any, int], int]] = {
    Transfer: _Clock.transfer,
    Gemm: _Clock.gemm,
    Alu: _Clock.alu,
    Finish: _Clock.finish,
}


def _layers(
    program: VtaProgram,
    instructions: Sequence[Instruction],
    clock: _Clock,
    layers: Sequence[LayerRange],
) -> list[LayerEstimate]:
    found = []
    before = 0
    for name, first, last in layers:
        part = instructions[first : last + 1]
        end = max(before, *(clock.end[i.number] for i in part))
        products = sum(i.iterations for i in part if isinstance(i, Gemm) and not i.reset)
        moved = dict.fromkeys(MemoryCode, 0)
        for i in part:
            if isinstance(i, Transfer):
                elements = i.x_size * i.y_size
                moved[i.memory] += elements * element_bytes(program.config, i.memory)
        cycles = end - before
        share = products / cycles if cycles else 0.0
        found.append(LayerEstimate(name, cycles, products, share, moved))
        before = end
    return found
