"""
The equations of a step of each recurrent layer, with the adjoints of what the step computes.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.ir import SSAValue

from ....glow_dialects.glow.arithmetic import AddOp
from ....glow_dialects.glow.matrix import MatMulOp
from ....glow_dialects.glow.recurrent import GruOp, LstmOp, Recurrent, RnnOp
from ....glow_dialects.glow.shape import ConcatOp, SliceOp
from ....glow_dialects.operator import Call, element_of, shape_of
from ....glow_dialects.scalar import Expr, fold_in_order, in_order_of_creation
from ..lowerings.data_parallel import NodeAlgebra
from ..rewriting import Build
from .data_parallel import derivatives


def slice_of(
    build: Build, value: SSAValue, axis: int, start: int, size: int, stride: int = 1
) -> SSAValue:
    """Returns the part of a value along an axis."""
    shape = shape_of(value.type)
    starts = [start if d == axis else 0 for d in range(len(shape))]
    sizes = [size if d == axis else n for d, n in enumerate(shape)]
    strides = [stride if d == axis else 1 for d in range(len(shape))]
    return build(SliceOp, value, starts=starts, sizes=sizes, strides=strides)


def part_at(build: Build, value: SSAValue, number: int) -> SSAValue:
    """Returns the part of a value with a number in dimension 0, without that dimension."""
    return build.reshape(slice_of(build, value, 0, number, 1), shape_of(value.type)[1:])


def stacked(build: Build, parts: Sequence[SSAValue]) -> SSAValue:
    """Returns values one after the other along a new dimension 0."""
    rows = [build.reshape(p, [1, *shape_of(p.type)]) for p in parts]
    return rows[0] if len(rows) == 1 else build(ConcatOp, *rows, axis=0)


def _product(build: Build, left: SSAValue, right: SSAValue) -> SSAValue:
    """Returns the product of [..., K] and [K, J]."""
    *lead, k = shape_of(left.type)
    flat = build.reshape(left, [prod(lead), k])
    return build.reshape(build(MatMulOp, flat, right), [*lead, shape_of(right.type)[1]])


def _product_turned(build: Build, left: SSAValue, right: SSAValue) -> SSAValue:
    """Returns the product of [I, K] and the transpose of [J, K]."""
    return build(MatMulOp, left, right, transpose_rhs=True)


def computed(exprs: Sequence[Expr], values: Sequence[SSAValue], build: Build) -> list[SSAValue]:
    """Returns expressions of values, which have the type of the results."""
    order = in_order_of_creation(exprs)
    found = fold_in_order(order, values, NodeAlgebra(build, values[0].type))
    return [found[e] for e in exprs]


def _pulled(
    exprs: Sequence[Expr], values: Sequence[SSAValue], seeds: Sequence[SSAValue], build: Build
) -> list[SSAValue]:
    """Returns the adjoints of values, for those of expressions of them."""
    element, n = element_of(values[0].type), len(values)
    known = derivatives(exprs, [element] * n, element, frozenset(range(n)))
    found = iter(computed(list(known.values()), [*values, *seeds], build))
    adjoints = dict(zip(known, found, strict=True))
    return [adjoints.get(i) or build.splat(0.0, v.type) for i, v in enumerate(values)]


@dataclass(frozen=True)
class _Adjoints:
    """The adjoints of what a cell computes its states of."""

    input: SSAValue
    """The adjoint of the row of the input."""
    products: Sequence[SSAValue]
    """Those of the products with each part of the weights."""
    last: Sequence[SSAValue]
    """Those of the states before the step."""
    rows: Sequence[SSAValue]
    """Those of the parameters, for each element of the batch."""


class Cell(abc.ABC):
    """The computation of a step, on rows [B, ...] or on those of all steps [T, B, ...]."""

    operator: ClassVar[type[Recurrent]]

    def __init__(self, call: Call):
        self.call = call

    def exprs(self) -> Sequence[Expr]:
        """Returns all parts of the result after a step, of `arguments`."""
        return self.operator.written(self.call)

    def products(
        self, build: Build, x: SSAValue, weights: Sequence[SSAValue], state: SSAValue
    ) -> list[SSAValue]:
        """
        Returns what depends on products, one value for each gate, as a layer keeps it: by default,
        the sums with the input.
        """
        total = build(AddOp, _product(build, state, weights[0]), x)
        return _gates(build, total, self.operator.gates())

    def direct(self, build: Build, x: SSAValue) -> list[SSAValue]:
        """Returns the parts of the input that the cell takes as they are."""
        return []

    @abc.abstractmethod
    def arguments(
        self,
        build: Build,
        fed: Sequence[SSAValue],
        last: Sequence[SSAValue],
        rows: Sequence[SSAValue],
    ) -> list[SSAValue]:
        """Returns the arguments of the cell [B, H]; `fed` are products and what is direct."""

    def multiplied(
        self, build: Build, fed: Sequence[SSAValue], state: SSAValue
    ) -> Sequence[SSAValue]:
        """Returns what each part of the weights is multiplied with."""
        return [state]

    @abc.abstractmethod
    def pulled(
        self,
        build: Build,
        arguments: Sequence[SSAValue],
        weights: Sequence[SSAValue],
        seeds: Sequence[SSAValue],
    ) -> _Adjoints:
        """Returns the adjoints for those of all parts of the result after the step."""


def _gates(build: Build, value: SSAValue, count: int) -> list[SSAValue]:
    """Returns equal parts of the last dimension."""
    axis = len(shape_of(value.type)) - 1
    size = shape_of(value.type)[axis] // count
    return [slice_of(build, value, axis, i * size, size) for i in range(count)]


def joined(build: Build, parts: Sequence[SSAValue]) -> SSAValue:
    """Returns values one after the other along the last dimension."""
    return build(ConcatOp, *parts, axis=len(shape_of(parts[0].type)) - 1)


class _Lstm(Cell):
    operator = LstmOp

    def arguments(
        self,
        build: Build,
        fed: Sequence[SSAValue],
        last: Sequence[SSAValue],
        rows: Sequence[SSAValue],
    ) -> list[SSAValue]:
        return [*fed, last[1], *rows]

    def pulled(
        self,
        build: Build,
        arguments: Sequence[SSAValue],
        weights: Sequence[SSAValue],
        seeds: Sequence[SSAValue],
    ) -> _Adjoints:
        found = _pulled(self.exprs(), arguments, seeds, build)
        gates = joined(build, found[:4])
        state = _product_turned(build, gates, weights[0])
        return _Adjoints(gates, [gates], [state, found[4]], found[5:])


class _Rnn(Cell):
    operator = RnnOp

    def arguments(
        self,
        build: Build,
        fed: Sequence[SSAValue],
        last: Sequence[SSAValue],
        rows: Sequence[SSAValue],
    ) -> list[SSAValue]:
        return [fed[0], build.splat(0.0, fed[0].type)]

    def pulled(
        self,
        build: Build,
        arguments: Sequence[SSAValue],
        weights: Sequence[SSAValue],
        seeds: Sequence[SSAValue],
    ) -> _Adjoints:
        total, _ = _pulled(self.exprs(), arguments, seeds, build)
        return _Adjoints(total, [total], [_product_turned(build, total, weights[0])], [])


class _Gru(Cell):
    operator = GruOp

    def products(
        self, build: Build, x: SSAValue, weights: Sequence[SSAValue], state: SSAValue
    ) -> list[SSAValue]:
        z, r, _ = _gates(build, x, 3)
        sums = build(AddOp, _product(build, state, weights[0]), joined(build, [z, r]))
        z, r = _gates(build, sums, 2)
        left = self._left(build, r, state)
        return [_product(build, left, weights[1]), z, r]

    def direct(self, build: Build, x: SSAValue) -> list[SSAValue]:
        return _gates(build, x, 3)[2:]

    def arguments(
        self,
        build: Build,
        fed: Sequence[SSAValue],
        last: Sequence[SSAValue],
        rows: Sequence[SSAValue],
    ) -> list[SSAValue]:
        return [*fed, *rows, last[0]]

    def multiplied(
        self, build: Build, fed: Sequence[SSAValue], state: SSAValue
    ) -> Sequence[SSAValue]:
        return [state, self._left(build, fed[2], state)]

    def _left(self, build: Build, r: SSAValue, state: SSAValue) -> SSAValue:
        """Returns what the weights of the new state are multiplied with."""
        if self.call.get("reset_after"):
            return state
        return computed([GruOp.reset(self.call)], [r, state], build)[0]

    def pulled(
        self,
        build: Build,
        arguments: Sequence[SSAValue],
        weights: Sequence[SSAValue],
        seeds: Sequence[SSAValue],
    ) -> _Adjoints:
        product, z, r, h, bias, last = _pulled(self.exprs(), arguments, seeds, build)
        left = _product_turned(build, product, weights[1])
        if not self.call.get("reset_after"):
            given = [arguments[2], arguments[5]]
            more, left = _pulled([GruOp.reset(self.call)], given, [left], build)
            r = build(AddOp, r, more)
        gates = joined(build, [z, r])
        state = build(AddOp, last, build(AddOp, left, _product_turned(build, gates, weights[0])))
        return _Adjoints(joined(build, [z, r, h]), [gates, product], [state], [bias])


CELLS: Mapping[type[Recurrent], type[Cell]] = {LstmOp: _Lstm, GruOp: _Gru, RnnOp: _Rnn}
