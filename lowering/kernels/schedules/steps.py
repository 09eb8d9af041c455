"""Steps of reductions that are emitted together."""

from __future__ import annotations

from ....glow_dialects.elements import is_float
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.glow_nest.schedule import Reducing
from ....glow_dialects.glow_nest.schedule_verification import counted_loop, sums_of
from ....glow_dialects.timings import TIMINGS


def steps_together(nest: Nest, schedule: Reducing) -> int:
    """
    Returns how many steps of the innermost loop of a reduction are emitted together, so that the
    instructions of the loop itself are few among those of its body. Few sums wait for their
    additions instead, rows that indices name wait for memory, and LLVM reorders additions of
    integers, so that too many of them wait for registers.
    """
    assert nest.reduction is not None
    inner, sums = counted_loop(nest, schedule), sums_of(nest, schedule)
    if inner is None or sums < TIMINGS.least_unrolled_sums or not is_float(nest.reduction.element):
        return 1
    if nest.visited // schedule.lanes < TIMINGS.least_unrolled_work:
        return 1
    if any(a.indirect is not None for a in nest.reduction.reads):
        return 1
    most = TIMINGS.most_unrolled_products // sums
    if inner.size <= most:
        return inner.size
    return 1 << (most.bit_length() - 1) if most >= TIMINGS.least_unrolled_steps else 1
