"""Random programs on the simulator and on the scalar reference."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from glow.glow_dialects.vta.config import VtaConfig
from glow.runtime.vta import plans
from glow.runtime.vta.program import RegionRole, VtaProgram
from glow.runtime.vta.simulator import Simulator, simulate
from glow.runtime.vta.words import VtaError
from glow.tests.support import vta_assembler as asm
from glow.tests.support.vta_assembler import ACC, ACC_8BIT, INP, UOP, WGT, Op
from glow.tests.support.vta_reference import Reference, ReferenceError_, memory_of
from hypothesis import given, settings
from hypothesis import strategies as st

Rng = np.random.Generator
PLACE = 0x4000
"""Bytes between the regions of DRAM; the elements of all memories divide it."""

CONFIGS = [
    VtaConfig(1, 2, 2, inp_depth=16, wgt_depth=8, acc_depth=16, uop_depth=16),
    VtaConfig(2, 4, 2, inp_depth=32, wgt_depth=16, acc_depth=8, uop_depth=32),
    VtaConfig(1, 1, 8, inp_depth=4, wgt_depth=4, acc_depth=32, uop_depth=8),
    VtaConfig(4, 8, 1, inp_depth=16, wgt_depth=4, acc_depth=16, uop_depth=16),
]


class Maker:
    """Random instructions for one configuration. Most of them are in range."""

    def __init__(self, config: VtaConfig, rng: Rng):
        self.config = config
        self.rng = rng
        self.depths = {
            UOP: config.uop_depth,
            INP: config.inp_depth,
            WGT: config.wgt_depth,
            ACC: config.acc_depth,
            ACC_8BIT: config.acc_depth,
        }
        acc, inp = config.batch * config.block_out, config.batch * config.block_in
        self.bytes = {UOP: 4, INP: inp, WGT: config.block_in * config.block_out}
        self.bytes |= {ACC: 4 * acc, ACC_8BIT: acc}
        self.sources = {UOP: 0, INP: 1, WGT: 2, ACC: 3, ACC_8BIT: 1}
        """The region that a memory is loaded from."""

    def below(self, limit: int) -> int:
        return int(self.rng.integers(0, max(limit, 1)))

    def micro_ops(self) -> np.ndarray:
        """
        Draws micro-ops whose indices are in the lower half of the memories, to leave room for
        loops.
        """
        c = self.config
        count = c.uop_depth + 8
        source = min(c.acc_depth, c.inp_depth)
        limits = (c.acc_depth // 2, source // 2, c.wgt_depth // 2)
        ops = [[self.below(limit) for limit in limits] for _ in range(count)]
        return asm.micro_ops([(d, s, w) for d, s, w in ops], c)

    def loops(self, depth: int, iterations: tuple[int, int]) -> tuple[int, int]:
        """Factors whose sum stays within the upper half of a memory."""
        room = depth // 4
        outer, inner = (self.below(room // max(n - 1, 1) + 1) for n in iterations)
        return min(outer, depth - 1), min(inner, depth - 1)

    def range(self) -> tuple[int, int]:
        begin = self.below(self.config.uop_depth)
        return begin, begin + 1 + self.below(min(5, self.config.uop_depth - begin))

    def gemm(self) -> Op:
        n = (self.below(4), 1 + self.below(4))
        c = self.config
        return asm.gemm(
            self.range(),
            n,
            self.loops(c.acc_depth, n),
            self.loops(c.inp_depth, n),
            self.loops(c.wgt_depth, n),
            int(self.below(5) == 0),
        )

    def alu(self) -> Op:
        n = (self.below(4), 1 + self.below(4))
        opcode = self.below(5)
        depth = self.config.acc_depth
        imm = int(self.rng.integers(-32768, 32768))
        if opcode == asm.SHR:
            imm = int(self.rng.integers(-31, 32))
        use_imm = opcode == asm.SHR or self.below(2)
        dst, src = self.loops(depth, n), self.loops(depth, n)
        return asm.alu(opcode, self.range(), n, dst, src, imm if use_imm else None)

    def load(self) -> Op:
        memory = int(self.rng.choice([UOP, INP, WGT, ACC, ACC_8BIT]))
        depth = self.depths[memory]
        y, x = 1 + self.below(3), self.below(4)
        pads = [self.below(2) for _ in range(4)] if memory not in (UOP, WGT) else [0] * 4
        total = (y + pads[0] + pads[1]) * (x + pads[2] + pads[3])
        base = self.sources[memory] * PLACE // self.bytes[memory]
        stride = self.below(2 * x + 1)
        return asm.load(
            memory, self.below(depth - total + 1), base + self.below(4), y, x, stride, pads
        )

    def store(self) -> Op:
        depth = self.config.acc_depth
        y, x = 1 + self.below(2), self.below(4)
        base = 4 * PLACE // self.bytes[ACC_8BIT]
        stride = self.below(x + 2)
        return asm.store(self.below(depth - x * y + 1), base + self.below(depth // 2), y, x, stride)

    def everything(self) -> list[Op]:
        """Fills all scratchpads."""
        loads = []
        for memory in (UOP, INP, WGT, ACC):
            base = self.sources[memory] * PLACE // self.bytes[memory]
            loads.append(asm.load(memory, 0, base, 1, self.depths[memory]))
        return loads

    def write_all(self) -> Op:
        base = 4 * PLACE // self.bytes[ACC_8BIT]
        return asm.store(0, base, 1, self.config.acc_depth)

    def ops(self, count: int) -> list[Op]:
        kinds: list[Callable[[], Op]] = [self.gemm, self.alu, self.load, self.store]
        return [kinds[self.below(4)]() for _ in range(count)]


def numbers(rng: Rng, dtype: type, size: int) -> np.ndarray:
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, size, dtype, endpoint=True)


class Case:
    """A program, its inputs, and what the reference makes of them."""

    def __init__(self, config: VtaConfig, rng: Rng, ops: list[Op], maker: Maker):
        size = PLACE // 4
        self.inp = numbers(rng, np.int8, size)
        micro_ops = maker.micro_ops()
        wgt = numbers(rng, np.int8, size)
        bias = numbers(rng, np.int32, size)
        out_bytes = 2 * config.acc_depth * maker.bytes[ACC_8BIT]
        self.ops = asm.in_sequence(ops)
        self.program: VtaProgram = asm.program(
            self.ops,
            config,
            [
                asm.region("uops", RegionRole.MICRO_OPS, 0, micro_ops),
                asm.region("x", RegionRole.INPUT, PLACE, self.inp),
                asm.region("w", RegionRole.CONSTANT, 2 * PLACE, wgt),
                asm.region("b", RegionRole.CONSTANT, 3 * PLACE, bias),
                asm.region(
                    "y", RegionRole.OUTPUT, 4 * PLACE, size=config.acc_depth * maker.bytes[ACC_8BIT]
                ),
                asm.region("rest", RegionRole.SCRATCH, 4 * PLACE + out_bytes, size=1),
            ],
        )
        arrays = [micro_ops, self.inp, wgt, bias]
        places: list[tuple[int, np.ndarray | int]] = [(n * PLACE, a) for n, a in enumerate(arrays)]
        self.dram = memory_of([*places, (4 * PLACE, out_bytes // 2)])

    def expected(self) -> np.ndarray:
        """Returns the output. Raises ReferenceError_."""
        reference = Reference(self.program.config, self.dram)
        reference.run(self.ops)
        (y,) = self.program.outputs
        values = [self.dram[y.address + n] for n in range(y.size)]
        return np.array(values, np.uint8).view(np.int8)


@settings(max_examples=120)
@given(st.integers(0, 2**63), st.sampled_from(CONFIGS), st.integers(1, 25), st.integers(1, 40))
def test_random_programs(seed: int, config: VtaConfig, count: int, piece: int) -> None:
    """Loops are executed in pieces of so many iterations, as long ones are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "PIECE", piece)
        check_random_program(seed, config, count)


