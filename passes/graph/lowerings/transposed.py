"""
Transposed convolution as convolutions with stride 1.

The results `p = phase + stride * t` of one phase, for all `t`, are a convolution of the input with
every stride-th element of the filter, reversed: input `i` reaches result `p` by filter element `k`
where `p + low = i * stride + k * dilation`. So no product with a zero is computed, which spreading
the input apart would do, and the results of the phases interleave. There are two forms:

- one convolution for each phase (of all dimensions together), joined by concatenations along
  dimensions of their own: their producers write every `stride`-th element of the result in place;
- one convolution whose output channels are those of all phases, and a transposition. For filters
  with fewer output channels than vectors have lanes, for filters that only the run knows, which one
  product reads as one matrix, and where phases are many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd, prod

from xdsl.ir import SSAValue

from ....glow_dialects.glow.constant import ConstantOp
from ....glow_dialects.glow.convolution import ConvolutionOp
from ....glow_dialects.glow.shape import ConcatOp, PadOp, SliceOp, TransposeOp
from ....glow_dialects.glow.transposed import TransposedConvolutionOp
from ....glow_dialects.operator import shape_of
from ..rewriting import Build
from .registry import lowering

MOST_PHASES = 16
"""The largest number of phases; each becomes a convolution of its own, with a kernel of its own."""
LANES = 16
"""Output channels that fill the vectors of most machines."""


@dataclass(frozen=True)
class Dimension:
    """One spatial dimension."""

    size: int
    kernel: int
    stride: int
    dilation: int
    low: int
    count: int
    """The number of results."""


@dataclass(frozen=True)
class Window:
    """The inputs that the results of one phase read, along one dimension."""

    first: int
    """The filter element that meets the first input of a window, after which they go down."""
    step: int
    """The distance from one filter element that is used to the next one."""
    taps: int
    """The number of filter elements that are used; 0 if they reach no result of this phase."""
    dilation: int = 1
    start: int = 0
    """The input from which on elements are read, `size` of them."""
    size: int = 0
    pad_low: int = 0
    pad_high: int = 0


UNREACHED = Window(0, 1, 0)


def window(d: Dimension, phase: int, count: int) -> Window:
    """Returns the window of a phase that computes `count` results."""
    common = gcd(d.stride, d.dilation)
    place = phase + d.low
    step, dilation = d.stride // common, d.dilation // common
    reaching = [k for k in range(min(step, d.kernel)) if (place - k * d.dilation) % d.stride == 0]
    if not reaching:
        return UNREACHED
    k = reaching[0]
    taps = -(-(d.kernel - k) // step)
    reach = (taps - 1) * dilation
    begin = (place - k * d.dilation) // d.stride - reach
    end = begin + count + reach
    start, stop = max(0, begin), min(d.size, end)
    if start >= stop:
        return UNREACHED
    first = k + (taps - 1) * step
    return Window(first, step, taps, dilation, start, stop - start, start - begin, end - stop)


def dimensions(node: TransposedConvolutionOp) -> list[Dimension]:
    call = node.call
    n = len(call.shape(0)) - 2
    lists = (
        *(call.shape(0)[2:], call.shape(1)[2:], call.ints("strides"), call.ints("dilations")),
        *(call.ints("pads")[:n], shape_of(node.result.type)[2:]),
    )
    return [Dimension(*values) for values in zip(*lists, strict=True)]


@lowering(TransposedConvolutionOp)
def transposed_convolution(node: TransposedConvolutionOp, build: Build) -> SSAValue:
    shape = shape_of(node.result.type)
    if 0 in shape or 0 in shape_of(node.input.type):
        return build.per_channel(node.bias, shape)
    dims = dimensions(node)
    return _together(node, build, dims) if _is_joint(node, dims) else _by_phase(node, build, dims)


def _is_joint(node: TransposedConvolutionOp, dims: Sequence[Dimension]) -> bool:
    phases = prod(d.stride for d in dims)
    if phases == 1 or any(d.dilation > 1 for d in dims):
        return False
    per_group = shape_of(node.filter.type)[1]
    no_zeros = all(d.kernel % d.stride == 0 for d in dims)
    is_narrow = node.group.value.data == 1 and per_group % LANES != 0
    is_constant = isinstance(node.filter.owner, ConstantOp)
    return (no_zeros and (is_narrow or not is_constant)) or phases > MOST_PHASES


# one convolution for each phase


def _by_phase(node: TransposedConvolutionOp, build: Build, dims: Sequence[Dimension]) -> SSAValue:
    filters = _rows_of_outputs(node, build)
    # all phases compute equally many results; the surplus of the last ones is cut off
    counts = [-(-d.count // d.stride) for d in dims]
    results = []
    for phases in product(*(range(d.stride) for d in dims)):
        windows = [window(d, p, c) for d, p, c in zip(dims, phases, counts, strict=True)]
        results.append(_phase(node, build, filters, windows, counts))
    whole = _interleaved(build, results, [d.stride for d in dims])
    return _part(build, whole, [0] * len(dims), [d.count for d in dims])


def _rows_of_outputs(node: TransposedConvolutionOp, build: Build) -> SSAValue:
    """Returns the filter [O, C / group, K1, ...], as convolutions have it."""
    group = node.group.value.data
    channels, per_group, *kernel = shape_of(node.filter.type)
    split = build.reshape(node.filter, [group, channels // group, per_group, *kernel])
    rest = range(3, len(kernel) + 3)
    turned = build(TransposeOp, split, permutation=[0, 2, 1, *rest])
    return build.reshape(turned, [group * per_group, channels // group, *kernel])


def _phase(
    node: TransposedConvolutionOp,
    build: Build,
    filters: SSAValue,
    windows: Sequence[Window],
    counts: Sequence[int],
) -> SSAValue:
    batch, outputs = shape_of(node.result.type)[:2]
    if UNREACHED in windows:
        return build.per_channel(node.bias, [batch, outputs, *counts])
    taken = build(
        SliceOp,
        filters,
        starts=[0, 0, *(w.first for w in windows)],
        sizes=[*shape_of(filters.type)[:2], *(w.taps for w in windows)],
        strides=[1, 1, *(-w.step for w in windows)],
    )
    return build(
        ConvolutionOp,
        _part(build, node.input, [w.start for w in windows], [w.size for w in windows]),
        taken,
        node.bias,
        dilations=[w.dilation for w in windows],
        pads=[*(w.pad_low for w in windows), *(w.pad_high for w in windows)],
        group=node.group,
    )


def _part(build: Build, x: SSAValue, starts: Sequence[int], sizes: Sequence[int]) -> SSAValue:
    """Returns a box of the spatial dimensions; `x` itself if that is all."""
    batch, channels, *whole = shape_of(x.type)
    if list(sizes) == whole:
        return x
    return build(SliceOp, x, starts=[0, 0, *starts], sizes=[batch, channels, *sizes])


def _interleaved(build: Build, phases: Sequence[SSAValue], strides: Sequence[int]) -> SSAValue:
    """Returns the results of all phases, the last dimension's first, with elements in turns."""
    batch, channels, *counts = shape_of(phases[0].type)
    apart = [batch, channels, *(n for c in counts for n in (c, 1))]
    parts = [build.reshape(p, apart) if len(phases) > 1 else p for p in phases]
    for d in reversed(range(len(strides))):
        if strides[d] > 1:
            axis, step = 3 + 2 * d, strides[d]
            groups = [parts[i : i + step] for i in range(0, len(parts), step)]
            parts = [build(ConcatOp, *group, axis=axis) for group in groups]
    whole = [c * s for c, s in zip(counts, strides, strict=True)]
    return build.reshape(parts[0], [batch, channels, *whole])


