"""Convolutions and pools on blocked tensors."""

from __future__ import annotations

from enum import Enum
from math import prod

from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import SSAValue

from ....glow_dialects import costs
from ....glow_dialects.costs import Filters
from ....glow_dialects.elements import element_bytes, type_bytes
from ....glow_dialects.glow.constant import ConstantOp, SplatOp
from ....glow_dialects.glow.convolution import ConvolutionOp
from ....glow_dialects.glow.pooling import AvgPoolOp, MaxPoolOp
from ....glow_dialects.glow.shape import PadOp
from ....glow_dialects.glow_cpu.blocked import (
    BlockedAvgPoolOp,
    BlockedConvolutionOp,
    BlockedDepthwiseConvolutionOp,
    BlockedMaxPoolOp,
    LaneSumConvolutionOp,
    num_blocks,
)
from ....glow_dialects.glow_cpu.dot import DotConvolutionOp
from ....glow_dialects.glow_vec import dot_terms
from ....glow_dialects.operator import element_of, shape_of, with_shape
from ....glow_dialects.python_values import to_python
from ....glow_dialects.timings import TIMINGS
from ....semantics.blocked import pack_channels, pack_filter
from ....semantics.dot import dot_filter
from ..convolution_times import Layer, least_time
from .quads import QUAD, are_factors
from .state import Blocked, Layouts, Plain, rule

FEW_CHANNELS = 4
"""
Inputs of up to this many channels are read plain, because packing them would multiply their size.
"""


class ConvolutionKind(Enum):
    """The way in which a convolution works on blocked tensors."""

    DENSE = "dense"
    GROUPED = "grouped"
    DEPTHWISE = "depthwise"
    LARGE_DEPTHWISE = "depthwise with a large window"
    FEW_OUTPUTS = "to channels that fill at most half of a block"

    @property
    def wants_blocks(self) -> bool:
        """Whether it would rather read blocks: to a small depthwise window, they are the same."""
        return self is not ConvolutionKind.DEPTHWISE

    @property
    def keeps_channels(self) -> bool:
        """Whether each output channel reads the input channel of its place."""
        return self in (ConvolutionKind.DEPTHWISE, ConvolutionKind.LARGE_DEPTHWISE)


def convolution_kind(layouts: Layouts, node: ConvolutionOp) -> ConvolutionKind | None:
    """Returns the way in which a convolution works on blocked tensors; None if it does not."""
    floats = element_of(node.input.type) == f32
    if not (floats or is_integer(node)) or not isinstance(node.filter.owner, ConstantOp):
        return None
    if not isinstance(node.bias.owner, ConstantOp | SplatOp):
        return None
    outputs, per_group, *_ = shape_of(node.filter.type)
    group = node.group.value.data
    if 1 < group == outputs and per_group == 1:
        return _depthwise_kind(layouts, node)
    if not floats and layouts.block % _terms(layouts, node):
        return None
    if group == 1:
        is_dense = 2 * outputs > layouts.block
        return ConvolutionKind.DENSE if is_dense else ConvolutionKind.FEW_OUTPUTS
    fits = per_group % layouts.block == 0 and outputs // group % layouts.block == 0
    return ConvolutionKind.GROUPED if fits else None


def _depthwise_kind(layouts: Layouts, node: ConvolutionOp) -> ConvolutionKind:
    """Returns whether a depthwise window is so large that packing its input repays."""
    channels, _, *kernel = shape_of(node.filter.type)
    integer, real = TIMINGS.least_packed_integer_window, TIMINGS.least_packed_window
    least = integer if is_integer(node) else real
    is_large = prod(kernel) >= least and channels >= layouts.block
    return ConvolutionKind.LARGE_DEPTHWISE if is_large else ConvolutionKind.DEPTHWISE


def is_integer(node: ConvolutionOp) -> bool:
    """
    Returns whether a convolution sums products of integers as `glow_cpu.dot_convolution` does.
    """
    return are_factors(element_of(node.input.type), element_of(node.filter.type))


def _terms(layouts: Layouts, node: ConvolutionOp) -> int:
    """Returns the number of adjacent channels that the machine multiplies at once."""
    return dot_terms(layouts.machine, element_of(node.input.type))


@rule(ConvolutionOp)
def convolution(layouts: Layouts, node: ConvolutionOp) -> Blocked | Plain | None:
    kind = convolution_kind(layouts, node)
    match kind:
        case ConvolutionKind.DENSE:
            return _dense(layouts, node)
        case ConvolutionKind.GROUPED:
            x = layouts.packed(node.input, layouts.block_of(node.input))
            return _of_blocked(layouts, node, x)
        case ConvolutionKind.DEPTHWISE | ConvolutionKind.LARGE_DEPTHWISE:
            return _depthwise(layouts, node, kind)
        case ConvolutionKind.FEW_OUTPUTS:
            return _to_few_outputs(layouts, node)
        case None:
            return None


