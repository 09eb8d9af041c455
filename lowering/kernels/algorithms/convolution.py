"""Direct convolution."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ....glow_dialects.elements import compute_type, element_bytes
from ....glow_dialects.glow.convolution import ConvolutionOp
from ....glow_dialects.glow.elementwise import X, Y
from ....glow_dialects.glow_nest.affine import Affine, Dim, Index, View, affine
from ....glow_dialects.glow_nest.nest import Combine
from ....glow_dialects.operator import Call
from ..registry import Kernel, kernel, total
from ..schedules.blocking import copies_by_group
from .padding import PaddedCopy, Source, Windows, without_gaps


def _windows(call: Call, counts: Sequence[int]) -> Windows:
    n = len(counts)
    return Windows(
        sizes=call.shape(0)[2:],
        counts=tuple(counts),
        kernel=call.shape(1)[2:],
        strides=call.ints("strides"),
        dilations=call.ints("dilations"),
        low=call.ints("pads")[:n],
    )


@kernel(ConvolutionOp)
def convolution(k: Kernel) -> None:
    """
    Computes `y[n, o, w] = bias[o] + sum(x[n, c, w * stride + i * dilation] * filter[o, c, i])` over
    the group's channels `c` and the window's offsets `i`.

    Where windows reach beyond the input, or do not read neighbouring elements, they read a padded
    copy of the image. The copy has all channels, or the channels of one group at a time.
    """
    windows, x = without_gaps(_windows(k.call, k.result.shape[2:]), k.operands[0])
    n = Dim("n", x.shape[0])
    filters, computed = k.operands[1], compute_type(k.operands[1].element)
    if filters.element != computed:
        filters = k.copied(filters, computed)  # so that inner loops need no conversion
    if windows.inside and windows.strides[-1] == 1 and x.strides[-1] in (0, 1):
        _direct(k, [n], [n], Source(windows, x, 0), filters)
        return
    groups, element = k.call.int("group"), compute_type(x.element)
    inner = x.shape[1] // groups
    group_bytes = inner * prod(windows.extents) * element_bytes(element)
    if copies_by_group(k.machine, groups, group_bytes):
        g = Dim("g", groups)
        with k.repeat(n), k.repeat(g):
            padded = PaddedCopy(k, windows, inner, element, 0.0)
            padded.fill_from([n], x, g * inner)
            _direct(k, [], [n], padded.source, filters, g)
        return
    padded = PaddedCopy(k, windows, x.shape[1], element, 0.0)
    with k.repeat(n):
        padded.fill_from([n], x)
        _direct(k, [], [n], padded.source, filters)


def _direct(
    k: Kernel,
    batch: Sequence[Dim],
    image: Sequence[Index],
    source: Source,
    filters: View,
    only: Dim | None = None,
) -> None:
    """
    Computes all groups, or only group `only`, the variable of an enclosing loop, whose channels
    `source` has.
    """
    call, y, bias = k.call, k.result, k.operands[2]
    groups = call.int("group")
    g = only or Dim("g", groups)
    o = Dim("o", y.shape[1] // groups)
    c = Dim("c", filters.shape[1])
    window = [Dim(f"w{i}", size) for i, size in enumerate(y.shape[2:])]
    offset = [Dim(f"k{i}", size) for i, size in enumerate(filters.shape[2:])]
    channel = Affine({g: o.size, o: 1})
    read = affine(c) if only else Affine({g: c.size, c: 1})
    element = compute_type(k.element)
    k.reduce(
        dims=[*batch, *(() if only else (g,)), o, *window],
        reduced=[c, *offset],
        reduction=total(
            Combine.ADD,
            element,
            source[[*batch, read], window, offset],
            filters[[channel, c, *offset]],
        ),
        place=[*image, channel, *window],
        operands=[bias[[channel]]],
        value=X + Y,
    )
