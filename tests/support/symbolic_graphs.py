"""
Networks for any sizes, which may be numbers or extents: with numbers they are what a graph with
symbols is after its symbols are bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from glow.glow_dialects.extents import Size, symbol_size
from glow.glow_dialects.glow.activation import ReluOp
from glow.glow_dialects.glow.arithmetic import AddOp, ExpOp, MulOp
from glow.glow_dialects.glow.base import Node
from glow.glow_dialects.glow.constant import SplatOp
from glow.glow_dialects.glow.convolution import ConvolutionOp
from glow.glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from glow.glow_dialects.glow.normalization import BatchNormOp, LayerNormOp, SoftmaxOp
from glow.glow_dialects.glow.pooling import MaxPoolOp
from glow.glow_dialects.glow.reduction import ReduceMeanOp
from glow.glow_dialects.glow.shape import (
    BroadcastOp,
    ConcatOp,
    GatherOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from glow.glow_dialects.operator import element_of, shape_of, with_shape
from glow.semantics.arrays import make_constant
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    f32,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue


class Network:
    """A graph under construction; constants are random, the same for each seed."""

    def __init__(self, seed: int = 0):
        self.rng = np.random.default_rng(seed)
        self.block = Block()

    def argument(self, shape: Sequence[Size], element: Attribute = f32) -> SSAValue:
        t = with_shape(element, shape)  # pyright: ignore[reportArgumentType]
        return self.block.insert_arg(t, len(self.block.args))

    def constant(self, *shape: int) -> SSAValue:
        return self.add(make_constant(self.rng.uniform(0.5, 1.5, shape).astype(np.float32)))

    def add(self, node: Node) -> SSAValue:
        self.block.add_op(node)
        return node.results[0]

    def node(self, kind: type[Node], *operands: SSAValue, **properties: Any) -> SSAValue:
        return self.add(kind.of(*operands, **properties))

    def shaped(self, kind: type[Node], value: SSAValue, shape: Sequence[Size]) -> SSAValue:
        """Adds a node whose shape is no result of inference."""
        t = with_shape(element_of(value.type), shape)  # pyright: ignore[reportArgumentType]
        return self.node(kind, value, result_types=[t])

    def splat(self, value: float, like: SSAValue) -> SSAValue:
        return self.node(SplatOp, result_types=[like.type], value=value)

    def finish(self, *results: SSAValue) -> ModuleOp:
        self.block.add_op(func.ReturnOp(*results))
        names = [
            ArrayAttr([DictionaryAttr({"glow.name": StringAttr(f"{kind}{i}")}) for i in range(n)])
            for kind, n in (("x", len(self.block.args)), ("y", len(results)))
        ]
        types = [a.type for a in self.block.args], [r.type for r in results]
        region = Region(self.block)
        return ModuleOp(
            [func.FuncOp("main", types, region, arg_attrs=names[0], res_attrs=names[1])]
        )


def convolutional(sizes: Mapping[str, Size]) -> ModuleOp:
    """Returns convolutions, normalisation, pooling and a residual sum, for any images."""
    n = Network()
    x = n.argument([sizes["batch"], 3, sizes["height"], sizes["width"]])
    c = n.node(
        ConvolutionOp, x, n.constant(8, 3, 3, 3), n.constant(8), strides=[2, 2], pads=[1, 1, 1, 1],
        dilations=[1, 1],
    )  # fmt: skip
    c = n.node(BatchNormOp, c, *(n.constant(8) for _ in range(4)))
    p = n.node(
        MaxPoolOp, n.node(ReluOp, c), kernel=[2, 2], strides=[1, 1], pads=[0, 0, 0, 0],
        dilations=[1, 1],
    )  # fmt: skip
    q = n.node(BatchNormOp, p, *(n.constant(8) for _ in range(4)))
    s = n.node(PadOp, n.node(AddOp, p, q), low=[0, 0, 1, 0], high=[0, 0, 0, 2], value=0.0)
    m = n.node(ReduceMeanOp, s, axes=[2, 3])
    return n.finish(n.node(FullyConnectedOp, m, n.constant(5, 8), n.constant(5)), s)


def transformer(sizes: Mapping[str, Size]) -> ModuleOp:
    """Returns a block with masked attention on two heads, of which one takes the last rows."""
    n, heads, depth = Network(), 2, 4
    batch, seq = sizes["batch"], sizes["seq"]
    ids = n.argument([batch, seq], i64)
    mask = n.argument([batch, 1, 1, seq])
    x = n.node(GatherOp, n.constant(11, heads * depth), ids, axis=0)
    x = n.node(LayerNormOp, x, n.constant(8), n.constant(8), axis=2)
    rows = n.shaped(ReshapeOp, x, [batch * seq, heads * depth])

    def split() -> SSAValue:
        y = n.node(FullyConnectedOp, rows, n.constant(8, 8), n.constant(8))
        y = n.shaped(ReshapeOp, y, [batch, seq, heads, depth])
        return n.node(TransposeOp, y, permutation=[0, 2, 1, 3])

    q, k, v = (split() for _ in range(3))
    k = n.node(TransposeOp, k, permutation=[0, 1, 3, 2])
    scores = n.node(MatMulOp, q, k)
    scores = n.node(MulOp, scores, n.splat(0.5, scores))
    scores = n.node(AddOp, scores, n.shaped(BroadcastOp, mask, shape_of(scores.type)))
    y = n.node(MatMulOp, n.node(SoftmaxOp, scores, axis=3), v)
    y = n.node(TransposeOp, y, permutation=[0, 2, 1, 3])
    y = n.shaped(ReshapeOp, y, [batch, seq, heads * depth])
    bias = n.shaped(BroadcastOp, n.node(ExpOp, n.constant(8)), shape_of(y.type))
    y = n.node(ConcatOp, n.node(AddOp, y, bias), x, axis=2)
    last = n.node(
        SliceOp, y, starts=[0, seq - 1, 0], sizes=[batch, 1, 2 * heads * depth], strides=[1, 1, 1]
    )
    return n.finish(y, n.shaped(ReshapeOp, last, [batch, 2 * heads * depth]))


def cache(sizes: Mapping[str, Size]) -> ModuleOp:
    """Returns a cache that grows by new rows, and a product with all of them."""
    n = Network()
    past = n.argument([sizes["past"], 4])
    new = n.argument([sizes["new"], 4])
    rows = n.node(ConcatOp, past, n.node(ReluOp, new), axis=0)
    y = n.node(
        MatMulOp,
        n.node(MulOp, new, n.splat(2.0, new)),
        n.node(TransposeOp, rows, permutation=[1, 0]),
    )
    kept = n.node(SliceOp, rows, starts=[sizes["new"], 0], sizes=[sizes["past"], 4], strides=[1, 1])
    return n.finish(kept, n.node(SoftmaxOp, y, axis=1))


NETWORKS: dict[str, Callable[[Mapping[str, Size]], ModuleOp]] = {
    "convolutional": convolutional,
    "transformer": transformer,
    "cache": cache,
}
SYMBOLS: dict[str, dict[str, Size]] = {
    "convolutional": {
        "batch": symbol_size("batch"),
        "height": symbol_size("height", 5),
        "width": symbol_size("width", 5, 64),
    },
    "transformer": {"batch": symbol_size("batch"), "seq": symbol_size("seq", 1, 512)},
    "cache": {"past": symbol_size("past"), "new": symbol_size("new")},
}
"""The symbols of each network, with their ranges."""
