"""Reductions over any set of dimensions."""

from __future__ import annotations

from math import prod

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.base import Node
from ....glow_dialects.glow.elementwise import X
from ....glow_dialects.glow.reduction import (
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceProdOp,
    ReduceSumOp,
)
from ....glow_dialects.glow_nest.nest import Combine
from ..registry import Kernel, kernel, total, view_dims

_COMBINE: dict[type[Node], Combine] = {
    ReduceSumOp: Combine.ADD,
    ReduceMeanOp: Combine.ADD,
    ReduceMaxOp: Combine.MAXIMUM,
    ReduceMinOp: Combine.MINIMUM,
    ReduceProdOp: Combine.MUL,
}


@kernel(*_COMBINE)
def reduction(k: Kernel) -> None:
    (x,) = k.operands
    axes = k.call.ints("axes")
    dims = view_dims(x)
    kept = [d for i, d in enumerate(dims) if i not in axes]
    reduced = [dims[i] for i in axes]
    keep = k.call.get("keep_dims")
    place = [0 if i in axes else d for i, d in enumerate(dims) if keep or i not in axes]
    element = compute_type(x.element)
    combine = _COMBINE[k.call.operator]
    value = None
    if k.call.operator is ReduceMeanOp:
        count = prod(d.size for d in reduced)
        value = X * (1 / count if count else float("nan"))
    k.reduce(kept, reduced, total(combine, element, x[dims]), place, (), value)
