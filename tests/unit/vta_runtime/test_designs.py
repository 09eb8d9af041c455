"""The errors of designs of the machine in simulations: instructions, shifts, stores, distances."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from glow.errors import CompileError
from glow.glow_dialects.vta.config import VtaConfig
from glow.runtime.vta.container import container_bytes, parse_program
from glow.runtime.vta.program import RegionRole, VtaProgram
from glow.runtime.vta.simulator import simulate
from glow.runtime.vta.words import VtaError
from glow.tests.support import vta_assembler as asm
from glow.tests.support.vta_assembler import ACC, ACC_8BIT, INP, UOP, WGT, Op

SMALL = VtaConfig(1, 4, 4, inp_depth=16, wgt_depth=8, acc_depth=16, uop_depth=8)
X, W, B, Y = 64, 128, 1024, 2048
"""The addresses of the regions: input, weights, accumulators, output. Micro-ops are at 0."""


def make(ops: list[Op], config: VtaConfig, sequence: bool = True) -> VtaProgram:
    uops = [(0, 0, 0), (1, 2, 1), (15, 3, 2), (2, 15, 7)]
    return asm.program(
        asm.in_sequence(ops) if sequence else ops,
        config,
        [
            asm.region("u", RegionRole.MICRO_OPS, 0, asm.micro_ops(uops, config)),
            asm.region("x", RegionRole.INPUT, X, np.arange(64, dtype=np.int8)),
            asm.region("w", RegionRole.CONSTANT, W, np.arange(-64, 64, dtype=np.int8)),
            asm.region("b", RegionRole.CONSTANT, B, np.arange(64, dtype=np.int32)),
            asm.region("y", RegionRole.OUTPUT, Y, size=32),
        ],
    )


def run(ops: list[Op], config: VtaConfig, sequence: bool = True) -> np.ndarray:
    x = np.arange(64, dtype=np.int8)
    return simulate(make(ops, config, sequence), {"x": x})["y"]


LOADS = [
    asm.load(UOP, 0, 0, 1, 4),
    asm.load(INP, 0, X // 4, 1, 16),
    asm.load(WGT, 0, W // 16, 1, 8),
    asm.load(ACC, 0, B // 16, 1, 16),
]
ADD = asm.alu(asm.ADD, (0, 1), (1, 16), (0, 1), imm=0)
STORE = asm.store(0, Y // 4, 1, 8)
NEAR = "no sooner than {} iterations after its write, but iteration 1 reads ACC\\[0\\]"


@pytest.mark.parametrize(
    ("design", "op", "message"),
    [
        ("chisel", asm.load(ACC_8BIT, 0, X // 4, 1, 8), "LOAD ACC_8BIT .* has no loads of acc8"),
        ("xilinx-hls", asm.load(ACC_8BIT, 0, X // 4, 1, 8), "has no loads of acc8: load inp"),
        ("intelfocl", asm.load(ACC, 0, B // 16, 1, 8, pads=(1, 0, 0, 0)), "cannot surround accum"),
        ("chisel", asm.load(INP, 0, X // 4, 0, 8, pads=(1, 0, 0, 0)), "padding but no rows"),
        ("chisel", asm.alu(asm.MUL, (0, 1), imm=2), "ALU MUL .* cannot multiply in the ALU"),
        ("xilinx-hls", asm.alu(asm.SHR, (0, 1), imm=16), "shift by 16 places; it can be -16 to 15"),
        ("xilinx-hls", asm.alu(asm.SHR, (1, 2), (2, 1), (3, 0), (3, 0)), "a shift by 20 places"),
        ("chisel", asm.gemm((0, 1), (1, 2)), NEAR.format(2)),
        ("xilinx-hls", asm.gemm((0, 1), (1, 2)), NEAR.format(3)),
        ("xilinx-hls", asm.alu(asm.ADD, (0, 1), (2, 1), imm=1), NEAR.format(3)),
        ("chisel", STORE, "STORE .* not what was loaded or reset, such as ACC\\[0\\]: add 0"),
    ],
)  # fmt: skip
def test_what_a_design_lacks_is_refused(design: str, op: Op, message: str) -> None:
    ops = [*LOADS, op, STORE] if op is STORE else [*LOADS, op, ADD, STORE]
    # the machine without limits does it all
    assert run(ops, SMALL).size == 32
    with pytest.raises(VtaError, match=message):
        run(ops, replace(SMALL, design=design))


def test_left_shifts_by_registers():
    negative = [
        asm.alu(asm.MIN, (0, 1), (1, 16), (0, 1), imm=-1),
        asm.alu(asm.SHR, (1, 2)),
    ]
    for design in ("functional", "xilinx-hls"):
        run([*LOADS, *negative, ADD, STORE], replace(SMALL, design=design))
    with pytest.raises(VtaError, match="a shift by -1 places; it can be 0 to 31 in chisel"):
        run([*LOADS, *negative, ADD, STORE], replace(SMALL, design="chisel"))


@pytest.mark.parametrize("design", ["xilinx-hls", "chisel", "intelfocl"])
def test_zeros_of_a_reset_are_not_stored(design: str):
    ops = [*LOADS, ADD, asm.gemm((0, 1), (1, 8), (0, 1), reset=True), STORE]
    assert not run(ops, SMALL).any()
    with pytest.raises(VtaError, match="not what was loaded or reset"):
        run(ops, replace(SMALL, design=design))
    # sums of the reset accumulators are
    products = asm.gemm((0, 1), (1, 8), (0, 1), src=(0, 1))
    assert run([*ops[:-1], products, STORE], replace(SMALL, design=design)).any()


def exchange(ops: list[Op], config: VtaConfig) -> None:
    """Runs instructions that do nothing but exchange tokens."""
    simulate(asm.program([*ops, asm.finish()], config, []), {})


TO_COMPUTE = asm.nop(asm.LOAD_ENGINE).having("push_next")
FROM_COMPUTE = asm.nop(asm.LOAD_ENGINE).having("pop_next")
TO_LOAD = asm.nop(asm.COMPUTE_ENGINE).having("push_prev")
FROM_LOAD = asm.nop(asm.COMPUTE_ENGINE).having("pop_prev")
CROSSED = [
    *(TO_COMPUTE, TO_COMPUTE, FROM_COMPUTE, FROM_COMPUTE),
    *(TO_LOAD, TO_LOAD, FROM_LOAD, FROM_LOAD),
]
"""Each of two engines sends two tokens before it waits."""


def test_engines_wait_at_full_queues():
    for length in range(1, 4):
        exchange([*[TO_COMPUTE] * 3, *[FROM_LOAD] * 3], replace(SMALL, queue_length=length))
    for length in (0, 2, 3):
        exchange(CROSSED, replace(SMALL, queue_length=length))


def test_a_deadlock_of_full_queues_names_the_place():
    wanted = (
        r"deadlock: instruction 1 \(LOAD INP .*\) waits for room in the queue to COMPUTE, which "
        r"holds 1 tokens; instruction 5 .* waits for room in the queue to LOAD"
    )
    with pytest.raises(VtaError, match=wanted):
        exchange(CROSSED, replace(SMALL, queue_length=1))


def test_tokens_that_full_queues_lose():
    ops = [*[TO_COMPUTE] * 3, *[FROM_LOAD] * 3]
    lossy = replace(SMALL, design="chisel", queue_length=2)
    with pytest.raises(
        VtaError, match=r"instruction 2 .* loses tokens of full queues, which hold 2"
    ):
        exchange(ops, lossy)
    exchange(ops, replace(lossy, queue_length=3))


def test_machines_are_part_of_files():
    """A machine of today is written as ever; what differs is written too."""
    for config in (SMALL, replace(SMALL, design="intelfocl", queue_length=8)):
        data = container_bytes(make([*LOADS, ADD, STORE], config))
        assert parse_program(data, "x.vta").config == config
        assert (b"intelfocl" in data) == (b"queue_length" in data) == (config is not SMALL)


def test_regions_begin_at_the_base_address():
    with pytest.raises(CompileError, match="region 'u' of DRAM begins at 0x0, before the base"):
        make([*LOADS, ADD, STORE], replace(SMALL, base_address=64))
