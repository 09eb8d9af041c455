"""
Tile registers: eight small matrices and products of them (x86's AMX).

A tile has up to 16 rows of up to 64 bytes. `glow_vec.tile_configure` says how many of each tile are
used and clears all; `glow_vec.tile_release` ends their use. In between, tiles are named by number,
0 to 7, and belong to the thread. A process needs the permission of the operating system before its
first tile (see `lowering.host_machine`).

Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexTypeConstr,
    IntegerAttr,
    MemRefType,
    bf16,
    f32,
    i8,
    i32,
    i64,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Operation, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

TILES = 8
TILE_ROWS = 16
TILE_BYTES = 64
"""The bytes of a row."""
QUAD = 4
"""Bytes whose products a lane adds in one step."""


class TileProduct(StrEnum):
    """The element types of the two factors of `glow_vec.tile_dot`, left then right."""

    I8_I8 = "i8_i8"
    I8_U8 = "i8_u8"
    U8_I8 = "u8_i8"
    U8_U8 = "u8_u8"
    BF16 = "bf16"


@irdl_attr_definition
class TileProductAttr(EnumAttribute[TileProduct], SpacedOpaqueSyntaxAttribute):
    name = "glow_vec.tile_product"


def _number(tile: int) -> IntegerAttr:
    return IntegerAttr(tile, i64)


def _expect_tiles(*tiles: IntegerAttr) -> None:
    for tile in tiles:
        if not 0 <= tile.value.data < TILES:
            raise VerifyException(f"expected a tile of 0 to {TILES - 1}, found {tile.value.data}")


@irdl_op_definition
class TileConfigureOp(IRDLOperation):
    """
    Gives tile i `rows[i]` rows of `bytes[i]` bytes (both 0 for a tile that is not used) and sets
    all of them to zero.

    ```mlir
    glow_vec.tile_configure {rows = array<i64: 16, 14, 16, 0, 0, 0, 0, 0>,
                             bytes = array<i64: 64, 64, 64, 0, 0, 0, 0, 0>}
    ```
    """

    name = "glow_vec.tile_configure"

    rows = prop_def(DenseArrayBase.constr(i64))
    bytes = prop_def(DenseArrayBase.constr(i64))

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"

    def __init__(self, rows: Sequence[int], bytes: Sequence[int]):
        properties = {"rows": rows, "bytes": bytes}
        super().__init__(
            properties={n: DenseArrayBase.from_list(i64, v) for n, v in properties.items()}
        )

    def verify_(self) -> None:
        rows, widths = self.rows.get_values(), self.bytes.get_values()
        if len(rows) != TILES or len(widths) != TILES:
            raise VerifyException(f"expected rows and bytes of {TILES} tiles")
        for count, width in zip(rows, widths, strict=True):
            used = 0 < count <= TILE_ROWS and 0 < width <= TILE_BYTES and width % QUAD == 0
            if not used and (count, width) != (0, 0):
                raise VerifyException(
                    f"expected up to {TILE_ROWS} rows of up to {TILE_BYTES} bytes, a multiple of "
                    f"{QUAD}, found {count} rows of {width} bytes"
                )


@irdl_op_definition
class TileReleaseOp(IRDLOperation):
    """
    Ends the use of tiles, which then need not be saved when threads take turns.

    ```mlir
    glow_vec.tile_release
    ```
    """

    name = "glow_vec.tile_release"

    assembly_format = "attr-dict"

    def __init__(self):
        super().__init__()


@irdl_op_definition
class TileZeroOp(IRDLOperation):
    """
    Sets a tile to zero.

    ```mlir
    glow_vec.tile_zero 0
    ```
    """

    name = "glow_vec.tile_zero"

    tile = prop_def(IntegerAttr.constr(i64))

    assembly_format = "$tile attr-dict"

    def __init__(self, tile: int):
        super().__init__(properties={"tile": _number(tile)})

    def verify_(self) -> None:
        _expect_tiles(self.tile)


class _Access(IRDLOperation):
    """Rows of a tile from or to memory."""

    tile = prop_def(IntegerAttr.constr(i64))
    stride = prop_def(IntegerAttr.constr(i64))
    base = operand_def(MemRefType)
    indices = var_operand_def(IndexTypeConstr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$tile `,` $base `[` $indices `]` attr-dict `:` type($base)"

    def __init__(
        self, tile: int, base: SSAValue, indices: Sequence[SSAValue | Operation], stride: int
    ):
        super().__init__(
            operands=[base, indices],
            properties={"tile": _number(tile), "stride": IntegerAttr(stride, i64)},
        )

    def verify_(self) -> None:
        _expect_tiles(self.tile)
        t = cast(MemRefType, self.base.type)
        if t.element_type not in (i8, i32, f32, bf16):
            raise VerifyException(f"expected elements of i8, i32, f32 or bf16, found {t}")
        if len(self.indices) != t.get_num_dims():
            raise VerifyException(
                f"expected {t.get_num_dims()} indices for {t}, found {len(self.indices)}"
            )


@irdl_op_definition
class TileLoadOp(_Access):
    """
    Loads a tile: row i lies `i * stride` bytes after an element and has as many bytes as the
    configuration states.

    ```mlir
    glow_vec.tile_load 4, %x[%i] {stride = 128 : i64} : memref<4096xi8>
    ```
    """

    name = "glow_vec.tile_load"


@irdl_op_definition
class TileStoreOp(_Access):
    """
    Stores a tile, row i `i * stride` bytes after an element.

    ```mlir
    glow_vec.tile_store 0, %s[%i] {stride = 64 : i64} : memref<256xi32>
    ```
    """

    name = "glow_vec.tile_store"


@irdl_op_definition
class TileDotOp(IRDLOperation):
    """
    `acc[m, n] += sum(lhs[m, 4 * k + i] * rhs[k, 4 * n + i])` over k and i of 0 to 3, for bytes,
    with products and sums in i32 (which wrap around). For `bf16`, elements are pairs instead of
    fours, and products and sums are f32. The rows of `rhs` are as many as `lhs` has elements of
    four bytes in a row.

    ```mlir
    glow_vec.tile_dot u8_i8 0, 4, 6
    ```
    """

    name = "glow_vec.tile_dot"

    product = prop_def(TileProductAttr)
    acc = prop_def(IntegerAttr.constr(i64))
    lhs = prop_def(IntegerAttr.constr(i64))
    rhs = prop_def(IntegerAttr.constr(i64))

    assembly_format = "$product $acc `,` $lhs `,` $rhs attr-dict"

    def __init__(self, product: TileProduct, acc: int, lhs: int, rhs: int):
        super().__init__(
            properties={
                "product": TileProductAttr(product),
                "acc": _number(acc),
                "lhs": _number(lhs),
                "rhs": _number(rhs),
            }
        )

    def verify_(self) -> None:
        tiles = (self.acc, self.lhs, self.rhs)
        _expect_tiles(*tiles)
        if len({t.value.data for t in tiles}) != len(tiles):
            raise VerifyException("expected three different tiles")
