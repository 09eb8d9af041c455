"""
The fields of instructions and micro-ops, and where their bits are.

Fields fill words of 64 bits (micro-ops: of `uop_bits`) from bit 0 up, as C bit-fields do: a field
that does not fit into the rest of a word begins the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from .config import (
    ALU_OPCODE_BITS,
    MEMORY_TYPE_BITS,
    OPCODE_BITS,
    WORD_BITS,
    WORDS,
    VtaConfig,
)

FLAGS = ("pop_prev", "pop_next", "push_prev", "push_next")


@dataclass(frozen=True)
class Field:
    """`width` bits from bit `shift` of word `word` on."""

    name: str
    width: int
    word: int
    shift: int
    signed: bool = False

    @property
    def low(self) -> int:
        """The smallest number that fits."""
        return -(1 << (self.width - 1)) if self.signed else 0

    @property
    def high(self) -> int:
        """The largest number that fits."""
        return (1 << (self.width - self.signed)) - 1


Layout = dict[str, Field]
"""Fields by name, in the order of their bits."""

_SIGNED = {"imm"}


def _common() -> list[tuple[str, int]]:
    return [("opcode", OPCODE_BITS), *((flag, 1) for flag in FLAGS)]


def _loop(config: VtaConfig) -> list[tuple[str, int]]:
    uop, acc = config.log_uop_depth, config.log_acc_depth
    return [
        ("reset", 1),
        ("uop_bgn", uop),
        ("uop_end", uop + 1),
        ("iter_out", config.loop_bits),
        ("iter_in", config.loop_bits),
        ("dst_factor_out", acc),
        ("dst_factor_in", acc),
    ]


def _place(what: str, widths: list[tuple[str, int]], bits: int, words: int) -> Layout:
    """Raises ValueError if the fields need more than `words` words of `bits` bits."""
    layout: Layout = {}
    word = shift = 0
    for name, width in widths:
        if width > bits:
            raise ValueError(f"{name} of {what} takes {width} bits, but a word has {bits}")
        if shift + width > bits:
            word, shift = word + 1, 0
        layout[name] = Field(name, width, word, shift, name in _SIGNED)
        shift += width
    if word >= words:
        last = next(name for name, field in layout.items() if field.word >= words)
        raise ValueError(
            f"the fields of {what} do not fit into {words} x {bits} bits: "
            f"no room for {last}; choose smaller buffers or narrower fields"
        )
    return layout


@cache
def generic_layout() -> Layout:
    """
    Returns the opcode and the four flags, with which every instruction begins; FINISH has no more.
    """
    return _place("an instruction", _common(), WORD_BITS, WORDS)


@cache
def memory_layout(config: VtaConfig) -> Layout:
    """Returns the layout of LOAD and STORE. Raises ValueError if the fields do not fit."""
    size, pad = config.size_bits, config.pad_bits
    own = [
        ("memory_type", MEMORY_TYPE_BITS),
        ("sram_base", config.sram_base_bits),
        ("dram_base", config.dram_base_bits),
        ("y_size", size),
        ("x_size", size),
        ("x_stride", config.stride_bits),
        *((name, pad) for name in ("y_pad_0", "y_pad_1", "x_pad_0", "x_pad_1")),
    ]
    return _place("LOAD and STORE", [*_common(), *own], WORD_BITS, WORDS)


@cache
def gemm_layout(config: VtaConfig) -> Layout:
    """Returns the layout of GEMM. Raises ValueError if the fields do not fit."""
    inp, wgt = config.log_inp_depth, config.log_wgt_depth
    own = [
        ("src_factor_out", inp),
        ("src_factor_in", inp),
        ("wgt_factor_out", wgt),
        ("wgt_factor_in", wgt),
    ]
    return _place("GEMM", [*_common(), *_loop(config), *own], WORD_BITS, WORDS)


@cache
def alu_layout(config: VtaConfig) -> Layout:
    """Returns the layout of ALU. Raises ValueError if the fields do not fit."""
    acc = config.log_acc_depth
    own = [
        ("src_factor_out", acc),
        ("src_factor_in", acc),
        ("alu_opcode", ALU_OPCODE_BITS),
        ("use_imm", 1),
        ("imm", config.imm_bits),
    ]
    return _place("ALU", [*_common(), *_loop(config), *own], WORD_BITS, WORDS)


@cache
def micro_op_layout(config: VtaConfig) -> Layout:
    """Returns a micro-op. Raises ValueError if the fields do not fit."""
    widths = [
        ("dst", config.log_acc_depth),
        # activations for GEMM, accumulators for ALU
        ("src", max(config.log_acc_depth, config.log_inp_depth)),
        ("wgt", config.log_wgt_depth),
    ]
    return _place("a micro-op", widths, config.uop_bits, 1)
