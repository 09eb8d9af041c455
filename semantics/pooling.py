"""Pooling: an accumulation over the places in the window, each over the whole tensor."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from ..glow_dialects.glow.pooling import AvgPoolOp, MaxPoolOp
from ..glow_dialects.operator import Call, shape_of
from .arrays import lowest
from .convolution import pad_spatial, windows
from .registry import meaning, wide


def _ends(call: Call) -> list[int]:
    """
    Returns the padding after each spatial dimension that the last window needs, in ceil mode or
    not.
    """
    sizes, counts = call.shape(0)[2:], shape_of(call.results[0])[2:]
    n = len(sizes)
    ends = []
    for d in range(n):
        reach = (call.ints("kernel")[d] - 1) * call.ints("dilations")[d] + 1
        needed = (counts[d] - 1) * call.ints("strides")[d] + reach
        low, high = call.ints("pads")[d], call.ints("pads")[d + n]
        ends.append(max(high, needed - low - sizes[d]))
    return ends


def _accumulate(call: Call, padded: np.ndarray, combine: Callable[..., np.ndarray]) -> np.ndarray:
    """Returns `combine` over the places of each window of `padded` [..., *spatial]."""
    kernel, counts = call.ints("kernel"), shape_of(call.results[0])[2:]
    view = windows(padded, kernel, counts, call.ints("strides"), call.ints("dilations"))
    lead = (slice(None),) * (view.ndim - 2 * len(kernel))
    first, *others = (view[(*lead, *place)] for place in itertools.product(*map(range, kernel)))
    total = first.copy()
    for other in others:
        combine(total, other, out=total)
    return total


@meaning(MaxPoolOp)
def max_pool(call: Call, x: np.ndarray) -> np.ndarray:
    low = call.ints("pads")[: x.ndim - 2]
    x = wide(x)
    return _accumulate(call, pad_spatial(x, low, _ends(call), lowest(x.dtype)), np.maximum)


@meaning(AvgPoolOp)
def avg_pool(call: Call, x: np.ndarray) -> np.ndarray:
    n = x.ndim - 2
    low, high = call.ints("pads")[:n], call.ints("pads")[n:]
    x = wide(x)
    sums = _accumulate(call, pad_spatial(x, low, _ends(call), 0), np.add)
    counted = np.ones((1, 1, *x.shape[2:]), x.dtype)
    if call.get("count_include_pad"):
        # elements that ceil mode adds beyond the declared padding never count
        counted = pad_spatial(counted, low, high, 1)
        rest = [e - h for e, h in zip(_ends(call), high, strict=True)]
        counted = pad_spatial(counted, [0] * n, rest, 0)
    else:
        counted = pad_spatial(counted, low, _ends(call), 0)
    return sums / _accumulate(call, counted, np.add)