@settings(max_examples=60)
@given(st.integers(0, 2**63), st.sampled_from(CONFIGS), st.integers(1, 25))
def test_random_programs_in_one_piece(seed: int, config: VtaConfig, count: int) -> None:
    check_random_program(seed, config, count)


def check_random_program(seed: int, config: VtaConfig, count: int) -> None:
    rng = np.random.default_rng(seed)
    maker = Maker(config, rng)
    ops = [*maker.everything(), maker.write_all(), *maker.ops(count), maker.write_all()]
    case = Case(config, rng, ops, maker)
    try:
        expected = case.expected()
    except ReferenceError_ as e:
        with pytest.raises(VtaError, match=rf"instruction {e.number} "):
            simulate(case.program, {"x": case.inp})
        return
    np.testing.assert_array_equal(simulate(case.program, {"x": case.inp})["y"], expected)


@settings(max_examples=30)
@given(st.integers(0, 2**63), st.sampled_from(CONFIGS))
def test_random_programs_from_empty_memories(seed: int, config: VtaConfig) -> None:
    """Nearly all of these read what nobody has written; both must find the same instruction."""
    rng = np.random.default_rng(seed)
    maker = Maker(config, rng)
    loads = maker.everything()
    missing = int(rng.integers(0, 4))
    del loads[missing]
    case = Case(config, rng, [*loads, *maker.ops(12), maker.write_all()], maker)
    simulator = Simulator(case.program)
    try:
        expected = case.expected()
    except ReferenceError_ as e:
        with pytest.raises(VtaError, match=rf"instruction {e.number} "):
            simulator.run([case.inp])
        return
    np.testing.assert_array_equal(simulator.run([case.inp])[0], expected)
