"""
Formulas as text, and the facts that are inferred and checked when types of operands are known.
"""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from glow.glow_dialects.formula import facts
from glow.glow_dialects.formula.binding import bind
from glow.glow_dialects.formula.parser import KEYWORDS, parse
from glow.glow_dialects.formula.problem import FormulaError
from glow.glow_dialects.formula.rewriting import with_order
from glow.glow_dialects.formula.statement import Apply
from glow.glow_dialects.formula.syntax import (
    PRECEDENCE,
    REDUCTIONS,
    Binary,
    Bound,
    Call,
    Choice,
    ElementAccess,
    Equation,
    Formula,
    Index,
    Limit,
    Name,
    Number,
    Reduction,
    Unary,
)
from glow.glow_dialects.glow.pooling import MaxPoolOp
from glow.glow_dialects.operator import with_shape
from glow.glow_dialects.scalar import Primitive
from glow.semantics.formula import evaluate_statement
from glow.tests.unit.semantics.formula_cases import call_of, windows
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator
from xdsl.dialects.builtin import bf16, f16, f32, i32, i64
from xdsl.ir import Attribute

NAMES = st.sampled_from(["i", "j", "k0", "alpha", "x_y"])
NUMBERS = st.one_of(
    st.integers(0, 10**6), st.floats(0, 1e6, allow_subnormal=False), st.just(float("inf"))
)
INDICES = st.builds(Name, NAMES, st.booleans())
ATOMS = st.one_of(st.builds(Number, NUMBERS), INDICES)
DIMS = st.one_of(st.none(), st.builds(Number, st.integers(0, 9)), st.builds(Name, NAMES))


def larger(inner: st.SearchStrategy) -> st.SearchStrategy:
    index = st.builds(Index, inner, DIMS)
    indices = st.lists(index, max_size=3).map(tuple)
    bounds = st.lists(
        st.builds(Bound, INDICES, st.one_of(st.none(), inner)), min_size=1, max_size=2
    )
    functions = st.sampled_from(["exp", "clamp", "f32", "size"])
    return st.one_of(
        st.builds(ElementAccess, NAMES, indices, st.one_of(st.none(), inner)),
        st.builds(Call, functions, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Unary, st.sampled_from(["-", "not"]), inner),
        st.builds(Binary, st.sampled_from(sorted(PRECEDENCE)), inner, inner),
        st.builds(Choice, inner, inner, inner),
        st.builds(Reduction, st.sampled_from(REDUCTIONS), bounds.map(tuple), inner),
    )


EXPRESSIONS = st.recursive(ATOMS, larger, max_leaves=12)


@given(EXPRESSIONS, st.lists(st.builds(Bound, INDICES, ATOMS), max_size=2))
def test_formulas_survive_their_text(value, bounds):
    left = (Index(Name("i")), Index(Number(0)), Index(Name("w", True), Name("axes")))
    limit = Limit(Binary("*", Name("i"), value), value)
    equation = Equation("y", left, value, tuple(bounds), (limit,))
    formula = Formula(equation, (Equation("m", (), value),))
    assert parse(str(formula)) == formula, str(formula)


@given(st.text(alphabet="yxij[]()=+-*/%<>|:;,. 0159\nsumoide", max_size=40))
def test_any_text_is_a_formula_or_an_error(text: str):
    with contextlib.suppress(FormulaError):
        parse.__wrapped__(text)


def test_deep_nesting_is_an_error():
    long = "+".join(["x[0]"] * 3000)
    with pytest.raises(FormulaError, match="nested"):
        bind(f"y[i] = {long} for i < 3", {"x": with_shape(f32, (1,))}, {})
    for text in ("(" * 500 + "1" + ")" * 500, "-" * 500 + "1", "x[" * 300 + "0" + "]" * 300):
        with pytest.raises(FormulaError, match="nested"):
            parse(f"y[i] = {text}")


