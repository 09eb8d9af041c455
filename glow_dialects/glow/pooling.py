"""Pooling over any number of spatial dimensions, channels first."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType, i1, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ..elements import compute_type, lowest
from ..operator import Call, expect_at_least, expect_float, expect_number
from ..syntax import PerDimension
from .base import AcceptsEpilogue
from .convolution import spatial, window
from .structured import Structured

if TYPE_CHECKING:
    from ..formula.indices import Value


class Windowed(Structured, abc.ABC):
    """
    A window of `kernel` elements, `dilations` apart, that moves by `strides`.

    `pads` holds the padding before each spatial dimension, then that after each; padding never
    takes part in the result. With `ceil_mode`, a last window that starts inside the input or the
    low padding but sticks out of the high padding counts too (ONNX MaxPool-22).
    """

    RANKS: ClassVar[range] = range(3, 6)

    input = operand_def(TensorType)
    kernel = prop_def(PerDimension(None, besides=2, least=1))
    strides, pads, dilations = window(besides=2)
    ceil_mode = prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    def numbers(cls, call: Call) -> Mapping[str, Value]:
        return {**super().numbers(call), **spatial(call), "least": lowest(call.element(0))}

    @classmethod
    def check(cls, call: Call) -> None:
        expect_number(call, quantized=True)


class Pool(Windowed, abc.ABC):
    """A node that combines the elements of each window."""

    LANES: ClassVar[str] = ""
    """In the formula, the index behind the spatial ones, if there is one."""

    @classmethod
    @abc.abstractmethod
    def combined(cls, call: Call, place: str, lanes: str) -> str:
        """Returns what is computed of a window's elements, at a `place` of the padded input."""

    @classmethod
    def formula_of(cls, call: Call) -> str:
        place, lanes = "w.. * strides + k.. * dilations", cls.LANES
        ranges = f"{place} < sizes + low + high"
        if call.get("ceil_mode"):
            ranges += " + strides - 1, w.. * strides < sizes + low"
        return f"result[n, c, w..{lanes}] = {cls.combined(call, place, lanes)}\n for {ranges}"


class MaxPool(Pool, abc.ABC):
    @classmethod
    def combined(cls, call: Call, place: str, lanes: str) -> str:
        return f"max(k.. < kernel) input[n, c, {place} - low{lanes} | outside: least]"


class AvgPool(Pool, abc.ABC):
    count_include_pad = prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))

    @classmethod
    def combined(cls, call: Call, place: str, lanes: str) -> str:
        return f"""
            (sum(k.. < kernel) input[n, c, {place} - low{lanes} | outside: 0])
            / (sum(k..) (1 if all({place} >= first and {place} < last) else 0))
        """

    @classmethod
    def numbers(cls, call: Call) -> Mapping[str, Value]:
        """Returns `first` and `last`: the places of the padded input that count."""
        found, counted = spatial(call), call.get("count_include_pad")
        sides = list(zip(found["sizes"], found["low"], found["high"], strict=True))
        first = tuple(0 if counted else low for _, low, _ in sides)
        last = tuple(size + low + (high if counted else 0) for size, low, high in sides)
        return {**super().numbers(call), "first": first, "last": last}

    @classmethod
    def check(cls, call: Call) -> None:
        expect_float(call)


@irdl_op_definition
class MaxPoolOp(MaxPool):
    """
    The largest element of each window.

    ```mlir
    %r = glow.max_pool %x kernel [2, 2] strides [2, 2]
       : (tensor<1x8x4x4xf32>) -> tensor<1x8x2x2xf32>
    ```
    """

    name = "glow.max_pool"


@irdl_op_definition
class AvgPoolOp(AvgPool):
    """
    The mean of each window: of its elements inside the input or, with `count_include_pad`, inside
    the input and its padding (as zeros).

    ```mlir
    %r = glow.avg_pool %x kernel [2, 2] strides [2, 2]
       : (tensor<1x8x4x4xf32>) -> tensor<1x8x2x2xf32>
    ```
    """

    name = "glow.avg_pool"


