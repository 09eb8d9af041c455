"""
The check of indices that a network computes.

Kernels clamp such indices, so that no memory outside of a buffer is touched. The program returns
the extremes of the indices beside its outputs, and whoever runs it compares them with the ranges
(`glow.interface.signature.IndexRange`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ...glow_dialects.glow.activation import ClipOp
from ...glow_dialects.glow.arithmetic import SubOp
from ...glow_dialects.glow.indexing import ArgExtreme, TopIndicesOp
from ...glow_dialects.glow.reduction import ReduceSumOp
from .builder import GraphBuilder, Indices, shape, size

_EXTREMES = "y[s, j] = max(i) (x[i, j] if s == 0 else -1 - x[i, j]) for s < 2"
"""The largest indices, then the largest ones of `-1 - index`, which never overflows."""


def computed_ranges(
    build: GraphBuilder, results: Collection[SSAValue]
) -> Mapping[SSAValue, list[Indices]]:
    """
    Returns the extremes (i64[2, places]) of all indices that a graph computes, and what they may
    be. Appends the nodes that compute them to the graph, which has these results and no dead nodes.

    Not checked are indices in the body of a branch or loop, and those of which data decides how
    many are used, because the others may be anything.
    """
    extremes: dict[tuple[SSAValue, int], SSAValue] = {}
    found: dict[SSAValue, list[Indices]] = {}
    checked = [each for each in build.indices if _is_checked(build, each, results)]
    for each in (part for whole in checked for part in _parts(build, whole)):
        value, places = each.value, len(each.low)
        if (value, places) not in extremes:
            rows = build.reshape(value, [size(value) // places, places])
            rows = build.cast(rows, i64)
            extremes[value, places] = build.formula(_EXTREMES, rows, shape=[2, places])
        found.setdefault(extremes[value, places], []).append(each)
    return found


def _is_checked(build: GraphBuilder, of: Indices, results: Collection[SSAValue]) -> bool:
    owner = of.value.owner
    is_alive = owner.parent is build.block and (bool(of.value.uses) or of.value in results)
    return is_alive and of.value not in build.counted and size(of.value) > 0 and not _is_within(of)


def _is_within(of: Indices) -> bool:
    """Returns whether indices are in their range whatever the inputs are."""
    owner = of.value.owner
    if of.total is not None or of.ascending:
        return False
    match owner:
        case ArgExtreme() | TopIndicesOp():
            first, last = 0, shape(owner.input)[owner.call.int("axis")] - 1
        case ClipOp():
            first, last = owner.call.get("min"), owner.call.get("max")
        case _:
            return False
    return first is not None and last is not None and max(of.low) <= first and last <= min(of.high)


def _parts(build: GraphBuilder, of: Indices) -> Iterator[Indices]:
    """Yields ranges of numbers, without further conditions, that say the same as `of`."""
    count = size(of.value)
    yield replace(of, total=None, ascending=False)
    if of.total is not None:
        lengths = build.cast(build.reshape(of.value, [count]), i64)
        total = build.op(ReduceSumOp, lengths, axes=[0], keep_dims=True)
        yield Indices(total, [of.total], [of.total], of.user, what="lengths with a sum")
    if of.ascending and count > 1:
        first, last = (build.slice(of.value, [i], [count - 1]) for i in (0, 1))
        steps = build.op(SubOp, last, first)
        yield Indices(steps, [0], [max(of.high)], of.user, what="steps between offsets")
