"""Instructions and micro-ops as words: bit by bit, and back."""

from __future__ import annotations

import ctypes
import re
from random import Random

import numpy as np
import pytest
from glow.context import make_context
from glow.errors import CompileError
from glow.glow_dialects.vta import (
    DEFAULT,
    AluOp,
    AluOpcode,
    FinishOp,
    GemmOp,
    LoadOp,
    MicroOpsOp,
    VtaConfig,
    VtaInstruction,
    VtaMemory,
    contents,
)
from glow.lowering.vta.decode import decode_instructions, decode_micro_ops, decode_program
from glow.lowering.vta.encode import (
    encode_instructions,
    encode_micro_ops,
    encode_program,
    pack_micro_ops,
)
from glow.tests.support.vta_programs import CONFIGS, RandomProgram
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

CONTEXT = make_context()
PROGRAMS = given(st.integers(0, 2**32), st.sampled_from(CONFIGS), st.integers(0, 12))
COMMON = [("opcode", 3), ("pop_prev", 1), ("pop_next", 1), ("push_prev", 1), ("push_next", 1)]


def log2(n: int) -> int:
    return n.bit_length() - 1


def structure(fields: list[tuple[str, int]], word: type = ctypes.c_uint64) -> type:
    """Returns a C structure of bit-fields."""
    members = [(n, ctypes.c_int64 if n == "imm" else word, width) for n, width in fields]
    return type("Bits", (ctypes.Structure,), {"_fields_": members})


def memory_structure(c: VtaConfig) -> type:
    pads = ("y_pad_0", "y_pad_1", "x_pad_0", "x_pad_1")
    return structure(
        [
            *COMMON,
            *(("memory_type", 3), ("sram_base", c.sram_base_bits), ("dram_base", c.dram_base_bits)),
            *(("y_size", c.size_bits), ("x_size", c.size_bits), ("x_stride", c.stride_bits)),
            *((pad, c.pad_bits) for pad in pads),
        ]
    )


def loop_fields(c: VtaConfig) -> list[tuple[str, int]]:
    uop, acc = log2(c.uop_depth), log2(c.acc_depth)
    return [
        *COMMON,
        *(("reset", 1), ("uop_bgn", uop), ("uop_end", uop + 1)),
        *(("iter_out", c.loop_bits), ("iter_in", c.loop_bits)),
        *(("dst_factor_out", acc), ("dst_factor_in", acc)),
    ]


def gemm_structure(c: VtaConfig) -> type:
    inp, wgt = log2(c.inp_depth), log2(c.wgt_depth)
    return structure(
        [
            *loop_fields(c),
            *(("src_factor_out", inp), ("src_factor_in", inp)),
            *(("wgt_factor_out", wgt), ("wgt_factor_in", wgt)),
        ]
    )


def alu_structure(c: VtaConfig) -> type:
    acc = log2(c.acc_depth)
    return structure(
        [
            *loop_fields(c),
            *(("src_factor_out", acc), ("src_factor_in", acc)),
            *(("alu_opcode", 3), ("use_imm", 1), ("imm", c.imm_bits)),
        ]
    )


STRUCTURES = {"vta.load": memory_structure, "vta.store": memory_structure,
              "vta.gemm": gemm_structure, "vta.alu": alu_structure,
              "vta.finish": lambda _: structure(COMMON)}  # fmt: skip


def c_words(op: VtaInstruction, config: VtaConfig) -> list[int]:
    """Returns the two words of an instruction, as a C compiler packs them."""
    bits = STRUCTURES[op.name](config)(**op.fields(config))
    raw = bytes(bits).ljust(16, b"\0")
    assert len(raw) == 16
    return np.frombuffer(raw, "<u8").tolist()


@PROGRAMS
@settings(deadline=None, max_examples=60)
def test_words_are_those_of_c_bit_fields(seed: int, config: VtaConfig, length: int) -> None:
    function = RandomProgram(seed, config).build(length)
    function.verify()
    instructions = contents(function)[1]
    expected = [c_words(op, config) for op in instructions]
    np.testing.assert_array_equal(encode_program(function), np.array(expected, np.uint64))


@PROGRAMS
@settings(deadline=None, max_examples=80)
def test_programs_come_back(seed: int, config: VtaConfig, length: int) -> None:
    function = RandomProgram(seed, config).build(length)
    words = encode_program(function)
    regions = [op.clone() for op in contents(function)[0]]
    found = decode_program(words, config, regions)
    found.verify()
    # what moves nothing has no place in a region
    assert described(found) == described(function)
    np.testing.assert_array_equal(encode_program(found), words)


def described(function: func.FuncOp) -> list[str]:
    lines = str(ModuleOp([function.clone()])).splitlines()
    return [re.sub(r" (from|to) \S+ (size \[\d+, 0\])", r" \2", line) for line in lines]


@PROGRAMS
@settings(deadline=None, max_examples=25)
def test_text_comes_back(seed: int, config: VtaConfig, length: int) -> None:
    module = ModuleOp([RandomProgram(seed, config).build(length)])
    parsed = Parser(CONTEXT, str(module)).parse_module()
    parsed.verify()
    assert str(parsed) == str(module)
    assert parsed.is_structurally_equivalent(module)


