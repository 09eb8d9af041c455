"""Attention."""

from __future__ import annotations

import abc
from collections.abc import Sequence

from xdsl.dialects.builtin import FloatAttr, TensorType, f64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ..operator import (
    Call,
    expect_float,
    expect_rank,
    expect_same_element,
    expect_shape,
    with_shape,
)
from .base import AcceptsEpilogue, Node


class _Attention(Node, abc.ABC):
    """Operands are query, key, value and perhaps a mask."""

    scale = prop_def(FloatAttr, default_value=FloatAttr(1.0, f64))

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        element = expect_same_element(call)
        expect_float(call)
        images, rows, heads, inner = expect_rank(call, 0, 4, "a query")
        _, columns, _, _ = expect_rank(call, 1, 4, "a key")
        expect_shape(call, 1, (images, columns, heads, inner), "a key")
        *_, width = expect_rank(call, 2, 4, "a value")
        expect_shape(call, 2, (images, columns, heads, width), "a value")
        if len(call.operands) > 3:
            expect_shape(call, 3, (images, heads, rows, columns), "a mask")
        return (with_shape(element, [images, rows, heads, width]),)


@irdl_op_definition
class AttentionOp(_Attention):
    """
    `softmax(scale * query @ key^T) @ value` for each image and each head (Vaswani et al. 2017), the
    softmax over the key's positions. Operands are [images, positions, heads, width]. 16-bit floats
    compute in f32. Positions whose part is less than e^-64 of the largest may be left out.

    ```mlir
    %r = glow.attention %q, %k, %v scale 0.5
       : (tensor<1x7x2x4xf32>, tensor<1x9x2x4xf32>, tensor<1x9x2x3xf32>) -> tensor<1x7x2x3xf32>
    ```
    """

    name = "glow.attention"

    query = operand_def(TensorType)
    key = operand_def(TensorType)
    value = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())


@irdl_op_definition
class MaskedAttentionOp(_Attention):
    """
    Attention with a mask [images, heads, query positions, key positions] that is added to the
    operand of the softmax. A position does not count where the mask is negative infinity; no row
    may be negative infinity everywhere.

    ```mlir
    %r = glow.masked_attention %q, %k, %v, %mask scale 0.5
       : (tensor<1x7x2x4xf32>, tensor<1x9x2x4xf32>, tensor<1x9x2x3xf32>, tensor<1x2x7x9xf32>)
      -> tensor<1x7x2x3xf32>
    ```
    """

    name = "glow.masked_attention"

    query = operand_def(TensorType)
    key = operand_def(TensorType)
    value = operand_def(TensorType)
    mask = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())
