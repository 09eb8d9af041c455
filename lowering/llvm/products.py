"""
Conversion of products in `glow_vec`: dot products, and the tile registers of x86, whose tiles are
numbers in the intrinsics.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i32
from xdsl.ir import SSAValue

from ...glow_dialects import glow_vec
from ...glow_dialects import llvm_extended as lx
from ...glow_dialects.glow_vec import TileProduct
from ...glow_dialects.glow_vec.tiles import TILES
from .function import FunctionConverter, converts
from .memory import STACK_ALIGNMENT, element_address, store
from .types import dense_attr, i8, vector_of
from .vectors import lanes_of, shuffle


@converts(glow_vec.DotOp)
def convert_dot(op: glow_vec.DotOp, fn: FunctionConverter) -> None:
    acc, lhs, rhs = fn.values((op.acc, op.lhs, op.rhs))
    lanes = lanes_of(op.acc.type, op)
    if op.kind.data is glow_vec.DotKind.MADD:
        result = _sum_of_pairs(fn, acc, lhs, rhs, lanes)
    elif op.kind.data is glow_vec.DotKind.MADDUBS:
        result = _saturated_pairs(fn, acc, lhs, rhs, lanes)
    else:
        name = _DOTS[op.kind.data].format(bits=32 * lanes, lanes=lanes, bytes=4 * lanes)
        result = fn.intrinsic(name, (acc, lhs, rhs), acc.type)
    fn.define(op.result, result)


_DOTS = {
    glow_vec.DotKind.DPBF16PS: "llvm.x86.avx512bf16.dpbf16ps.{bits}",
    # LLVM takes the encoding of AVX-VNNI where it must
    glow_vec.DotKind.VPDPBUSD: "llvm.x86.avx512.vpdpbusd.{bits}",
    glow_vec.DotKind.SDOT: "llvm.aarch64.neon.sdot.v{lanes}i32.v{bytes}i8",
    glow_vec.DotKind.USDOT: "llvm.aarch64.neon.usdot.v{lanes}i32.v{bytes}i8",
}


def _sum_of_pairs(
    fn: FunctionConverter, acc: SSAValue, lhs: SSAValue, rhs: SSAValue, lanes: int
) -> SSAValue:
    """
    Returns `acc` plus the products of neighbours. LLVM recognizes the emitted operations: they
    become `pmaddwd`, or `vpdpwssd` with VNNI.
    """
    wide = vector_of(i32, 2 * lanes)
    factors = [fn.emit(llvm.SExtOp, (v,), wide) for v in (lhs, rhs)]
    products = fn.binary(llvm.MulOp, *factors)
    even, odd = (shuffle(fn, products, products, range(i, 2 * lanes, 2)) for i in (0, 1))
    return fn.binary(llvm.AddOp, acc, fn.binary(llvm.AddOp, even, odd))


def _saturated_pairs(
    fn: FunctionConverter, acc: SSAValue, lhs: SSAValue, rhs: SSAValue, lanes: int
) -> SSAValue:
    """
    Returns `acc` plus saturated sums of products of two neighbouring bytes, the first factors
    unsigned. LLVM recognizes the emitted operations: they become `pmaddubsw`.
    """
    wide = vector_of(i32, lanes)
    products = []
    for i in (0, 1):
        places = range(i, 2 * lanes, 2)
        left, right = (shuffle(fn, v, v, places) for v in (lhs, rhs))
        factors = fn.emit(llvm.ZExtOp, (left,), wide), fn.emit(llvm.SExtOp, (right,), wide)
        products.append(fn.binary(llvm.MulOp, *factors))
    total = fn.binary(llvm.AddOp, *products)
    for kind, bound in ((lx.SMaxOp, -(2**15)), (lx.SMinOp, 2**15 - 1)):
        total = fn.binary(kind, total, fn.number(bound, wide))
    return fn.binary(llvm.AddOp, acc, fn.emit(llvm.TruncOp, (total,), acc.type))


_CONFIGURATION = 64
"""Bytes of a configuration."""
_PALETTE = 1
"""The first byte of a configuration; palette 1 is eight tiles of up to 1 KiB."""
_WIDTHS, _ROWS = 16, 48
"""
The bytes of a configuration that hold the 16-bit widths in bytes and the 8-bit numbers of rows.
"""

_TILE_DOTS = {
    TileProduct.I8_I8: "tdpbssd",
    TileProduct.I8_U8: "tdpbsud",
    TileProduct.U8_I8: "tdpbusd",
    TileProduct.U8_U8: "tdpbuud",
    TileProduct.BF16: "tdpbf16ps",
}


# tile registers


def _call(fn: FunctionConverter, name: str, operands: Sequence[SSAValue]) -> None:
    fn.call(StringAttr(f"llvm.x86.{name}"), operands)


def _tiles(fn: FunctionConverter, *tiles: IntegerAttr) -> list[SSAValue]:
    return [fn.number(t.value.data, i8) for t in tiles]


@converts(glow_vec.TileConfigureOp)
def convert_configure(op: glow_vec.TileConfigureOp, fn: FunctionConverter) -> None:
    content = [0] * _CONFIGURATION
    content[0] = _PALETTE
    content[_ROWS : _ROWS + TILES] = op.rows.get_values()
    content[_WIDTHS : _WIDTHS + 2 * TILES : 2] = op.bytes.get_values()
    t = vector_of(i8, _CONFIGURATION)
    pointer = fn.alloca(i8, _CONFIGURATION, STACK_ALIGNMENT)
    store(fn, fn.constant(dense_attr(content, t), t), pointer)
    _call(fn, "ldtilecfg", (pointer,))


@converts(glow_vec.TileReleaseOp)
def convert_release(op: glow_vec.TileReleaseOp, fn: FunctionConverter) -> None:
    _call(fn, "tilerelease", ())


@converts(glow_vec.TileZeroOp)
def convert_zero(op: glow_vec.TileZeroOp, fn: FunctionConverter) -> None:
    _call(fn, "tilezero", _tiles(fn, op.tile))


@converts(glow_vec.TileLoadOp, glow_vec.TileStoreOp)
def convert_access(op: glow_vec.TileLoadOp | glow_vec.TileStoreOp, fn: FunctionConverter) -> None:
    pointer = element_address(fn, op.base, op.indices, op)
    name = "tileloadd64" if isinstance(op, glow_vec.TileLoadOp) else "tilestored64"
    _call(fn, name, (*_tiles(fn, op.tile), pointer, fn.number(op.stride.value.data)))


@converts(glow_vec.TileDotOp)
def convert_tile_dot(op: glow_vec.TileDotOp, fn: FunctionConverter) -> None:
    _call(fn, _TILE_DOTS[op.product.data], _tiles(fn, op.acc, op.lhs, op.rhs))
