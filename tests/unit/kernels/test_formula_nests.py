"""The nests of formulas are text, which later stages read."""

from __future__ import annotations

from collections.abc import Sequence

import glow
import numpy as np
import pytest
from glow.definitions import Operator
from glow.glow_dialects.operator import with_shape
from glow.models.compiled_model import CompiledModel
from glow.semantics import element_type
from glow.tests.support.native import apply, parse
from glow.tests.support.seeds import generator
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator

FORMULAS = {
    "gathered": ("y[b, d] = sum(t) e[clamp(n[b, t], 0, 6), d]", [(7, 19), (5, 9)]),
    "padded": ("y[i] = sum(t < 5) x[i + t - 2 | outside: 0] * w[t] for i < 17", [(17,), (5,)]),
    "repeated": ("y[i, h, j] = x[i // 3 + h % 2, j] for i < 12, h < 6", [(5, 9)]),
    "bounded": (
        "y[r, c] = sum(i) (x[i, c] * w[i] if n[r] < i and i <= n[r + 1] else 0) for r < 4",
        [(23, 17), (23,), (5,)],
    ),
    "chosen": ("y[i, j] = x[i, j] if j <= i else -1", [(9, 11)]),
}


def _compiled(operator: Operator, arrays: Sequence[np.ndarray], threads: int = 1) -> CompiledModel:
    types = [with_shape(element_type(a.dtype), a.shape) for a in arrays]
    return glow.compile(operator.graph(*types), cache=False, threads=threads)


@pytest.mark.parametrize("name", FORMULAS)
def test_later_stages_follow_from_the_text(name: str, rng: Generator):
    formula, shapes = FORMULAS[name]
    operator = glow.define(name, formula)
    arrays = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    if name in ("gathered", "bounded"):
        arrays[-1] = rng.integers(-2, 9, shapes[-1])
    model = _compiled(operator, arrays)
    wanted = operator(*arrays)
    np.testing.assert_allclose(model(*arrays)[0], wanted, rtol=1e-5, atol=1e-5)
    nests = str(model.stages["nests"])
    again = apply(parse(nests), "glow-split-reductions,glow-schedule-nests")
    assert str(again) == str(model.stages["scheduled"])
    loops = apply(parse(str(again)), "glow-generate-loops")
    assert str(loops) == str(model.stages["kernels"])


@pytest.mark.parametrize(
    ("rows", "is_affine"),
    [("i // 4", True), ("i % 4 + 2", True), ("i // 1", True), ("i % 24", True), ("i // 5", False)],
)
def test_quotients_are_loops(rows: str, is_affine: bool, rng: Generator):
    """An index that is a quotient or a rest needs no table if the number divides the loop."""
    operator = glow.define("quotients", f"y[i, j] = x[{rows}, j] for i < 24")
    x = rng.standard_normal((24, 7)).astype(np.float32)
    model = _compiled(operator, [x])
    np.testing.assert_array_equal(model(x)[0], operator(x))
    assert ("i32" in str(model.stages["nests"])) != is_affine


_BOUNDS = {
    "i >= n[r] and i < m[r]": True,
    "i > n[r] and i <= m[r]": True,
    "i + 2 > n[r] and i - 3 < m[r] and i < n[r + 1]": True,
    "i < m[r] and x[i, c] > 0": True,
    "i < m[r] * 2 + r": True,
    # of all elements, of some of them, and of what is read there
    "i != n[r]": False,
    "i >= n[r] or i < m[r]": False,
    "2 * i < m[r]": False,
    "x[i, c] < n[r]": False,
}
"""Conditions, and whether they are bounds of the loop over `i`."""


@pytest.mark.parametrize("condition", _BOUNDS)
@pytest.mark.parametrize("element", [np.int64, np.int32, np.int8, np.uint8])
@pytest.mark.parametrize("reduction", ["sum", "max", "prod"])
def test_conditions_are_bounds(condition: str, element: type, reduction: str, rng: Generator):
    neutral = {"sum": "0", "max": "-inf", "prod": "1"}[reduction]
    text = f"y[r, c] = {reduction}(i) (x[i, c] if {condition} else {neutral}) for r < 7"
    operator = glow.define("bounded", text)
    values = {"x": (2 * rng.standard_normal((11, 19))).astype(np.float32)}
    least = 0 if element is np.uint8 else -4
    values |= {name: rng.integers(least, 15, 8).astype(element) for name in "nm"}
    if "x[i, c] < n" in condition:
        values["n"] = values["n"].astype(np.float32)
    arrays = [values[name] for name in operator.operands]
    model = _compiled(operator, arrays)
    np.testing.assert_allclose(model(*arrays)[0], operator(*arrays), rtol=1e-5, atol=1e-5)
    assert (" range i " in str(model.stages["nests"])) == _BOUNDS[condition]


def test_bounds_beyond_all_integers(rng: Generator):
    """A limit plus a constant does not wrap around."""
    operator = glow.define("far", "y[r, c] = sum(i) (x[i, c] if i > n[r] and i < m[r] else 0)")
    least, most = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    x = rng.standard_normal((5, 8)).astype(np.float32)
    n, m = np.array([most, least, least, 1]), np.array([most, most, least, most])
    found = _compiled(operator, [x, n, m])(x, n, m)[0]
    sums = [np.zeros(8), x.sum(0), np.zeros(8), x[2:].sum(0)]
    np.testing.assert_allclose(found, sums, rtol=1e-5, atol=1e-6)


