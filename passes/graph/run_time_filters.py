"""
Winograd convolutions by filters that only the run knows, such as those that are trained.

The transform of a filter is linear. So the transformed filter is a product of a constant matrix and
the filter, whose columns are its pairs of channels in the order of the transformed filter.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ...glow_dialects import costs
from ...glow_dialects.costs import Filters
from ...glow_dialects.glow.constant import ConstantOp
from ...glow_dialects.glow.convolution import ConvolutionOp
from ...glow_dialects.glow.matrix import MatMulOp
from ...glow_dialects.glow.shape import PadOp, TransposeOp
from ...glow_dialects.glow_cpu.blocked import PackChannelsOp, UnpackChannelsOp, num_blocks
from ...glow_dialects.glow_cpu.winograd import (
    TILES,
    WinogradConvolutionOp,
    kernel_parts,
    tile_elements,
)
from ...glow_dialects.machine import MachineDescription
from ...glow_dialects.operator import element_of, shape_of
from ...glow_dialects.timings import TIMINGS
from ...semantics.winograd import transform_filter
from .convolution_times import Layer, Winograd, winograd_cost
from .patch_products import has_patches, patch_cycles, plain_cycles
from .rewriting import Build


def best_tile_at_run_time(
    node: ConvolutionOp, machine: MachineDescription, forced: bool
) -> int | None:
    """
    Returns the size of tiles of the fastest Winograd convolution of a plain tensor by a filter that
    is not constant. None if there is none, or, if that is not `forced`, if the definition or a
    product of patches is faster.
    """
    block = machine.channel_block
    if not _applies(node, block):
        return None
    images, outputs, *counts = shape_of(node.result.type)
    kernel = tuple(shape_of(node.filter.type)[2:])
    window = kernel, node.call.ints("dilations"), node.call.ints("strides")
    inputs, outputs = (
        num_blocks(n, block) * block for n in (shape_of(node.input.type)[1], outputs)
    )
    layer = Layer(images, inputs, outputs, tuple(counts), node.group.value.data, *window)
    if not layer.has_winograd:
        return None
    filters = Filters(machine)
    moved = costs.copies(4 * sum(prod(shape_of(v.type)) for v in (node.input, node.result)))
    times: dict[int | None, float] = {}
    for tile in TILES:
        transform = _transform_cost(layer, tile)
        times[tile] = winograd_cost(layer, Winograd(tile), filters) + transform + moved
    if not forced:
        cycles = plain_cycles(node, machine)
        if has_patches(node):
            cycles = min(cycles, patch_cycles(node, machine))
        times[None] = cycles * 2 * machine.lanes(32) * TIMINGS.vector_units
    return min(times, key=lambda choice: times[choice])


def _applies(node: ConvolutionOp, block: int) -> bool:
    """Returns whether the blocks of channels of a convolution belong to one group each."""
    outputs, per_group, *_ = shape_of(node.filter.type)
    group = node.group.value.data
    return (
        element_of(node.input.type) == f32
        and not isinstance(node.filter.owner, ConstantOp)
        and 0 not in (*shape_of(node.input.type), *shape_of(node.result.type))
        and (group == 1 or (per_group % block == 0 and outputs // group % block == 0))
    )


def _transform_cost(layer: Layer, tile: int) -> float:
    """Returns the time of transforming the filter, in the unit of `direct_cost`."""
    axes = layer.axes(tile)
    channels = layer.inputs * layer.outputs // layer.group
    elements = tile_elements(axes) * kernel_parts(axes)
    arithmetic = 2.0 * elements * channels * prod(layer.kernel)
    return arithmetic + costs.copies(4 * channels * (elements + prod(layer.kernel)))


def winograd_at_run_time(node: ConvolutionOp, build: Build, tile: int, block: int) -> SSAValue:
    """Builds a Winograd convolution, with blocks of so many channels, and its plain result."""
    outputs, _, *kernel = shape_of(node.filter.type)
    pads = node.call.ints("pads")
    low, high = ([0, 0, *side, 0] for side in (pads[: len(kernel)], pads[len(kernel) :]))
    x = build(PackChannelsOp, node.input, block=block)
    if any(pads):
        x = build(PadOp, x, low=low, high=high, value=0.0)
    bias = _whole_blocks(build, node.bias, 1, block)
    y = build(
        WinogradConvolutionOp,
        *(x, _transformed(node, build, tile, block)),
        build.reshape(bias, [num_blocks(outputs, block), block]),
        tile=tile,
        group=node.group,
        kernel=kernel,
        dilations=node.dilations,
        strides=node.strides,
    )
    return build(UnpackChannelsOp, y, channels=outputs)


def _whole_blocks(build: Build, value: SSAValue, dims: int, block: int) -> SSAValue:
    """Returns a tensor whose first `dims` dimensions end with zeros up to a whole block."""
    shape = shape_of(value.type)
    missing = [-size % block if d < dims else 0 for d, size in enumerate(shape)]
    return build(PadOp, value, high=missing, value=0.0) if any(missing) else value


def _transformed(node: ConvolutionOp, build: Build, tile: int, block: int) -> SSAValue:
    """Returns the transformed filter [elements, O / b, P * C, b] for P parts of the kernel."""
    w = _whole_blocks(build, node.filter, 2, block)
    outputs, inputs, *kernel = shape_of(w.type)
    matrix = _transform(kernel, tile, node.call.ints("strides"))
    elements, parts, taps = matrix.shape
    split = build.reshape(w, [outputs // block, block, inputs, taps])
    turned = build(TransposeOp, split, permutation=[3, 0, 2, 1])
    columns = build.reshape(turned, [taps, outputs * inputs])
    rows = build.constant(matrix.reshape(-1, taps), "transform")
    u = build(MatMulOp, rows, columns)
    if parts > 1:
        u = build.reshape(u, [elements, parts, outputs // block, inputs, block])
        u = build(TransposeOp, u, permutation=[0, 2, 1, 3, 4])
    return build.reshape(u, [elements, outputs // block, parts * inputs, block])


def _transform(kernel: Sequence[int], tile: int, strides: Sequence[int]) -> np.ndarray:
    """
    Returns the matrices [elements, P, taps] that transform a filter, for each part of it: the
    transforms of filters that have a one and else zeros.
    """
    taps = prod(kernel)
    units = np.eye(taps, dtype=np.float32).reshape(1, 1, *kernel, 1, taps)
    return transform_filter(units, tile, strides)[:, 0]
