"""
Arithmetic on each element.
"""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

from ..operator import Call
from ..scalar import (
    Expr,
    Primitive,
    apply,
    exp,
    log,
    maximum,
    minimum,
    multiply_add,
    select,
)
from .elementwise import Binary, FloatBinary, FloatUnary, Ternary, Unary, X, Y, Z


@irdl_op_definition
class AddOp(Binary):
    """
    Sum.

    ```mlir
    %r = glow.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.add"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return X + Y


@irdl_op_definition
class SubOp(Binary):
    """
    Difference.

    ```mlir
    %r = glow.sub %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.sub"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return X - Y


@irdl_op_definition
class MulOp(Binary):
    """
    Product.

    ```mlir
    %r = glow.mul %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.mul"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return X * Y


@irdl_op_definition
class DivOp(Binary):
    """
    Quotient; integers truncate towards zero.

    ```mlir
    %r = glow.div %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.div"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return X / Y


@irdl_op_definition
class RemOp(Binary):
    """
    Remainder with the sign of the dividend, as C's `fmod`.

    ```mlir
    %r = glow.rem %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.rem"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return apply(Primitive.REM, X, Y)


@irdl_op_definition
class MaximumOp(Binary):
    """
    The larger operand; NaN if either is NaN.

    ```mlir
    %r = glow.maximum %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.maximum"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return maximum(X, Y)


@irdl_op_definition
class MinimumOp(Binary):
    """
    The smaller operand; NaN if either is NaN.

    ```mlir
    %r = glow.minimum %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.minimum"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return minimum(X, Y)


@irdl_op_definition
class PowOp(FloatBinary):
    """
    The left operand to the power of the right one.

    ```mlir
    %r = glow.pow %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.pow"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return apply(Primitive.POW, X, Y)


@irdl_op_definition
class NegOp(Unary):
    """
    Negation.

    ```mlir
    %r = glow.neg %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.neg"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return -X


@irdl_op_definition
class AbsOp(Unary):
    """
    Absolute value.

    ```mlir
    %r = glow.abs %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.abs"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return abs(X)


@irdl_op_definition
class SqrtOp(FloatUnary):
    """
    Square root; NaN below zero.

    ```mlir
    %r = glow.sqrt %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.sqrt"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return apply(Primitive.SQRT, X)


@irdl_op_definition
class ReciprocalOp(FloatUnary):
    """
    `1 / x`.

    ```mlir
    %r = glow.reciprocal %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.reciprocal"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return 1.0 / X


@irdl_op_definition
class ExpOp(FloatUnary):
    """
    Exponential function.

    ```mlir
    %r = glow.exp %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.exp"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return exp(X)


@irdl_op_definition
class LogOp(FloatUnary):
    """
    Natural logarithm; NaN below zero.

    ```mlir
    %r = glow.log %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.log"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return log(X)


@irdl_op_definition
class SinOp(FloatUnary):
    """
    Sine of an angle in radians.

    ```mlir
    %r = glow.sin %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.sin"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return apply(Primitive.SIN, X)


@irdl_op_definition
class CosOp(FloatUnary):
    """
    Cosine of an angle in radians.

    ```mlir
    %r = glow.cos %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.cos"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return apply(Primitive.COS, X)


@irdl_op_definition
class FloorOp(FloatUnary):
    """
    Largest integer that is not above the operand.

    ```mlir
    %r = glow.floor %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.floor"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return apply(Primitive.FLOOR, X)


@irdl_op_definition
class CeilOp(FloatUnary):
    """
    Smallest integer that is not below the operand.

    ```mlir
    %r = glow.ceil %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.ceil"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return apply(Primitive.CEIL, X)


@irdl_op_definition
class RoundEvenOp(FloatUnary):
    """
    Nearest integer, ties to the even one.

    ```mlir
    %r = glow.round_even %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.round_even"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return apply(Primitive.ROUND_EVEN, X)


@irdl_op_definition
class SignOp(Unary):
    """
    -1, 0 or 1 by the sign; NaN stays NaN.

    ```mlir
    %r = glow.sign %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.sign"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        # not X, whose derivative at 0 is 1
        return select(X > 0, 1, select(X < 0, -1, X * 0))


@irdl_op_definition
class MultiplyAddOp(Ternary):
    """
    `x * y + z`. Of floats it is rounded once where the machine can; 16-bit floats compute in f32.

    ```mlir
    %r = glow.multiply_add %x, %y, %z
       : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.multiply_add"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return multiply_add(X, Y, Z)
