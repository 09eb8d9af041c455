"""
`relu`, `clip`, and `maximum` or `minimum` with a number are all limits to an interval, and limits
of limits merge: with `low <= high` on both sides, limiting to `[a, b]` and then to `[c, d]` is
limiting to the interval from limited `a` to limited `b`. The form with one lower bound of 0 is
`relu`.
"""

from __future__ import annotations

from math import inf

from xdsl.ir import SSAValue

from ....glow_dialects.elements import is_integer
from ....glow_dialects.glow.activation import ClipOp, ReluOp
from ....glow_dialects.glow.arithmetic import MaximumOp, MinimumOp
from ....glow_dialects.glow.elementwise import Binary
from ....glow_dialects.operator import element_of
from ....glow_dialects.python_values import to_python
from ..rewriting import Build, splat_value
from .table import canonical

Interval = tuple[float, float]


def interval_of(value: SSAValue) -> Interval | None:
    """Returns the bounds that the node of `value` applies to its operand, if it is such a node."""
    match value.owner:
        case ReluOp():
            return 0, inf
        case ClipOp() as clip:
            low = -inf if clip.min is None else to_python(clip.min)
            high = inf if clip.max is None else to_python(clip.max)
            return (low, high) if low <= high else None
        case _:
            return None


def limit(build: Build, value: SSAValue, low: float, high: float) -> SSAValue:
    """Returns `value` limited to an interval, in its simplest form."""
    if low == -inf and high == inf:
        return value
    if low == 0 and high == inf:
        return build(ReluOp, value)
    number = int if is_integer(element_of(value.type)) else float
    bounds = {"min": low, "max": high}
    finite = {name: number(b) for name, b in bounds.items() if abs(b) != inf}
    return build(ClipOp, value, result_types=None, **finite)


@canonical(ClipOp)
def simplest_clip(node: ClipOp, build: Build) -> SSAValue | None:
    interval = interval_of(node.result)
    if interval in ((-inf, inf), (0, inf)):
        return limit(build, node.input, *interval)
    return None


@canonical(ClipOp, ReluOp)
def limit_limited(node: ClipOp | ReluOp, build: Build) -> SSAValue | None:
    inner, outer = interval_of(node.input), interval_of(node.result)
    if inner is None or outer is None:
        return None
    low, high = (min(max(bound, outer[0]), outer[1]) for bound in inner)
    return limit(build, node.input.owner.operands[0], low, high)  # pyright: ignore


@canonical(MaximumOp, MinimumOp)
def bound_by_number(node: Binary, build: Build) -> SSAValue | None:
    number = splat_value(node.rhs)
    if number is None or number != number or abs(number) == inf:
        return None
    below = isinstance(node, MaximumOp)
    return limit(build, node.lhs, number if below else -inf, inf if below else number)
