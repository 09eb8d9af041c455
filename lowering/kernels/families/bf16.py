"""Products of bf16 operands that accumulate in f32."""

from __future__ import annotations

from xdsl.dialects.builtin import f32

from ....glow_dialects.glow.bf16 import PAIR, Bf16ConvolutionOp, Bf16MatMulOp
from ..affine import Affine, Dim, View, affine
from ..nest import Combine, Reduction
from ..registry import Kernel, kernel, view_dims
from .blocked import add_bias, windows


@kernel(Bf16ConvolutionOp)
def convolution(k: Kernel) -> None:
    """
    `y[n, ob, w, o] = bias[ob, o] + sum(x[n, cb, w * stride + i * dilation, 2 * c + p] *
    filter[ob, cb, i, c, o, p])` over blocks `cb`, offsets `i`, pairs `c` and their two members `p`.
    """
    x, filters, bias = k.operands
    y = k.result
    n, ob, o = Dim("n", y.shape[0]), Dim("ob", y.shape[1]), Dim("o", y.shape[-1])
    cb, c = Dim("cb", filters.shape[1]), Dim("c", filters.shape[-3])
    window, offset, places = windows(k.call, y.shape[2:-1], filters.shape[2:-3])
    products = Reduction(
        Combine.ADD,
        f32,
        (x[[n, cb, *places, affine(c) * PAIR]], filters[[ob, cb, *offset, c, o, 0]]),
        terms=PAIR,
    )
    place = [n, ob, *window, o]
    k.reduce(place, [cb, *offset, c], products, place, [bias[[ob, o]]], add_bias)


@kernel(Bf16MatMulOp)
def matmul(k: Kernel) -> None:
    """`y[r, p * width + j] = sum(x[r, 2 * t + i] * weights[p, t, j, i])` over `t` and both `i`."""
    x, weights = k.operands
    panels, pairs, width, _ = weights.shape
    rows = view_dims(View(x.buffer, x.shape[:-1], x.strides[:-1]), "r")
    p, j, t = Dim("p", panels), Dim("j", width), Dim("t", pairs)
    reads = (x[[*rows, affine(t) * PAIR]], weights[[p, t, j, 0]])
    products = Reduction(Combine.ADD, f32, reads, terms=PAIR)
    k.reduce([*rows, p, j], [t], products, [*rows, Affine({p: width, j: 1})])
