"""Sums of products of the halves and bytes of integers, as processors compute them."""

from __future__ import annotations

import abc

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition

from ..operator import Call
from ..scalar import Expr, Primitive, apply
from .elementwise import Ternary, X, Y, Z


class PartsTernary(Ternary, abc.ABC):
    """Three operands of integers of 32 bits that consist of smaller ones."""

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        if call.element(0) != i32:
            raise call.fail(f"expected elements of i32, found {call.operands[0]}")
        return super().result_element(call)


@irdl_op_definition
class MultiplyAddPairsOp(PartsTernary):
    """
    `z` plus the product of the low halves of `x` and `y`, plus that of their high halves. The
    halves of an i32 are signed integers of 16 bits. Sums wrap around.

    ```mlir
    %r = glow.multiply_add_pairs %x, %y, %z
       : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    ```
    """

    name = "glow.multiply_add_pairs"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return apply(Primitive.MULTIPLY_ADD_PAIRS, X, Y, Z)


@irdl_op_definition
class MultiplyAddBytesOp(PartsTernary):
    """
    In each half of an i32, `z` plus the products of two bytes of `x`, which are unsigned, and of
    `y`, which are signed. The sum of both products saturates to 16 bits; that with `z` wraps
    around.

    ```mlir
    %r = glow.multiply_add_bytes %x, %y, %z
       : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    ```
    """

    name = "glow.multiply_add_bytes"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return apply(Primitive.MULTIPLY_ADD_BYTES, X, Y, Z)


@irdl_op_definition
class MultiplyAddQuadsOp(PartsTernary):
    """
    `z` plus the products of the four bytes of `x`, which are unsigned, and of `y`, which are
    signed. Sums wrap around.

    ```mlir
    %r = glow.multiply_add_quads %x, %y, %z
       : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    ```
    """

    name = "glow.multiply_add_quads"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return apply(Primitive.MULTIPLY_ADD_QUADS, X, Y, Z)
