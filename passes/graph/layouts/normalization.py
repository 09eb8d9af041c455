"""Normalisation of blocked tensors, by moments of channels over space and of groups of channels."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from ....glow_dialects.glow.arithmetic import AddOp, DivOp, MulOp, SqrtOp, SubOp
from ....glow_dialects.glow.constant import SplatOp
from ....glow_dialects.glow.generic import GenericOp
from ....glow_dialects.glow.normalization import GroupNormOp
from ....glow_dialects.glow.reduction import ReduceMeanOp
from ....glow_dialects.glow.shape import BroadcastOp
from ....glow_dialects.operator import element_of, shape_of, with_shape
from .state import CHANNEL, Blocked, Layouts, rule

_VARIANCE = "y[n, o, i] = (sum(s..) (x[n, o, s.., i] - mean[n, o, i]) ** 2) / count(s..)"


@rule(GroupNormOp)
def group_norm(layouts: Layouts, node: GroupNormOp) -> Blocked | None:
    """
    Returns `(x - mean) * factor + bias`. Lanes sum over space; the numbers of channels that this
    leaves are few, and are plain.
    """
    x, element = layouts.blocked(node.input), element_of(node.input.type)
    if x is None or layouts.demand.get(node.result, 0) <= 0:
        return None
    # moments of 16-bit floats would be rounded; a lane of no channel is multiplied by zero
    if element not in (f32, f64) or not (x.is_full or x.fill is not None):
        return None
    moments = _Moments(layouts, x, node)
    mean = moments.of_groups(layouts.add(ReduceMeanOp, x.value, axes=moments.space, keep_dims=True))
    variance = moments.of_groups(moments.squares(moments.packed(mean)))
    epsilon = layouts.add(SplatOp, result_types=[variance.type], value=node.epsilon.value.data)
    deviation = layouts.add(SqrtOp, layouts.add(AddOp, variance, epsilon))
    factor = layouts.add(DivOp, moments.by_channel(node.scale), deviation)
    mean, factor, bias = (
        moments.repeated(moments.packed(v), shape_of(x.value.type))
        for v in (mean, factor, moments.by_channel(node.bias))
    )
    scaled = layouts.add(MulOp, layouts.add(SubOp, x.value, mean), factor)
    return Blocked(layouts.add(AddOp, scaled, bias), x.channels)


class _Moments:
    """Makes numbers [N, C, 1..] for the channels of the images of a blocked tensor."""

    def __init__(self, layouts: Layouts, x: Blocked, node: GroupNormOp):
        self._layouts = layouts
        self._x = x
        self._groups = node.groups.value.data
        images, channels, *sizes = shape_of(node.input.type)
        self._column = [images, channels, *[1] * len(sizes)]
        self.space = range(CHANNEL + 1, CHANNEL + 1 + len(sizes))

    def by_channel(self, parameter: SSAValue) -> SSAValue:
        """Returns a number for each channel, the same in all images."""
        column = self._layouts.reshaped(self._layouts.plain(parameter), [1, *self._column[1:]])
        return self.repeated(column, self._column)

    def packed(self, numbers: SSAValue) -> SSAValue:
        """Returns the numbers of lanes [N, ceil(C / b), 1.., b]; 0 in those of no channel."""
        return self._layouts.packed(numbers, self._x.block).value

    def repeated(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        if shape_of(value.type) == tuple(shape):
            return value
        result = with_shape(element_of(value.type), shape)
        return self._layouts.add(BroadcastOp, value, result_types=[result])

    def squares(self, mean: SSAValue) -> SSAValue:
        """Returns the mean squares of the distances of lanes from a mean for each of them."""
        layouts, shape = self._layouts, shape_of(mean.type)
        lanes = layouts.reshaped(mean, [*shape[: CHANNEL + 1], shape[-1]])
        found = layouts.add(
            GenericOp, self._x.value, lanes, formula=_VARIANCE, result_types=[lanes.type]
        )
        return layouts.reshaped(found, shape)

    def of_groups(self, lanes: SSAValue) -> SSAValue:
        """Returns for each channel the mean of the numbers that the lanes of its group have."""
        layouts = self._layouts
        images, channels, *_ = self._column
        numbers = layouts.unpacked(Blocked(lanes, channels), self._column)
        if self._groups == channels:
            return numbers
        divided = layouts.reshaped(numbers, [images, self._groups, channels // self._groups])
        mean = layouts.add(ReduceMeanOp, divided, axes=[2], keep_dims=True)
        return layouts.reshaped(self.repeated(mean, shape_of(divided.type)), self._column)
