"""Transposed convolution as a matrix product whose columns are added up where they overlap."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from ..glow_dialects.glow.transposed import TransposedConvolutionOp, transposed_extent
from ..glow_dialects.operator import Call, shape_of
from .registry import meaning, wide


@meaning(TransposedConvolutionOp)
def transposed_convolution(call: Call, x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    x, w, b = wide(x), wide(w), wide(b)
    batch, outputs, *counts = shape_of(call.results[0])
    group, pads, strides = call.int("group"), call.ints("pads"), call.ints("strides")
    dilations, added = call.ints("dilations"), call.ints("output_padding")
    sizes, kernel = x.shape[2:], w.shape[2:]
    n = len(counts)
    reached = [
        transposed_extent(*each) + more
        for *each, more in zip(sizes, kernel, strides, dilations, added, strict=True)
    ]
    filters = w.reshape(group, w.shape[0] // group, prod(w.shape[1:])).transpose(0, 2, 1)
    inside = tuple(slice(low, low + c) for low, c in zip(pads[:n], counts, strict=True))
    result = np.empty((batch, outputs, *counts), x.dtype)
    # one image at a time, as the products with a whole filter take much memory
    for image, out in zip(x, result, strict=True):
        columns = filters @ image.reshape(group, x.shape[1] // group, prod(sizes))
        columns = columns.reshape(outputs, *kernel, *sizes)
        whole = np.zeros((outputs, *reached), x.dtype)
        for offset in product(*(range(k) for k in kernel)):
            steps = zip(offset, dilations, sizes, strides, strict=True)
            places = tuple(slice(k * d, k * d + (s - 1) * t + 1, t) for k, d, s, t in steps)
            if x.size:
                whole[(slice(None), *places)] += columns[(slice(None), *offset)]
        out[...] = whole[(slice(None), *inside)]
    result += b.reshape(-1, *[1] * n)
    return result
