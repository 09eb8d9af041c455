"""The nests of formulas are text, which later stages read."""

from __future__ import annotations

import glow
import numpy as np
import pytest
from glow.glow_dialects.operator import with_shape
from glow.semantics import element_type
from glow.tests.support.native import apply, parse
from numpy.random import Generator

FORMULAS = {
    "gathered": ("y[b, d] = sum(t) e[clamp(n[b, t], 0, 6), d]", [(7, 19), (5, 9)]),
    "padded": ("y[i] = sum(t < 5) x[i + t - 2 | outside: 0] * w[t] for i < 17", [(17,), (5,)]),
    "repeated": ("y[i, h, j] = x[i // 3 + h % 2, j] for i < 12, h < 6", [(5, 9)]),
    "chosen": ("y[i, j] = x[i, j] if j <= i else -1", [(9, 11)]),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_later_stages_follow_from_the_text(name: str, rng: Generator):
    formula, shapes = FORMULAS[name]
    operator = glow.define(name, formula)
    arrays = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    if name == "gathered":
        arrays[1] = rng.integers(-2, 9, shapes[1])
    types = [with_shape(element_type(a.dtype), a.shape) for a in arrays]
    model = glow.compile(operator.graph(*types), cache=False)
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
    model = glow.compile(operator.graph(with_shape(element_type(x.dtype), x.shape)), cache=False)
    np.testing.assert_array_equal(model(x)[0], operator(x))
    assert ("i32" in str(model.stages["nests"])) != is_affine
