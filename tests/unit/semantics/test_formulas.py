"""The meanings made for operators agree with what their formulas say."""

from __future__ import annotations

import numpy as np
import pytest
from glow.glow_dialects import glow_cpu
from glow.glow_dialects.glow import NODES
from glow.glow_dialects.glow.structured import Structured
from glow.glow_dialects.operator import shape_of
from glow.semantics import evaluate, numpy_dtype
from glow.semantics.formula import evaluate_statement
from glow.tests.unit.semantics.formula_cases import BF16, CASES, F64, Case, array, call_of
from numpy.random import Generator


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].name)
def test_meanings_agree_with_formulas(case: Case, rng: Generator):
    call = call_of(case)
    statement = case[0].statement(call)
    (result,) = call.results
    assert statement.result.shape == shape_of(result)
    arrays = [array(shape, dtype, rng) for shape, dtype in case[1]]
    (fast,) = evaluate(call, arrays)
    slow = evaluate_statement(statement, arrays)
    assert slow.dtype == fast.dtype == numpy_dtype(statement.element)
    if fast.dtype.kind in "iu":
        np.testing.assert_array_equal(slow, fast)
        return
    tolerance = {2: 2e-2 if fast.dtype == BF16 else 4e-3, 4: 2e-5, 8: 1e-12}[fast.dtype.itemsize]
    a, b = (x.astype(F64) for x in (slow, fast))
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def test_every_structured_operator_is_compared():
    structured = {n for n in (*NODES, *glow_cpu.NODES) if issubclass(n, Structured)}
    assert {case[0] for case in CASES} >= {n for n in structured if n.name != "glow.generic"}
