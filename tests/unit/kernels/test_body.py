"""Bodies of nests: composition, order of evaluation, weights, and what is wrong with some."""

from __future__ import annotations

import numpy as np
import pytest
from glow.glow_dialects.glow.elementwise import X, Y
from glow.glow_dialects.glow_nest.body import Body
from glow.glow_dialects.machine import MachineDescription
from glow.glow_dialects.scalar import (
    ARITY,
    Expr,
    Primitive,
    apply,
    arguments,
    convert,
    exp,
    fold,
    fold_in_order,
    multiply_add,
    select,
)
from glow.glow_dialects.substitution import substitute
from glow.lowering.kernels.codegen.algebra import ArithAlgebra, Value
from glow.lowering.kernels.codegen.emit import Emitter
from glow.semantics.numpy_algebra import NumpyAlgebra
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import f32, f64, i32
from xdsl.ir import Attribute, Block

KINDS = (Primitive.ADD, Primitive.SUB, Primitive.MUL, Primitive.MAXIMUM, Primitive.MULTIPLY_ADD)


def _grow(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    plain = st.sampled_from(KINDS).flatmap(
        lambda p: st.tuples(*[children] * ARITY[p]).map(lambda args: apply(p, *args))
    )
    chosen = st.tuples(children, children, children, children).map(
        lambda c: select(c[0] < c[1], c[2], c[3])
    )
    return plain | chosen | children.map(lambda c: convert(convert(c, i32)))


LEAVES = st.integers(0, 1).map(Expr.argument) | st.integers(-3, 3).map(Expr.constant)
EXPRESSIONS = st.recursive(LEAVES, _grow, max_leaves=6)


@given(EXPRESSIONS, EXPRESSIONS, EXPRESSIONS, st.integers(-3, 3), st.integers(-3, 3))
def test_composition(outer: Expr, first: Expr, second: Expr, x: float, y: float):
    """An operator on f64 takes the results of two operators on f32."""
    arrays = [np.array([v], np.float32) for v in (x, y)]
    with np.errstate(all="ignore"):
        inner = [np.broadcast_to(fold(e, arrays, NumpyAlgebra(f32)), 1) for e in (first, second)]
        expected = fold(outer, inner, NumpyAlgebra(f32))
        given = [substitute(e, arguments(2), f32) for e in (first, second)]
        body = Body((substitute(outer, given, f32), given[0]), (f32, f32))
        # all types are known, so that of the whole does not matter
        found = fold_in_order(body.order, arrays, NumpyAlgebra(f64))
        again = fold(body.applied(arguments(2))[0], arrays, NumpyAlgebra(f64))
    for value in (found[body.results[0]], again):
        np.testing.assert_array_equal(np.broadcast_to(value, 1), np.broadcast_to(expected, 1))
    np.testing.assert_array_equal(np.broadcast_to(found[body.results[1]], 1), inner[0])


def test_conversions_and_constants_keep_their_type():
    inner = substitute(select(X < Y, 1, 2), arguments(2), i32)
    assert [a.target for a in inner.args] == [None, i32, i32]
    outer = substitute(convert(X) * 2.0, [inner], f32)
    conversion, two = outer.args
    assert conversion.target == f32
    assert two.target is None, "what is beside it types it"


def test_order_is_that_of_creation():
    first = X * Y
    second = X + Y
    body = Body((second - first, first), (f32, f32))
    assert [e.kind for e in body.order if e.kind] == [Primitive.MUL, Primitive.ADD, Primitive.SUB]


def test_long_chains():
    value = X
    for _ in range(5000):
        value = substitute(X + 1.0, [value], f32)
    assert Body((value,), (f32,)).weight == 5000


def test_weight():
    shared = X * Y
    assert Body((shared + shared, shared), (f32, f32)).weight == 2, "shared work counts once"
    assert Body.passing(f32).weight == 1
    assert Body((Expr.constant(0, f32),), (f32,)).weight == 0
    assert Body((exp(X),), (f32,)).weight == 25


def emitted(body: Body, machine: MachineDescription, *elements: Attribute) -> list[str]:
    block = Block(arg_types=elements)
    emitter = Emitter(block)
    values = [Value(a, e) for a, e in zip(block.args, elements, strict=True)]
    ArithAlgebra(emitter, machine, 1).evaluate(body, values)
    return [op.name for op in block.ops]


def test_multiply_add_is_one_operation_where_the_machine_has_it():
    body = Body((multiply_add(X, Y, X),), (f32,))
    assert emitted(body, MachineDescription(), f32, f32) == ["math.fma"]
    without = MachineDescription(128, 16, False)
    assert emitted(body, without, f32, f32) == ["arith.mulf", "arith.addf"]
    assert emitted(body, MachineDescription(), i32, i32) == ["arith.muli", "arith.addi"]


def test_types_that_are_not_known():
    with pytest.raises(ValueError, match=r"expected the constant 1\.0 of a body to have a type"):
        emitted(Body((exp(1.0),), (f32,)), MachineDescription())
    with pytest.raises(ValueError, match="expected a conversion in a body to name its target"):
        emitted(Body((convert(X),), (f32,)), MachineDescription(), i32)
