"""
Pooling of blocked tensors.

Along each dimension, the windows fall into segments: those that reach over the start of the input,
those inside, and those that reach over the end. The windows of a segment miss the same elements.
Each combination of segments has a nest of its own over the elements that its windows see, so
nothing is padded and every count is a constant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from math import prod

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.elementwise import X
from ....glow_dialects.glow_cpu.blocked import BlockedAvgPoolOp, BlockedMaxPoolOp
from ....glow_dialects.glow_nest.affine import Affine, Dim
from ....glow_dialects.glow_nest.nest import Combine
from ....glow_dialects.operator import Call
from ....glow_dialects.scalar import Expr
from ..registry import Kernel, kernel, total


@dataclass(frozen=True)
class Segment:
    """Windows `start` to `start + count - 1` along a dimension, which miss the same elements."""

    start: int
    count: int
    first: int
    """The first place in the window that is inside the input."""
    places: int
    """The number of consecutive places in the window that are inside the input."""
    counted: int
    """The number of places inside the input or its declared padding."""


def segments(
    size: int, count: int, kernel: int, stride: int, dilation: int, low: int, high: int
) -> Iterator[Segment]:
    """
    Returns the segments of `count` windows over `size` elements with padding `low` and `high`.
    """

    def seen(window: int) -> tuple[int, int, int]:
        at = [window * stride - low + i * dilation for i in range(kernel)]
        inside = [i for i, place in enumerate(at) if 0 <= place < size]
        counted = sum(-low <= place < size + high for place in at)
        return (inside[0] if inside else 0), len(inside), counted

    start = 0
    for (first, places, counted), group in groupby(range(count), seen):
        number = len(list(group))
        yield Segment(start, number, first, places, counted)
        start += number


def _segments_of(call: Call, counts: Sequence[int]) -> list[tuple[Segment, ...]]:
    """Returns all combinations of segments of the dimensions."""
    n = len(counts)
    sizes, pads = call.shape(0)[2:-1], call.ints("pads")
    kernel, strides, dilations = (call.ints(p) for p in ("kernel", "strides", "dilations"))
    each = [
        segments(
            *(sizes[d], counts[d], kernel[d], strides[d], dilations[d]), *(pads[d], pads[d + n])
        )
        for d in range(n)
    ]
    return list(product(*map(list, each)))


@kernel(BlockedMaxPoolOp)
def max_pool(k: Kernel) -> None:
    """Computes the largest element of each window."""
    for part in _segments_of(k.call, k.result.shape[2:-1]):
        _pool(k, part, Combine.MAXIMUM, None)


@kernel(BlockedAvgPoolOp)
def avg_pool(k: Kernel) -> None:
    """Computes the sum of each window times the inverse of the number of elements that count."""
    padded = k.call.get("count_include_pad")
    for part in _segments_of(k.call, k.result.shape[2:-1]):
        count = prod(s.counted if padded else s.places for s in part)
        factor = 1 / count if count else float("nan")
        _pool(k, part, Combine.ADD, X * factor)


def _pool(k: Kernel, part: Sequence[Segment], combine: Combine, value: Expr | None) -> None:
    (x,) = k.operands
    call = k.call
    n, b, c = Dim("n", x.shape[0]), Dim("b", x.shape[1]), Dim("c", x.shape[-1])
    window = [Dim(f"w{i}", s.count) for i, s in enumerate(part)]
    offset = [Dim(f"k{i}", s.places) for i, s in enumerate(part)]
    read: list[Affine] = []
    for i, (w, o, s) in enumerate(zip(window, offset, part, strict=True)):
        stride, dilation = call.ints("strides")[i], call.ints("dilations")[i]
        first = s.start * stride - call.ints("pads")[i] + s.first * dilation
        read.append(w * stride + o * dilation + first)
    write = [w + s.start for w, s in zip(window, part, strict=True)]
    element = compute_type(k.element)
    k.reduce(
        dims=[n, b, *window, c],
        reduced=offset,
        reduction=total(combine, element, x[[n, b, *read, c]]),
        place=[n, b, *write, c],
        value=value,
    )
