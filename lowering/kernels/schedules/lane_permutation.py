"""
Schedules of products of a vector and a matrix with few columns: a vector register holds several
rows.

Lanes run over a dimension that combines rows and columns, along which the matrix is contiguous. The
elements of the vector are loaded as they lie in memory, and a table gives the element for each
lane.
"""

from __future__ import annotations

from math import prod

from ....glow_dialects.costs import permuted_tile
from ....glow_dialects.glow_nest.affine import Dim
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.glow_nest.schedule import LanePermutation
from ....glow_dialects.glow_nest.schedule_verification import within_vectors
from ....glow_dialects.machine import MachineDescription
from .costed import Costed
from .schedule import widest_lanes


def permuted_product(nest: Nest, machine: MachineDescription) -> Costed | None:
    """Returns a product with a table for lanes; None if it has none."""
    if nest.reduction is None or not nest.reduction.is_product or nest.reduction.terms > 1:
        return None
    lanes = widest_lanes(nest, machine)
    vector = next((d for d in nest.parallel if _is_lanes(nest, d, lanes)), None)
    if vector is None:
        return None
    rest, vectors = [d for d in nest.parallel if d is not vector], vector.size // lanes
    schedule = LanePermutation(
        order=(*rest, vector), reduced=nest.reduced, vector=vector, lanes=lanes, vectors=vectors
    )
    tile = permuted_tile(vectors, prod(d.size for d in nest.reduced))
    return Costed(tile * prod(d.size for d in rest), nest, schedule)


def _is_lanes(nest: Nest, dim: Dim, lanes: int) -> bool:
    assert nest.reduction is not None
    strides = [a.stride(dim) for a in nest.reduction.reads]
    tables = [s for s in strides if isinstance(s, tuple)]
    plain = [s for s in strides if isinstance(s, int)]
    stored = [a.stride(dim) for a in (*nest.operands, *nest.writes)]
    return (
        dim.size % lanes == 0
        and bool(tables)
        and all(stride == 1 for stride in (*plain, *stored))
        and all(within_vectors(table, lanes) for table in tables)
    )
