"""Padding of convolutions and pools."""

from __future__ import annotations

from collections.abc import Sequence

from ....errors import ModelError
from ....wording import counted
from ..node import OnnxNode
from ..problems import Unsupported

MAX_SPATIAL = 3


def spatial_rank(rank: int, most: int = MAX_SPATIAL) -> int:
    """
    Returns the number of spatial dimensions of an input of `rank` dimensions. Raises Unsupported
    for more than `most`.
    """
    if rank < 3:
        raise ModelError(f"expected an input with spatial dimensions, found rank {rank}")
    if rank - 2 > most:
        raise Unsupported(f"more than {most} spatial dimensions")
    return rank - 2


def window_lists(node: OnnxNode, n: int, *names: str) -> list[list[int]]:
    """Returns attributes with one number for each of `n` spatial dimensions, 1 by default."""
    found = []
    for name in names:
        values = node.ints(name) or [1] * n
        if len(values) != n:
            raise ModelError(f"expected {counted(n, 'value')} in {name}, found {values}")
        if min(values) < 1:
            raise ModelError(f"expected {name} of at least 1, found {values}")
        found.append(values)
    return found


def window_pads(
    node: OnnxNode,
    sizes: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> list[int]:
    """
    Returns the padding before each spatial dimension, then that after each, from `pads` or
    `auto_pad`.

    With `SAME_UPPER` and `SAME_LOWER`, a dimension of size s gives ceil(s / stride) windows; an odd
    element of padding goes after or before it.
    """
    mode = node.attr("auto_pad", "NOTSET")
    n = len(sizes)
    if mode in ("NOTSET", ""):
        pads = node.ints("pads") or [0] * (2 * n)
        if len(pads) != 2 * n:
            raise ModelError(f"expected {2 * n} values in pads, found {pads}")
        if min(pads) < 0:
            raise Unsupported(f"negative padding, pads={pads}")
        return pads
    if mode == "VALID":
        return [0] * (2 * n)
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise ModelError(f"expected auto_pad NOTSET, VALID, SAME_UPPER or SAME_LOWER, found {mode}")
    totals = []
    for size, k, s, d in zip(sizes, kernel, strides, dilations, strict=True):
        reach = (-(-size // s) - 1) * s + (k - 1) * d + 1
        totals.append(max(0, reach - size))
    small = [t // 2 for t in totals]
    large = [t - t // 2 for t in totals]
    return small + large if mode == "SAME_UPPER" else large + small