def test_long_sums_are_formulas_or_an_error():
    statement = bind(f"y[i] = {' + '.join(['x[i]'] * 150)}", {"x": with_shape(f32, (3,))}, {})
    x = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(evaluate_statement(statement, [x]), 150 * x)
    with pytest.raises(FormulaError, match="name parts of them with 'where'"):
        parse(f"y[i] = {' + '.join(['x[i]'] * 300)}")


def test_an_index_is_reduced_once():
    with pytest.raises(FormulaError, match="index k is already in use here") as problem:
        bind("y[i] = sum(k, k) x[i, k]", {"x": with_shape(f32, (3, 5))}, {})
    assert str(problem.value).splitlines()[-1].index("^") - 2 == len("y[i] = sum(k, ")


def test_ranges_are_of_indices_of_the_equation():
    with pytest.raises(
        FormulaError, match="index q is in no reduction, and on no left side"
    ) as problem:
        bind("y[i] = x[i, 0] for i < 3, q < 4", {"x": with_shape(f32, (3, 5))}, {})
    assert str(problem.value).splitlines()[-1].index("^") - 2 == len("y[i] = x[i, 0] for i < 3, ")


@pytest.mark.parametrize("number", ["2 ** 10 ** 9", "2 ** 64", "(-1.5) ** 0.5", "1 / 0"])
def test_constants_that_are_no_numbers(number: str):
    with pytest.raises(FormulaError):
        bind(f"y[i] = x[i] * ({number})", {"x": with_shape(f32, (3,))}, {})


def test_keywords_are_no_names():
    for word in KEYWORDS - {"inf", "not"}:
        with pytest.raises(FormulaError):
            parse(f"y[i] = {word}")


@given(st.data())
def test_random_products_agree_with_einsum(data: st.DataObject):
    sizes = {letter: data.draw(st.integers(1, 4)) for letter in "abcd"}
    terms = data.draw(
        st.lists(st.lists(st.sampled_from("abcd"), max_size=3), min_size=1, max_size=3)
    )
    used = sorted({letter for term in terms for letter in term})
    left = data.draw(st.permutations(used))[: data.draw(st.integers(0, len(used)))]
    reduced = [letter for letter in used if letter not in left]
    arrays = [
        np.arange(1, 1 + np.prod([sizes[i] for i in t], dtype=int)).reshape([sizes[i] for i in t])
        for t in terms
    ]
    reads = " * ".join(f"x{n}[{', '.join(t)}]" for n, t in enumerate(terms))
    summed = f"sum({', '.join(reduced)}) " if reduced else ""
    types = {f"x{n}": with_shape(i64, a.shape) for n, a in enumerate(arrays)}
    statement = bind(f"y[{', '.join(left)}] = {summed}{reads}", types, {})
    wanted = np.einsum(",".join(map("".join, terms)) + "->" + "".join(left), *arrays)
    np.testing.assert_array_equal(evaluate_statement(statement, arrays), wanted)


def shape(text: str, *shapes: tuple[int, ...], **names) -> tuple[int, ...]:
    types = {f"x{n}": with_shape(f32, s) for n, s in enumerate(shapes)}
    return bind(text, types, names).result.shape


def test_ranges_are_inferred():
    assert shape("y[i] = sum(t) x1[t] * x0[i + t]", (10,), (3,)) == (8,)
    assert shape("y[i] = x0[2 * i + 1]", (10,)) == (5,)
    assert shape("y[i, 0] = x0[i]", (10,)) == (10, 1)
    assert shape("y[i..] = x0[i.. * steps] for i.. < n", (9, 1), steps=(2, 0), n=(5, 3)) == (5, 3)
    assert shape("y[a.., b] = x0[b, a..]", (2, 3, 4)) == (3, 4, 2)
    assert shape("y[i.., j at 1] = x0[j, i..]", (2, 3, 4)) == (3, 2, 4)
    assert shape("y[i] = m[i] where m[j] = x0[j + 1]", (10,)) == (9,)


