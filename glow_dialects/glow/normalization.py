"""Normalisation and softmax."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TensorType, f64, i64
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ..operator import (
    Call,
    expect_at_least,
    expect_axis,
    expect_float,
    expect_same_element,
)
from .base import AcceptsEpilogue
from .structured import Structured

if TYPE_CHECKING:
    from ..formula.indices import Value


@irdl_op_definition
class BatchNormOp(Structured):
    """
    `(input - mean) / sqrt(variance + epsilon) * scale + bias` with one value for each channel
    (dimension 1) of the last four operands (Ioffe and Szegedy 2015, inference).

    ```mlir
    %r = glow.batch_norm %x, %scale, %bias, %mean, %variance
       : (tensor<1x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
      -> tensor<1x8x4x4xf32>
    ```
    """

    name = "glow.batch_norm"
    FORMULA: ClassVar[str] = """
        result[n, c, s..] =
            (input[n, c, s..] - mean[c]) / sqrt(variance[c] + epsilon) * scale[c] + bias[c]
    """
    RANKS: ClassVar[range] = range(2, 9)

    input = operand_def(TensorType)
    scale = operand_def(TensorType)
    bias = operand_def(TensorType)
    mean = operand_def(TensorType)
    variance = operand_def(TensorType)
    epsilon = prop_def(FloatAttr, default_value=FloatAttr(1e-5, f64))
    result = result_def(TensorType)

    @classmethod
    def check(cls, call: Call) -> None:
        expect_same_element(call)
        expect_float(call)


@irdl_op_definition
class LocalResponseNormOp(Structured):
    """
    `x / (k + alpha / size * sum(x**2))**beta`, the sum over the `size` channels around each channel
    (dimension 1; Krizhevsky et al. 2012, section 3.3). The window reaches `(size - 1) // 2`
    channels down and the rest up.

    ```mlir
    %r = glow.local_response_norm %x size 5 : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
    ```
    """

    name = "glow.local_response_norm"
    FORMULA: ClassVar[str] = """
        result[n, c, s..] = input[n, c, s..] / (k + alpha / size * sum(t < size)
            input[n, c + t - (size - 1) // 2, s.. | outside: 0] ** 2) ** beta
    """
    RANKS: ClassVar[range] = range(2, 9)

    input = operand_def(TensorType)
    size = prop_def(IntegerAttr.constr(i64))
    alpha = prop_def(FloatAttr, default_value=FloatAttr(1e-4, f64))
    beta = prop_def(FloatAttr, default_value=FloatAttr(0.75, f64))
    k = prop_def(FloatAttr, default_value=FloatAttr(1.0, f64))
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    def check(cls, call: Call) -> None:
        expect_float(call)
        expect_at_least(call, "size", 1)


class _AlongAxis(Structured, abc.ABC):
    """An operator on the rows along `axis`."""

    input = operand_def(TensorType)
    axis = prop_def(IntegerAttr.constr(i64))
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    def check(cls, call: Call) -> None:
        expect_float(call)
        expect_axis(call)


@irdl_op_definition
class SoftmaxOp(_AlongAxis):
    """
    `exp(x - max) / sum(exp(x - max))` along `axis`.

    ```mlir
    %r = glow.softmax %x axis 1 : (tensor<1x1000xf32>) -> tensor<1x1000xf32>
    ```
    """

    name = "glow.softmax"
    FORMULA: ClassVar[str] = """
        result[i.., j at axis] = exp(input[i.., j at axis] - peak[i..]) / total[i..]
        where peak[i..] = max(j) input[i.., j at axis];
              total[i..] = sum(j) exp(input[i.., j at axis] - peak[i..])
    """


@irdl_op_definition
class LogSoftmaxOp(_AlongAxis):
    """
    Logarithm of the softmax along `axis`: `(x - max) - log(sum(exp(x - max)))`.

    ```mlir
    %r = glow.log_softmax %x axis 1 : (tensor<1x1000xf32>) -> tensor<1x1000xf32>
    ```
    """

    name = "glow.log_softmax"
    FORMULA: ClassVar[str] = """
        result[i.., j at axis] = input[i.., j at axis] - peak[i..] - log(total[i..])
        where peak[i..] = max(j) input[i.., j at axis];
              total[i..] = sum(j) exp(input[i.., j at axis] - peak[i..])
    """


class _RowNorm(Structured, abc.ABC):
    """An operator on the rows that the dimensions from `axis` on form: input, scale, (bias)."""

    axis = prop_def(IntegerAttr.constr(i64))
    epsilon = prop_def(FloatAttr, default_value=FloatAttr(1e-5, f64))

    @classmethod
    def numbers(cls, call: Call) -> Mapping[str, Value]:
        return {**super().numbers(call), "i..": call.int("axis")}

    @classmethod
    def check(cls, call: Call) -> None:
        expect_same_element(call)
        expect_float(call)
        expect_axis(call)


@irdl_op_definition
class LayerNormOp(_RowNorm):
    """
    `(x - mean) / sqrt(variance + epsilon) * scale + bias` (Ba et al. 2016). Mean and variance are
    those of each row: the elements along the dimensions from `axis` on, whose shape scale and bias
    have. 16-bit floats compute in f32.

    ```mlir
    %r = glow.layer_norm %x, %scale, %bias axis 2
       : (tensor<1x128x384xf32>, tensor<384xf32>, tensor<384xf32>) -> tensor<1x128x384xf32>
    ```
    """

    name = "glow.layer_norm"
    FORMULA: ClassVar[str] = """
        result[i.., j..] =
            (input[i.., j..] - mean[i..]) / sqrt(variance[i..] + epsilon) * scale[j..] + bias[j..]
        where mean[i..] = (sum(j..) input[i.., j..]) / count(j..);
              variance[i..] = (sum(j..) (input[i.., j..] - mean[i..]) ** 2) / count(j..)
    """

    input = operand_def(TensorType)
    scale = operand_def(TensorType)
    bias = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())


@irdl_op_definition
class RmsNormOp(_RowNorm):
    """
    `x / sqrt(mean(x**2) + epsilon) * scale` (Zhang and Sennrich 2019), the mean over each row: the
    elements along the dimensions from `axis` on, whose shape the scale has.

    ```mlir
    %r = glow.rms_norm %x, %scale axis 1
       : (tensor<128x384xf32>, tensor<384xf32>) -> tensor<128x384xf32>
    ```
    """

    name = "glow.rms_norm"
    FORMULA: ClassVar[str] = """
        result[i.., j..] = input[i.., j..] / sqrt(square[i..] + epsilon) * scale[j..]
        where square[i..] = (sum(j..) input[i.., j..] ** 2) / count(j..)
    """

    input = operand_def(TensorType)
    scale = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())


@irdl_op_definition
class GroupNormOp(Structured):
    """
    `(x - mean) / sqrt(variance + epsilon) * scale + bias` with mean and variance of each of
    `groups` equal groups of channels (dimension 1) in each image, and a scale and a bias for each
    channel (Wu and He 2018). With one channel in each group this is instance normalisation (Ulyanov
    et al. 2016).

    ```mlir
    %r = glow.group_norm %x, %scale, %bias groups 2
       : (tensor<1x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<1x8x4x4xf32>
    ```
    """

    name = "glow.group_norm"
    FORMULA: ClassVar[str] = """
        result[n, c, s..] = (input[n, c, s..] - mean[n, c // (size(input, 1) // groups)])
            / sqrt(variance[n, c // (size(input, 1) // groups)] + epsilon) * scale[c] + bias[c]
        where mean[n, g] = (sum(d < size(input, 1) // groups, s..)
                  input[n, g * (size(input, 1) // groups) + d, s..]) / count(d, s..) for g < groups;
              variance[n, g] = (sum(d, s..)
                  (input[n, g * (size(input, 1) // groups) + d, s..] - mean[n, g]) ** 2)
                  / count(d, s..)
    """
    RANKS: ClassVar[range] = range(2, 9)

    input = operand_def(TensorType)
    scale = operand_def(TensorType)
    bias = operand_def(TensorType)
    groups = prop_def(IntegerAttr.constr(i64))
    epsilon = prop_def(FloatAttr, default_value=FloatAttr(1e-5, f64))
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    def check(cls, call: Call) -> None:
        expect_same_element(call)
        expect_float(call)
        expect_at_least(call, "groups", 1)
        channels = call.shape(0)[1]
        if channels % call.int("groups"):
            raise call.fail(f"expected groups that divide {channels} channels evenly")
