"""
Inverse trigonometric functions, and hyperbolic functions and their inverses, on each element.

Their expressions keep the relative error at a few units in the last place of the type that they
compute in, also near their zeros.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.irdl import irdl_op_definition

from ..operator import Call
from ..scalar import Expr, equal, exp, log, minimum, select, sqrt
from .elementwise import FloatUnary, X

_NUMERATOR = (
    *(-8.750608600031904122785e-1, -1.615753718733365076637e1, -7.500855792314704667340e1),
    *(-1.228866684490136173410e2, -6.485021904942025371773e1),
)
_DENOMINATOR = (
    *(1.0, 2.485846490142306297962e1, 1.650270098316988542046e2, 4.328810604912902668951e2),
    *(4.853903996359136964868e2, 1.945506571482613964425e2),
)
"""
Of the rational function by which the arctangent differs from its argument, up to 0.66, highest
powers first (Moshier, Cephes Mathematical Library, atan.c).
"""
_LARGE = 1e9
"""Beyond it, the square of a number plus 1 has the root of the square, in every float type."""


def _polynomial(x: Expr, coefficients: Sequence[float]) -> Expr:
    result = Expr.constant(coefficients[0])
    for coefficient in coefficients[1:]:
        result = result * x + coefficient
    return result


def _abs(x: Expr) -> Expr:
    """Returns the absolute value. Its derivative at 0 is 1, as that of `_with_sign` is."""
    return select(x < 0, -x, x)


def _with_sign(magnitude: Expr, x: Expr) -> Expr:
    return select(x < 0, -magnitude, magnitude)


def _arctangent(x: Expr) -> Expr:
    """Returns the arctangent of a number of at least 0, which is reduced to one of at most 0.66."""
    far, near = x > 2.414213562373095, x <= 0.66
    # what is not selected has the derivative 0, and must have no infinite factor
    reduced = select(far, -1.0 / select(far, x, 1.0), select(near, x, (x - 1.0) / (x + 1.0)))
    base = select(far, math.pi / 2, select(near, x * 0.0, math.pi / 4))
    square = reduced * reduced
    ratio = _polynomial(square, _NUMERATOR) / _polynomial(square, _DENOMINATOR)
    return base + (reduced * (square * ratio) + reduced)


def _log1p(x: Expr) -> Expr:
    """`log(1 + x)`: what is lost in `1 + x` is lost in its distance to 1, too (Kahan)."""
    u = 1.0 + x
    near = equal(u, 1.0)
    far, distance = u > _LARGE, select(near, u, u - 1.0)
    return select(near, x, select(far, log(u), log(u) * (x / distance)))


def _expm1(x: Expr) -> Expr:
    """Returns `exp(x) - 1` of a number of at most 30, in the same way."""
    u = exp(x)
    near = equal(u, 1.0)
    return select(near, x, (u - 1.0) * (x / log(select(near, 2.0, u))))


@irdl_op_definition
class AtanOp(FloatUnary):
    """
    Arctangent, in radians.

    ```mlir
    %r = glow.atan %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.atan"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return _with_sign(_arctangent(_abs(X)), X)


@irdl_op_definition
class AsinOp(FloatUnary):
    """
    Arcsine, in radians; NaN beyond 1 and below -1.

    ```mlir
    %r = glow.asin %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.asin"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        x = _abs(X)
        return _with_sign(2.0 * _arctangent(x / (1.0 + sqrt((1.0 - x) * (1.0 + x)))), X)


@irdl_op_definition
class AcosOp(FloatUnary):
    """
    Arccosine, in radians; NaN beyond 1 and below -1.

    ```mlir
    %r = glow.acos %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.acos"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return 2.0 * _arctangent(sqrt((1.0 - X) / (1.0 + X)))


@irdl_op_definition
class SinhOp(FloatUnary):
    """
    Hyperbolic sine.

    ```mlir
    %r = glow.sinh %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.sinh"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        x = _abs(X)
        half = exp(0.5 * x)  # its square may be finite where exp(x) is not
        grown = _expm1(minimum(30.0, x))
        magnitude = select(x > 30.0, 0.5 * half * half, 0.5 * (grown + grown / (grown + 1.0)))
        return _with_sign(magnitude, X)


@irdl_op_definition
class AsinhOp(FloatUnary):
    """
    The number whose hyperbolic sine is the operand.

    ```mlir
    %r = glow.asinh %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.asinh"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        x = _abs(X)
        near, far = minimum(_LARGE, x), select(x > _LARGE, x, 1.0)
        small = _log1p(near + near * near / (1.0 + sqrt(near * near + 1.0)))
        return _with_sign(select(x > _LARGE, log(far) + math.log(2.0), small), X)


@irdl_op_definition
class AcoshOp(FloatUnary):
    """
    The number of at least 0 whose hyperbolic cosine is the operand; NaN below 1.

    ```mlir
    %r = glow.acosh %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.acosh"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        above = X - 1.0
        # two roots: that of a product would be positive for large negative numbers
        small = _log1p(above + sqrt(above) * sqrt(X + 1.0))
        return select(X > _LARGE, log(X) + math.log(2.0), small)


@irdl_op_definition
class AtanhOp(FloatUnary):
    """
    The number whose hyperbolic tangent is the operand; infinite at 1 and -1, NaN beyond.

    ```mlir
    %r = glow.atanh %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.atanh"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        x = _abs(X)
        return _with_sign(0.5 * _log1p(2.0 * x / (1.0 - x)), X)
