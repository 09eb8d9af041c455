"""
Chooses the algorithm of each convolution of blocked tensors: by definition, or Winograd's.

Winograd convolution (`glow.winograd_convolution`) applies to filters of 3 x 3 with stride 1. It
takes fewer multiplications, but transforms its inputs and results, computes whole tiles where the
result ends within one, and reads filters that are 16 / 9 or 4 times as large. A cost model decides;
filters are transformed at compile time, when their bytes are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.passes import ModulePass

from ..errors import CompileError
from ..glow_dialects.glow.blocked import BlockedConvolutionOp, is_blocked_input
from ..glow_dialects.glow.constant import ConstantOp
from ..glow_dialects.glow.winograd import TILES, WinogradConvolutionOp
from ..glow_dialects.operator import element_of, shape_of
from ..semantics.arrays import constant_reader, lazy_constant
from ..semantics.winograd import transform_filter
from .rewriting import Build, erase_if_dead, replace_node, tensor_nodes

KERNEL = 3
FLOPS_PER_BYTE = 10.0
"""
How many floating-point operations a core does in the time in which it reads a byte of filters from
memory: 4 on a quiet desktop, 20 where many cores share the memory.
"""
PRODUCT_EFFICIENCY = 0.93
"""Speed of the products of transformed tiles, relative to that of direct convolution."""
INPUT_FLOPS, OUTPUT_FLOPS = 18.0, 9.0
"""Time to transform tiles, in operations per element of the transformed tile; measured."""

DIRECT, WINOGRAD, AUTO = "direct", "winograd", "auto"


@dataclass(frozen=True)
class Layer:
    """The sizes of a convolution with a filter of 3 x 3 and stride 1."""

    images: int
    inputs: int
    outputs: int
    counts: tuple[int, int]
    """Rows and columns of the result."""

    @staticmethod
    def of(node: BlockedConvolutionOp) -> Layer:
        images, blocks, *counts, block = shape_of(node.result.type)
        _, inputs, *_, rows, _ = shape_of(node.filter.type)
        return Layer(images, inputs * rows, blocks * block, (counts[0], counts[1]))

    @property
    def channels(self) -> int:
        """Pairs of an input and an output channel."""
        return self.inputs * self.outputs


def direct_cost(layer: Layer) -> float:
    """Time of direct convolution, in floating-point operations at full speed."""
    filters = layer.channels * KERNEL**2
    return 2 * filters * layer.images * prod(layer.counts) + 4 * filters * FLOPS_PER_BYTE


def winograd_cost(layer: Layer, tile: int) -> float:
    """Time of Winograd convolution by tiles of a size, in the unit of `direct_cost`."""
    elements = (tile + KERNEL - 1) ** 2
    points = elements * layer.images * prod(-(-n // tile) for n in layer.counts)
    products = 2 * points * layer.channels / PRODUCT_EFFICIENCY
    transforms = points * (INPUT_FLOPS * layer.inputs + OUTPUT_FLOPS * layer.outputs)
    return products + transforms + 4 * elements * layer.channels * FLOPS_PER_BYTE


def best_tile(layer: Layer, forced: bool) -> int | None:
    """The size of Winograd tiles that is fastest; None if the definition is faster still."""
    costs: dict[int | None, float] = {tile: winograd_cost(layer, tile) for tile in TILES}
    if not forced:
        costs[None] = direct_cost(layer)
    return min(costs, key=lambda choice: costs[choice])


def applies(node: BlockedConvolutionOp) -> bool:
    """Whether Winograd convolution computes the same."""
    geometry = (node.strides.get_values(), node.dilations.get_values())
    return (
        geometry == ((1, 1), (1, 1))
        and is_blocked_input(node.call)
        and shape_of(node.filter.type)[2:4] == (KERNEL, KERNEL)
        and 0 not in shape_of(node.result.type)
        and element_of(node.input.type) == f32
        and isinstance(node.filter.owner, ConstantOp)
    )


def rewrite(node: BlockedConvolutionOp, tile: int) -> None:
    """Make a convolution a Winograd convolution by tiles of a size."""
    read = constant_reader(node.filter)
    assert read is not None
    blocks, inputs, *_, rows, block = shape_of(node.filter.type)
    shape = [(tile + KERNEL - 1) ** 2, blocks, inputs * rows, block]
    build = Build()
    hint = node.filter.name_hint
    u = build.add(
        lazy_constant(shape, f32, hint or "filter", lambda: transform_filter(read(), tile))
    )
    u.name_hint = hint
    y = build(WinogradConvolutionOp, node.input, u, node.bias, tile=tile)
    filters = node.filter
    replace_node(node, build.ops, y)
    erase_if_dead([filters])


@dataclass(frozen=True)
class ChooseConvolutionsPass(ModulePass):
    """Choose the algorithm of convolutions of blocked tensors."""

    name = "glow-choose-convolutions"

    algorithm: str = AUTO
    """`direct`, `winograd` wherever it applies, or `auto` for what is estimated to be faster."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.algorithm not in (AUTO, DIRECT, WINOGRAD):
            raise CompileError(
                f"expected the algorithm of convolutions to be {AUTO}, {DIRECT} or {WINOGRAD}, "
                f"found {self.algorithm!r}"
            )
        if self.algorithm == DIRECT:
            return
        for node in tensor_nodes(op):
            if isinstance(node, BlockedConvolutionOp) and applies(node):
                tile = best_tile(Layer.of(node), self.algorithm == WINOGRAD)
                if tile is not None:
                    rewrite(node, tile)