def test_long_vectors_of_a_bound_keep_conditions(rng: Generator):
    """Elements that lie together in memory are summed in vectors, not up to a bound."""
    operator = glow.define("short", "y[r] = sum(i) (x[r, i] if i < n[r] else 0)")
    x, n = rng.standard_normal((3, 37)).astype(np.float32), np.array([-1, 17, 99])
    model = _compiled(operator, [x, n])
    np.testing.assert_allclose(model(x, n)[0], operator(x, n), rtol=1e-5, atol=1e-6)
    assert " range " not in str(model.stages["nests"])


def test_bounded_sums_of_rows_are_products(rng: Generator):
    """Rows that indices name are multiplied as they are added, and each index is clamped once."""
    operator = glow.define(
        "bags",
        "y[r, c] = sum(i) (x[clamp(n[i], 0, 8), c] * w[i] if i >= m[r] and i < m[r + 1] else 0)"
        " for r < 3",
    )
    x, w = (rng.standard_normal(s).astype(np.float32) for s in [(9, 17), (12,)])
    values = {"x": x, "w": w, "n": rng.integers(-2, 12, 12), "m": np.array([0, 5, 5, 12])}
    arrays = [values[name] for name in operator.operands]
    model = _compiled(operator, arrays)
    np.testing.assert_allclose(model(*arrays)[0], operator(*arrays), rtol=1e-5, atol=1e-5)
    nests = str(model.stages["nests"])
    assert " range i " in nests
    assert " map {" not in nests


_WEIGHTS = "where w[b, p, k, q] = s[b, q] * f32(c[clamp(e[b], 0, 2), p, k, q])"
_PARTS = {
    f"y[b, r, p, q] = sum(k) x[b, r, k] * w[b, p, k, q] {_WEIGHTS}": True,
    f"y[b, p, r, q] = sum(k) x[b, r, k] * w[b, p, k, q] + s[b, q] {_WEIGHTS}": True,
    f"y[b, r, p, q] = sum(k) w[b, p, k, q] * w[b, p, k, q] * x[b, r, k] {_WEIGHTS}": True,
    # steps need a part of one dimension, or of none
    f"y[b, r, p, q] = sum(k) x[b, r, k] * w[b, 3 - p, k, q] {_WEIGHTS}": True,
    f"y[b, r, p, q] = sum(k) x[b, r, k] * w[6 - b, 3 - p, k, q] {_WEIGHTS}": False,
    # of the last one of two large stages
    f"y[b, r, p, q] = sum(k) x[b, r, k] * v[b, p, k, q] {_WEIGHTS};"
    " v[b, p, k, q] = w[b, p, k, q] + w[b, p, 0, q]": True,
    # the copy with a border has a part of the stage, which is whole
    f"y[b, r, p, q] = sum(k) x[b, r, k] * w[b, p, k, q + 1 | outside: 0] for q < 61"
    f" {_WEIGHTS}": True,
    # other nests read the stage before, tables of places and conditions among them
    "y[b, r, p, q] = sum(k) x[b, r, clamp(n[b, p, k, q], 0, 210)]"
    " where n[b, p, k, q] = i32(c[clamp(e[b], 0, 2), p, k, q]) * 11": False,
    f"y[b, r, p, q] = sum(k) (x[b, r, k] if w[b, p, k, q] < 2 else 0) {_WEIGHTS}": False,
    f"y[b, r, p, q] = sum(k) x[b, r, k] * exp(w[b, p, k, q]) {_WEIGHTS}": False,
    f"y[b, r, p, q] = (sum(k) w[b, p, k, q]) * (max(k) w[b, p, k, q] * x[b, r, k])"
    f" {_WEIGHTS}": False,
}
"""Formulas with a large stage, and whether steps of the loop over `b` compute parts."""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("formula", _PARTS)
def test_steps_compute_parts_of_large_stages(formula: str, threads: int, rng: Generator):
    operator = glow.define("parts", formula)
    values = {
        "x": rng.standard_normal((7, 5, 211)).astype(np.float32),
        "s": rng.random((7, 61)).astype(np.float32),
        "c": rng.integers(-8, 8, (3, 4, 211, 61), np.int8),
        "e": rng.integers(-1, 4, 7),
    }
    arrays = [values[name] for name in operator.operands]
    model = _compiled(operator, arrays, threads)
    wanted = operator(*arrays)
    found = model(*arrays)[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())
    assert ("repeat %b" in str(model.stages["nests"])) == _PARTS[formula]


@given(
    places=st.permutations("bpkq"),
    result=st.permutations("bprq"),
    value=st.sampled_from(
        ["{0}", "{0} if k < 70 else 2 * {0}", "{0} if b == 1 else 3", "{0} * (2 if p < 1 else b)"]
    ),
    term=st.sampled_from(["{0} * x[b, r, k]", "({0} + x[b, r, k]) * {0}"]),
    threads=st.sampled_from([1, 2]),
)
@settings(max_examples=15)
def test_parts_in_any_order(
    places: list[str], result: list[str], value: str, term: str, threads: int
):
    there = ", ".join(places)
    stage = f"w[{there}] = {value.format(f'c[{there}]')}"
    reduced = term.format(f"w[{there}]")
    operator = glow.define("parts", f"y[{', '.join(result)}] = max(k) {reduced} where {stage}")
    sizes, rng = {"b": 3, "p": 5, "r": 9, "k": 301, "q": 67}, generator()
    values = {
        "x": rng.standard_normal([sizes[i] for i in "brk"]).astype(np.float32),
        "c": rng.standard_normal([sizes[i] for i in places]).astype(np.float32),
    }
    arrays = [values[name] for name in operator.operands]
    found = _compiled(operator, arrays, threads)(*arrays)[0]
    np.testing.assert_allclose(found, operator(*arrays), rtol=1e-4, atol=1e-4)
