"""Operators that move blocked tensors, or change their layout."""

from __future__ import annotations

from ....glow_dialects.elements import is_float
from ....glow_dialects.glow.resampling import ResampleOp
from ....glow_dialects.glow.shape import ConcatOp, PadOp, ReshapeOp, SliceOp
from ....glow_dialects.glow_cpu.blocked import UnpackChannelsOp
from ....glow_dialects.operator import element_of, shape_of, with_shape
from ....glow_dialects.python_values import to_python
from .state import CHANNEL, Blocked, Layouts, rule


@rule(UnpackChannelsOp)
def unpack(layouts: Layouts, node: UnpackChannelsOp) -> Blocked | None:
    """Users read the packed tensor, as far as they can."""
    if shape_of(node.input.type)[-1] != layouts.block:
        return None
    return Blocked(node.input, node.channels.value.data, None)


def keeps_channels(node: ReshapeOp) -> bool:
    """Returns whether a reshape only joins and splits spatial dimensions."""
    source, target = shape_of(node.input.type), shape_of(node.result.type)
    return source[: CHANNEL + 1] == target[: CHANNEL + 1] and min(len(source), len(target)) > 2


@rule(ReshapeOp)
def reshape(layouts: Layouts, node: ReshapeOp) -> Blocked | None:
    """Returns a reshape that changes spatial dimensions only."""
    x = layouts.blocked(node.input)
    if x is None or not keeps_channels(node):
        return None
    batch, blocks, *_, block = shape_of(x.value.type)
    target = [batch, blocks, *shape_of(node.result.type)[CHANNEL + 1 :], block]
    result = with_shape(element_of(node.result.type), target)
    return Blocked(layouts.add(ReshapeOp, x.value, result_types=[result]), x.channels, x.fill)


@rule(ResampleOp)
def resample(layouts: Layouts, node: ResampleOp) -> Blocked | None:
    """Resamples along a spatial dimension. A sum of zeros is zero."""
    x, axis = layouts.blocked(node.input), node.axis.value.data
    if x is None or axis <= CHANNEL:
        return None
    y = layouts.add(ResampleOp, x.value, node.places, node.weights, axis=axis)
    return Blocked(y, x.channels, 0.0 if x.fill == 0 else None)


@rule(ConcatOp)
def concat(layouts: Layouts, node: ConcatOp) -> Blocked | None:
    """Concatenates along the channels only if each operand except the last one fills its blocks."""
    if len(shape_of(node.result.type)) < 3 or not layouts.prefers_blocks(node.inputs, node.result):
        return None
    axis = node.axis.value.data
    channels = [shape_of(v.type)[CHANNEL] for v in node.inputs]
    block = layouts.common_block(node.inputs)
    if block is None or (axis == CHANNEL and any(c % block for c in channels[:-1])):
        return None
    parts = [layouts.packed(v, block) for v in node.inputs]
    fills = {p.fill for p in (parts[-1:] if axis == CHANNEL else parts)}
    y = layouts.add(ConcatOp, *(p.value for p in parts), axis=axis)
    fill = fills.pop() if len(fills) == 1 else None
    return Blocked(y, shape_of(node.result.type)[CHANNEL], fill)


@rule(SliceOp)
def slice_(layouts: Layouts, node: SliceOp) -> Blocked | None:
    """Returns a slice of whole blocks of channels."""
    x = layouts.blocked(node.input)
    if x is None:
        return None
    starts, sizes, strides = (list(node.call.ints(n)) for n in ("starts", "sizes", "strides"))
    first, count = starts[CHANNEL], sizes[CHANNEL]
    to_end = first + count == x.channels
    if first % x.block or strides[CHANNEL] != 1 or (count % x.block and not to_end):
        return None
    starts[CHANNEL], sizes[CHANNEL] = first // x.block, -(-count // x.block)
    y = layouts.add(
        SliceOp, x.value, starts=[*starts, 0], sizes=[*sizes, x.block], strides=[*strides, 1]
    )
    return Blocked(y, count, x.fill)


@rule(PadOp)
def pad(layouts: Layouts, node: PadOp) -> Blocked | None:
    """Pads around the spatial dimensions. Users of a value share the padded copy if they can."""
    x = layouts.blocked(node.input)
    low, high = (list(node.call.ints(name)) for name in ("low", "high"))
    if x is None or low[CHANNEL] or high[CHANNEL]:
        return None
    number = float(to_python(node.value))
    fill = x.fill if x.fill == number else None
    if not x.is_full and fill is None and is_float(element_of(node.input.type)):
        return None
    if low[0] or high[0]:
        y = layouts.add(PadOp, x.value, low=[*low, 0], high=[*high, 0], value=node.value)
    else:
        y = layouts.padded(x.value, low[CHANNEL + 1 :], high[CHANNEL + 1 :], number)
    return Blocked(y, x.channels, fill)
