"""
Activation functions.
"""

from __future__ import annotations

import math

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, f64, i1
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def

from ..elements import highest, lowest
from ..operator import Call
from ..python_values import to_python
from ..scalar import Expr, erf, exp, log, maximum, minimum, select, tanh
from .elementwise import FloatBinary, FloatUnary, Unary, X, Y

_SQRT_HALF = math.sqrt(0.5)
_SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)


@irdl_op_definition
class ReluOp(Unary):
    """
    Rectified linear unit: `max(x, 0)`.

    ```mlir
    %r = glow.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.relu"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return maximum(X, 0)


@irdl_op_definition
class LeakyReluOp(FloatUnary):
    """
    `x` where it is at least 0, `alpha * x` elsewhere.

    ```mlir
    %r = glow.leaky_relu %x alpha 0.1 : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.leaky_relu"

    alpha = prop_def(FloatAttr, default_value=FloatAttr(0.01, f64))

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return select(X >= 0, X, call.float("alpha") * X)


@irdl_op_definition
class EluOp(FloatUnary):
    """
    Exponential linear unit (Clevert et al. 2015): `alpha * (exp(x) - 1)` below 0.

    ```mlir
    %r = glow.elu %x alpha 0.5 : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.elu"

    alpha = prop_def(FloatAttr, default_value=FloatAttr(1.0, f64))

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return select(X >= 0, X, call.float("alpha") * (exp(X) - 1))


@irdl_op_definition
class PReluOp(FloatBinary):
    """
    `x` where it is at least 0, `slope * x` elsewhere, with a slope for each element.

    ```mlir
    %r = glow.prelu %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.prelu"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return select(X >= 0, X, Y * X)


@irdl_op_definition
class ClipOp(Unary):
    """
    Limits to `[min, max]`; an absent bound is infinite. NaN stays NaN. An integer type that does
    not have a bound takes its nearest number instead.

    ```mlir
    %r = glow.clip %x min 0.0 max 6.0 : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.clip"

    min = opt_prop_def(FloatAttr | IntegerAttr)
    max = opt_prop_def(FloatAttr | IntegerAttr)

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        low, high = clip_bounds(call)
        clipped = X if low is None else maximum(X, low)
        return clipped if high is None else minimum(clipped, high)


def clip_bounds(call: Call) -> list[int | float | None]:
    """Returns the bounds of a `glow.clip` as numbers of its type, None for an absent one."""
    element = call.element(0)
    found: list[int | float | None] = []
    for name in ("min", "max"):
        bound = call.properties.get(name)
        number = None if bound is None else to_python(bound)
        if number is not None and isinstance(element, IntegerType):
            number = min(max(number, lowest(element)), highest(element))
        found.append(number)
    return found


@irdl_op_definition
class SigmoidOp(FloatUnary):
    """
    Logistic function: `1 / (1 + exp(-x))`.

    ```mlir
    %r = glow.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.sigmoid"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return 1.0 / (1.0 + exp(-X))


@irdl_op_definition
class TanhOp(FloatUnary):
    """
    Hyperbolic tangent.

    ```mlir
    %r = glow.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.tanh"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return tanh(X)


@irdl_op_definition
class ErfOp(FloatUnary):
    """
    Error function.

    ```mlir
    %r = glow.erf %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.erf"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return erf(X)


@irdl_op_definition
class GeluOp(FloatUnary):
    """
    Gaussian error linear unit (Hendrycks and Gimpel 2016), exact or with the tanh approximation
    `x * (1 + tanh(u)) / 2`, which is `x / (1 + exp(-2 * u))`.

    ```mlir
    %r = glow.gelu %x approximate true : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.gelu"

    approximate = prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        if call.get("approximate"):
            factor = -2.0 * _SQRT_2_OVER_PI
            return X / (1.0 + exp(X * (factor + 0.044715 * factor * (X * X))))
        return 0.5 * X * (1.0 + erf(X * _SQRT_HALF))


@irdl_op_definition
class SoftplusOp(FloatUnary):
    """
    `log(1 + exp(x))`, computed without overflow.

    ```mlir
    %r = glow.softplus %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.softplus"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        # at 0, the derivative of the maximum is 0, and that of the minimum 1
        return maximum(X, 0.0) + log(1.0 + exp(minimum(-X, X)))


@irdl_op_definition
class HardSigmoidOp(FloatUnary):
    """
    `max(0, min(1, alpha * x + beta))`.

    ```mlir
    %r = glow.hard_sigmoid %x alpha 0.25 : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.hard_sigmoid"

    alpha = prop_def(FloatAttr, default_value=FloatAttr(0.2, f64))
    beta = prop_def(FloatAttr, default_value=FloatAttr(0.5, f64))

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return maximum(0.0, minimum(1.0, call.float("alpha") * X + call.float("beta")))


@irdl_op_definition
class HardSwishOp(FloatUnary):
    """
    `x * max(0, min(1, x / 6 + 1 / 2))` (Howard et al. 2019).

    ```mlir
    %r = glow.hard_swish %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.hard_swish"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return X * maximum(0.0, minimum(1.0, X * (1.0 / 6.0) + 0.5))
