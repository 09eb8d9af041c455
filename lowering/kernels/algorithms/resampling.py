"""Weighted sums of elements at places in images."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from xdsl.dialects.builtin import i32

from ....glow_dialects.elements import compute_type, element_bytes
from ....glow_dialects.glow.elementwise import X, Y
from ....glow_dialects.glow.resampling import SampleOp
from ....glow_dialects.glow_nest.affine import Affine, Dim, Indirect, View, affine
from ....glow_dialects.glow_nest.nest import Combine
from ....glow_dialects.scalar import Expr, convert, maximum, minimum
from ..registry import Kernel, kernel, total, view_dims
from ..schedules.blocking import points_together, repays_channels_last
from .formula import formula
from .row_blocks import each_panel


@kernel(SampleOp)
def sample(k: Kernel) -> None:
    """
    Computes `y[r, c, p] = sum(x[images[r], c, places[r, p, t]] * weights[r, p, t])` over `t`. Of
    images with many channels, the channels of a place lie together in a copy, so that vectors read
    them.
    """
    x, _, places, weights = k.operands
    count, channels, size = x.shape
    regions, points, taps = places.shape
    if not repays_channels_last(k.lanes(x.element), channels, count * size, prod(places.shape)):
        formula(k)
        return
    # threads divide the outermost loop: regions, or else channels, of which each has a copy
    alone = regions < k.threads
    divides = alone and channels % (k.threads * k.lanes(x.element)) == 0
    groups = k.threads if divides else 1
    channels //= groups
    n, s, c, g = Dim("n", count), Dim("s", size), Dim("c", channels), Dim("g", groups)
    r, t = Dim("r", regions), Dim("t", taps)
    channel = affine(g) * channels + c if divides else affine(c)
    last = k.scratch((count, size, channels), x.element)
    rows, element = _rows(k), compute_type(k.element)
    together = points_together(k.machine, channels * element_bytes(element))
    combine, each = (Combine.MAXIMUM, X * Y) if k.call.get("largest") else (Combine.ADD, None)

    def add(point: Affine, p: Dim) -> None:
        """Computes the sums of some points."""
        row = Indirect(rows[[r, point, t]], count * size, channels)
        reads = replace(last[[0, 0, c]], indirect=row), weights[[r, point, t]]
        found = total(combine, element, *reads, value=each)
        sums, place = k.scratch((p.size, channels), element), [r, channel, point]
        with k.repeat(*((r,) if alone else ())):
            k.map([p, c], sums[[p, c]], (), X, [t], found)
            if k.epilogue.body is None and element == k.element:
                k.copy([c, p], k.result[place], sums[[p, c]])
            else:
                k.finish([c, p], place, [sums[[p, c]]], convert(X, k.element))

    with k.repeat(*((g,) if divides else ())):
        k.copy([n, s, c], last[[n, s, c]], x[[n, channel, s]])
        with k.repeat(*(() if alone else (r,))):
            for block, (p,) in each_panel(k, points, together, names=("block", "p")):
                add(block * together + p, p)


def _rows(k: Kernel) -> View:
    """Returns the number of each place that is read, counted over all images."""
    x, images, places, _ = k.operands
    count, _, size = x.shape
    rows, dims = k.scratch(places.shape, i32), view_dims(places)
    image, place = (_clamped(e, n) for e, n in ((X, count), (Y, size)))
    k.map(dims, rows[dims], [images[dims[:1]], places[dims]], image * size + place)
    return rows


def _clamped(index: Expr, size: int) -> Expr:
    """Returns an index as one in range, in i32."""
    return convert(minimum(maximum(index, 0), size - 1), i32)
