"""
Functions of tensors that have defaults or consist of several nodes.

All other operators of the graph dialect are `tensor.graph.node(Operator, ...)`, or `elementwise`
for those that compute each element by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..errors import GlowError
from ..glow_dialects.glow.activation import GeluOp, ReluOp, SigmoidOp, TanhOp
from ..glow_dialects.glow.arithmetic import MulOp
from ..glow_dialects.glow.attention import AttentionOp, MaskedAttentionOp
from ..glow_dialects.glow.convolution import ConvolutionOp
from ..glow_dialects.glow.logic import LessOp, SelectOp, ShiftRightOp
from ..glow_dialects.glow.matrix import FullyConnectedOp
from ..glow_dialects.glow.normalization import LogSoftmaxOp, SoftmaxOp
from ..glow_dialects.glow.pooling import AvgPoolOp, MaxPoolOp
from ..glow_dialects.glow.random import WORD, RandomBitsOp
from ..glow_dialects.glow.shape import ConcatOp, GatherOp
from ..glow_dialects.glow.transposed import TransposedConvolutionOp
from .arguments import axis_of
from .indices import expect_indices
from .tensor import Tensor, elementwise

_BITS = 24
"""The random bits of a number between 0 and 1: as many as an f32 has."""


def relu(x: Tensor) -> Tensor:
    """Returns `max(x, 0)`"""
    return elementwise(ReluOp, x)


def gelu(x: Tensor) -> Tensor:
    """Returns `x` times the normal distribution function of `x` (Hendrycks and Gimpel 2016)."""
    return elementwise(GeluOp, x)


def sigmoid(x: Tensor) -> Tensor:
    """Returns `1 / (1 + exp(-x))`"""
    return elementwise(SigmoidOp, x)


def tanh(x: Tensor) -> Tensor:
    return elementwise(TanhOp, x)


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """Returns `exp(x) / sum(exp(x))`, the sum along `axis`."""
    return x.graph.node(SoftmaxOp, x, axis=axis_of(axis, x.rank))


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """Returns the logarithm of the softmax along `axis`."""
    return x.graph.node(LogSoftmaxOp, x, axis=axis_of(axis, x.rank))


def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Returns `x @ weight^T + bias` for x [..., I], weights [O, I] and a bias [O]."""
    rows = x.reshape(prod(x.shape[:-1]), x.shape[-1])
    y = x.graph.node(FullyConnectedOp, rows, weight, bias)
    return y.reshape(*x.shape[:-1], weight.shape[0])


def convolution(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    group: int = 1,
) -> Tensor:
    """
    Returns the cross-correlation of x [N, C, D1, ...] and weights [O, C / group, K1, ...], plus a
    bias [O]. Strides, padding with zeros, and dilations are the same in all spatial dimensions.
    """
    n = x.rank - 2
    return x.graph.node(
        *(ConvolutionOp, x, weight, bias),
        strides=[stride] * n,
        pads=[padding] * (2 * n),
        dilations=[dilation] * n,
        group=group,
    )


def transposed_convolution(
    x: Tensor, weight: Tensor, bias: Tensor, stride: int = 1, padding: int = 0
) -> Tensor:
    """
    Returns the transposed convolution of x [N, C, D1, ...] with weights [C, O, K1, ...] and a bias
    [O]: the adjoint of the convolution with the same weights.
    """
    n = x.rank - 2
    return x.graph.node(
        *(TransposedConvolutionOp, x, weight, bias),
        strides=[stride] * n,
        pads=[padding] * (2 * n),
    )


def max_pool(x: Tensor, kernel: int, stride: int | None = None, padding: int = 0) -> Tensor:
    """Returns the largest element of each window of x [N, C, D1, ...]; a stride is the kernel's."""
    return x.graph.node(MaxPoolOp, x, **_window(x, kernel, stride, padding))


def avg_pool(x: Tensor, kernel: int, stride: int | None = None, padding: int = 0) -> Tensor:
    """Returns the mean of each window of x [N, C, D1, ...]; padding does not count."""
    return x.graph.node(AvgPoolOp, x, **_window(x, kernel, stride, padding))


def _window(x: Tensor, kernel: int, stride: int | None, padding: int) -> dict[str, list[int]]:
    n = x.rank - 2
    return {
        "kernel": [kernel] * n,
        "strides": [stride or kernel] * n,
        "pads": [padding] * (2 * n),
        "dilations": [1] * n,
    }


def flatten(x: Tensor) -> Tensor:
    """Returns x [N, ...] as [N, the product of the rest]."""
    return x.reshape(x.shape[0], prod(x.shape[1:]))


def concat(tensors: Sequence[Tensor], axis: int) -> Tensor:
    """Returns tensors one after the other along `axis`."""
    if not tensors:
        raise GlowError("expected tensors to concatenate, found none")
    return tensors[0].graph.node(ConcatOp, *tensors, axis=axis_of(axis, tensors[0].rank))


def embedding(indices: Tensor, weight: Tensor) -> Tensor:
    """
    Returns the rows of weights [V, D] that indices [...] name, [..., D]. Indices that are an input
    of the network are checked when it is called.
    """
    expect_indices(indices, weight.shape[0], f"embedding of {weight.shape[0]} rows")
    return weight.graph.node(GatherOp, weight, indices, axis=0)


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    """
    Returns `softmax(query @ key^T / sqrt(D) + mask) @ value` (Vaswani et al. 2017) for operands
    [N, positions, heads, D] and a mask [N, heads, query positions, key positions].
    """
    scale = query.shape[-1] ** -0.5
    if mask is None:
        return query.graph.node(AttentionOp, query, key, value, scale=scale)
    return query.graph.node(MaskedAttentionOp, query, key, value, mask, scale=scale)


def dropout(x: Tensor, rate: float) -> Tensor:
    """
    Returns x with elements set to 0 with probability `rate` and the others divided by `1 - rate`
    (Srivastava et al. 2014). The graph gets the input `random`, ui32[3], from which the random
    numbers follow.
    """
    if not 0 <= rate < 1:
        raise GlowError(f"expected a rate of dropout of at least 0 and below 1, found {rate}")
    graph, count = x.graph, prod(x.shape)
    state = graph.random_input()
    graph.randoms += 1
    index = graph.formula(f"y[i] = ui32(i) for i < {count}", shape=[count], element=WORD)
    step, first, second = (state.slice([i], [1]).broadcast([count]) for i in (2, 0, 1))
    own = second + graph.number(graph.randoms, second)
    bits = graph.node(RandomBitsOp, index, step, first, own)
    whole = graph.node(ShiftRightOp, bits, graph.number(32 - _BITS, bits)).cast("int32")
    number = (whole.cast("float32") * 2.0**-_BITS).reshape(*x.shape).cast(x.dtype)
    kept = graph.node(LessOp, number, graph.number(1 - rate, number))
    scaled = elementwise(MulOp, x, 1 / (1 - rate))
    return graph.node(SelectOp, kept, scaled, graph.number(0, x))
