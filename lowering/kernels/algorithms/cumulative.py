"""Cumulative sums and products, in one pass."""

from __future__ import annotations

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.indexing import CumProdOp, CumSumOp, Cumulative
from ....glow_dialects.glow_nest.affine import Affine, Dim, Index
from ....glow_dialects.glow_nest.body import Body
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.scalar import Expr, arguments, convert
from ..registry import Kernel, kernel


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

    def combine() -> None:
        there = before[others]
        operands, body = (there, data[place]), Body((combined,), (wide,))
        k.nest(Nest(tuple(others), (there,), body, operands, in_place=True))

    def finish() -> None:
        k.finish(others, place, [before[others]], convert(Expr.argument(0), k.element))

    with k.repeat(step):
        for part in (finish, combine) if k.call.get("exclusive") else (combine, finish):
            part()