@irdl_op_definition
class LpPoolOp(Pool):
    """
    The p-norm of each window: `sum(abs(x) ** p) ** (1 / p)`.

    ```mlir
    %r = glow.lp_pool %x kernel [2, 2] strides [2, 2] p 2
       : (tensor<1x8x4x4xf32>) -> tensor<1x8x2x2xf32>
    ```
    """

    name = "glow.lp_pool"

    p = prop_def(IntegerAttr.constr(i64), default_value=IntegerAttr(2, i64))

    @classmethod
    def combined(cls, call: Call, place: str, lanes: str) -> str:
        element = f"input[n, c, {place} - low{lanes} | outside: 0]"
        match call.int("p"):
            case 1:
                return f"sum(k.. < kernel) abs({element})"
            case 2:
                return f"sqrt(sum(k.. < kernel) {element} ** 2)"
            case _:
                return f"(sum(k.. < kernel) abs({element}) ** p) ** (1 / p)"

    @classmethod
    def check(cls, call: Call) -> None:
        expect_float(call)
        expect_at_least(call, "p", 1)


@irdl_op_definition
class MaxPoolPlacesOp(Windowed):
    """
    The place in `input` of the first element of each window that equals `pooled`, the result of
    `glow.max_pool` with the same properties: its number among all elements, in row-major order, or
    with `column_major` in column-major order of the spatial dimensions. If a window has none
    because of a NaN, it is the last element of all.

    ```mlir
    %r = glow.max_pool_places %x, %pooled kernel [2, 2] strides [2, 2]
       : (tensor<1x8x4x4xf32>, tensor<1x8x2x2xf32>) -> tensor<1x8x2x2xi64>
    ```
    """

    name = "glow.max_pool_places"

    input = operand_def(TensorType)
    pooled = operand_def(TensorType)
    column_major = prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))

    @classmethod
    def formula_of(cls, call: Call) -> str:
        dims = range(len(call.ints("kernel")))
        at = [f"(w{d} * strides[{d}] + k{d} * dilations[{d}] - low[{d}])" for d in dims]
        windows = ", ".join(f"w{d}" for d in dims)
        offsets = ", ".join(f"k{d} < kernel[{d}]" for d in dims)
        number = " + ".join(f"{at[d]} * steps[{d}]" for d in dims)
        within = " and ".join(f"{at[d]} >= 0 and {at[d]} < sizes[{d}]" for d in dims)
        return f"""
            result[n, c, {windows}] = min(total - 1, min({offsets}) (
                (n * size(input, 1) + c) * span + {number}
                if {within} and pooled[n, c, {windows}] ==
                    input[n, c, {", ".join(at)} | outside: least]
                else total))
            for {", ".join(f"w{d} < size(pooled, {d + 2})" for d in dims)}
        """

    @classmethod
    def numbers(cls, call: Call) -> Mapping[str, Value]:
        sizes = call.shape(0)[2:]
        order = list(range(len(sizes)))
        order = order if call.get("column_major") else order[::-1]
        steps, span = [0] * len(sizes), 1
        for d in order:
            steps[d], span = span, span * sizes[d]
        total = prod(call.shape(0))
        return {**super().numbers(call), "steps": tuple(steps), "span": span, "total": total}

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        return i64

    @classmethod
    def computes(cls, call: Call) -> Attribute:
        return compute_type(call.element(0))

    @classmethod
    def check(cls, call: Call) -> None:
        super().check(call)
        properties = {k: v for k, v in call.properties.items() if k != "column_major"}
        (pooled,) = MaxPoolOp.infer(Call(MaxPoolOp, call.operands[:1], (), properties))
        if call.operands[1] != pooled:
            raise call.fail(f"expected a pooled input of {pooled}, found {call.operands[1]}")
