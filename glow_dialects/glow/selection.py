"""
Operators that choose among elements, so that data decides how many there are.

A result has room for the largest number of chosen elements. What is not used has a stated value, so
that a graph stays one of static shapes; a count beside it tells how much is used.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, TensorType, f32, i1, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from ..elements import is_float, tensor_type
from ..operator import Call, element_of, expect_rank
from .base import Node


@irdl_op_definition
class NonzeroPlacesOp(Node):
    """
    The places of the elements of a vector of integers that are not zero, in ascending order, and
    zeros after the last one.

    ```mlir
    %r = glow.nonzero_places %mask : (tensor<5xi1>) -> tensor<5xi64>
    ```
    """

    name = "glow.nonzero_places"

    input = operand_def(TensorType)
    result = result_def(TensorType)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        expect_rank(call, 0, range(1, 2), "input")
        if is_float(call.element(0)):
            raise call.fail(f"expected integers, found {call.operands[0]}")
        return (tensor_type(i64, call.shape(0)),)


@irdl_op_definition
class NonMaxSuppressionOp(Node):
    """
    The boxes that stay when those that overlap a better one are removed, for each image and class.

    Boxes are corners `y0, x0, y1, x1` in any order or, with `center`, `x, y, width, height`. Boxes
    whose score is larger than the threshold are candidates. The best candidate is chosen, of equal
    ones the first; candidates whose intersection with it is more than `iou_threshold` of their
    union are removed; and so on, `most` times. The result has the numbers of the chosen boxes, and
    -1 after the last one. (ONNX's NonMaxSuppression.)

    ```mlir
    %r = glow.non_max_suppression %boxes, %scores, %iou_threshold, %score_threshold most 2
       : (tensor<1x6x4xf32>, tensor<1x3x6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x3x2xi64>
    ```
    """

    name = "glow.non_max_suppression"

    boxes = operand_def(TensorType)
    scores = operand_def(TensorType)
    iou_threshold = operand_def(TensorType)
    score_threshold = operand_def(TensorType)
    most = prop_def(IntegerAttr.constr(i64))
    center = prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))
    result = result_def(TensorType)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        if any(element_of(t) != f32 for t in call.operands):
            found = ", ".join(map(str, call.operands))
            raise call.fail(f"expected operands with elements f32, found {found}")
        expect_rank(call, 1, range(3, 4), "scores")
        images, classes, count = call.shape(1)
        if call.shape(0) != (images, count, 4):
            raise call.fail(f"expected boxes {images}x{count}x4, found {call.operands[0]}")
        if call.shape(2) != (1,) or call.shape(3) != (1,):
            raise call.fail(f"expected thresholds tensor<1xf32>, found {call.operands[2]}")
        if not 0 <= call.int("most") <= count:
            raise call.fail(f"expected most in 0 to {count}, found {call.int('most')}")
        return (tensor_type(i64, [images, classes, call.int("most")]),)
