"""Segments of a stage cover its points once, have its values, and read nothing out of bounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from glow.glow_dialects.formula.binding import bind
from glow.glow_dialects.formula.ranges import interval
from glow.glow_dialects.formula.segments import segments
from glow.glow_dialects.formula.statement import Apply, Read, Statement, walk
from glow.glow_dialects.glow.pooling import AvgPoolOp, MaxPoolOp, Pool
from glow.glow_dialects.glow_cpu.blocked import BlockedAvgPoolOp, BlockedMaxPoolOp
from glow.glow_dialects.operator import shape_of, with_shape
from glow.glow_dialects.python_values import Python
from glow.glow_dialects.scalar import Primitive
from glow.semantics.formula import evaluate_statement
from glow.tests.support.seeds import generator
from hypothesis import assume, given
from hypothesis import strategies as st
from xdsl.dialects.builtin import f32
from xdsl.utils.test_value import create_ssa_value


def statement_of(operator: type[Pool], shape: list[int], **properties: Python) -> Statement:
    operand = create_ssa_value(with_shape(f32, shape))
    return operator.statement(operator.of(operand, result_types=None, **properties).call)


@given(
    st.sampled_from([BlockedMaxPoolOp, BlockedAvgPoolOp]),
    st.integers(1, 20),
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(0, 3),
    st.integers(0, 3),
    st.booleans(),
)
@np.errstate(invalid="ignore")
def test_segments(
    operator: type[Pool],
    size: int,
    kernel: int,
    stride: int,
    dilation: int,
    low: int,
    high: int,
    flag: bool,
):
    assume(size + low + high > dilation * (kernel - 1))
    whole = statement_of(
        operator,
        [1, 2, size, 3],
        kernel=[kernel],
        strides=[stride],
        dilations=[dilation],
        pads=[low, high],
        **({"count_include_pad": flag} if operator is BlockedAvgPoolOp else {"ceil_mode": flag}),
    )
    x = generator().standard_normal((1, 2, size, 3)).astype(np.float32)
    expected = evaluate_statement(whole, [x])
    found, times = np.full(expected.shape, np.nan, np.float32), np.zeros(expected.shape, int)
    for segment in segments(whole.result):
        for term in walk(segment.stage.value):
            if isinstance(term, Read):
                limits = [interval(index) for index in term.indices]
                empty = any(loop.size == 0 for loop in term.loops)
                assert empty or all(
                    a >= 0 and b < n for (a, b), n in zip(limits, term.shape, strict=True)
                )
        place = tuple(
            slice(start, start + count)
            for start, count in zip(segment.starts, segment.stage.shape, strict=True)
        )
        found[place] = evaluate_statement(replace(whole, stages=(segment.stage,)), [x])
        times[place] += 1
    assert (times == 1).all()
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("operator", [MaxPoolOp, AvgPoolOp])
def test_the_loop_of_vectors_is_not_cut(operator: type[Pool]):
    whole = statement_of(
        operator, [1, 2, 7, 7], kernel=[3, 3], strides=[1, 1], dilations=[1, 1], pads=[1, 1, 1, 1]
    )
    assert [s.starts for s in segments(whole.result)] == [(0, 0, 0, 0)]


_CHOICES = {
    "y[i, j] = x[i, j] if i < 3 else -x[i, j]": [3],
    "y[i, j] = x[i, j] if i == 2 else 0": [2, 3],
    "y[i, j] = x[i, j] if 5 >= i * 2 and j < 2 else 1": [3],
    "y[i, j] = x[i, j] if 0 < i or 4 < i else w[i]": [1, 5],
    "y[i, j] = x[i, j] if 6 - i > 4 else (w[i] if i != 2 else 3)": [2, 3],
    # nothing changes, or nothing is known
    "y[i, j] = x[i, j] if i < 9 else 0": [],
    "y[i, j] = x[i, j] if i < j else 0": [],
    "y[i, j] = x[i, j] if w[i] < 0 else 0": [],
    "y[i, j] = x[i, j] if j < 3 else 0": [],
}
"""Formulas, and the places at which conditions on the first loop change."""


@pytest.mark.parametrize("formula", _CHOICES)
def test_conditions_on_a_loop_cut_it(formula: str):
    types = {"x": with_shape(f32, [7, 5]), "w": with_shape(f32, [7])}
    arrays = {
        name: generator().standard_normal(shape_of(t)).astype(np.float32)
        for name, t in types.items()
        if f"{name}[" in formula
    }
    whole = bind(formula, {name: types[name] for name in arrays}, {}, strict=True)
    expected = evaluate_statement(whole, list(arrays.values()))
    found = segments(whole.result)
    assert [s.starts[0] for s in found] == [0, *_CHOICES[formula]]
    parts = [
        evaluate_statement(replace(whole, stages=(s.stage,)), list(arrays.values())) for s in found
    ]
    np.testing.assert_array_equal(np.concatenate(parts), expected)
    for segment in found if _CHOICES[formula] else ():
        known = (t.kind for t in walk(segment.stage.value) if isinstance(t, Apply))
        assert not {Primitive.EQ, Primitive.LE} & {*known}


def test_many_conditions_stay():
    conditions = "".join(f"{k} if i == {2 * k} else " for k in range(9))
    whole = bind(f"y[i, j] = {conditions}x[i, j]", {"x": with_shape(f32, [20, 3])}, {})
    assert len(segments(whole.result)) == 1
