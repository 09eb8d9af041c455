"""Panels: columns of a matrix that a kernel reads together, from front to back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from ...glow_dialects.glow.shape import PadOp, SliceOp, TransposeOp
from ...glow_dialects.operator import shape_of
from .rewriting import Build


def panel_width(columns: int, lanes: int, vectors: int) -> int:
    """
    Returns the number of columns of a panel: a multiple of `lanes`, at most `vectors` times that,
    and no more than it takes for all panels to be about equally full.
    """
    panels = -(-columns // (lanes * vectors))
    return -(-columns // (panels * lanes)) * lanes


def packed(matrix: np.ndarray, width: int) -> np.ndarray:
    """
    Returns a matrix [K, N] as panels [ceil(N / width), K, width], with zeros after the last column.
    """
    inner, columns = matrix.shape
    panels = -(-columns // width)
    result = np.zeros((panels, inner, width), matrix.dtype)
    full = columns // width
    result[:full] = matrix[:, : full * width].reshape(inner, full, width).transpose(1, 0, 2)
    if full < panels:
        result[full, :, : columns - full * width] = matrix[:, full * width :]
    return result


def packed_parts(matrix: np.ndarray, sizes: Sequence[int], width: int) -> np.ndarray:
    """Returns the panels of parts of so many columns, one part after the other."""
    parts = np.split(matrix, np.cumsum(sizes)[:-1], axis=1)
    return np.concatenate([packed(part, width) for part in parts])


def panels(matrix: SSAValue, turned: bool, width: int, build: Build) -> SSAValue:
    """
    Returns the panels [ceil(N / width), K, width] of a matrix [K, N], or [N, K] if it is `turned`.
    """
    columns = 0 if turned else 1
    shape = list(shape_of(matrix.type))
    count = -(-shape[columns] // width)
    if rest := count * width - shape[columns]:
        high = [rest if d == columns else 0 for d in range(2)]
        matrix = build(PadOp, matrix, high=high, value=0.0)
    parts = [*shape[:columns], count, width, *shape[columns + 1 :]]
    order = [0, 2, 1] if turned else [1, 0, 2]
    return build(TransposeOp, build.reshape(matrix, parts), permutation=order)


def paired_panels(matrix: SSAValue, columns: int, lanes: int, build: Build) -> SSAValue:
    """
    Returns the first columns of panels [P, K, C] as panels of one vector with rows in pairs,
    [ceil(columns / lanes), K / 2, lanes, 2]. C is a multiple of `lanes`.
    """
    count, inner, width = shape_of(matrix.type)
    vectors = width // lanes
    split = build.reshape(matrix, [count, inner // 2, 2, vectors, lanes])
    turned = build(TransposeOp, split, permutation=[0, 3, 1, 4, 2])
    single = build.reshape(turned, [count * vectors, inner // 2, lanes, 2])
    used = -(-columns // lanes)
    if used == count * vectors:
        return single
    return build(SliceOp, single, sizes=[used, inner // 2, lanes, 2])
