"""Facts that follow from the statement of a formula."""

from __future__ import annotations

import pytest
from glow.glow_dialects.formula.binding import bind
from glow.glow_dialects.formula.facts import reads, vector_sizes
from xdsl.dialects.builtin import TensorType, f32, i64

IMAGE = TensorType(f32, (30, 31, 64))
STAGES = "y[h, c] = m[h, c] - s[h] where m[h, c] = x[h, 0, c]; s[h] = max(w) x[h, w, 0]"
WINDOW = "y[h, w, c] = sum(i < 3, j < 5) x[h + i, w + j, c]"


@pytest.mark.parametrize(
    ("formula", "last", "sizes"),
    [
        (WINDOW, 2, (64,)),
        (WINDOW, 1, (5,)),
        (WINDOW, 0, (3,)),
        ("y[h, w] = sum(c) x[h, w, c]", 2, (64,)),
        ("y[h, w] = sum(c) x[h, w, c]", 1, (31,)),
        ("y[h, w] = sum(c) x[h, w, c]", 0, (1,)),
        ("y[h, c] = x[h, 2 * h // 2, c]", 0, (1,)),
        (STAGES, 2, (64, 1, 64)),
    ],
)
def test_vectors_lie_along_loops_that_read_neighbours(
    formula: str, last: int, sizes: tuple[int, ...]
) -> None:
    statement = bind(formula, {"x": IMAGE}, {}, strict=True)
    assert vector_sizes(statement, {0: last}) == sizes


def test_an_operand_lies_along_its_last_dimension_with_several_elements() -> None:
    statement = bind("y[i, j] = x[i, j, 0]", {"x": TensorType(f32, (7, 13, 1))}, {}, strict=True)
    assert vector_sizes(statement, {}) == (13,)


def test_reads_count_each_point_of_the_loops_around_them() -> None:
    operands = {"x": IMAGE, "n": TensorType(i64, (7,))}
    formula = "y[i, c] = sum(w) x[clamp(n[i], 0, 29), w, c] + x[0, 0, c]"
    statement = bind(formula, operands, {}, strict=True)
    assert reads(statement, 0) == 7 * 31 * 64 + 64
    assert reads(statement, 1) == 7
