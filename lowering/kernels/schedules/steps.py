"""Steps of reductions that are emitted together."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod

from ....glow_dialects.elements import is_float
from ....glow_dialects.glow_nest.affine import Dim
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.glow_nest.schedule_verification import counted_loop
from ....glow_dialects.timings import TIMINGS


def steps_together(
    nest: Nest, loops: Sequence[Dim], unrolled: Collection[Dim], lanes: int, sums: int
) -> int:
    """
    Returns how many steps of the innermost of the loops of a reduction are emitted together, so
    that the instructions of the loop itself are few among those of its body: products of `lanes`
    lanes that are added to `sums` vectors. Few sums wait for their additions instead, rows that
    indices name wait for memory, and LLVM reorders additions of integers, so that too many of them
    wait for registers.
    """
    assert nest.reduction is not None
    inner = counted_loop(nest, loops, unrolled)
    if inner is None or sums < TIMINGS.least_unrolled_sums or not is_float(nest.reduction.element):
        return 1
    products = prod(d.size for d in (*nest.parallel, *nest.reduced)) // lanes
    if products < TIMINGS.least_unrolled_work:
        return 1
    if any(a.indirect is not None for a in nest.reduction.reads):
        return 1
    most = TIMINGS.most_unrolled_products // sums
    if inner.size <= most:
        return inner.size
    return 1 << (most.bit_length() - 1) if most >= TIMINGS.least_unrolled_steps else 1
