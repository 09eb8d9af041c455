"""Pooling over any number of spatial dimensions, channels first."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType, i1
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ..elements import lowest
from ..operator import Call, expect_float, expect_number
from ..syntax import PerDimension
from .base import AcceptsEpilogue
from .convolution import spatial, window
from .structured import Structured

if TYPE_CHECKING:
    from ..formula.indices import Value


class Pool(Structured, abc.ABC):
    """
    A window of `kernel` elements, `dilations` apart, that moves by `strides`.

    `pads` holds the padding before each spatial dimension, then that after each; padding never
    takes part in the result. With `ceil_mode`, a last window that starts inside the input or the
    low padding but sticks out of the high padding counts too (ONNX MaxPool-22).
    """

    RANKS: ClassVar[range] = range(3, 6)
    LANES: ClassVar[str] = ""
    """In the formula, the index behind the spatial ones, if there is one."""

    input = operand_def(TensorType)
    kernel = prop_def(PerDimension(None, besides=2, least=1))
    strides, pads, dilations = window(besides=2)
    ceil_mode = prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    @abc.abstractmethod
    def combined(cls, place: str, lanes: str) -> str:
        """What is computed of the elements of a window, at a `place` of the padded input."""

    @classmethod
    def formula_of(cls, call: Call) -> str:
        place, lanes = "w.. * strides + k.. * dilations", cls.LANES
        ranges = f"{place} < sizes + low + high"
        if call.get("ceil_mode"):
            ranges += " + strides - 1, w.. * strides < sizes + low"
        return f"result[n, c, w..{lanes}] = {cls.combined(place, lanes)}\n for {ranges}"

    @classmethod
    def numbers(cls, call: Call) -> Mapping[str, Value]:
        return {**super().numbers(call), **spatial(call), "least": lowest(call.element(0))}

    @classmethod
    def check(cls, call: Call) -> None:
        expect_number(call, quantized=True)


class MaxPool(Pool, abc.ABC):
    @classmethod
    def combined(cls, place: str, lanes: str) -> str:
        return f"max(k.. < kernel) input[n, c, {place} - low{lanes} | outside: least]"


class AvgPool(Pool, abc.ABC):
    count_include_pad = prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))

    @classmethod
    def combined(cls, place: str, lanes: str) -> str:
        return f"""
            (sum(k.. < kernel) input[n, c, {place} - low{lanes} | outside: 0])
            / (sum(k..) (1 if all({place} >= first and {place} < last) else 0))
        """

    @classmethod
    def numbers(cls, call: Call) -> Mapping[str, Value]:
        """`first` and `last`: the places of the padded input that count."""
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