def _dense(layouts: Layouts, node: ConvolutionOp) -> Blocked:
    channels = shape_of(node.input.type)[1]
    known = layouts.blocked(node.input)
    if known is None and channels <= FEW_CHANNELS and not is_integer(node):
        return _on_plain(layouts, node)
    return _of_blocked(layouts, node, known or _entering(layouts, node))


def _of_blocked(layouts: Layouts, node: ConvolutionOp, x: Blocked) -> Blocked:
    """Returns the convolution of a blocked input."""
    products = _dot if is_integer(node) else _blocked
    return Blocked(products(layouts, node, _bordered(layouts, node, x.value)), _outputs(node))


def _entering(layouts: Layouts, node: ConvolutionOp) -> Blocked:
    """
    Returns a plain input, packed; one with a border before that. Blocks need not fill a vector.
    """
    x, block = node.input, layouts.block_of(node.input)
    channels = shape_of(x.type)[1]
    if is_integer(node):
        block = -(-channels // QUAD) * QUAD if channels < layouts.block else block
    elif _only_for_products(x):
        block = _balanced(channels, block)
    pad = x.owner
    if not isinstance(pad, PadOp) or not is_integer(node):
        return layouts.packed(x, block)
    low, high = (list(pad.call.ints(name)) for name in ("low", "high"))
    if any((*low[:2], *high[:2])):
        return layouts.packed(x, block)
    inner = layouts.packed(pad.input, block)
    number = float(to_python(pad.value))
    return Blocked(layouts.padded(inner.value, low[2:], high[2:], number), channels, None)


def _only_for_products(x: SSAValue) -> bool:
    """Returns whether all that reads a value are convolutions whose blocks may have any size."""
    users = [use.operation for use in x.uses]
    return all(isinstance(u, ConvolutionOp) and u.group.value.data == 1 for u in users)


def _balanced(channels: int, block: int) -> int:
    """
    Returns how many channels each block should have, at most `block`: about as many as all others
    if that spares many lanes of no channel.
    """
    balanced = -(-channels // num_blocks(channels, block))
    spared = 1 - balanced / block
    return balanced if spared >= TIMINGS.least_spared_lanes else block


def _dot(layouts: Layouts, node: ConvolutionOp, x: SSAValue) -> SSAValue:
    """Uses filters in panels of one vector, for any block size of the result."""
    filters, panel, terms = node.filter.owner, layouts.block, _terms(layouts, node)
    assert isinstance(filters, ConstantOp)
    outputs, inputs, *kernel = shape_of(node.filter.type)
    block = shape_of(x.type)[-1]
    groups = -(-min(block, inputs) // terms)
    shape = [num_blocks(outputs, panel), num_blocks(inputs, block), *kernel, groups, panel, terms]
    w = layouts.constant(filters, lambda a: dot_filter(a, block, panel, terms), shape)
    return layouts.add(
        DotConvolutionOp,
        *(x, w, _bias(layouts, node, layouts.block_of(node.result))),
        strides=node.strides,
        dilations=node.dilations,
        group=node.group,
    )


def _on_plain(layouts: Layouts, node: ConvolutionOp) -> Blocked:
    """Returns the input keeps its layout; the filter has a block of output channels together."""
    pads = list(node.pads.get_values())
    n = len(pads) // 2
    x = node.input
    if any(pads):
        low, high = [0, 0, *pads[:n]], [0, 0, *pads[n:]]
        x = layouts.add(PadOp, x, low=low, high=high, value=0.0)
    return Blocked(_blocked(layouts, node, x, plain_input=True), _outputs(node))


def _blocked(
    layouts: Layouts, node: ConvolutionOp, x: SSAValue, plain_input: bool = False
) -> SSAValue:
    """Returns the convolution of `x`, with its border."""
    block = layouts.block
    filters = node.filter.owner
    assert isinstance(filters, ConstantOp)
    outputs, inputs, *kernel = shape_of(node.filter.type)
    lanes, shape = None, [num_blocks(outputs, block), inputs, *kernel, block]
    if not plain_input:
        lanes = shape_of(x.type)[-1]
        shape = [shape[0], num_blocks(inputs, lanes), *kernel, lanes, block]
    w = layouts.constant(filters, lambda a: pack_filter(a, block, lanes), shape)
    return layouts.add(
        BlockedConvolutionOp,
        *(x, w, _bias(layouts, node, block)),
        strides=node.strides,
        dilations=node.dilations,
        group=node.group,
    )


def _to_few_outputs(layouts: Layouts, node: ConvolutionOp) -> Blocked | Plain | None:
    """
    Returns a convolution to channels that fill at most half of a block by the fastest way: of a
    blocked input to plain channels, or to a block. None if it is one on plain tensors.
    """
    x = layouts.blocked(node.input)
    if x is None:
        return None
    outputs, inputs, *kernel = shape_of(node.filter.type)
    images, _, *counts = shape_of(node.result.type)
    window, lanes, pixels = prod(kernel), layouts.block, images * prod(counts)
    moved = num_blocks(inputs, lanes) * element_bytes(element_of(node.input.type)) / 4
    moved *= 2 if any(node.call.ints("pads")) else 1
    unpacked = costs.unpacked_convolution(pixels, lanes, outputs, inputs * window / lanes, moved)
    if is_integer(node):
        weights = inputs * window * lanes // _terms(layouts, node)
        dense = costs.direct_convolution(images, weights, prod(counts), Filters(layouts.machine))
        return _of_blocked(layouts, node, x) if dense < unpacked else None
    blocks = num_blocks(inputs, x.block)
    sums = costs.lane_sum_convolution(pixels, lanes, outputs, blocks * window)
    steps = node.call.ints("dilations"), node.call.ints("strides")
    layer = Layer(images, blocks * x.block, lanes, tuple(counts), 1, tuple(kernel), *steps)
    dense = least_time(layer, Filters(layouts.machine), winograd=True)
    if dense < min(sums, unpacked):
        return _of_blocked(layouts, node, x)
    return _lane_sums(layouts, node, x) if sums < unpacked else None


def _lane_sums(layouts: Layouts, node: ConvolutionOp, x: Blocked) -> Plain:
    filters = node.filter.owner
    assert isinstance(filters, ConstantOp)
    outputs, inputs, *kernel = shape_of(node.filter.type)
    shape = [outputs, num_blocks(inputs, x.block), *kernel, x.block]
    w = layouts.constant(filters, lambda a: pack_channels(a, x.block), shape)
    y = layouts.add(
        LaneSumConvolutionOp,
        *(_bordered(layouts, node, x.value), w, node.bias),
        strides=node.strides,
        dilations=node.dilations,
    )
    return Plain(y)


def _bias(layouts: Layouts, node: ConvolutionOp, block: int) -> SSAValue:
    bias, count = node.bias.owner, _outputs(node)
    assert isinstance(bias, ConstantOp | SplatOp)
    shape = [num_blocks(count, block), block]
    if isinstance(bias, SplatOp) and (count % block == 0 or not float(to_python(bias.value))):
        t = with_shape(element_of(node.bias.type), shape)
        return layouts.add(SplatOp, result_types=[t], value=bias.value)
    return layouts.constant(bias, lambda a: pack_channels(a, block, axis=0), shape)


def _outputs(node: ConvolutionOp) -> int:
    return shape_of(node.filter.type)[0]


def _bordered(layouts: Layouts, node: ConvolutionOp, x: SSAValue) -> SSAValue:
    pads = list(node.pads.get_values())
    return layouts.padded(x, pads[: len(pads) // 2], pads[len(pads) // 2 :])


def _depthwise(layouts: Layouts, node: ConvolutionOp, kind: ConvolutionKind) -> Blocked | None:
    """Returns a blocked depthwise convolution; None if its input stays plain."""
    x = layouts.blocked(node.input)
    if x is None and kind is ConvolutionKind.LARGE_DEPTHWISE:
        x = layouts.packed(node.input, layouts.block_of(node.input))
    if x is None:
        return None
    block, filters = x.block, node.filter.owner
    assert isinstance(filters, ConstantOp)
    channels, _, *kernel = shape_of(node.filter.type)
    shape = [num_blocks(channels, block), *kernel, block]
    w = layouts.constant(filters, lambda a: pack_channels(a[:, 0], block, axis=0), shape)
    y = layouts.add(
        BlockedDepthwiseConvolutionOp,
        *(_bordered(layouts, node, x.value), w, _bias(layouts, node, block)),
        strides=node.strides,
        dilations=node.dilations,
    )
    return Blocked(y, channels)


_POOLS = {MaxPoolOp: BlockedMaxPoolOp, AvgPoolOp: BlockedAvgPoolOp}


@rule(MaxPoolOp, AvgPoolOp)
def pool(layouts: Layouts, node: MaxPoolOp | AvgPoolOp) -> Blocked | None:
    x = layouts.blocked(node.input)
    if x is None and _repays_blocks(layouts, node):
        x = layouts.packed(node.input, layouts.block_of(node.input))
    if x is None:
        return None
    if not x.is_full and isinstance(node, AvgPoolOp) and x.fill != 0:
        return None
    y = layouts.add(_POOLS[type(node)], x.value, **node.properties)  # pyright: ignore[reportArgumentType]
    return Blocked(y, x.channels, x.fill)


def _repays_blocks(layouts: Layouts, node: MaxPoolOp | AvgPoolOp) -> bool:
    """
    Returns whether a pool should have its input packed: its window is large, the input is near, and
    channels fill most lanes of their blocks. (Pools of other types than f32 were not measured.)
    """
    t = node.input.type
    assert isinstance(t, TensorType)
    channels = shape_of(t)[1]
    lanes = num_blocks(channels, layouts.block) * layouts.block
    return (
        element_of(t) == f32
        and prod(node.call.ints("kernel")) >= TIMINGS.least_pooled_window
        and type_bytes(t) <= layouts.machine.l2_bytes
        and channels >= lanes * (1 - TIMINGS.least_spared_lanes)
    )
