"""Attention."""

from __future__ import annotations

import abc
from typing import ClassVar

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TensorType, f64, i1
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ..operator import Call, expect_float, expect_rank, expect_same_element
from .base import AcceptsEpilogue, ReadsRowsAnywhere
from .structured import Structured


class _Attention(Structured, abc.ABC):
    """Operands are query, key, value and perhaps a mask."""

    MASK: ClassVar[str] = ""
    """In the formula, what is added to scores."""

    scale = prop_def(FloatAttr, default_value=FloatAttr(1.0, f64))
    safe = prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))

    @classmethod
    def formula_of(cls, call: Call) -> str:
        group = "h" if (members := cls.members(call)) == 1 else f"h // {members}"
        mean = f"(sum(j) power[n, h, i, j] * value[n, j, {group}, d]) / weight[n, h, i]"
        if call.get("safe"):
            mean += " if weight[n, h, i] == weight[n, h, i] else 0"
        return f"""
            result[n, i, h, d] = {mean}
            where weight[n, h, i] = sum(j) power[n, h, i, j];
                  score[n, h, i, j] =
                      scale * (sum(c) query[n, i, h, c] * key[n, j, {group}, c]){cls.MASK};
                  power[n, h, i, j] = exp(score[n, h, i, j] - (max(k) score[n, h, i, k]))
        """

    @classmethod
    def members(cls, call: Call) -> int:
        """Returns how many heads of the query have one key and value; 1 if they do not fit."""
        query, key = call.shape(0), call.shape(1)
        if len(query) != 4 or len(key) != 4 or not key[2] or query[2] % key[2]:
            return 1
        return max(1, query[2] // key[2])

    @classmethod
    def check(cls, call: Call) -> None:
        expect_same_element(call)
        expect_float(call)
        query, key = (expect_rank(call, i, 4, name) for i, name in enumerate(("query", "key")))
        if query[2] != key[2] and cls.members(call) == 1:
            raise call.fail(
                "expected heads of the query that are a multiple of those of key and value, "
                f"found {query[2]} and {key[2]}"
            )


@irdl_op_definition
class AttentionOp(_Attention):
    """
    `softmax(scale * query @ key^T) @ value` for each image and each head (Vaswani et al. 2017), the
    softmax over the key's positions. Operands are [images, positions, heads, width]. Key and value
    may have fewer heads, each for as many neighbouring heads of the query (grouped queries, Ainslie
    et al. 2023). 16-bit floats compute in f32. Positions whose part is less than e^-64 of the
    largest may be left out. A row of the query whose scores are all negative infinity, or one of
    whose scores is NaN, gives NaN, or zeros if the node is `safe`.

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

    traits = traits_def(AcceptsEpilogue(), ReadsRowsAnywhere())


@irdl_op_definition
class MaskedAttentionOp(_Attention):
    """
    Attention with a mask [images, heads, query positions, key positions] that is added to the
    operand of the softmax. A position does not count where the mask is negative infinity. Where a
    row has other positions, those whose mask is below half of the least number may be left out,
    even if their scores or values are not numbers.

    ```mlir
    %r = glow.masked_attention %q, %k, %v, %mask scale 0.5
       : (tensor<1x7x2x4xf32>, tensor<1x9x2x4xf32>, tensor<1x9x2x3xf32>, tensor<1x2x7x9xf32>)
      -> tensor<1x7x2x3xf32>
    ```
    """

    name = "glow.masked_attention"
    MASK: ClassVar[str] = " + mask[n, h, i, j]"

    query = operand_def(TensorType)
    key = operand_def(TensorType)
    value = operand_def(TensorType)
    mask = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue(), ReadsRowsAnywhere())