@given(st.integers(0, 2**32), st.sampled_from(CONFIGS), st.integers(1, 50))
@settings(deadline=None, max_examples=40)
def test_micro_ops_are_those_of_c_bit_fields(seed: int, config: VtaConfig, count: int) -> None:
    c = config
    depths = (c.acc_depth, max(c.acc_depth, c.inp_depth), c.wgt_depth)
    random = Random(seed)
    triples = [[random.randrange(d) for d in depths] for _ in range(count)]
    word = ctypes.c_uint64 if c.uop_bits == 64 else ctypes.c_uint32
    bits = structure(list(zip(("dst", "src", "wgt"), map(log2, depths), strict=True)), word)
    expected = b"".join(bytes(bits(*triple)) for triple in triples)
    words = pack_micro_ops(np.array(triples), config)
    assert words.tobytes() == expected
    assert decode_micro_ops(words, config).tolist() == triples
    table = MicroOpsOp.of("u", 0, triples)
    np.testing.assert_array_equal(encode_micro_ops(table, config), words)


def test_the_example_of_the_specification() -> None:
    """Field positions of the default configuration, spelled out."""
    gemm = GemmOp.of((0x1001, 0x2000), (0x2AAA, 0x1555), (0x555, 0x2AA), (1, 2), (0x201, 0x3FF))
    ((low, high),) = encode_instructions([gemm], DEFAULT).tolist()
    assert low == 2 | 0x1001 << 8 | 0x2000 << 21 | 0x2AAA << 35 | 0x1555 << 49
    assert high == 0x555 | 0x2AA << 11 | 1 << 22 | 2 << 33 | 0x201 << 44 | 0x3FF << 54
    alu = AluOp.of(AluOpcode.SHR, (0, 1), imm=-1)
    ((low, high),) = encode_instructions([alu], DEFAULT).tolist()
    assert low == 4 | 1 << 21 | 1 << 35 | 1 << 49
    assert high == 3 << 44 | 1 << 47 | 0xFFFF << 48
    load = LoadOp.of(VtaMemory.INP, 0x1234, None, 0x89ABCDEF, 3, 4, 5, (1, 2, 3, 4))
    ((low, high),) = encode_instructions([load], DEFAULT).tolist()
    assert low == 2 << 7 | 0x1234 << 10 | 0x89ABCDEF << 26
    assert high == 3 | 4 << 16 | 5 << 32 | 1 << 48 | 2 << 52 | 3 << 56 | 4 << 60


def test_numbers_that_do_not_fit_name_the_instruction() -> None:
    ops = [FinishOp.of(), GemmOp.of((0, 1)), GemmOp.of((0, 1), (16384, 1))]
    with pytest.raises(
        CompileError, match=r"instruction 2 \(vta.gemm\): expected iter_out .*16384"
    ):
        encode_instructions(ops, DEFAULT)
    with pytest.raises(CompileError, match="micro-ops, number 1: expected wgt from 0 to 1023"):
        pack_micro_ops(np.array([[0, 0, 0], [0, 0, 1024]]), DEFAULT)


def test_fields_that_do_not_fit_are_refused() -> None:
    wide = VtaConfig(acc_depth=8192)
    with pytest.raises(CompileError, match="GEMM do not fit into 2 x 64 bits: no room for"):
        encode_instructions([GemmOp.of((0, 1))], wide)
    with pytest.raises(CompileError, match="micro-op do not fit"):
        pack_micro_ops(np.zeros((1, 3), np.int64), wide)
    with pytest.raises(CompileError, match="GEMM do not fit"):
        decode_instructions(np.array([[2, 0]], np.uint64), wide)
    with pytest.raises(CompileError, match="8, 16, 32 or 64 bits, found 40"):
        pack_micro_ops(np.zeros((1, 3), np.int64), VtaConfig(uop_bits=40))
    # loads and stores are as before
    load = LoadOp.of(VtaMemory.INP, 0, None, 0, 1, 1)
    assert (
        encode_instructions([load], wide).tolist() == encode_instructions([load], DEFAULT).tolist()
    )


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (5, 0, "instruction 1: there is no opcode 5"),
        (0 | 6 << 7, 1 << 16, "instruction 1: no instruction loads memory type 6"),
        (0 | 4 << 7, 1 << 16, "instruction 1: no instruction loads memory type 4"),
        (1 | 2 << 7, 1 << 16, "instruction 1: no instruction stores memory type 2"),
        (1 | 4 << 7, 1 << 16 | 1 << 60, "instruction 1: a STORE has no padding"),
        (4, 5 << 44, "instruction 1: there is no ALU opcode 5"),
        (0 | 1 << 3 | 2 << 7, 0, "instruction 1: pop_prev is set, but load has no such neighbour"),
        (1 | 1 << 6 | 4 << 7, 0, "instruction 1: push_next is set, but store has no"),
    ],
)
def test_words_without_meaning_are_refused(low: int, high: int, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        decode_instructions(np.array([[3, 0], [low, high]], np.uint64), DEFAULT)


def test_bits_without_meaning_are_dropped() -> None:
    words = np.array([[3 | 0xFF << 8, 7], [4 | 1 << 7, 9 << 48]], np.uint64)
    ops = decode_instructions(words, DEFAULT)
    assert encode_instructions(ops, DEFAULT).tolist() == [[3, 0], [4, 0]]
