"""Fields in and out of the words of many instructions at once."""

from __future__ import annotations

import numpy as np

from ...glow_dialects.vta.fields import Field


def pack(fields: list[Field], values: np.ndarray, words: int) -> np.ndarray:
    """
    Returns uint64[N, words] of the columns of `values`, int64[N, len(fields)], which must fit.
    """
    packed = np.zeros((len(values), words), np.uint64)
    for field, column in zip(fields, values.T, strict=True):
        mask = np.int64((1 << field.width) - 1)
        packed[:, field.word] |= (column & mask).astype(np.uint64) << np.uint64(field.shift)
    return packed


def unpack(fields: list[Field], words: np.ndarray) -> np.ndarray:
    """Returns int64[N, len(fields)] of uint64[N, words]: the inverse of `pack`."""
    values = np.empty((len(words), len(fields)), np.int64)
    for i, field in enumerate(fields):
        mask = np.uint64((1 << field.width) - 1)
        found = ((words[:, field.word] >> np.uint64(field.shift)) & mask).astype(np.int64)
        if field.signed:
            sign = np.int64(1 << (field.width - 1))
            found = (found ^ sign) - sign
        values[:, i] = found
    return values


def first_misfit(fields: list[Field], values: np.ndarray) -> tuple[int, Field, int] | None:
    """Returns the row, field and value of a number that does not fit its field."""
    low = np.array([field.low for field in fields])
    high = np.array([field.high for field in fields])
    rows, columns = np.nonzero((values < low) | (values > high))
    if not rows.size:
        return None
    row, column = int(rows[0]), int(columns[0])
    return row, fields[column], int(values[row, column])
