"""
The claims of the backend `vta`, as data.

The operators are those of quantized graphs: float operators between `glow.dequantize` of their
operands and `glow.quantize` of their results. Types are of 8 bits with scales that are powers of
two; weights may have one for each output channel.
"""

from __future__ import annotations

from functools import cache
from math import prod

from xdsl.dialects.builtin import f32, i8, i32

from ...glow_dialects.claims import Claim, Elements, Quantized, Schema, claims
from ...glow_dialects.glow.activation import ClipOp, ReluOp
from ...glow_dialects.glow.arithmetic import AddOp, MulOp, SubOp
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.convolution import ConvolutionOp
from ...glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from ...glow_dialects.glow.pooling import AvgPoolOp, MaxPoolOp
from ...glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from ...glow_dialects.glow.reduction import ReduceMeanOp
from ...glow_dialects.glow.shape import ReshapeOp
from ...glow_dialects.operator import Call, shape_of
from ...glow_dialects.vta.designs import Design

ACTIVATION = Quantized(i8, Schema.POWER_OF_TWO)
WEIGHTS = Quantized(i8, Schema.POWER_OF_TWO, per_axis=True)
BIAS = Quantized(i32, Schema.POWER_OF_TWO, per_axis=True)
_MOST_TERMS = 1 << 8
"""The most terms of a mean: the fixed-point multiplier has 31 bits, and accumulators have 32."""


def _is_image(call: Call) -> bool:
    """Returns whether a call has at most two spatial dimensions."""
    return 3 <= len(call.shape(0)) <= 4


def _is_tensor(call: Call) -> bool:
    """
    Returns whether all tensors have the same shape, with a dimension of channels and at most two
    others after it.
    """
    shapes = {tuple(call.shape(i)) for i in range(len(call.operands))}
    return len(shapes) == 1 and 2 <= len(call.shape(0)) <= 4


def _is_matrix(call: Call) -> bool:
    return len(call.shape(0)) == 2 and not call.get("transpose_lhs")


def _is_mean(call: Call) -> bool:
    """Returns a mean of the same number of elements everywhere."""
    if not _is_image(call) or call.get("ceil_mode"):
        return False
    padded = any(call.ints("pads")) and not call.get("count_include_pad")
    return not padded and prod(call.ints("kernel")) <= _MOST_TERMS


def _is_global_mean(call: Call) -> bool:
    shape = call.shape(0)
    spatial = list(range(2, len(shape)))
    terms = prod(shape[2:])
    return _is_image(call) and sorted(call.ints("axes")) == spatial and terms <= _MOST_TERMS


def _keeps_layout(call: Call) -> bool:
    """Images of single pixels, or another way to write the same image."""
    shapes = call.shape(0), shape_of(call.results[0])
    if not all(2 <= len(shape) <= 4 for shape in shapes) or shapes[0][:2] != shapes[1][:2]:
        return False
    return all(size == 1 for shape in shapes for size in shape[2:])


def is_product(call: Call) -> bool:
    """Returns whether the GEMM core computes it."""
    return call.operator in _PRODUCTS


_PRODUCTS: tuple[type[Node], ...] = (ConvolutionOp, FullyConnectedOp, MatMulOp)
_SAME = [Elements((ACTIVATION,), (ACTIVATION,))]
_RESULTS = (ACTIVATION, f32)
"""The result types of products. The host makes floats of accumulators at the end of a program."""
_BIASED = [
    *(Elements((ACTIVATION, WEIGHTS, BIAS), (r,)) for r in _RESULTS),
    # rounded to numbers that accumulators hold
    Elements((ACTIVATION, WEIGHTS, f32), (ACTIVATION,)),
]
_UNBIASED = [Elements((ACTIVATION, WEIGHTS), (r,)) for r in _RESULTS]

_CLAIMS = (
    *claims(ConvolutionOp, elements=_BIASED, when=_is_image),
    *claims(FullyConnectedOp, elements=_BIASED),
    *claims(MatMulOp, elements=_UNBIASED, when=_is_matrix),
    *claims(AddOp, SubOp, MulOp, ReluOp, ClipOp, elements=_SAME, when=_is_tensor),
    *claims(MaxPoolOp, elements=_SAME, when=_is_image),
    *claims(AvgPoolOp, elements=_SAME, when=_is_mean),
    *claims(ReduceMeanOp, elements=_SAME, when=_is_global_mean),
    *claims(ReshapeOp, elements=_SAME, when=_keeps_layout),
    # at the borders of a program, where the host computes them
    *claims(QuantizeOp, elements=[Elements((f32,), (ACTIVATION,))], when=_is_tensor),
    *claims(DequantizeOp, elements=[Elements((ACTIVATION,), (f32,))], when=_is_tensor),
)


@cache
def claims_for(design: Design) -> tuple[Claim, ...]:
    """
    Returns the claims of a design. Without multiplication on the ALU it computes no products of two
    tensors.
    """
    return tuple(c for c in _CLAIMS if design.multiplies or c.operator is not MulOp)
