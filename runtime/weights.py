"""The weight segment of a program: made from the values in the IR."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ModelError
from ..glow_dialects.blob import BlobAttr, release_files
from ..glow_dialects.glow_inst.memory import WeightOp
from ..glow_dialects.operator import shape_of
from ..passes.instructions.program import in_order
from ..semantics.arrays import constant_array

if TYPE_CHECKING:
    from xdsl.dialects.func import FuncOp


ALIGNMENT = 64
"""Bytes. Each weight starts at a multiple of this."""
_STEP = 16 << 20
"""The number of bytes that are copied before the memory of mapped files is given back."""


def fill_weights(segment: np.ndarray, main: FuncOp) -> None:
    """
    Copies the value of each `glow_inst.weight` to its offset in `segment` (uint8), equal ones once,
    and give back the memory of the files that they come from.

    Raises ModelError if the file that holds a value cannot be read or became shorter.
    """
    for offset, op in _placed(main):
        try:
            end = offset + _fill_weight(segment[offset:], op)
        except (OSError, ValueError) as error:
            name = op.result.name_hint or op.name
            raise ModelError(f"cannot read the weight {name}: {error}") from error
        # the gaps between weights are stored too, so they must not hold old contents of memory
        segment[end : end + -end % ALIGNMENT] = 0


def _fill_weight(target: np.ndarray, op: WeightOp) -> int:
    """Copies the value of a weight to the beginning of `target`; its size in bytes."""
    value = op.value
    if isinstance(value, BlobAttr) and value.data.write(target[: value.data.size].data):
        return value.data.size
    array = constant_array(value, op.result.type)  # pyright: ignore
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    for start in range(0, data.size, _STEP):
        part = data[start : start + _STEP]
        target[start : start + part.size] = part
        release_files()
    return data.size


def _placed(main: FuncOp) -> Iterator[tuple[int, WeightOp]]:
    """Yields the weights that have elements, and their offsets, one for each place."""
    done: set[int] = set()
    for op in in_order(main.body.block):
        # one without elements takes no place, so another one may have its offset
        if isinstance(op, WeightOp) and op.offset is not None and _has_elements(op):
            offset = op.offset.value.data
            if offset not in done:
                done.add(offset)
                yield offset, op


def _has_elements(op: WeightOp) -> bool:
    return 0 not in shape_of(op.result.type)