def test_limits_tell_ranges():
    padded = "y[i] = sum(t) x1[t] * x0[i + t - 1 | outside: 0] for i + t < size(x0, 0) + 2"
    assert shape(padded, (10,), (3,)) == (10,)
    assert shape("y[i] = x0[i // 2] for 2 * i + 1 < 10, 3 * i < 10", (9,)) == (4,)
    assert shape("y[i, j] = x0[i, j | outside: 0] for i + j < 9, j < 4", (3, 3)) == (6, 4)
    assert shape("y[i] = sum(t) x1[t] * x0[i + t | outside: 0] for i + t < 0", (0,), (3,)) == (0,)
    with pytest.raises(FormulaError, match=r"expected i \+ t below 2 for the first i, found 2"):
        shape("y[i] = sum(t) x1[t] * x0[i + t | outside: 0] for i + t < 2", (2,), (3,))
    with pytest.raises(FormulaError, match=r"expected 2 \* i below 6, found 6"):
        shape("y[i] = x0[i] for 2 * i < 6", (4,))
    with pytest.raises(FormulaError, match="a sum of multiples of indices"):
        shape("y[i] = x0[i] for i * i < 6", (4,))


@given(st.data())
def test_windows_are_as_many_as_fit(data: st.DataObject):
    size, kernel, stride, dilation = (data.draw(st.integers(1, n)) for n in (9, 4, 4, 3))
    low, high = (data.draw(st.integers(0, 3)) for _ in range(2))
    ceil = data.draw(st.booleans())
    starts = range(0, size + low + (high if not ceil else 0), stride)
    more, reach = stride - 1 if ceil else 0, dilation * (kernel - 1)
    wanted = sum(s + reach < size + low + high + more for s in starts)
    shape = (1, 1, size)
    properties = {"kernel": (kernel,), "ceil_mode": ceil}
    properties |= windows(1, stride, (low, high), dilation)
    if wanted:
        call = call_of((MaxPoolOp, [(shape, np.float32)], properties))
        assert call.results == (with_shape(f32, (1, 1, wanted)),)


def test_types_of_results():
    narrow, wide = with_shape(f16, (3,)), with_shape(f32, (3,))
    assert bind("y[i] = exp(x[i])", {"x": narrow}, {}).element == f16
    assert bind("y[i] = x[i] + w[i]", {"x": narrow, "w": wide}, {}).element == f32
    assert bind("y[i] = x[i] / 2", {"x": with_shape(i32, (3,))}, {}).element == i32
    assert bind("y[i] = bf16(x[i])", {"x": wide}, {}, element=bf16).element == bf16


def test_integers_divide_towards_zero_and_indices_down(rng: Generator):
    x = rng.integers(-9, 9, 20)
    types = {"x": with_shape(i64, x.shape)}
    found = evaluate_statement(bind("y[i] = x[i] / 2 + x[(i - 3) // 5 + 1]", types, {}), [x])
    np.testing.assert_array_equal(found, np.trunc(x / 2) + x[(np.arange(20) - 3) // 5 + 1])


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        ("y[i] = x[i // 1] if i % 1 == 0 else x[0] * 2", False),
        ("y[i] = x[i] if (i % s == 0 and 2 == 2) or 1 == 2 else x[0]", False),
        ("y[i] = x[i] if i % 2 == 0 and 2 == 2 else x[0] * 2", True),
        ("y[i] = x[i] if 1 == 2 or i == 0 else x[0] * 2", True),
    ],
)
def test_conditions_that_are_known(text: str, stays: bool, rng: Generator):
    x = rng.random(5).astype(np.float32)
    statement = bind(text, {"x": with_shape(f32, x.shape)}, {"s": 1})
    terms = [t for t in statement.terms() if isinstance(t, Apply)]
    assert any(t.kind is Primitive.SELECT for t in terms) == stays
    numbers, ends = np.arange(5), {"% 2": 2 * x[0], "1 == 2 or": 2 * x[0]}
    kept = numbers % 2 == 0 if "% 2" in text else numbers == 0 if stays else numbers >= 0
    other = next((end for part, end in ends.items() if part in text), 0)
    found = evaluate_statement(statement, [x])
    np.testing.assert_array_equal(found, np.where(kept, x, other))


