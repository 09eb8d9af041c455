"""Reductions over any set of dimensions."""

from __future__ import annotations

import abc
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, i1, i64
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ..operator import Call, expect_float, expect_number
from .base import AcceptsEpilogue
from .structured import Structured


class Reduction(Structured, abc.ABC):
    """
    Combines the elements along `axes` (ascending). With `keep_dims` the reduced dimensions stay,
    with size 1. 16-bit floats accumulate in f32.
    """

    input = operand_def(TensorType)
    axes = prop_def(DenseArrayBase.constr(i64))
    keep_dims = prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    COMBINES: ClassVar[str]
    """The word for it in formulas."""

    @classmethod
    def formula_of(cls, call: Call) -> str:
        left = "kept.., 0 at axes" if call.get("keep_dims") else "kept.."
        return f"result[{left}] = {cls.COMBINES}(r..) input[kept.., r.. at axes]"

    @classmethod
    def check(cls, call: Call) -> None:
        expect_number(call)
        rank, axes = len(call.shape(0)), call.ints("axes")
        if list(axes) != sorted(set(axes)) or any(not 0 <= a < rank for a in axes):
            raise call.fail(f"expected ascending axes in 0 to {rank - 1}, found {list(axes)}")


@irdl_op_definition
class ReduceSumOp(Reduction):
    """
    Sum; 0 over nothing.

    ```mlir
    %r = glow.reduce_sum %x axes [1]
       : (tensor<2x3xf32>) -> tensor<2xf32>
    ```
    """

    name = "glow.reduce_sum"
    COMBINES: ClassVar[str] = "sum"


@irdl_op_definition
class ReduceMeanOp(Reduction):
    """
    Mean.

    ```mlir
    %r = glow.reduce_mean %x axes [1] keep_dims true
       : (tensor<2x3xf32>) -> tensor<2x1xf32>
    ```
    """

    name = "glow.reduce_mean"
    COMBINES: ClassVar[str] = "sum"

    @classmethod
    def formula_of(cls, call: Call) -> str:
        left, right = super().formula_of(call).split(" = ")
        return f"{left} = ({right}) / count(r..)"

    @classmethod
    def check(cls, call: Call) -> None:
        expect_float(call)
        super().check(call)


@irdl_op_definition
class ReduceMaxOp(Reduction):
    """
    Largest element; NaN if there is one.

    ```mlir
    %r = glow.reduce_max %x axes [1]
       : (tensor<2x3xf32>) -> tensor<2xf32>
    ```
    """

    name = "glow.reduce_max"
    COMBINES: ClassVar[str] = "max"


@irdl_op_definition
class ReduceMinOp(Reduction):
    """
    Smallest element; NaN if there is one.

    ```mlir
    %r = glow.reduce_min %x axes [1]
       : (tensor<2x3xf32>) -> tensor<2xf32>
    ```
    """

    name = "glow.reduce_min"
    COMBINES: ClassVar[str] = "min"


@irdl_op_definition
class ReduceProdOp(Reduction):
    """
    Product; 1 over nothing.

    ```mlir
    %r = glow.reduce_prod %x axes [1]
       : (tensor<2x3xf32>) -> tensor<2xf32>
    ```
    """

    name = "glow.reduce_prod"
    COMBINES: ClassVar[str] = "prod"
