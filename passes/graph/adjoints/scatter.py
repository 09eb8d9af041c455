"""
Adjoints and tangents of scattered updates.

For each kind of reduction, an element of the result is a function of the element of the data and of
the updates at its row. Rules follow from the derivatives of that function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ....glow_dialects.glow.arithmetic import AddOp, DivOp, MulOp
from ....glow_dialects.glow.indexing import ScatterOp
from ....glow_dialects.glow.logic import EqualOp, SelectOp
from ....glow_dialects.glow.shape import GatherOp
from ....glow_dialects.operator import shape_of, with_shape
from ..rewriting import Build
from .registry import adjoint, tangent


@dataclass(frozen=True)
class _Derivatives:
    """The derivatives of elements of the result; None is 1."""

    data: SSAValue | None
    updates: SSAValue | None


class _Scatter:
    """A scatter node, and nodes on its rows."""

    def __init__(self, node: ScatterOp, build: Build):
        self.node, self.build = node, build

    def at_updates(self, data: SSAValue) -> SSAValue:
        """Returns the rows of data to which updates go."""
        return self.build(GatherOp, data, self.node.indices, axis=0)

    def scattered(self, data: SSAValue, updates: SSAValue, reduction: str) -> SSAValue:
        return self.build(ScatterOp, data, self.node.indices, updates, reduction=reduction)

    def splat(self, value: float, like: SSAValue) -> SSAValue:
        return self.build.splat(value, like.type)

    def choice(self, condition: SSAValue, yes: SSAValue, no: SSAValue) -> SSAValue:
        return self.build(SelectOp, condition, yes, no)

    def where_equal(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Returns 1 where values are equal, and else 0."""
        equal = self.build(EqualOp, a, b)
        return self.choice(equal, self.splat(1.0, a), self.splat(0.0, a))


def _added(s: _Scatter) -> _Derivatives:
    return _Derivatives(None, None)


def _replaced(s: _Scatter) -> _Derivatives:
    """Returns derivatives where the last update of a row replaces all others."""
    node, build = s.node, s.build
    data = s.scattered(s.splat(1.0, node.data), s.splat(0.0, node.updates), "none")
    count, width = shape_of(node.updates.type)
    numbers = build.constant(np.arange(count, dtype=np.int64).reshape(count, 1), "numbers")
    rows = shape_of(node.data.type)[0]
    last = s.at_updates(s.scattered(build.splat(0, with_shape(i64, [rows, 1])), numbers, "none"))
    stays = build.broadcast(build(EqualOp, last, numbers), [count, width])
    updates = s.choice(stays, s.splat(1.0, node.updates), s.splat(0.0, node.updates))
    return _Derivatives(data, updates)


def _extreme(s: _Scatter) -> _Derivatives:
    """Returns derivatives of an extreme, which all that attain it share equally."""
    node = s.node
    data = s.where_equal(node.data, node.result)
    updates = s.where_equal(node.updates, s.at_updates(node.result))
    ties = s.scattered(data, updates, "add")
    return _Derivatives(s.build(DivOp, data, ties), s.build(DivOp, updates, s.at_updates(ties)))


def _multiplied(s: _Scatter) -> _Derivatives:
    """
    Returns the products of the others: that of all numbers but zeros divided by the number itself,
    or 0 if another one is zero.
    """
    node, build = s.node, s.build
    values = node.data, node.updates
    zeros = [s.where_equal(v, s.splat(0.0, v)) for v in values]
    others = [build(AddOp, *pair) for pair in zip(values, zeros, strict=True)]
    counts = s.scattered(zeros[0], zeros[1], "add")
    product = s.scattered(others[0], others[1], "mul")
    wholes = [(counts, product), (s.at_updates(counts), s.at_updates(product))]
    found: list[SSAValue] = []
    for zero, other, (count, whole) in zip(zeros, others, wholes, strict=True):
        alone = build(EqualOp, count, zero)
        found.append(s.choice(alone, build(DivOp, whole, other), s.splat(0.0, other)))
    return _Derivatives(*found)


_KINDS: Mapping[str, Callable[[_Scatter], _Derivatives]] = {
    "none": _replaced,
    "add": _added,
    "mul": _multiplied,
    "max": _extreme,
    "min": _extreme,
}


def _times(build: Build, value: SSAValue, factor: SSAValue | None) -> SSAValue:
    return value if factor is None else build(MulOp, value, factor)


@adjoint(ScatterOp)
def scatter(
    node: ScatterOp, seed: SSAValue, wanted: AbstractSet[int], build: Build
) -> Mapping[int, SSAValue]:
    s = _Scatter(node, build)
    known, found = _KINDS[node.reduction.data](s), dict[int, SSAValue]()
    if 0 in wanted:
        found[0] = _times(build, seed, known.data)
    if 2 in wanted:
        found[2] = _times(build, s.at_updates(seed), known.updates)
    return found


@tangent(ScatterOp)
def scatter_tangent(node: ScatterOp, tangents: Mapping[int, SSAValue], build: Build) -> SSAValue:
    s = _Scatter(node, build)
    known = _KINDS[node.reduction.data](s)
    factors = {0: known.data, 2: known.updates}
    data, updates = (
        _times(build, tangents[i], factor) if i in tangents else s.splat(0.0, node.operands[i])
        for i, factor in factors.items()
    )
    return s.scattered(data, updates, "add")
