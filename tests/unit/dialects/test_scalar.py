"""Folding of scalar expressions: against direct evaluation, sharing, and the types of constants."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from glow.glow_dialects.scalar import (
    ARITY,
    Expr,
    Number,
    Primitive,
    apply,
    convert,
    exp,
    fold,
    maximum,
    select,
)
from glow.semantics.numpy_algebra import NumpyAlgebra
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import f64
from xdsl.ir import Attribute

TOTAL: dict[Primitive, Callable[..., Any]] = {
    Primitive.ADD: operator.add,
    Primitive.SUB: operator.sub,
    Primitive.MUL: operator.mul,
    Primitive.NEG: operator.neg,
    Primitive.ABS: abs,
    Primitive.MAXIMUM: max,
    Primitive.MINIMUM: min,
    Primitive.TANH: math.tanh,
    Primitive.SIN: math.sin,
    Primitive.ERF: math.erf,
}
"""Primitives of floats that are defined on all finite numbers."""

LEAVES = st.integers(0, 1).map(Expr.argument) | st.floats(-3, 3).map(Expr.constant)


def _grow(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    plain = st.sampled_from(list(TOTAL)).flatmap(
        lambda p: st.tuples(*[children] * ARITY[p]).map(lambda args: apply(p, *args))
    )
    chosen = st.tuples(children, children, children, children).map(
        lambda c: select(c[0] < c[1], c[2], c[3])
    )
    return plain | chosen


@given(st.recursive(LEAVES, _grow, max_leaves=12), st.floats(-2, 2), st.floats(-2, 2))
def test_fold_evaluates(expression: Expr, x: float, y: float):
    expected = direct(expression, (x, y))
    arrays = [np.array([x]), np.array([y])]
    with np.errstate(all="ignore"):
        found = np.broadcast_to(fold(expression, arrays, NumpyAlgebra(f64)), 1)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found[0], expected, rtol=1e-9, atol=1e-9)


def direct(node: Expr, arguments: Sequence[float]) -> float:
    if node.index is not None:
        return arguments[node.index]
    if node.value is not None:
        return node.value
    values = [direct(a, arguments) for a in node.args]
    if node.kind is Primitive.SELECT:
        return values[1] if values[0] else values[2]
    if node.kind is Primitive.LT:
        return values[0] < values[1]
    assert node.kind is not None
    return TOTAL[node.kind](*values)


class Recorder:
    """An algebra over text that counts what it is asked for."""

    def __init__(self):
        self.applied = 0
        self.likes: list[tuple[str, ...]] = []

    def constant(self, value: Number, like: Sequence[str], element: Attribute | None) -> str:
        self.likes.append(tuple(like))
        return str(value)

    def convert(self, value: str, target: Attribute | None) -> str:
        return f"{value} as {target}"

    def bitcast(self, value: str, target: Attribute) -> str:
        return f"bits of {value} as {target}"

    def apply(self, kind: Primitive, args: Sequence[str]) -> str:
        self.applied += 1
        return f"{kind}"


def test_conversions_name_their_target():
    x = Expr.argument(0)
    assert fold(convert(x), ["x"], Recorder()) == "x as None"
    assert fold(convert(convert(x, f64)), ["x"], Recorder()) == "x as f64 as None"


def test_shared_nodes_are_visited_once():
    x = Expr.argument(0)
    for _ in range(60):
        x = x + x
    recorder = Recorder()
    fold(x, ["x"], recorder)
    assert recorder.applied == 60


def test_constants_are_typed_by_the_other_operands():
    x, c = Expr.argument(0), Expr.argument(1)
    recorder = Recorder()
    fold(maximum(x, 0) + 1, ["x", "c"], recorder)
    assert recorder.likes == [("x",), ("maximum",)]
    recorder = Recorder()
    fold(select(c, x, 2.0), ["x", "c"], recorder)
    assert recorder.likes == [("x",)], "the condition must not type a branch"
    recorder = Recorder()
    fold(exp(1.0), [], recorder)
    assert recorder.likes == [()]


def test_python_operators():
    x = Expr.argument(0)
    forms = {
        Primitive.ADD: [x + 1, 1 + x],
        Primitive.SUB: [x - 1, 1 - x],
        Primitive.MUL: [x * 2, 2 * x],
        Primitive.DIV: [x / 2, 2 / x],
        Primitive.NEG: [-x],
        Primitive.LT: [x < 1, x > 1],
        Primitive.LE: [x <= 1, x >= 1],
    }
    assert all(e.kind is kind for kind, found in forms.items() for e in found)
    assert (x > 1).args[1] is x
    assert (x < 1).args[0] is x


def test_wrong_number_of_operands():
    with pytest.raises(ValueError, match="select takes 3 operands, got 1"):
        apply(Primitive.SELECT, 1)
