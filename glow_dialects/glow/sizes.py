"""Sizes that depend on symbols, as values."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, prop_def, result_def, traits_def

from ...wording import counted
from ..elements import num_elements
from ..operator import Call, element_of, shape_of
from ..syntax import PerDimension
from .base import Node, OnlyMovesData


@irdl_op_definition
class SizesOp(Node):
    """
    Integers some of which depend on symbols, the elements of a tensor in row-major order.

    When the symbols are bound, it becomes a constant.

    ```mlir
    %s = glow.sizes values [batch, 2 * seq] : tensor<2xi64>
    ```
    """

    name = "glow.sizes"

    values = prop_def(PerDimension(None))
    result = result_def(TensorType)

    traits = traits_def(OnlyMovesData())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        (declared,) = call.results
        if not isinstance(element_of(declared), IntegerType):
            raise call.fail(f"expected integer elements, found {declared}")
        if (count := num_elements(shape_of(declared))) != len(values := call.ints("values")):
            raise call.fail(f"expected {counted(count, 'value')} for {declared}, found {values}")
        if all(isinstance(value, int) for value in values):
            raise call.fail(
                f"expected values that depend on symbols, found {values}; write a constant"
            )
        return call.results
