"""Conversion of the tile registers of `glow_vec` to x86's intrinsics, whose tiles are numbers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from ...glow_dialects import glow_vec
from ...glow_dialects.glow_vec import TileProduct
from .function import FunctionConverter, converts
from .memory import STACK_ALIGNMENT, element_address, store
from .types import dense_attr, i8, vector_of

_CONFIGURATION = 64
"""Bytes of a configuration."""
_PALETTE = 1
"""The first byte of a configuration; palette 1 is eight tiles of up to 1 KiB."""
_WIDTHS, _ROWS = 16, 48
"""
The bytes of a configuration that hold the 16-bit widths in bytes and the 8-bit numbers of rows.
"""

_DOTS = {
    TileProduct.I8_I8: "tdpbssd",
    TileProduct.I8_U8: "tdpbsud",
    TileProduct.U8_I8: "tdpbusd",
    TileProduct.U8_U8: "tdpbuud",
    TileProduct.BF16: "tdpbf16ps",
}


def _call(fn: FunctionConverter, name: str, operands: Sequence[SSAValue]) -> None:
    fn.add(llvm.CallIntrinsicOp(f"llvm.x86.{name}", operands, []))


def _tiles(fn: FunctionConverter, *tiles: IntegerAttr) -> list[SSAValue]:
    return [fn.number(t.value.data, i8) for t in tiles]


@converts(glow_vec.TileConfigureOp)
def convert_configure(op: glow_vec.TileConfigureOp, fn: FunctionConverter) -> None:
    content = [0] * _CONFIGURATION
    content[0] = _PALETTE
    for i, (rows, width) in enumerate(
        zip(op.rows.get_values(), op.bytes.get_values(), strict=True)
    ):
        content[_ROWS + i], content[_WIDTHS + 2 * i] = rows, width
    t = vector_of(i8, _CONFIGURATION)
    pointer = fn.alloca(i8, _CONFIGURATION, STACK_ALIGNMENT)
    store(fn, fn.constant(dense_attr(content, t), t), pointer, i8)
    _call(fn, "ldtilecfg", (pointer,))


@converts(glow_vec.TileReleaseOp)
def convert_release(op: glow_vec.TileReleaseOp, fn: FunctionConverter) -> None:
    _call(fn, "tilerelease", ())


@converts(glow_vec.TileZeroOp)
def convert_zero(op: glow_vec.TileZeroOp, fn: FunctionConverter) -> None:
    _call(fn, "tilezero", _tiles(fn, op.tile))


@converts(glow_vec.TileLoadOp)
def convert_load(op: glow_vec.TileLoadOp, fn: FunctionConverter) -> None:
    _access(fn, op, "tileloadd64")


@converts(glow_vec.TileStoreOp)
def convert_store(op: glow_vec.TileStoreOp, fn: FunctionConverter) -> None:
    _access(fn, op, "tilestored64")


def _access(
    fn: FunctionConverter, op: glow_vec.TileLoadOp | glow_vec.TileStoreOp, name: str
) -> None:
    pointer = element_address(fn, op.base, op.indices, op)
    _call(fn, name, (*_tiles(fn, op.tile), pointer, fn.number(op.stride.value.data)))


@converts(glow_vec.TileDotOp)
def convert_dot(op: glow_vec.TileDotOp, fn: FunctionConverter) -> None:
    _call(fn, _DOTS[op.product.data], _tiles(fn, op.acc, op.lhs, op.rhs))
