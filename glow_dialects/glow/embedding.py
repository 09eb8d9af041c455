"""Sums of rows of a table that indices name, for each of several bags of indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType, f32, i1, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from ..elements import tensor_type
from ..operator import Call, expect_float, expect_rank
from .base import Node
from .indexing import expect_indices
from .narrow_weights import BYTE
from .structured import Structured


def _expect_bags(call: Call) -> None:
    """Raises unless there are indices, weights for them, and offsets."""
    (count,) = expect_rank(call, 1, 1, "indices")
    expect_indices(call, 1)
    expect_indices(call, 3)
    if call.shape(2) not in ((count,), (1,)):
        raise call.fail(
            f"expected a weight for each of {call.operands[1]}, or one, found {call.operands[2]}"
        )
    (ends,) = expect_rank(call, 3, 1, "offsets")
    if not ends:
        raise call.fail(f"expected the offsets of bags and the last end, found {call.operands[3]}")
    if count and not call.shape(0)[0]:
        raise call.fail(f"expected data with rows, found {call.operands[0]}")


@irdl_op_definition
class EmbeddingBagOp(Structured):
    """
    The sum of rows of `data` times their weights, of which all rows may have the same one, for each
    bag `b` of indices: those from `offsets[b]` on and before `offsets[b + 1]`, which may be none.
    Negative indices count from the end; those out of range are clamped, so that no memory outside
    of `data` is touched. 16-bit floats accumulate in f32.

    ```mlir
    %r = glow.embedding_bag %data, %indices, %weights, %offsets
       : (tensor<10x4xf32>, tensor<5xi64>, tensor<5xf32>, tensor<3xi64>) -> tensor<2x4xf32>
    ```
    """

    name = "glow.embedding_bag"
    RANKS: ClassVar[range] = range(2, 3)
    FORMULA: ClassVar[str] = """
        result[b, d] = sum(i) (weights[clamp(i, 0, size(weights, 0) - 1)] * data[clamp(
            indices[i] if indices[i] >= 0 else indices[i] + size(data, 0), 0, size(data, 0) - 1), d]
            if offsets[b] <= i and i < offsets[b + 1] else 0)
            for b < size(offsets, 0) - 1
    """

    data = operand_def(TensorType)
    indices = operand_def(TensorType)
    weights = operand_def(TensorType)
    offsets = operand_def(TensorType)
    result = result_def(TensorType)

    @classmethod
    def check(cls, call: Call) -> None:
        expect_float(call)
        _expect_bags(call)
        if call.element(2) != call.element(0):
            raise call.fail(f"expected weights like {call.operands[0]}, found {call.operands[2]}")


@irdl_op_definition
class FusedEmbeddingBagOp(Node):
    """
    The same of quantized rows. A row of `data` is bytes: numbers of `bits` bits (4 or 8, the first
    one in the lowest bits), then a scale and an offset, of f16 if `half`, else of f32. A number `q`
    stands for `scale * q + offset` (Guan et al. 2019). The result is f32.

    ```mlir
    %r = glow.fused_embedding_bag %data, %indices, %weights, %offsets bits 4 half true
       : (tensor<10x6xui8>, tensor<5xi64>, tensor<5xf32>, tensor<3xi64>) -> tensor<2x4xf32>
    ```
    """

    name = "glow.fused_embedding_bag"

    data = operand_def(TensorType)
    indices = operand_def(TensorType)
    weights = operand_def(TensorType)
    offsets = operand_def(TensorType)
    bits = prop_def(IntegerAttr.constr(i64), default_value=IntegerAttr(8, i64))
    half = prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))
    result = result_def(TensorType)

    @classmethod
    def number_bytes(cls, call: Call) -> int:
        """Returns how many bytes of a row are numbers."""
        return call.shape(0)[1] - (4 if call.get("half") else 8)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        expect_rank(call, 0, 2, "data")
        _expect_bags(call)
        if call.element(0) != BYTE or call.element(2) != f32:
            raise call.fail(
                f"expected data of ui8 and weights of f32, "
                f"found {call.operands[0]} and {call.operands[2]}"
            )
        if call.int("bits") not in (4, 8):
            raise call.fail(f"expected bits to be 4 or 8, found {call.int('bits')}")
        if cls.number_bytes(call) < 1:
            raise call.fail(
                f"expected rows of numbers, a scale and an offset, found {call.operands[0]}"
            )
        columns = cls.number_bytes(call) * 8 // call.int("bits")
        return (tensor_type(f32, [call.shape(3)[0] - 1, columns]),)
