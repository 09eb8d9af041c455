"""Updates of rows that indices in memory name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.indexing import ScatterOp
from ....glow_dialects.glow_nest.affine import Dim, Indirect
from ....glow_dialects.glow_nest.body import Body
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.scalar import Expr, arguments, convert, maximum, minimum
from ..registry import Kernel, kernel, view_dims

_COMBINE: Mapping[str, Callable[[Expr, Expr], Expr]] = {
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "max": maximum,
    "min": minimum,
}


@kernel(ScatterOp)
def scatter(k: Kernel) -> None:
    """
    Copies the data and updates one row after the other: several updates of a row need
    their order.
    """
    data, indices, updates = k.operands
    whole = view_dims(data)
    k.copy(whole, k.result[whole], data[whole])
    (rows, columns), reduction = data.shape, k.call.get("reduction")
    m, c = Dim("m", indices.shape[0]), Dim("c", columns)
    place = Indirect(indices[[m]], rows, k.result.strides[0])
    there = replace(k.result[[0, c]], indirect=place)
    with k.repeat(m):
        if reduction == "none":
            k.copy([c], there, updates[[m, c]])
            return
        wide = compute_type(there.element)
        old, new = (convert(a, wide) for a in arguments(2))
        combined = convert(_COMBINE[reduction](old, new), there.element)
        body = Body((combined,), (there.element,))
        k.nest(Nest((c,), (there,), body, (there, updates[[m, c]]), in_place=True))
