"""
Layers: what a program computes on each VTA tile, before tiles and instructions are chosen.

A layer makes a part of a tensor of 8 bits, or the bytes of one of 32. Its body computes numbers of
32 bits for the elements of a tile of that tensor. A value is the contents of accumulators, which an
operator changes in place: each value has at most one use that changes it, after all others.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, StringAttr, UnitAttr
from xdsl.ir import (
    Attribute,
    Block,
    Operation,
    ParametrizedAttribute,
    Region,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from ...errors import at_operation
from .attributes import DRAM, config_of, number, numbers
from .config import VtaConfig, VtaMemory
from .dram import RegionOp
from .grid import Grid, Window, grid_of, spatial_shape
from .instruction import NUMBER, NUMBERS, values_of
from .tiles import Tiles, TilesAttr

ONE_PIXEL = Window()
"""The window of an operator without one."""


@irdl_attr_definition
class AccumulatorsType(ParametrizedAttribute, TypeAttribute):
    """`!vta.accumulators`: a number of 32 bits for each element of a tile."""

    name = "vta.accumulators"


ACCUMULATORS = AccumulatorsType()
"""The one instance."""


def region_of(value: SSAValue) -> RegionOp:
    """Returns the region that a value is. Raises VerifyException for any other value of DRAM."""
    if not isinstance(value.owner, RegionOp):
        raise VerifyException("expected the result of vta.region")
    return value.owner


def tensor_shape(value: SSAValue) -> tuple[int, int, int, int]:
    """
    Returns the shape [N, C, H, W] of the tensor that a region holds. Raises VerifyException if it
    holds none.
    """
    region = region_of(value)
    if region.array is None:
        raise VerifyException(f"expected a region with a tensor, found {region.label}")
    try:
        return spatial_shape(region.array.get_shape())
    except ValueError as e:
        raise VerifyException(f"{region.label}: {e}") from None


def grid_in(value: SSAValue, config: VtaConfig) -> Grid:
    """Returns the elements of the tensor that a region holds."""
    return grid_of(tensor_shape(value), config)


def expect_writable(value: SSAValue) -> None:
    """Raises VerifyException for a region that a program may not write to."""
    if not region_of(value).kind.data.writable:
        raise VerifyException("expected an output or scratch to write to")


def blocks_in(attribute: DenseArrayBase[IntegerType], most: int, of: str = "") -> tuple[int, int]:
    """
    Returns blocks `[first, count]` of so many. Raises VerifyException for any other attribute.
    """
    first, count = values_of(attribute, 2)
    if first < 0 or count < 1 or first + count > most:
        raise VerifyException(
            f"expected blocks [first, count] of {most}{of}, found {[first, count]}"
        )
    return first, count


def _window(attribute: DenseArrayBase[IntegerType] | None) -> Window:
    if attribute is None:
        return ONE_PIXEL
    found = Window(*values_of(attribute, len(ONE_PIXEL)))
    if min(found.kernel, found.stride, found.dilation) < 1:
        raise VerifyException(
            f"expected a window [kernel, stride, dilation, zeros before], found {list(found)}"
        )
    return found


def window_properties(rows: Window, columns: Window) -> dict[str, Attribute]:
    """Returns the properties of windows that are not a single pixel."""
    given = {"rows": rows, "columns": columns}
    return {name: numbers(*w) for name, w in given.items() if w != ONE_PIXEL}


class Windowed(IRDLOperation, abc.ABC):
    """
    The base of what has windows of rows and columns: [kernel, stride, dilation, zeros before the
    first input]; none is a single pixel.
    """

    rows = opt_prop_def(NUMBERS)
    columns = opt_prop_def(NUMBERS)

    def windows(self) -> tuple[Window, Window]:
        """Returns those of rows and columns. Raises VerifyException for what is no window."""
        return _window(self.rows), _window(self.columns)


class LayerLike(IRDLOperation, abc.ABC):
    """The base of what makes a tensor, tile by tile."""

    label = prop_def(StringAttr)
    tiles = opt_prop_def(TilesAttr)

    @property
    def chosen_tiles(self) -> Tiles | None:
        return None if self.tiles is None else self.tiles.data

    @chosen_tiles.setter
    def chosen_tiles(self, tiles: Tiles) -> None:
        self.properties["tiles"] = TilesAttr(tiles)


class InLayer(IRDLOperation, abc.ABC):
    """The base of what the body of a layer consists of."""

    @property
    def layer(self) -> LayerOp:
        parent = self.parent_op()
        assert isinstance(parent, LayerOp)
        return parent

    def changed(self) -> Sequence[SSAValue]:
        """Returns the operands whose accumulators it changes, or leaves to others."""
        return ()

    def written(self) -> Sequence[SSAValue]:
        """Returns the tensors that it writes."""
        return ()


@irdl_op_definition
class LayerOp(LayerLike):
    """
    Blocks `[first, count]` of the channels of a tensor. `vectors` is a region of accumulators, one
    for each block of channels of the tensor, vector after vector. A `flat` layer computes the
    single pixels of all images as one image. Without `tiles`, the lowering chooses them.

    ```mlir
    vta.layer "y" blocks [0, 2] {
      %0 = vta.product %x blocks [0, 1] by %w at 0 rows [3, 2, 1, 1] columns [3, 2, 1, 1]
      %1 = vta.apply shr %0 imm 4
      vta.write %1 to %y
    }
    ```
    """

    name = "vta.layer"

    blocks = prop_def(NUMBERS)
    flat = opt_prop_def(UnitAttr)
    vectors = opt_operand_def(DRAM)
    body = region_def("single_block")

    traits = traits_def(NoTerminator())
    assembly_format = (
        "$label `blocks` $blocks (`flat` $flat^)? (`vectors` $vectors^)? (`tiles` $tiles^)? "
        "$body attr-dict"
    )

    @staticmethod
    def of(
        name: str,
        blocks: tuple[int, int],
        body: Sequence[Operation],
        vectors: SSAValue | None = None,
        is_flat: bool = False,
    ) -> LayerOp:
        properties: dict[str, Attribute] = {"label": StringAttr(name), "blocks": numbers(*blocks)}
        if is_flat:
            properties["flat"] = UnitAttr()
        operands = [] if vectors is None else [vectors]
        return LayerOp.create(
            operands=operands, properties=properties, regions=[Region(Block(body))]
        )

    @property
    def is_flat(self) -> bool:
        return self.flat is not None

    def written(self) -> list[SSAValue]:
        """Returns the tensors that it writes. Raises VerifyException if there is none."""
        inner = [op for op in self.body.block.ops if isinstance(op, InLayer)]
        found = [tensor for op in inner for tensor in op.written()]
        if not found:
            raise VerifyException("expected a layer to write a tensor")
        return found

    @property
    def output(self) -> SSAValue:
        """The tensor that it writes, or the first of several."""
        return self.written()[0]

    def grid(self, tensor: SSAValue) -> Grid:
        """Returns the elements of a tensor as the layer sees them."""
        found = grid_in(tensor, config_of(self))
        return found.flat() if self.is_flat else found

    @property
    def num_vectors(self) -> int:
        """The number of vectors."""
        if self.vectors is None:
            return 0
        each = config_of(self).element_bytes(VtaMemory.ACC) * self.grid(self.output).blocks.size
        return region_of(self.vectors).num_bytes // each

    def verify_(self) -> None:
        ops = list(self.body.block.ops)
        for op in ops:
            if not isinstance(op, InLayer):
                raise at_operation(VerifyException(f"expected no {op.name} in a layer"), op)
        if len({tensor_shape(tensor) for tensor in self.written()}) > 1:
            raise VerifyException("expected tensors of the same shape to be written")
        blocks_in(self.blocks, self.grid(self.output).blocks.size)
        self._check_changes(ops)

    def _check_changes(self, ops: Sequence[Operation]) -> None:
        """Expects each value to be changed once at most, and not to be used afterwards."""
        gone: set[SSAValue] = set()
        for op in ops:
            if any(operand in gone for operand in op.operands):
                message = "expected a value that nothing has changed (vta.copy keeps one)"
                raise at_operation(VerifyException(message), op)
            assert isinstance(op, InLayer)
            changed = op.changed()
            if len(set(changed)) < len(changed):
                message = "expected two different values (vta.copy makes another)"
                raise at_operation(VerifyException(message), op)
            gone.update(changed)


@irdl_op_definition
class MaxPoolOp(LayerLike, Windowed):
    """
    The largest number of each window of rows and columns, of all channels of a tensor. Windows are
    those of `vta.product`; padding counts as `least`, the least number that occurs.

    ```mlir
    vta.max_pool "y" of %x to %y rows [3, 2, 1, 1] columns [3, 2, 1, 1] least -128
    ```
    """

    name = "vta.max_pool"

    source = operand_def(DRAM)
    output = operand_def(DRAM)
    least = prop_def(NUMBER)

    assembly_format = (
        "$label `of` $source `to` $output (`rows` $rows^)? (`columns` $columns^)? `least` $least "
        "(`tiles` $tiles^)? attr-dict"
    )

    @staticmethod
    def of(
        name: str, source: SSAValue, output: SSAValue, rows: Window, columns: Window, least: int
    ) -> MaxPoolOp:
        properties = window_properties(rows, columns)
        properties |= {"label": StringAttr(name), "least": number(least)}
        return MaxPoolOp.create(operands=[source, output], properties=properties)

    def verify_(self) -> None:
        if tensor_shape(self.source)[:2] != tensor_shape(self.output)[:2]:
            raise VerifyException("expected a result with the images and channels of the source")
        self.windows()
        expect_writable(self.output)
