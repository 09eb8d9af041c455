"""
Splats, updates of rows that indices in memory name, and sums of all elements up to each one.
"""

from __future__ import annotations

from operator import add, mul

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.constant import SplatOp
from ....glow_dialects.glow.elementwise import X
from ....glow_dialects.glow.indexing import CumProdOp, CumSumOp, Cumulative, ScatterOp
from ....glow_dialects.glow_nest.affine import Affine, Dim, Index
from ....glow_dialects.scalar import arguments, convert, maximum, minimum
from ..registry import Kernel, kernel, view_dims

_COMBINE = {"add": add, "mul": mul, "max": maximum, "min": minimum}


@kernel(SplatOp)
def splat(k: Kernel) -> None:
    k.fill(k.result, k.call.get("value"))


@kernel(ScatterOp)
def scatter(k: Kernel) -> None:
    """
    Copies the data and updates one row after the other: several updates of a row need
    their order.
    """
    data, indices, updates = k.operands
    whole = view_dims(data)
    k.copy(whole, k.result[whole], data[whole])
    m, c = Dim("m", indices.shape[0]), Dim("c", data.shape[1])
    there, reduction = k.result.chosen([indices[[m]], c]), k.call.get("reduction")
    with k.repeat(m):
        if reduction == "none":
            k.copy([c], there, updates[[m, c]])
            return
        wide = compute_type(there.element)
        old, new = (convert(a, wide) for a in arguments(2))
        combined = convert(_COMBINE[reduction](old, new), there.element)
        k.update([c], there, [updates[[m, c]]], combined)


@kernel(CumSumOp, CumProdOp)
def cumulative(k: Kernel) -> None:
    """Combines one slice across the axis after the other with the result of the slices before."""
    operator = k.call.operator
    assert issubclass(operator, Cumulative)
    (data,), axis = k.operands, k.call.int("axis")
    wide = compute_type(k.element)
    others = [Dim(f"d{d}", size) for d, size in enumerate(data.shape) if d != axis]
    before = k.scratch([dim.size for dim in others], wide)
    k.fill(before, operator.IDENTITY)
    step = Dim("i", data.shape[axis])
    here: Index = Affine({step: -1}, step.size - 1) if k.call.get("reverse") else step
    place: list[Index] = [*others[:axis], here, *others[axis:]]
    total, element = arguments(2)
    new = convert(element, wide)
    combined = total * new if operator is CumProdOp else total + new
    with k.repeat(step):
        if not k.call.get("exclusive"):
            k.update(others, before[others], [data[place]], combined)
        k.finish(others, place, [before[others]], convert(X, k.element))
        if k.call.get("exclusive"):
            k.update(others, before[others], [data[place]], combined)
