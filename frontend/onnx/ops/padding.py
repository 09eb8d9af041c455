"""Operators that surround tensors with elements, or put windows of elements together."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.padding import FoldOp
from ....glow_dialects.glow.shape import GatherOp, PadOp
from ....glow_dialects.integers import u8
from ....wording import counted
from ..builder import GraphBuilder, element, known_array, python_number, rank, shape
from ..node import OnnxNode, converter
from ..problems import Unsupported
from .windows import window_lists, window_pads

_MODES = ("reflect", "edge", "wrap")


@converter("Pad")
def pad(node: OnnxNode) -> SSAValue:
    """Converts a padding; negative pads remove elements before others are added."""
    build, x, mode = node.build, node.input(0), node.attr("mode")
    if mode != "constant" and mode not in _MODES:
        raise Unsupported(f"mode={mode!r}")
    low, high = _pads(node, rank(x))
    inner = _cut(build, x, low, high)
    low, high = ([max(0, p) for p in pads] for pads in (low, high))
    if not any([*low, *high]):
        return inner
    if mode != "constant":
        return _continued(build, inner, low, high, mode)
    value = None if node.opset < 11 else node.optional(2)
    if value is None:
        number = node.attr("value", 0.0) if node.opset < 11 else 0
        return _padded(build, inner, low, high, number)
    if (known := known_array(value)) is None:
        return _surrounded(build, inner, low, high, value)
    if known.size != 1:
        raise ModelError(f"expected one element in input 'constant_value', found {value.type}")
    return _padded(build, inner, low, high, python_number(known))


def _padded(
    build: GraphBuilder, x: SSAValue, low: Sequence[int], high: Sequence[int], number: bool | float
) -> SSAValue:
    """Returns `x` within elements that are all one number; conditions are padded as bytes."""
    if element(x) == i1:
        return build.cast(_padded(build, build.cast(x, u8), low, high, int(number)), i1)
    return build.op(PadOp, x, low=low, high=high, value=number)


def _cut(build: GraphBuilder, x: SSAValue, low: Sequence[int], high: Sequence[int]) -> SSAValue:
    """Returns the elements that negative pads leave."""
    starts = [max(0, -p) for p in low]
    ends = [d - max(0, -p) for d, p in zip(shape(x), high, strict=True)]
    kept = [e - s for s, e in zip(starts, ends, strict=True)]
    if any(size < 0 for size in kept):
        raise ModelError(f"expected pads that leave elements of {x.type}, found {[*low, *high]}")
    return build.slice(x, starts, kept)


def _continued(
    build: GraphBuilder, x: SSAValue, low: Sequence[int], high: Sequence[int], mode: str
) -> SSAValue:
    """Pads with elements of `x` that are repeated."""
    for axis, (before, after) in enumerate(zip(low, high, strict=True)):
        size = shape(x)[axis]
        if not before and not after:
            continue
        if not size:
            raise ModelError(f"expected elements to repeat in dimension {axis}, found {x.type}")
        source = np.pad(np.arange(size, dtype=np.int32), (before, after), mode)  # pyright: ignore
        ends = [source[:before], source[before + size :]]
        parts = [build.op(GatherOp, x, build.constant(e), axis=axis) for e in ends if e.size]
        x = build.concat([*parts[: before > 0], x, *parts[before > 0 :]], axis)
    return x


def _surrounded(
    build: GraphBuilder, x: SSAValue, low: Sequence[int], high: Sequence[int], value: SSAValue
) -> SSAValue:
    """Returns `x` within elements with a value that is not known."""
    single = build.reshape(value, [1] * rank(x))
    for axis, (before, after) in enumerate(zip(low, high, strict=True)):
        sides = [[*shape(x)[:axis], n, *shape(x)[axis + 1 :]] for n in (before, after)]
        first, last = ([build.broadcast(single, s)] if s[axis] else [] for s in sides)
        x = build.concat([*first, x, *last], axis)
    return x


def _pads(node: OnnxNode, n: int) -> tuple[list[int], list[int]]:
    """Returns the pads before and after each of the `n` dimensions."""
    pads = (node.ints("pads") if node.has("pads") else node.known_ints(1)) or []
    given = node.known_ints(3)
    axes = list(range(n)) if given is None else [a % n if -n <= a < n else n for a in given]
    if len(pads) != 2 * len(axes) or len(set(axes)) != len(axes) or max(axes, default=-1) >= n:
        raise ModelError(f"expected two pads for each of {counted(n, 'dimension')}, found {pads}")
    low, high = [0] * n, [0] * n
    for i, axis in enumerate(axes):
        low[axis], high[axis] = pads[i], pads[i + len(axes)]
    return low, high


@converter("Col2Im")
def col2im(node: OnnxNode) -> SSAValue:
    """Returns sums of the elements that windows [N, C * K, L] have at each place of an image."""
    x, image, block = node.input(0), node.known_ints(1) or [], node.known_ints(2) or []
    n = len(image)
    if rank(x) != 3 or len(block) != n or min([*image, *block], default=0) < 1:
        raise ModelError(f"expected windows for images {image}, found {block} and {x.type}")
    strides, dilations = window_lists(node, n, "strides", "dilations")
    pads = window_pads(node, image, block, strides, dilations)
    geometry = zip(image, block, strides, dilations, pads[:n], pads[n:], strict=True)
    counts = [(d + a + b - (k - 1) * t - 1) // s + 1 for d, k, s, t, a, b in geometry]
    batch, rows, windows = shape(x)
    if rows % prod(block) or windows != prod(counts) or min(counts) < 1:
        raise ModelError(
            f"expected {counted(prod(block), 'row')} for each channel and "
            f"{counted(prod(counts), 'window')}, found {x.type}"
        )
    split = node.build.reshape(x, [batch, rows // prod(block), *block, *counts])
    low = pads[:n]
    if max(strides) > 1 and all(s == 1 or d == 1 for s, d in zip(strides, dilations, strict=True)):
        return _folded_by_phases(node.build, split, image, strides, low, dilations)
    return node.build.op(FoldOp, split, image=image, strides=strides, low=low, dilations=dilations)


def _folded_by_phases(
    build: GraphBuilder,
    x: SSAValue,
    image: Sequence[int],
    strides: Sequence[int],
    low: Sequence[int],
    dilations: Sequence[int],
) -> SSAValue:
    """
    Returns the same as a fold whose windows are `strides` apart. The elements of a window that meet
    places of one remainder, divided by the stride, are folded as channels of their own.
    """
    n = len(image)
    batch, channels, *sizes = shape(x)
    block, counts = sizes[:n], sizes[n:]
    taps = [-(-k // s) for k, s in zip(block, strides, strict=True)]
    missing = [t * s - k for t, s, k in zip(taps, strides, block, strict=True)]
    if any(missing):
        x = build.op(PadOp, x, high=[0, 0, *missing, *[0] * n], value=0)
    parted = [size for pair in zip(taps, strides, strict=True) for size in pair]
    x = build.reshape(x, [batch, channels, *parted, *counts])
    tap_axes, phase_axes = range(2, 2 + 2 * n, 2), range(3, 3 + 2 * n, 2)
    x = build.transpose(x, [0, 1, *phase_axes, *tap_axes, *range(2 + 2 * n, 2 + 3 * n)])
    x = build.reshape(x, [batch, channels * prod(strides), *taps, *counts])
    reach = [c + (t - 1) * d for c, t, d in zip(counts, taps, dilations, strict=True)]
    if max(taps) > 1:
        x = build.op(FoldOp, x, image=reach, strides=[1] * n, low=[0] * n, dilations=dilations)
    x = build.reshape(x, [batch, channels, *strides, *reach])
    interleaved = [axis for i in range(n) for axis in (2 + n + i, 2 + i)]
    x = build.transpose(x, [0, 1, *interleaved])
    whole = [r * s for r, s in zip(reach, strides, strict=True)]
    x = build.reshape(x, [batch, channels, *whole])
    kept = [min(i, w - start) for i, w, start in zip(image, whole, low, strict=True)]
    x = build.slice(x, [0, 0, *low], [batch, channels, *kept])
    beyond = [size - k for size, k in zip(image, kept, strict=True)]
    if not any(beyond):
        return x
    return build.op(PadOp, x, high=[0, 0, *beyond], value=0)
