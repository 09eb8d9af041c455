"""The operators in the body of a layer, on accumulators."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import HasParent
from xdsl.utils.exceptions import VerifyException

from ...wording import counted
from .attributes import DRAM, AluOpcodeAttr, alu_opcode_attr, config_of, number, numbers
from .config import AluOpcode, VtaMemory
from .grid import Dim, Grid, Window
from .instruction import NUMBER, NUMBERS, values_of
from .layers import (
    ACCUMULATORS,
    ONE_PIXEL,
    InLayer,
    LayerOp,
    Windowed,
    blocks_in,
    expect_writable,
    grid_in,
    region_of,
    tensor_shape,
    window_properties,
)


@irdl_op_definition
class ProductOp(InLayer, Windowed):
    """
    Sums over windows of rows and columns, and over blocks `[first, count]` of input channels, of
    inputs by weights; added to `plus`. Windows are [kernel, stride, dilation, zeros before the
    first input]; none is a single pixel.

    The weights begin at an element of their region. There are [blocks of outputs, blocks of inputs,
    rows of the kernel, columns]; `uniform` ones are the same for all places of the window, and are
    stored once. `grid` is the size and the stride of the dimensions images, blocks, rows and
    columns, if these are not those of the tensor.

    ```mlir
    %1 = vta.product %x blocks [0, 4] by %w at 0 rows [3, 1, 1, 1] columns [3, 1, 1, 1] plus %0
    ```
    """

    name = "vta.product"

    source = operand_def(DRAM)
    weights = operand_def(DRAM)
    blocks = prop_def(NUMBERS)
    at = prop_def(NUMBER)
    grid = opt_prop_def(NUMBERS)
    uniform = opt_prop_def(UnitAttr)
    plus = opt_operand_def(ACCUMULATORS)
    result = result_def(ACCUMULATORS)

    traits = traits_def(HasParent(LayerOp))
    assembly_format = (
        "$source `blocks` $blocks `by` $weights `at` $at (`rows` $rows^)? (`columns` $columns^)? "
        "(`grid` $grid^)? (`uniform` $uniform^)? (`plus` $plus^)? attr-dict"
    )

    @staticmethod
    def of(
        source: SSAValue,
        weights: SSAValue,
        blocks: tuple[int, int],
        at: int,
        rows: Window = ONE_PIXEL,
        columns: Window = ONE_PIXEL,
        grid: Grid | None = None,
        is_uniform: bool = False,
        plus: SSAValue | None = None,
    ) -> ProductOp:
        properties = window_properties(rows, columns)
        properties |= {"blocks": numbers(*blocks), "at": number(at)}
        if grid is not None:
            properties["grid"] = numbers(*(n for dim in grid for n in dim))
        if is_uniform:
            properties["uniform"] = UnitAttr()
        operands = [source, weights, *([] if plus is None else [plus])]
        return ProductOp.create(
            operands=operands, properties=properties, result_types=[ACCUMULATORS]
        )

    def elements(self) -> Grid:
        """Returns the elements of the source that are inputs."""
        if self.grid is None:
            return self.layer.grid(self.source)
        sizes = values_of(self.grid, 8)
        return Grid(*(Dim(*sizes[i : i + 2]) for i in range(0, 8, 2)))

    @property
    def places(self) -> int:
        """Weights for each pair of blocks."""
        rows, columns = self.windows()
        return 1 if self.uniform is not None else rows.kernel * columns.kernel

    def changed(self) -> Sequence[SSAValue]:
        return () if self.plus is None else (self.plus,)

    def verify_(self) -> None:
        config, grid = config_of(self.layer), self.elements()
        _, count = blocks_in(self.blocks, grid.blocks.size, " of inputs")
        images = self.layer.grid(self.layer.output).images.size
        if grid.images.size != images:
            raise VerifyException(
                f"expected inputs of {counted(images, 'image')}, as results are, found "
                f"{grid.images.size}"
            )
        last = sum((d.size - 1) * d.stride for d in grid)
        if last >= grid_in(self.source, config).elements or min(d.size for d in grid) < 1:
            raise VerifyException(
                f"expected a grid in {region_of(self.source).label}, found {self.grid}"
            )
        outputs = values_of(self.layer.blocks, 2)[1]
        end = self.at.value.data + outputs * count * self.places
        there = region_of(self.weights).num_bytes // config.element_bytes(VtaMemory.WGT)
        if self.at.value.data < 0 or end > there:
            raise VerifyException(
                f"expected {counted(there, 'element')} of weights to be enough, found {end}"
            )


@irdl_op_definition
class FetchOp(InLayer):
    """
    The numbers of a tensor of 8 bits.

    ```mlir
    %0 = vta.fetch %x
    ```
    """

    name = "vta.fetch"

    source = operand_def(DRAM)
    result = result_def(ACCUMULATORS)

    traits = traits_def(HasParent(LayerOp))
    assembly_format = "$source attr-dict"

    @staticmethod
    def of(source: SSAValue) -> FetchOp:
        return FetchOp.create(operands=[source], result_types=[ACCUMULATORS])

    def verify_(self) -> None:
        if tensor_shape(self.source) != tensor_shape(self.layer.output):
            raise VerifyException("expected a tensor of the shape that the layer writes")


@irdl_op_definition
class ApplyOp(InLayer):
    """
    `opcode(value, other)`, `opcode(value, imm)` with a number, or with a number for each channel,
    of a vector of the layer. It takes the place of `value`.

    ```mlir
    %1 = vta.apply add %0, %x
    %2 = vta.apply shr %1 imm 4
    %3 = vta.apply mul %2 vector 1
    ```
    """

    name = "vta.apply"

    opcode = prop_def(AluOpcodeAttr)
    value = operand_def(ACCUMULATORS)
    other = opt_operand_def(ACCUMULATORS)
    imm = opt_prop_def(NUMBER)
    vector = opt_prop_def(NUMBER)
    result = result_def(ACCUMULATORS)

    traits = traits_def(HasParent(LayerOp))
    assembly_format = "$opcode $value (`,` $other^)? (`imm` $imm^)? (`vector` $vector^)? attr-dict"

    @staticmethod
    def of(
        opcode: AluOpcode,
        value: SSAValue,
        other: SSAValue | None = None,
        imm: int | None = None,
        vector: int | None = None,
    ) -> ApplyOp:
        properties: dict[str, Attribute] = {"opcode": alu_opcode_attr(opcode)}
        if imm is not None:
            properties["imm"] = number(imm)
        if vector is not None:
            properties["vector"] = number(vector)
        operands = [value] if other is None else [value, other]
        return ApplyOp.create(operands=operands, properties=properties, result_types=[ACCUMULATORS])

    def changed(self) -> Sequence[SSAValue]:
        return (self.value,) if self.other is None else (self.value, self.other)

    def verify_(self) -> None:
        given = [x for x in (self.other, self.imm, self.vector) if x is not None]
        if len(given) != 1:
            raise VerifyException("expected another value, a number (imm) or a vector")
        limit = 1 << (config_of(self.layer).imm_bits - 1)
        if self.imm is not None and not -limit <= self.imm.value.data < limit:
            raise VerifyException(
                f"expected a number from {-limit} to {limit - 1}, found {self.imm.value.data}"
            )
        there = self.layer.num_vectors
        if self.vector is not None and not 0 <= self.vector.value.data < there:
            raise VerifyException(
                f"expected one of {counted(there, 'vector')}, found {self.vector.value.data}"
            )


@irdl_op_definition
class CopyOp(InLayer):
    """
    The same numbers in other accumulators, so that a value can be used again after a change.

    ```mlir
    %1 = vta.copy %0
    ```
    """

    name = "vta.copy"

    value = operand_def(ACCUMULATORS)
    result = result_def(ACCUMULATORS)

    traits = traits_def(HasParent(LayerOp))
    assembly_format = "$value attr-dict"

    @staticmethod
    def of(value: SSAValue) -> CopyOp:
        return CopyOp.create(operands=[value], result_types=[ACCUMULATORS])


@irdl_op_definition
class WriteOp(InLayer):
    """
    Stores the lowest 8 bits of a value in a tensor.

    ```mlir
    vta.write %0 to %y
    ```
    """

    name = "vta.write"

    value = operand_def(ACCUMULATORS)
    tensor = operand_def(DRAM)

    traits = traits_def(HasParent(LayerOp))
    assembly_format = "$value `to` $tensor attr-dict"

    @staticmethod
    def of(value: SSAValue, tensor: SSAValue) -> WriteOp:
        return WriteOp.create(operands=[value, tensor])

    def written(self) -> Sequence[SSAValue]:
        return (self.tensor,)

    def verify_(self) -> None:
        expect_writable(self.tensor)
