"""Programs that the machine cannot execute: errors name the instruction and what is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from glow.errors import GlowError, InputError
from glow.glow_dialects.vta.config import VtaConfig
from glow.runtime.vta.program import RegionRole, VtaProgram
from glow.runtime.vta.simulator import Simulator, simulate
from glow.runtime.vta.words import VtaError
from glow.tests.support import vta_assembler as asm
from glow.tests.support.seeds import numbered
from glow.tests.support.vta_assembler import ACC, ACC_8BIT, INP, OUT, UOP, WGT, Op

CONFIG = VtaConfig(1, 4, 4, inp_depth=16, wgt_depth=8, acc_depth=16, uop_depth=8)
X, W, B, Y, S = 64, 128, 1024, 2048, 4096
"""The addresses of the regions: input, weights, biases, output, scratch. Micro-ops are at 0."""
OUT_ELEMENTS = 8


def make(ops: list[Op], sequence: bool = True) -> VtaProgram:
    """Ops in sequence, in a memory of all kinds of regions."""
    rng = numbered(5)
    uops = [(0, 0, 0), (1, 2, 1), (15, 3, 2), (2, 15, 7)]
    return asm.program(
        asm.in_sequence(ops) if sequence else ops,
        CONFIG,
        [
            asm.region("u", RegionRole.MICRO_OPS, 0, asm.micro_ops(uops, CONFIG)),
            asm.region("x", RegionRole.INPUT, X, rng.integers(-9, 9, 64, np.int8)),
            asm.region("w", RegionRole.CONSTANT, W, rng.integers(-9, 9, 128, np.int8)),
            asm.region("b", RegionRole.CONSTANT, B, rng.integers(-9, 9, 64, np.int32)),
            asm.region("y", RegionRole.OUTPUT, Y, size=4 * OUT_ELEMENTS),
            asm.region("s", RegionRole.SCRATCH, S, size=64),
        ],
    )


def run(ops: list[Op], sequence: bool = True) -> np.ndarray:
    x = np.arange(64, dtype=np.int8)
    return simulate(make(ops, sequence), {"x": x})["y"]


LOADS = [
    asm.load(UOP, 0, 0, 1, 4),
    asm.load(INP, 0, X // 4, 1, 16),
    asm.load(WGT, 0, W // 16, 1, 8),
    asm.load(ACC, 0, B // 16, 1, 16),
]
STORE = asm.store(0, Y // 4, 1, OUT_ELEMENTS)
LAST = len(LOADS)
"""The number of the instruction behind the loads, and a no-op if its engine is STORE."""


def without(n: int) -> list[Op]:
    """Fills all scratchpads but one."""
    return [*LOADS[:n], *LOADS[n + 1 :]]


GEMM = asm.gemm((0, 1))
ALU = asm.alu(asm.ADD, (0, 1))


def test_the_valid_program_of_these_tests() -> None:
    y = run([*LOADS, GEMM, ALU, STORE])
    assert y.shape == (4 * OUT_ELEMENTS,)


@pytest.mark.parametrize(
    ("ops", "instruction", "what"),
    [
        ([*without(0), GEMM], 3, r"GEMM .*: it reads UOP\[0\], which nobody has written"),
        ([*without(1), GEMM], 3, r"GEMM .*: it reads INP\[0\], which nobody"),
        ([*without(2), GEMM], 3, r"GEMM .*: it reads WGT\[0\], which nobody"),
        ([*without(3), asm.gemm((1, 2))], 3, r"GEMM .*: it reads ACC\[1\], which nobody"),
        ([*without(3), asm.alu(asm.MAX, (1, 2), imm=0)], 3, r"ALU MAX .*: it reads ACC\[1\]"),
        (
            [LOADS[0], asm.gemm((0, 1), reset=1), ALU, asm.alu(asm.ADD, (0, 2))],
            3,
            r"ALU ADD .*: it reads ACC\[1\]",
        ),
        ([asm.store(3, Y // 4)], 0, r"STORE OUT .*: it reads ACC\[3\], which nobody"),
        ([*LOADS, asm.load(INP, 1, S // 4, 1, 4), GEMM], LAST + 2, None),
        ([*LOADS, asm.load(INP, 0, S // 4, 1, 4), GEMM], LAST + 1, r"it reads INP\[0\], which"),
        ([asm.load(INP, 10, X // 4, 2, 4)], 0, "elements 10 to 17 of INP, which has 16"),
        (
            [asm.load(ACC, 8, B // 16, 2, 2, pads=(1, 0, 1, 0))],
            0,
            "elements 8 to 16 of ACC, which has 16",
        ),
        ([*LOADS, asm.gemm((7, 9))], LAST, "micro-op 8, but there are 8"),
        ([*LOADS, asm.gemm((2, 3), (1, 2), dst=(0, 1))], LAST, "element 16 of ACC, which has 16"),
        ([*LOADS, asm.gemm((0, 4), (2, 2), src=(1, 2))], LAST, "element 18 of INP, which has 16"),
        ([*LOADS, asm.gemm((3, 4), (3, 1), wgt=(1, 0))], LAST, "element 9 of WGT, which has 8"),
        ([*LOADS, asm.alu(1, (3, 4), (2, 1), src=(1, 0))], LAST, "element 16 of ACC, which has 16"),
        ([*LOADS, asm.alu(asm.SHR, (0, 1), imm=32)], LAST, "ALU SHR .* a shift by 32 places"),
        ([*LOADS, asm.alu(asm.SHR, (0, 1), imm=-32)], LAST, "a shift by -32 places; it can be -31"),
        ([asm.load(INP, 0, 1000)], 0, "DRAM address 0xfa0 is in no region"),
        ([asm.load(INP, 0, X // 4 + 10, 2, 2, 5)], 0, r"0x68 to 0x84 go beyond the end of 'x' \("),
        ([*LOADS, asm.store(0, X // 4)], LAST, r"it writes to 'x' \(input"),
        ([*LOADS, asm.store(0, W // 4)], LAST, r"it writes to 'w' \(constant"),
        ([*LOADS, asm.store(0, 0)], LAST, r"it writes to 'u' \(micro-ops"),
        ([*LOADS, asm.store(0, 3000)], LAST, "DRAM address 0x2ee0 is in no region"),
        ([*LOADS, asm.store(0, Y // 4 + 7, 1, 2)], LAST, r"go beyond the end of 'y' \(output"),
        ([asm.load(OUT, 0, 0)], 0, "LOAD does not move OUT"),
        ([asm.store(0, 0, memory=ACC)], 0, "STORE moves OUT only"),
        ([asm.load(WGT, 0, W // 16, pads=(1, 0, 0, 0))], 0, "only LOADs of INP and ACC can pad"),
        ([asm.load(UOP, 0, 0, pads=(0, 0, 0, 1))], 0, "only LOADs of INP and ACC can pad"),
    ],
)
def test_errors_name_the_instruction(ops: list[Op], instruction: int, what: str | None) -> None:
    if what is None:  # nothing of what the LOAD brought is used
        run([*ops, STORE])
        return
    with pytest.raises(VtaError, match=rf"^instruction {instruction} \(.*{what}"):
        run(ops)


def test_shifts_from_registers_are_checked() -> None:
    big = asm.alu(asm.MAX, (1, 2), imm=40)
    shift = asm.alu(asm.SHR, (0, 1), (1, 2), src=(0, 1))
    with pytest.raises(VtaError, match=rf"instruction {LAST + 1} .*a shift by 40 places"):
        run([*LOADS, big, shift])


def test_outputs_must_be_written() -> None:
    with pytest.raises(VtaError, match=r"output 'y'.* first missing byte is 28 of 32"):
        run([*LOADS, asm.store(0, Y // 4, 1, 7)])


@pytest.mark.parametrize(
    ("ops", "what"),
    [
        ([], "no instructions"),
        ([LOADS[0]], r"instruction 0 \(LOAD UOP .*: the last instruction .* must be FINISH"),
        ([asm.finish(), asm.finish()], r"instruction 0 \(FINISH\): instructions behind FINISH"),
        (
            [LOADS[1].having("pop_prev"), asm.finish()],
            r"instruction 0 \(LOAD INP .* pop_prev\): the engine LOAD has no previous one",
        ),
        (
            [STORE.having("push_next"), asm.finish()],
            r"instruction 0 .*: the engine STORE has no next one",
        ),
        (
            [*LOADS, STORE, asm.finish()],
            r"instruction 5 \(FINISH\): it does not wait for instruction 4 \(STORE",
        ),
        (
            [
                *LOADS,
                asm.nop(asm.COMPUTE_ENGINE).having("push_next"),
                STORE.having("pop_prev", "push_prev"),
                asm.store(0, Y // 4),
                asm.finish().having("pop_next"),
            ],
            r"instruction 7 .*: it does not wait for instruction 6 \(STORE",
        ),
        (
            [asm.finish().having("pop_prev")],
            r"deadlock: instruction 0 \(FINISH pop_prev\) waits for a token that nobody pushes",
        ),
        (
            [
                LOADS[1].having("pop_next", "push_next"),
                LOADS[0].having("pop_prev", "push_prev"),
                asm.finish(),
            ],
            r"deadlock: instruction 0 \(LOAD INP .* waits for the token of instruction 1; "
            r"instruction 1 \(LOAD UOP .* waits for the token of instruction 0$",
        ),
        (
            [
                LOADS[1],
                LOADS[2].having("push_next"),
                asm.nop(asm.COMPUTE_ENGINE).having("pop_prev", "pop_next"),
                asm.nop(asm.STORE_ENGINE).having("pop_prev"),
                asm.finish(),
            ],
            "deadlock: instruction 2 .* waits for a token that nobody pushes; instruction 3 .*",
        ),
    ],
)
def test_order(ops: list[Op], what: str) -> None:
    with pytest.raises(VtaError, match=what):
        run(ops, sequence=False)


@pytest.mark.parametrize(
    ("word", "what"),
    [
        (5, r"instruction 1 \(0{16} 0{15}5\): there is no opcode 5"),
        (0 | 6 << 7, r"instruction 1 \(LOAD\): there is no memory type 6"),
        (1 | 7 << 7, r"instruction 1 \(STORE\): there is no memory type 7"),
    ],
)
def test_words_that_are_no_instructions(word: int, what: str) -> None:
    good = make([])
    words = np.array([[2, 0], [word, 0], [3, 0]], np.uint64)
    with pytest.raises(VtaError, match=what):
        Simulator(VtaProgram(CONFIG, words, good.regions))


def test_unknown_alu_opcode() -> None:
    with pytest.raises(VtaError, match=r"instruction 1 \(ALU\): there is no ALU opcode 6"):
        Simulator(make([asm.load(UOP, 0, 0), asm.alu(6, (0, 1))]))


def test_numbers_of_other_widths_are_refused() -> None:
    config = VtaConfig(wgt_bits=4)
    with pytest.raises(VtaError, match="wgt 4"):
        Simulator(asm.program([asm.finish()], config, []))


def test_more_memory_than_there_is() -> None:
    region = asm.region("s", RegionRole.SCRATCH, 0, size=1 << 62)
    with pytest.raises(VtaError, match="more memory than there is"):
        Simulator(asm.program([asm.finish()], CONFIG, [region])).run([])


def test_fields_that_do_not_fit_are_refused() -> None:
    config = VtaConfig(inp_depth=1 << 20, wgt_depth=1 << 20, acc_depth=1 << 20)
    words = np.array([[2, 0], [3, 0]], np.uint64)
    with pytest.raises(VtaError, match="do not fit into 2 words of 64 bits"):
        Simulator(VtaProgram(config, words, ()))


def test_wrong_inputs() -> None:
    program = make([*LOADS, STORE])
    with pytest.raises(InputError, match=r"has the inputs \['x'\], found \['z'\]"):
        simulate(program, {"z": np.zeros(64, np.int8)})
    with pytest.raises(InputError, match=r"input 'x' is int8\[64\], found int8\[63\]"):
        simulate(program, {"x": np.zeros(63, np.int8)})
    with pytest.raises(InputError, match=r"input 'x' is int8\[64\], found uint8\[64\]"):
        Simulator(program).run([np.zeros(64, np.uint8)])


def test_transfers_of_nothing_touch_nothing() -> None:
    """Only their flags count, wherever their addresses are."""
    nothing = [asm.load(INP, 60000, 1 << 31, 9, 0, 7), asm.store(60000, 1 << 31, 9, 0, 7)]
    run([*LOADS, *nothing, asm.load(ACC_8BIT, 3, 9, 0, 1), asm.store(3, 9, 0, 1), STORE])


def test_errors_are_those_of_the_package() -> None:
    assert issubclass(VtaError, GlowError)
