"""Pooling over any number of spatial dimensions, channels first."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from math import inf, prod
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, i1, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ..elements import compute_type, stored_values
from ..operator import (
    Call,
    expect_at_least,
    expect_float,
    expect_length,
    expect_number,
    expect_rank,
    shape_of,
    with_shape,
)
from ..syntax import PerDimension
from .base import AcceptsEpilogue
from .structured import Structured

if TYPE_CHECKING:
    from ..formula.indices import Value

_INTS = DenseArrayBase.constr(i64)


def least(element: Attribute) -> int | float:
    """The smallest value of a type: the identity of the maximum."""
    low, _ = stored_values(compute_type(element))
    return low if low == -inf else int(low)


class Pool(Structured, abc.ABC):
    """
    A window of `kernel` elements, `dilations` apart, that moves by `strides`.

    `pads` holds the padding before each spatial dimension, then that after each; padding never
    takes part in the result. With `ceil_mode`, a last window that starts inside the input or the
    low padding but sticks out of the high padding counts too (ONNX MaxPool-22).
    """

    input = operand_def(TensorType)
    kernel = prop_def(_INTS)
    strides = prop_def(PerDimension(1, besides=2))
    pads = prop_def(PerDimension(0, besides=2, times=2))
    dilations = prop_def(PerDimension(1, besides=2))
    ceil_mode = prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    def numbers(cls, call: Call) -> Mapping[str, Value]:
        n = len(call.ints("kernel"))
        counts, sizes = cls.result_shape(call)[2 : 2 + n], call.shape(0)[2 : 2 + n]
        pads = call.ints("pads")
        counted = bool(call.properties.get("count_include_pad")) and call.get("count_include_pad")
        first = tuple(-p for p in pads[:n]) if counted else (0,) * n
        ends = zip(sizes, pads[n:], strict=True)
        last = tuple(s + p if counted else s for s, p in ends)
        known = {"counts": counts, "low": pads[:n], "first": first, "last": last}
        return {**super().numbers(call), **known, "least": least(call.element(0))}

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        expect_number(call, quantized=True)
        batch, channels, *sizes = expect_rank(call, 0, range(3, 6), "an input")
        n = len(sizes)
        kernel, strides, dilations = (
            expect_length(call, p, n) for p in ("kernel", "strides", "dilations")
        )
        pads = expect_length(call, "pads", 2 * n)
        for prop in ("kernel", "strides", "dilations"):
            expect_at_least(call, prop, 1)
        expect_at_least(call, "pads", 0)
        ceil = call.get("ceil_mode")
        out = [
            _windows(sizes[d], pads[d], pads[d + n], kernel[d], strides[d], dilations[d], ceil)
            for d in range(n)
        ]
        if any(o < 1 for o in out):
            raise call.fail(
                f"expected a window that fits into the padded input, "
                f"found input {call.operands[0]} and kernel {list(kernel)}"
            )
        return (with_shape(call.element(0), [batch, channels, *out]),)


def _windows(
    size: int, low: int, high: int, kernel: int, stride: int, dilation: int, ceil: bool
) -> int:
    room = size + low + high - (dilation * (kernel - 1) + 1)
    if not ceil:
        return room // stride + 1
    count = -(-room // stride) + 1
    starts_in_high_padding = (count - 1) * stride >= size + low
    return count - 1 if starts_in_high_padding else count


@irdl_op_definition
class MaxPoolOp(Pool):
    """
    The largest element of each window.

    ```mlir
    %r = glow.max_pool %x kernel [2, 2] strides [2, 2]
       : (tensor<1x8x4x4xf32>) -> tensor<1x8x2x2xf32>
    ```
    """

    name = "glow.max_pool"
    FORMULA: ClassVar[str] = """
        result[n, c, w..] = max(k.. < kernel)
            input[n, c, w.. * strides + k.. * dilations - low | outside: least]
        for w.. < counts
    """


@irdl_op_definition
class AvgPoolOp(Pool):
    """
    The mean of each window: of its elements inside the input or, with `count_include_pad`, inside
    the input and its padding (as zeros).

    ```mlir
    %r = glow.avg_pool %x kernel [2, 2] strides [2, 2]
       : (tensor<1x8x4x4xf32>) -> tensor<1x8x2x2xf32>
    ```
    """

    name = "glow.avg_pool"
    FORMULA: ClassVar[str] = """
        result[n, c, w..] = (sum(k.. < kernel)
                input[n, c, w.. * strides + k.. * dilations - low | outside: 0])
            / (sum(k..) (1 if all(w.. * strides + k.. * dilations - low >= first
                                  and w.. * strides + k.. * dilations - low < last) else 0))
        for w.. < counts
    """

    count_include_pad = prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        expect_float(call)
        return super().infer(call)


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
    FORMULA: ClassVar[str] = """
        result[n, c, w..] = (sum(k.. < kernel)
            abs(input[n, c, w.. * strides + k.. * dilations - low | outside: 0]) ** p) ** (1 / p)
        for w.. < counts
    """
    _EUCLIDEAN: ClassVar[str] = """
        result[n, c, w..] = sqrt(sum(k.. < kernel)
            input[n, c, w.. * strides + k.. * dilations - low | outside: 0] ** 2)
        for w.. < counts
    """
    _SUM: ClassVar[str] = """
        result[n, c, w..] = sum(k.. < kernel)
            abs(input[n, c, w.. * strides + k.. * dilations - low | outside: 0])
        for w.. < counts
    """

    p = prop_def(IntegerAttr.constr(i64), default_value=IntegerAttr(2, i64))

    @classmethod
    def formula_of(cls, call: Call) -> str:
        return {1: cls._SUM, 2: cls._EUCLIDEAN}.get(call.int("p"), cls.FORMULA)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        expect_float(call)
        expect_at_least(call, "p", 1)
        return super().infer(call)


@irdl_op_definition
class MaxPoolPlacesOp(Pool):
    """
    Where in `input` the first element of each window is that equals `pooled`, the result of
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
        within = " and ".join(f"{at[d]} >= 0 and {at[d]} < last[{d}]" for d in dims)
        return f"""
            result[n, c, {windows}] = min(total - 1, min({offsets}) (
                (n * size(input, 1) + c) * span + {number}
                if {within} and pooled[n, c, {windows}] ==
                    input[n, c, {", ".join(at)} | outside: least]
                else total))
            for {", ".join(f"w{d} < counts[{d}]" for d in dims)}
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
    def infer(cls, call: Call) -> Sequence[Attribute]:
        (pooled,) = super().infer(call)
        if call.operands[1] != pooled and call.shape(1) != shape_of(pooled):
            raise call.fail(f"expected a pooled input of {pooled}, found {call.operands[1]}")
        return (with_shape(i64, shape_of(pooled)),)
