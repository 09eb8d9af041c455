"""Data-parallel operators, alone or stacked, and operators that only move elements."""

from __future__ import annotations

from collections.abc import Sequence

from ....glow_dialects.glow.constant import SplatOp
from ....glow_dialects.glow_nest.affine import View
from ....glow_dialects.glow_nest.body import Body
from ..registry import Kernel, kernel, view_dims


def elementwise(
    k: Kernel, body: Body, writes: Sequence[View], reads: Sequence[View], in_place: bool
) -> None:
    """Computes `writes = body(reads)` for each element."""
    dims = view_dims(writes[0])
    written, read = ([view[dims] for view in views] for views in (writes, reads))
    k.map_all(dims, written, read, body.results, in_place=in_place)


def copy(k: Kernel) -> None:
    dims = view_dims(k.result)
    k.copy(dims, k.result[dims], k.operands[0][dims])


@kernel(SplatOp)
def splat(k: Kernel) -> None:
    k.fill(k.result, k.call.get("value"))