@pytest.mark.parametrize("element", [i32, i64])
def test_whole_numbers_are_compared_exactly(element: Attribute):
    """Also in operators that compute in f32, which does not hold all of them."""
    types = {"x": with_shape(f16, [5]), "n": with_shape(element, [1])}
    text = "y[] = sum(i) (x[i] if i < n[0] else 0)"
    terms = bind(text, types, {}, computes=f32).terms()
    compared = [t for t in terms if isinstance(t, Apply) and t.kind is Primitive.LT]
    assert [t.arguments[1].type for t in compared] == [element]


def test_parts_of_long_formulas_are_found_in_linear_time():
    """Each equation reads the one before twice, so that there are 2^60 ways through all."""
    steps = [f"m{k}[b, i] = m{k - 1}[b, i] + m{k - 1}[b, 0]" for k in range(1, 60)]
    text = f"y[b, i] = m59[b, i] where m0[b, i] = x[b, i] * 2; {'; '.join(steps)}"
    statement = bind(text, {"x": with_shape(f32, (3, 4))}, {})
    assert facts.divides(statement, {0})


def test_large_spaces_are_computed_in_parts(monkeypatch: pytest.MonkeyPatch, rng: Generator):
    x = rng.random((7, 11)).astype(np.float32)
    statement = bind("y[j, i] = x[i, j] * i", {"x": with_shape(f32, x.shape)}, {})
    monkeypatch.setattr("glow.semantics.formula._MOST_POINTS", 20)
    found = evaluate_statement(statement, [x])
    np.testing.assert_array_equal(found, x.T * np.arange(7, dtype=np.float32))


def test_work_of_statements():
    types = {"x": with_shape(f32, (3, 4)), "w": with_shape(f32, (5, 4))}
    linear = bind("y[b, i] = sum(k) x[b, k] * w[i, k]", types, {})
    assert facts.products(linear) == 60
    assert facts.operations(linear) == 120
    squares = bind("y[b] = sum(k) x[b, k] * x[b, k]", {"x": types["x"]}, {})
    assert facts.products(squares) == 0
    rows = {"x": types["x"], "n": with_shape(i64, (7,))}
    gather = bind("y[t, d] = x[clamp(n[t], 0, 2), d]", rows, {})
    assert facts.gathered(gather) == {0: 28}


@pytest.mark.parametrize(
    ("text", "parts", "holds"),
    [
        ("y[b, i] = sum(k) x[b, k] * w[i, k]", {0}, True),
        ("y[b, i] = sum(k) x[b, k] * w[i, k]", {0, 1}, False),
        ("y[i, b] = sum(k) x[b, k] * w[i, k]", {0}, False),
        ("y[b, i] = x[b, i] + m[b] + w[0, i] where m[c] = max(k) x[c, k]", {0}, True),
        ("y[b, i] = x[b, i] + m[2 - b] + w[0, i] where m[c] = max(k) x[c, k]", {0}, False),
        ("y[b, i] = x[b, i] * b + w[0, i]", {0}, False),
    ],
)
def test_what_can_be_computed_in_parts(text: str, parts: set[int], holds: bool):
    types = {"x": with_shape(f32, (3, 4)), "w": with_shape(f32, (5, 4))}
    assert facts.divides(bind(text, types, {}), parts) == holds


def test_other_orders_of_dimensions(rng: Generator):
    x = rng.random((2, 3, 4)).astype(np.float32)
    formula = parse("y[i] = sum(j, k) x[i, j, k] * f32(10 * j + k)")
    changed = with_order(formula, "x", (1, 2, 0))
    assert changed is not None
    turned = x.transpose(2, 0, 1)
    found = [
        evaluate_statement(bind(str(f), {"x": with_shape(f32, a.shape)}, {}), [a])
        for f, a in ((formula, x), (changed, turned))
    ]
    np.testing.assert_array_equal(found[0], found[1])
    assert with_order(parse("y[i..] = x[i..]"), "x", (1, 0)) is None
    assert with_order(parse("y[i] = x[i, size(x, 1) - 1]"), "x", (1, 0)) is None
