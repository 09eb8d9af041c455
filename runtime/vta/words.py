"""
The binary words of VTA programs: 128-bit instructions and 32-bit micro-ops.

This decoder shares nothing with the encoder in `lowering/vta`, so that a mistake in either shows.
Fields are packed from bit 0 up; the widths of some follow from the depths of the buffers.
Source: the instruction set of VTA 0.0.2 (Apache TVM's `tvm-vta`, `include/vta/hw_spec.h`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from ...errors import GlowError
from ...glow_dialects.vta.config import VtaConfig
from ...table import Table


class VtaError(GlowError):
    """A VTA program that the machine cannot execute. Names the instruction."""


class Engine(IntEnum):
    """The three engines, in the order of the chain in which neighbours exchange tokens."""

    LOAD = 0
    COMPUTE = 1
    STORE = 2


class MemoryCode(IntEnum):
    """The memory types of LOAD and STORE."""

    UOP = 0
    WGT = 1
    INP = 2
    ACC = 3
    OUT = 4
    ACC_8BIT = 5
    """int8 in DRAM, widened to int32 in ACC."""


class AluOp(IntEnum):
    MIN = 0
    MAX = 1
    ADD = 2
    SHR = 3
    MUL = 4


POP_PREV, POP_NEXT, PUSH_PREV, PUSH_NEXT = 1, 2, 4, 8
"""Bits of `flags` of an instruction."""

_FLAG_NAMES = {
    POP_PREV: "pop_prev",
    POP_NEXT: "pop_next",
    PUSH_PREV: "push_prev",
    PUSH_NEXT: "push_next",
}
_LOAD, _STORE, _GEMM, _FINISH, _ALU = range(5)
_OPCODE_BITS = 3
_FLAGS_BITS = 4


class Transfer(NamedTuple):
    """LOAD or STORE: `y_size` rows of `x_size` elements, with a pitch of `x_stride` in DRAM."""

    number: int
    flags: int
    store: bool
    memory: MemoryCode
    sram_base: int
    dram_base: int
    """The DRAM address in elements of `memory`."""
    y_size: int
    x_size: int
    x_stride: int
    y_pad_0: int
    y_pad_1: int
    x_pad_0: int
    x_pad_1: int

    @property
    def engine(self) -> Engine:
        if self.store:
            return Engine.STORE
        return Engine.LOAD if self.memory in (MemoryCode.INP, MemoryCode.WGT) else Engine.COMPUTE

    @property
    def width(self) -> int:
        """Elements of a row in the scratchpad."""
        return self.x_pad_0 + self.x_size + self.x_pad_1

    @property
    def height(self) -> int:
        return self.y_pad_0 + self.y_size + self.y_pad_1

    def __str__(self) -> str:
        name = "STORE" if self.store else "LOAD"
        pads = (self.y_pad_0, self.y_pad_1, self.x_pad_0, self.x_pad_1)
        return (
            f"{name} {self.memory.name} sram={self.sram_base} dram={self.dram_base} "
            f"size={self.y_size}x{self.x_size} stride={self.x_stride}"
            + (" pad={}:{},{}:{}".format(*pads) if any(pads) else "")
            + _flag_text(self.flags)
        )


class Gemm(NamedTuple):
    """Matrix products, or with `reset` zeros, over two loops around a range of micro-ops."""

    number: int
    flags: int
    reset: int
    uop_begin: int
    uop_end: int
    iter_out: int
    iter_in: int
    dst_out: int
    dst_in: int
    src_out: int
    src_in: int
    wgt_out: int
    wgt_in: int

    @property
    def engine(self) -> Engine:
        return Engine.COMPUTE

    @property
    def iterations(self) -> int:
        """The number of times that each micro-op is executed."""
        return self.iter_out * self.iter_in * max(self.uop_end - self.uop_begin, 0)

    def __str__(self) -> str:
        return (
            f"GEMM{' reset' if self.reset else ''} uop={self.uop_begin}:{self.uop_end} "
            f"iter={self.iter_out}x{self.iter_in} dst={self.dst_out},{self.dst_in} "
            f"src={self.src_out},{self.src_in} wgt={self.wgt_out},{self.wgt_in}"
            + _flag_text(self.flags)
        )


class Alu(NamedTuple):
    """Element-wise operations on ACC, over two loops around a range of micro-ops."""

    number: int
    flags: int
    reset: int
    """A field without meaning for ALU instructions."""
    uop_begin: int
    uop_end: int
    iter_out: int
    iter_in: int
    dst_out: int
    dst_in: int
    src_out: int
    src_in: int
    op: AluOp
    use_imm: int
    imm: int

    @property
    def engine(self) -> Engine:
        return Engine.COMPUTE

    @property
    def iterations(self) -> int:
        """The number of times that each micro-op is executed."""
        return self.iter_out * self.iter_in * max(self.uop_end - self.uop_begin, 0)

    def __str__(self) -> str:
        source = f"imm={self.imm}" if self.use_imm else f"src={self.src_out},{self.src_in}"
        return (
            f"ALU {self.op.name} uop={self.uop_begin}:{self.uop_end} "
            f"iter={self.iter_out}x{self.iter_in} dst={self.dst_out},{self.dst_in} {source}"
            + _flag_text(self.flags)
        )


class Finish(NamedTuple):
    """The end of a program."""

    number: int
    flags: int

    @property
    def engine(self) -> Engine:
        return Engine.COMPUTE

    def __str__(self) -> str:
        return "FINISH" + _flag_text(self.flags)


Instruction = Transfer | Gemm | Alu | Finish


def _flag_text(flags: int) -> str:
    return "".join(f" {name}" for bit, name in _FLAG_NAMES.items() if flags & bit)


def error_at(instruction: Instruction, what: str) -> VtaError:
    """Returns the error that an instruction causes, with its number and text."""
    return VtaError(f"instruction {instruction.number} ({instruction}): {what}")


def decode_instructions(words: np.ndarray, config: VtaConfig) -> list[Instruction]:
    """
    Returns the instructions of a program, from its words: `uint64[N, 2]`, the low word first.

    Raises VtaError for words that encode no instruction.
    """
    opcodes = words[:, 0] & np.uint64((1 << _OPCODE_BITS) - 1)
    found: list[Instruction | None] = [None] * len(words)
    for opcode, decode in _DECODERS.items():
        (numbers,) = np.nonzero(opcodes == opcode)
        if numbers.size:
            for instruction in decode(words[numbers], numbers.tolist(), config):
                found[instruction.number] = instruction
    return [_decoded(i, number, words) for number, i in enumerate(found)]


def _decoded(found: Instruction | None, number: int, words: np.ndarray) -> Instruction:
    if found is not None:
        return found
    low, high = (int(w) for w in words[number])
    raise VtaError(
        f"instruction {number} ({high:016x} {low:016x}): there is no opcode {low & 7}; "
        "LOAD is 0, STORE 1, GEMM 2, FINISH 3, ALU 4"
    )


_Fields = list[list[int]]
_Decoder = Callable[[np.ndarray, list[int], VtaConfig], list[Instruction]]
_DECODERS: Table[int, _Decoder] = Table("a decoder")
"""The decoders by opcode."""


def _unpacked(words: np.ndarray, bits: int, widths: Sequence[int]) -> list[np.ndarray]:
    """
    Returns unsigned fields of structures `uint64[N, words]`, packed from bit 0 up as C packs
    bit-fields: a field that does not fit into the rest of a word of `bits` bits begins the next
    one.
    """
    found = []
    word = position = 0
    for width in widths:
        if position + width > bits:
            word, position = word + 1, 0
        if word >= words.shape[1] or width > bits:
            raise VtaError(
                f"the fields of this configuration, of {sum(widths)} bits, do not fit into "
                f"{words.shape[1]} words of {bits} bits"
            )
        found.append((words[:, word] >> np.uint64(position)) & np.uint64((1 << width) - 1))
        position += width
    return found


def _fields(words: np.ndarray, *widths: int) -> _Fields:
    """Returns the flags, and then fields of these widths, each as the list of its values."""
    found = _unpacked(words, 64, (_OPCODE_BITS, _FLAGS_BITS, *widths))[1:]
    return [column.tolist() for column in found]


@_DECODERS.entry(_LOAD, _STORE)
def _transfers(words: np.ndarray, numbers: list[int], config: VtaConfig) -> list[Instruction]:
    size, pad = config.size_bits, config.pad_bits
    flags, memories, *rest = _fields(
        words,
        3,
        config.sram_base_bits,
        config.dram_base_bits,
        *(size, size, config.stride_bits),
        *(pad, pad, pad, pad),
    )
    stores = ((words[:, 0] & np.uint64(7)) == _STORE).tolist()
    known = {int(m): m for m in MemoryCode}
    found: list[Instruction] = []
    for number, store, flag, memory, *fields in zip(
        numbers, stores, flags, memories, *rest, strict=True
    ):
        if memory not in known:
            name = "STORE" if store else "LOAD"
            raise VtaError(f"instruction {number} ({name}): there is no memory type {memory}")
        found.append(Transfer(number, flag, store, known[memory], *fields))
    return found


def _index_bits(config: VtaConfig) -> tuple[int, int, int, int]:
    """Returns the bits of the numbers of elements in UOP, ACC, INP, WGT."""
    depths = (config.uop_depth, config.acc_depth, config.inp_depth, config.wgt_depth)
    uop, acc, inp, wgt = (depth.bit_length() - 1 for depth in depths)
    return uop, acc, inp, wgt


def _loop_widths(config: VtaConfig) -> tuple[int, ...]:
    """Resets, begin and end of the micro-ops, the iteration counts, and the steps of dst."""
    uop, acc, _, _ = _index_bits(config)
    return (1, uop, uop + 1, config.loop_bits, config.loop_bits, acc, acc)


@_DECODERS.entry(_GEMM)
def _gemms(words: np.ndarray, numbers: list[int], config: VtaConfig) -> list[Instruction]:
    _, _, inp, wgt = _index_bits(config)
    columns = _fields(words, *_loop_widths(config), inp, inp, wgt, wgt)
    return [Gemm._make(row) for row in zip(numbers, *columns, strict=True)]


@_DECODERS.entry(_ALU)
def _alus(words: np.ndarray, numbers: list[int], config: VtaConfig) -> list[Instruction]:
    _, acc, _, _ = _index_bits(config)
    columns = _fields(words, *_loop_widths(config), acc, acc, 3, 1, config.imm_bits)
    known = {int(op): op for op in AluOp}
    sign = 1 << (config.imm_bits - 1)
    found: list[Instruction] = []
    for number, *fields, op, use_imm, imm in zip(numbers, *columns, strict=True):
        if op not in known:
            raise VtaError(f"instruction {number} (ALU): there is no ALU opcode {op}")
        found.append(Alu._make((number, *fields, known[op], use_imm, (imm ^ sign) - sign)))
    return found


@_DECODERS.entry(_FINISH)
def _finishes(words: np.ndarray, numbers: list[int], config: VtaConfig) -> list[Instruction]:
    (flags,) = _fields(words)
    return [Finish(number, flag) for number, flag in zip(numbers, flags, strict=True)]


def decode_micro_ops(words: np.ndarray, config: VtaConfig) -> tuple[np.ndarray, ...]:
    """Returns indices (dst, src, wgt) of micro-ops `uint32[N]`, each `int64[N]`."""
    _, acc, inp, wgt = _index_bits(config)
    wide = words.astype(np.uint64).reshape(-1, 1)
    return tuple(f.astype(np.int64) for f in _unpacked(wide, 32, (acc, max(acc, inp), wgt)))


def element_bytes(config: VtaConfig, memory: MemoryCode) -> int:
    """Returns bytes of an element in DRAM, in which DRAM is addressed for this memory type."""
    inputs, outputs = config.batch * config.block_in, config.batch * config.block_out
    return {
        MemoryCode.UOP: 4,
        MemoryCode.WGT: config.block_out * config.block_in,
        MemoryCode.INP: inputs,
        MemoryCode.ACC: outputs * 4,
        MemoryCode.OUT: outputs,
        MemoryCode.ACC_8BIT: outputs,
    }[memory]
