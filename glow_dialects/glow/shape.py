"""Operators that move elements and compute nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)

from ..elements import is_float, num_elements
from ..operator import (
    Call,
    element_of,
    expect_axis,
    expect_same_element,
    shape_of,
    with_shape,
)
from ..python_values import to_python
from ..syntax import PerDimension
from .base import Node, OnlyMovesData
from .structured import Structured

if TYPE_CHECKING:
    from ..formula.indices import Value

_INTS = DenseArrayBase.constr(i64)


@irdl_op_definition
class ReshapeOp(Node):
    """
    The same elements, in row-major order, with another shape.

    ```mlir
    %r = glow.reshape %x : (tensor<2x6xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "glow.reshape"

    input = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(OnlyMovesData())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        (result,) = call.results
        if num_elements(shape_of(result)) != num_elements(call.shape(0)):
            raise call.fail(
                f"expected a result with {num_elements(call.shape(0))} elements, found {result}"
            )
        return (with_shape(call.element(0), shape_of(result)),)


@irdl_op_definition
class BroadcastOp(Structured):
    """
    Repeats dimensions of size 1, and adds leading ones, as numpy's `broadcast_to`.

    ```mlir
    %r = glow.broadcast %x : (tensor<8x1x1xf32>) -> tensor<2x8x4x4xf32>
    ```
    """

    name = "glow.broadcast"
    FORMULA: ClassVar[str] = """
        result[lead.., i..] = input[i.. * steps] for lead.. < leading, i.. < trailing
    """
    DECLARES_RESULT: ClassVar[bool] = True

    @classmethod
    def numbers(cls, call: Call) -> Mapping[str, Value]:
        source, target = call.shape(0), shape_of(call.results[0])
        first = len(target) - len(source)
        steps = tuple(int(s == t) for s, t in zip(source, target[first:], strict=True))
        known = {"steps": steps, "leading": target[:first], "trailing": target[first:]}
        return {**known, "lead..": first}

    input = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(OnlyMovesData())

    @classmethod
    def check(cls, call: Call) -> None:
        (result,) = call.results
        source, target = call.shape(0), shape_of(result)
        aligned = target[len(target) - len(source) :]
        if len(source) > len(target) or any(
            s not in (1, t) for s, t in zip(source, aligned, strict=True)
        ):
            raise call.fail(
                f"expected a result that {call.operands[0]} broadcasts to, found {result}"
            )


@irdl_op_definition
class TransposeOp(Structured):
    """
    Permutes dimensions: result dimension `i` is input dimension `permutation[i]`.

    ```mlir
    %r = glow.transpose %x permutation [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    ```
    """

    name = "glow.transpose"
    FORMULA: ClassVar[str] = "result[i..] = input[i.. at permutation]"

    input = operand_def(TensorType)
    permutation = prop_def(_INTS)
    result = result_def(TensorType)


@irdl_op_definition
class ConcatOp(Node):
    """
    Joins tensors along `axis`.

    ```mlir
    %r = glow.concat %a, %b axis 1 : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    ```
    """

    name = "glow.concat"

    inputs = var_operand_def(TensorType)
    axis = prop_def(IntegerAttr.constr(i64))
    result = result_def(TensorType)

    traits = traits_def(OnlyMovesData())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        if not call.operands:
            raise call.fail("expected at least one operand, found none")
        element = expect_same_element(call)
        first = call.shape(0)
        axis = expect_axis(call)
        for i in range(len(call.operands)):
            shape = call.shape(i)
            if len(shape) != len(first) or any(
                s != f for d, (s, f) in enumerate(zip(shape, first, strict=True)) if d != axis
            ):
                raise call.fail(
                    f"expected operand {i} to match {call.operands[0]} "
                    f"except in dimension {axis}, found {call.operands[i]}"
                )
        total = sum(call.shape(i)[axis] for i in range(len(call.operands)))
        return (with_shape(element, [*first[:axis], total, *first[axis + 1 :]]),)


@irdl_op_definition
class SliceOp(Structured):
    """
    Every `strides[d]`-th element of dimension `d` from `starts[d]` on, `sizes[d]` of them.

    Strides may be negative, which reverses the dimension.

    ```mlir
    %r = glow.slice %x starts [0, 1] sizes [2, 2] : (tensor<2x4xf32>) -> tensor<2x2xf32>
    ```
    """

    name = "glow.slice"
    FORMULA: ClassVar[str] = "result[i..] = input[starts + i.. * strides] for i.. < sizes"

    input = operand_def(TensorType)
    starts = prop_def(PerDimension(0))
    sizes = prop_def(PerDimension(None, least=0))
    strides = prop_def(PerDimension(1))
    result = result_def(TensorType)

    traits = traits_def(OnlyMovesData())

    @classmethod
    def check(cls, call: Call) -> None:
        if 0 in (strides := call.ints("strides")):
            raise call.fail(
                f"expected a stride other than 0 in dimension {strides.index(0)}, found 0"
            )


@irdl_op_definition
class PadOp(Structured):
    """
    Surrounds a tensor with a constant: `low[d]` elements before and `high[d]` after dimension `d`.

    ```mlir
    %r = glow.pad %x low [2] high [1] value 0.0
       : (tensor<4xf32>) -> tensor<7xf32>
    ```
    """

    name = "glow.pad"
    FORMULA: ClassVar[str] = """
        result[i..] = input[i.. - low | outside: value] for i.. < sizes + low + high
    """

    @classmethod
    def numbers(cls, call: Call) -> Mapping[str, Value]:
        value = call.get("value")
        if not is_float(call.element(0)):
            value = int(value)
        return {**super().numbers(call), "value": value, "sizes": call.shape(0)}

    input = operand_def(TensorType)
    low = prop_def(PerDimension(0, least=0))
    high = prop_def(PerDimension(0, least=0))
    value = prop_def(Attribute)
    result = result_def(TensorType)

    traits = traits_def(OnlyMovesData())

    @classmethod
    def check(cls, call: Call) -> None:
        if not isinstance(to_python(call.properties["value"]), int | float):
            raise call.fail(f"expected a number to pad with, found {call.properties['value']}")


@irdl_op_definition
class GatherOp(Structured):
    """
    Takes the slices of `data` along `axis` that `indices` name; negative ones count from the end.

    The result's shape is that of `data` with dimension `axis` replaced by the shape of `indices`.
    An index out of range is clamped, so that no memory outside `data` is read.

    ```mlir
    %r = glow.gather %data, %indices axis 0
       : (tensor<10x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
    ```
    """

    name = "glow.gather"
    FORMULA: ClassVar[str] = """
        result[a.., b.., c..] = data[a.., clamp(
            indices[b..] if indices[b..] >= 0 else indices[b..] + size(data, axis),
            0, size(data, axis) - 1) at axis, c..]
    """

    @classmethod
    def numbers(cls, call: Call) -> Mapping[str, Value]:
        return {**super().numbers(call), "a..": call.int("axis")}

    data = operand_def(TensorType)
    indices = operand_def(TensorType)
    axis = prop_def(IntegerAttr.constr(i64))
    result = result_def(TensorType)

    @classmethod
    def check(cls, call: Call) -> None:
        expect_axis(call)
        if str(element_of(call.operands[1])) not in ("i32", "i64"):
            raise call.fail(f"expected indices of i32 or i64, found {call.operands[1]}")
