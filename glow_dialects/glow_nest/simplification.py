"""
Simplification of nests: loops of one step go, loops that are one in all memory are joined, and
loops over the fields of small records are found.
"""

from __future__ import annotations

from dataclasses import replace

from ..elements import compute_type
from ..scalar import Expr
from .affine import Access, Affine, Dim
from .body import Body
from .nest import Nest, mapped, substituted

RECORDS = (2, 3, 4)
"""The number of values that vectors interleave, so that they are neighbours in memory."""


def simplified(nest: Nest) -> Nest:
    """
    Returns the same nest with fewer dimensions: none of size 1, dimensions that are one dimension
    for every access are joined, and a value that is written to two or four neighbours becomes a
    record of so many fields.
    """
    nest = _flipped(nest)
    single = (
        d for d in (*nest.parallel, *nest.reduced) if d.size == 1 and not _is_bounded(nest, d)
    )
    nest = substituted(nest, dict.fromkeys(single))
    ordered = sorted(nest.parallel, key=lambda d: -_reach(nest, d))
    nest = replace(nest, parallel=tuple(ordered))
    return _recorded(_joined(_joined(nest, "parallel"), "reduced"))


def _recorded(nest: Nest) -> Nest:
    """
    Writes the elements along a short dimension together, if vectors can run along the next one.
    They become the fields of a record: neighbours that are equal (of a nearest resize, say), or
    that come from as many places (where a transpose ends with a short dimension).
    """
    if len(nest.writes) != 1 or nest.reduction is not None or nest.in_place:
        return nest
    (write,), reads, element = nest.writes, nest.operands, nest.body.elements[0]
    short = [d for d in nest.parallel if d.size in RECORDS and d.limit is None]
    fields = next((d for d in short if write.stride(d) == 1), None)
    if fields is None or compute_type(element) != element:
        return nest
    if any(
        a.indirect is not None or not isinstance(a.stride(fields), int) for a in nest.accesses()
    ):
        return nest
    count = fields.size
    if not any(
        write.stride(d) == count and all(r.stride(d) in (0, 1) for r in reads)
        for d in nest.parallel
    ):
        return nest
    operands: list[Access] = []
    results: list[Expr] = []
    for i in range(count):
        at = [_at_field(read, fields, i) for read in reads]
        operands += [read for read in at if read not in operands]
        results += nest.body.applied([Expr.argument(operands.index(read)) for read in at])
    return replace(
        substituted(nest, {fields: None}),
        operands=tuple(operands),
        writes=tuple(_at_field(write, fields, i) for i in range(count)),
        body=Body(tuple(results), (element,) * count),
        raw=False,
    )


def _at_field(access: Access, fields: Dim, number: int) -> Access:
    """Returns an access to one of the fields of a record."""
    if not access.stride(fields):
        return access
    return replace(access, place=access.place.at({fields: Affine({}, number)}))


def _reach(nest: Nest, dim: Dim) -> int:
    stride = nest.writes[0].stride(dim) if nest.writes else 0
    return abs(stride) if isinstance(stride, int) else 0


def _joined(nest: Nest, group: str) -> Nest:
    """Joins neighbours of a group wherever every access steps through them as through one."""
    position = 0
    while position + 1 < len(dims := getattr(nest, group)):
        a, b = dims[position : position + 2]
        if (_is_bounded(nest, a) and a.limit is None) or _is_bounded(nest, b):
            position += 1
            continue
        if _are_lanes(nest, b) or not all(_joinable(access, a, b) for access in _deep(nest)):
            position += 1
            continue
        limit = None if a.limit is None else a.limit.of_elements(b.size)
        both = Dim(f"{a.name}{b.name}", a.size * b.size, limit)
        nest = substituted(nest, {a: None, b: both})
    return nest


def _is_bounded(nest: Nest, dim: Dim) -> bool:
    """Returns whether the bounds of a loop are known at run time only."""
    return dim.limit is not None or (nest.range is not None and nest.range.dim is dim)


def _are_lanes(nest: Nest, dim: Dim) -> bool:
    """
    Returns whether a dimension is that of the columns of a panel, which lanes of vectors run over.
    """
    reduction = nest.reduction
    if reduction is None or reduction.terms == 1:
        return False
    return reduction.reads[1].stride(dim) == reduction.terms


def _joinable(access: Access, a: Dim, b: Dim) -> bool:
    outer, inner = access.stride(a), access.stride(b)
    return isinstance(outer, int) and isinstance(inner, int) and outer == inner * b.size


def _deep(nest: Nest) -> list[Access]:
    """Returns all accesses, those that hold indices included."""
    return nest.accesses() + nest.index_accesses()


def _flipped(nest: Nest) -> Nest:
    """Turns parallel dimensions around along which the first write runs backwards."""
    for dim in nest.parallel:
        stride = nest.writes[0].stride(dim) if nest.writes else 0
        if isinstance(stride, int) and stride < 0 and dim.limit is None:
            nest = mapped(nest, lambda place, dim=dim: _flip(place, dim))
    return nest


def _flip(place: Affine, dim: Dim) -> Affine:
    stride = place.terms.get(dim, 0)
    if stride == 0:
        return place
    if isinstance(stride, tuple):
        return Affine({**place.terms, dim: stride[::-1]}, place.constant)
    start = place.constant + stride * (dim.size - 1)
    return Affine({**place.terms, dim: -stride}, start)
