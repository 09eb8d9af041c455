"""Pooling."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.elementwise import X, Y
from ....glow_dialects.glow.pooling import AvgPoolOp, MaxPoolOp
from ....glow_dialects.glow_nest.affine import Access, Dim, Index, View
from ....glow_dialects.glow_nest.body import Body
from ....glow_dialects.glow_nest.nest import Combine, Nest, identity
from ....glow_dialects.scalar import Expr
from ..registry import Kernel, kernel, total
from .padding import PaddedCopy, Source, Windows


@kernel(MaxPoolOp)
def max_pool(k: Kernel) -> None:
    """
    Computes `y[n, c, w] = max(x[n, c, w * stride + i * dilation])` over offsets `i` inside the
    input.
    """
    _pool(k, Combine.MAXIMUM, None, None)


@kernel(AvgPoolOp)
def avg_pool(k: Kernel) -> None:
    """
    Computes the sum over the offsets inside the input, divided by the number of offsets that count.
    """
    windows = _windows(k)
    if windows.inside:
        _pool(k, Combine.ADD, None, X / float(prod(windows.kernel)))
        return
    counts = _counts(k, windows)
    _pool(k, Combine.ADD, counts, X / Y)


def _windows(k: Kernel) -> Windows:
    call, counts = k.call, k.result.shape[2:]
    low = call.ints("pads")[: len(counts)]
    return Windows(
        call.shape(0)[2:],
        counts,
        call.ints("kernel"),
        call.ints("strides"),
        call.ints("dilations"),
        low,
    )


def _pool(k: Kernel, combine: Combine, counts: View | None, value: Expr | None) -> None:
    (x,) = k.operands
    windows = _windows(k)
    n, c = Dim("n", x.shape[0]), Dim("c", x.shape[1])
    overlapping = windows.kernel[-1] > windows.strides[-1] > 1
    if windows.inside and not overlapping:
        _reduce(k, [n], n, c, Source(windows, x, 0), combine, counts, value)
        return
    element = compute_type(x.element)
    padded = PaddedCopy(k, windows, x.shape[1], element, identity(combine, element))
    with k.repeat(n):
        padded.fill_from([n], x)
        _reduce(k, [], n, c, padded.source, combine, counts, value)


def _reduce(
    k: Kernel,
    batch: Sequence[Dim],
    n: Dim,
    c: Dim,
    source: Source,
    combine: Combine,
    counts: View | None,
    value: Expr | None,
) -> None:
    window, offset = _window_dims(_windows(k))
    element = compute_type(k.element)
    reduction = total(combine, element, source[[*batch, c], window, offset])
    place: list[Index] = [n, c, *window]
    operands: list[Access] = [] if counts is None else [counts[window]]
    k.reduce([*batch, c, *window], offset, reduction, place, operands, value)


def _window_dims(windows: Windows) -> tuple[list[Dim], list[Dim]]:
    window = [Dim(f"w{i}", size) for i, size in enumerate(windows.counts)]
    offset = [Dim(f"k{i}", size) for i, size in enumerate(windows.kernel)]
    return window, offset


def _counts(k: Kernel, windows: Windows) -> View:
    """Returns how many places of each window count, computed by pooling a plane of ones."""
    element = compute_type(k.element)
    ones = k.scratch(windows.extents, element)
    k.fill(ones, 0.0)
    start, sizes = _counted(k, windows)
    dims = [Dim(f"s{d}", size) for d, size in enumerate(sizes)]
    write = ones[[d + s for d, s in zip(dims, start, strict=True)]]
    k.map(dims, write, (), Expr.constant(1.0, element))
    counts = k.scratch(windows.counts, element)
    window, offset = _window_dims(windows)
    read = ones[windows.at(window, offset)]
    k.nest(
        Nest(
            tuple(window),
            (counts[window],),
            Body.passing(element),
            reduction=total(Combine.ADD, element, read),
            reduced=tuple(offset),
        )
    )
    return counts


def _counted(k: Kernel, windows: Windows) -> tuple[Sequence[int], Sequence[int]]:
    """Returns the part of the padded input that counts: where it starts, and its sizes."""
    extents = windows.extents
    if k.call.get("count_include_pad"):
        # the elements that ceil mode adds beyond the declared padding never count
        high = k.call.ints("pads")[len(extents) :]
        sizes = [
            min(e, p + s + h)
            for e, p, s, h in zip(extents, windows.low, windows.sizes, high, strict=True)
        ]
        return [0] * len(extents), sizes
    sizes = [
        max(0, min(s, e - p)) for s, e, p in zip(windows.sizes, extents, windows.low, strict=True)
    ]
    return windows.low, sizes
