"""
Chooses the algorithm of each convolution: of blocked tensors by definition or Winograd's, of others
by definition, Winograd's with a filter that is transformed at run time (`run_time_filters.py`), or
a product of matrices (`patch_products.py`).

Winograd convolution (`glow_cpu.winograd_convolution`) applies to filters that have more elements
than the stride along some dimension, and cuts larger ones into parts. It takes fewer
multiplications, but transforms its inputs and results, computes whole tiles where the result ends
within one, and reads filters that are 2 to 9 times as large. Where there are tile registers
for bf16, the products may be those of three parts of each number, as exact as in f32, but faster;
then filters take half as much again. Groups of channels have products of their own, which are not
in parts of bf16. A cost model decides; filters are transformed at compile time, when their bytes
are needed.

Convolutions of bytes by pairs of 16-bit words (`glow_cpu.dot_convolution`) become
`glow_cpu.dot_winograd_convolution`, which is exact, on machines that multiply no bytes. The
coefficients of a filter tell whether its outputs stay within the range of that.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, bf16, f32, i8, i16
from xdsl.passes import ModulePass

from ...errors import CompileError
from ...glow_dialects import costs
from ...glow_dialects.costs import Filters
from ...glow_dialects.elements import storage_type, type_bytes
from ...glow_dialects.glow.constant import ConstantOp
from ...glow_dialects.glow.convolution import ConvolutionOp
from ...glow_dialects.glow.machine import machine_of
from ...glow_dialects.glow_cpu.blocked import BlockedConvolutionOp, is_blocked_input
from ...glow_dialects.glow_cpu.dot import DotConvolutionOp
from ...glow_dialects.glow_cpu.winograd import (
    PARTS,
    TILES,
    DotWinogradConvolutionOp,
    WinogradConvolutionOp,
    axes_of,
    kernel_parts,
    tile_elements,
)
from ...glow_dialects.machine import MachineDescription
from ...glow_dialects.operator import element_of, shape_of
from ...glow_dialects.timings import TIMINGS
from ...semantics.arrays import constant_reader, lazy_constant
from ...semantics.winograd import (
    filter_in_parts,
    integer_divisor,
    transform_dot_filter,
    transform_filter,
)
from ..levels import GRAPH
from .convolution_times import Layer, Winograd, best_way, bytes_cost
from .patch_products import has_patches, patch_product, repays_patches
from .rewriting import Build, erase_if_dead, replace_node, tensor_nodes
from .run_time_filters import best_tile_at_run_time, winograd_at_run_time

DIRECT, WINOGRAD, PRODUCT, AUTO = "direct", "winograd", "product", "auto"
ALGORITHMS = (AUTO, DIRECT, WINOGRAD, PRODUCT)


def layer_of(node: BlockedConvolutionOp | DotConvolutionOp) -> Layer:
    """Returns the sizes of a convolution of blocked tensors."""
    images, blocks, *counts, block = shape_of(node.result.type)
    _, inputs, *_, lanes = shape_of(node.input.type)
    kernel = shape_of(node.filter.type)[2 : 2 + len(counts)]
    channels = inputs * lanes, blocks * block
    window = kernel, node.call.ints("dilations"), node.call.ints("strides")
    return Layer(images, *channels, tuple(counts), node.group.value.data, *window)


def applies(node: BlockedConvolutionOp) -> bool:
    """Returns whether Winograd convolution computes the same."""
    call = node.call
    return (
        is_blocked_input(call)
        and layer_of(node).has_winograd
        and 0 not in shape_of(node.result.type)
        and element_of(node.input.type) == f32
        and isinstance(node.filter.owner, ConstantOp)
    )


def rewrite(node: BlockedConvolutionOp, way: Winograd) -> None:
    """Makes a convolution a Winograd convolution."""
    read = constant_reader(node.filter)
    assert read is not None
    hint = node.filter.name_hint or "filter"
    blocks, inputs, *kernel, rows, block = shape_of(node.filter.type)
    strides = node.call.ints("strides")
    axes = axes_of(way.tile, kernel, strides)
    inputs *= kernel_parts(axes)
    elements = tile_elements(axes)
    if way.parts:
        shape = [elements, blocks, -(-inputs // 2), PARTS, rows, block, 2]
        element = bf16
    else:
        shape = [elements, blocks, inputs * rows, block]
        element = f32

    def transformed() -> np.ndarray:
        u = transform_filter(read(), way.tile, strides)
        return filter_in_parts(u, rows) if way.parts else u

    u = lazy_constant(shape, element, hint, transformed)
    _replace(node, WinogradConvolutionOp, way.tile, u)


def _replace(
    node: BlockedConvolutionOp | DotConvolutionOp,
    operator: type[WinogradConvolutionOp | DotWinogradConvolutionOp],
    tile: int,
    transformed: ConstantOp,
) -> None:
    """Replaces a convolution by one with a transformed filter."""
    build, filters = Build(), node.filter
    u = build.add(transformed)
    u.name_hint = filters.name_hint
    options = {"tile": tile, "group": node.group, "kernel": layer_of(node).kernel}
    options |= {"dilations": node.dilations, "strides": node.strides}
    y = build(operator, node.input, u, node.bias, **options)
    replace_node(node, build.ops, y)
    erase_if_dead([filters])


# bytes


def applies_to_bytes(node: DotConvolutionOp, machine: MachineDescription) -> bool:
    """
    Returns whether Winograd convolution of bytes computes the same in whole blocks of pairs, and
    the machine multiplies words. (Registers of 512 bits were not measured.)
    """
    *_, lanes = shape_of(node.input.type)
    panels, *_, groups, panel, terms = shape_of(node.filter.type)
    stored = storage_type(element_of(node.input.type))
    return (
        layer_of(node).has_winograd
        and (terms, groups * terms, lanes) == (2, lanes, machine.channel_block)
        and shape_of(node.bias.type) == (panels, panel)
        and 0 not in shape_of(node.result.type)
        and isinstance(stored, IntegerType)
        and stored.width.data == 8
        and isinstance(node.filter.owner, ConstantOp)
        and not machine.int8_dots
        and not machine.broadcasts_operands
    )


def best_tile_of_bytes(node: DotConvolutionOp, forced: bool) -> int | None:
    """
    Returns the size of tiles of the fastest Winograd convolution that is exact; None if there is
    none, or the definition is faster still.
    """
    layer = layer_of(node)
    times: dict[int | None, float] = {t: bytes_cost(layer, t) for t in TILES}
    if not forced:
        times[None] = costs.direct_convolution_of_bytes(
            layer.images, layer.weights, prod(layer.counts)
        )
    for tile in sorted(times, key=lambda choice: times[choice]):
        if tile is None or _is_exact(node, tile):
            return tile
    return None


def _is_exact(node: DotConvolutionOp, tile: int) -> bool:
    """Returns whether all outputs, without bias, are in the range of sums that are divided."""
    divisor = integer_divisor(layer_of(node).axes(tile))
    most = 1 << 31 - ((divisor & -divisor).bit_length() - 1)
    is_unsigned = storage_type(element_of(node.input.type)) != i8
    low, high = (0, 255) if is_unsigned else (-128, 127)
    panels, *summed, panel, terms = shape_of(node.filter.type)
    if prod(summed) * terms * 128 * max(high, -low) < most:
        return True
    read = constant_reader(node.filter)
    assert read is not None
    # [panels, C / b * kernel * groups, panel, terms]
    w = read().reshape(panels, -1, panel, terms).astype(np.int16)
    positive, negative = (np.maximum(sign * w, 0).sum((1, 3), np.int64) for sign in (1, -1))
    largest = np.maximum(high * positive - low * negative, high * negative - low * positive)
    return int(largest.max()) < most


def rewrite_bytes(node: DotConvolutionOp, tile: int) -> None:
    """Makes a convolution of bytes a Winograd convolution."""
    read = constant_reader(node.filter)
    assert read is not None
    hint = node.filter.name_hint or "filter"
    panels, inputs, *kernel, groups, panel, terms = shape_of(node.filter.type)
    strides = node.call.ints("strides")
    axes = axes_of(tile, kernel, strides)
    shape = [tile_elements(axes), panels, kernel_parts(axes) * inputs, groups, panel, terms]

    def transformed() -> np.ndarray:
        return transform_dot_filter(read(), tile, strides)

    _replace(node, DotWinogradConvolutionOp, tile, lazy_constant(shape, i16, hint, transformed))


@dataclass(frozen=True)
class ChooseConvolutionsPass(ModulePass):
    """Chooses the algorithm of convolutions."""

    name = "glow-choose-convolutions"
    level = GRAPH

    algorithm: str = AUTO
    """
    The algorithm: `direct`; `winograd` or `product` wherever it applies; or `auto` for the fastest
    one by estimate.
    """
    rounded: bool = False
    """Whether products of matrices are rounded to bf16 later, where that is faster."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.algorithm not in ALGORITHMS:
            *others, last = ALGORITHMS
            raise CompileError(
                f"expected the algorithm of convolutions to be {', '.join(others)} or {last}, "
                f"found {self.algorithm!r}"
            )
        machine = machine_of(op)
        constants = [n.result.type for n in tensor_nodes(op) if isinstance(n, ConstantOp)]
        most = machine.l3_bytes * TIMINGS.constants_l3_share
        filters = Filters(machine, stay=sum(map(type_bytes, constants)) <= most)
        for node in tensor_nodes(op):
            match node:
                case BlockedConvolutionOp():
                    self._choose_blocked(node, filters)
                case DotConvolutionOp():
                    self._choose_bytes(node, machine)
                case ConvolutionOp():
                    self._choose_plain(node, machine)

    def _choose_blocked(self, node: BlockedConvolutionOp, filters: Filters) -> None:
        if self.algorithm in (AUTO, WINOGRAD) and applies(node):
            way = best_way(layer_of(node), self.algorithm == WINOGRAD, filters)
            if way is not None:
                rewrite(node, way)

    def _choose_bytes(self, node: DotConvolutionOp, machine: MachineDescription) -> None:
        if self.algorithm in (AUTO, WINOGRAD) and applies_to_bytes(node, machine):
            tile = best_tile_of_bytes(node, self.algorithm == WINOGRAD)
            if tile is not None:
                rewrite_bytes(node, tile)

    def _choose_plain(self, node: ConvolutionOp, machine: MachineDescription) -> None:
        build, tile, is_product = Build(), None, self._is_product(node, machine)
        # products that are rounded to bf16 are faster than tiles in f32
        if self.algorithm in (AUTO, WINOGRAD) and not (self.rounded and is_product):
            tile = best_tile_at_run_time(node, machine, self.algorithm == WINOGRAD)
        if tile is not None:
            y = winograd_at_run_time(node, build, tile, machine.channel_block)
        elif is_product:
            y = patch_product(node, build)
        else:
            return
        replace_node(node, build.ops, y)

    def _is_product(self, node: ConvolutionOp, machine: MachineDescription) -> bool:
        if not has_patches(node) or self.algorithm not in (AUTO, PRODUCT):
            return False
        return self.algorithm == PRODUCT or repays_patches(node, machine, self.rounded)
