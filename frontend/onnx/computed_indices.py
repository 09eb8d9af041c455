"""
The check of indices that a network computes.

Kernels clamp such indices, so that no memory outside of a buffer is touched. The program returns
the extremes of the indices beside its outputs, and whoever runs it compares them with the ranges
(`glow.interface.signature.IndexRange`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Block, SSAValue

from ...glow_dialects.glow.activation import ClipOp
from ...glow_dialects.glow.arithmetic import RemOp, SubOp
from ...glow_dialects.glow.indexing import ArgExtreme, TopIndicesOp
from ...glow_dialects.glow.logic import LessOp, SelectOp
from ...glow_dialects.glow.reduction import ReduceSumOp
from .builder import GraphBuilder, known_array, shape, size
from .checked_values import Extremes, Indices
from .known_sizes import follows_from_sizes

_EXTREMES = "y[s, j] = max(i) (x[i, j] if s == 0 else -1 - x[i, j]) for s < 2"
"""The largest indices, then the largest ones of `-1 - index`, which never overflows."""


def computed_ranges(build: GraphBuilder, results: Collection[SSAValue]) -> list[Extremes]:
    """
    Returns the extremes of all indices that the block of `build` computes, which is a graph or the
    body of a branch or loop, and of those in the bodies in it. Appends the nodes that compute them
    to the block, which has these results and no dead nodes.

    Of indices of which data decides how many are used, those are checked which are used.
    """
    found = [each for each in build.verdicts if isinstance(each, Extremes)]
    found = [each for each in found if each.value.owner.parent is build.block]
    checked = [each for each in build.indices if _is_checked(build, each, results)]
    if build.block is build.graph:
        build.unchecked += [each for each in checked if follows_from_sizes(each.value)]
        checked = [each for each in checked if each not in build.unchecked]
    ranges: dict[tuple[SSAValue, int], list[Indices]] = {}
    for each in (part for whole in checked for part in _parts(build, whole)):
        ranges.setdefault((each.value, len(each.low)), []).append(each)
    for (value, places), all_of in ranges.items():
        used = build.cast(_used(build, value), i64)
        rows = build.reshape(used, [size(value) // places, places])
        extremes = build.formula(_EXTREMES, rows, shape=[2, places])
        found.append(Extremes(extremes, all_of))
    return found


def _is_checked(build: GraphBuilder, of: Indices, results: Collection[SSAValue]) -> bool:
    """Returns whether the block takes indices that are not known to be right."""
    if isinstance(of.value.owner, Block) and build.block is build.graph:
        return False  # an input of the model, which calls check
    is_alive = of.value in results or any(u.operation.parent is build.block for u in of.value.uses)
    is_open = size(of.value) > 0 and not _is_within(of)
    return is_alive and is_open and (of.value not in build.counted or _may_be_zeros(of))


def _may_be_zeros(of: Indices) -> bool:
    is_alone = of.total is None and not of.ascending
    return is_alone and max(of.low) <= 0 <= min(of.high)


def _used(build: GraphBuilder, value: SSAValue) -> SSAValue:
    """Returns indices with 0 in the place of those that are not used."""
    if value not in build.counted:
        return value
    counted = build.counted[value]
    along = [s if d == counted.axis else 1 for d, s in enumerate(shape(value))]
    places = build.constant(np.arange(shape(value)[counted.axis], dtype=np.int32).reshape(along))
    is_used = build.elementwise(LessOp, places, counted.count)
    return build.elementwise(SelectOp, is_used, value, build.splat_like(0, value))


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
        case RemOp() if (divisor := known_array(owner.rhs)) is not None and divisor.all():
            last = int(np.abs(divisor).max()) - 1
            first = -last
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