# one convolution for all phases


def _together(node: TransposedConvolutionOp, build: Build, dims: Sequence[Dimension]) -> SSAValue:
    """
    Returns one convolution for all phases. The windows of all phases begin at the same input if
    results are counted from before the elements that `pads` leave out. The filter is padded to a
    multiple of the stride.
    """
    group = node.group.value.data
    outputs = shape_of(node.result.type)[1] // group
    strides = [d.stride for d in dims]
    taps = [-(-d.kernel // d.stride) for d in dims]
    firsts = [d.low // d.stride for d in dims]
    counts = [(d.low + d.count - 1) // d.stride + 1 - f for d, f in zip(dims, firsts, strict=True)]
    windows = [
        window(Dimension(d.size, t, 1, 1, f, c), 0, c)
        for d, t, f, c in zip(dims, taps, firsts, counts, strict=True)
    ]
    if UNREACHED in windows:
        return build.per_channel(node.bias, shape_of(node.result.type))
    filters = _rows_of_phases(node, build, strides, taps)
    bias = build.reshape(node.bias, [group, 1, outputs])
    bias = build.broadcast(bias, [group, prod(strides), outputs])
    joint = build(
        ConvolutionOp,
        _part(build, node.input, [w.start for w in windows], [w.size for w in windows]),
        filters,
        build.reshape(bias, [group * prod(strides) * outputs]),
        pads=[*(w.pad_low for w in windows), *(w.pad_high for w in windows)],
        group=node.group,
    )
    whole = _spread(build, joint, group, strides)
    starts = [d.low - f * d.stride for d, f in zip(dims, firsts, strict=True)]
    return _part(build, whole, starts, [d.count for d in dims])


def _rows_of_phases(
    node: TransposedConvolutionOp, build: Build, strides: Sequence[int], taps: Sequence[int]
) -> SSAValue:
    """Returns the filter [group * phases * O / group, C / group, taps...], backwards."""
    group, n = node.group.value.data, len(strides)
    channels, per_group, *kernel = shape_of(node.filter.type)
    whole = [s * t for s, t in zip(strides, taps, strict=True)]
    missing = [a - b for a, b in zip(whole, kernel, strict=True)]
    filters = node.filter
    if any(missing):
        filters = build(PadOp, filters, high=[0, 0, *missing], value=0.0)
    split = [k for pair in zip(taps, strides, strict=True) for k in pair]
    filters = build.reshape(filters, [group, channels // group, per_group, *split])
    phases, places = range(4, 3 + 2 * n, 2), range(3, 3 + 2 * n, 2)
    filters = build(TransposeOp, filters, permutation=[0, *phases, 2, 1, *places])
    rows = group * prod(strides) * per_group
    filters = build.reshape(filters, [rows, channels // group, *taps])
    return build(
        SliceOp,
        filters,
        starts=[0, 0, *(t - 1 for t in taps)],
        sizes=[rows, channels // group, *taps],
        strides=[1, 1, *[-1] * n],
    )


def _spread(build: Build, joint: SSAValue, group: int, strides: Sequence[int]) -> SSAValue:
    """Channels [group, phases, outputs] to where their phase belongs."""
    batch, channels, *counts = shape_of(joint.type)
    n, outputs = len(strides), channels // prod(strides) // group
    split = build.reshape(joint, [batch, group, *strides, outputs, *counts])
    order = [0, 1, 2 + n, *(d for i in range(n) for d in (3 + n + i, 2 + i))]
    spread = build(TransposeOp, split, permutation=order)
    whole = [c * s for c, s in zip(counts, strides, strict=True)]
    return build.reshape(spread, [batch, group * outputs, *whole])
