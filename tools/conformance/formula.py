"""Operators that a network states itself."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import f32, i32

from ...glow_dialects.glow.generic import GenericOp
from .cases import Case, Draw, Row, cases

# formula, shapes of the operands
FORMULAS = (
    ("y[b, i] = sum(k) x[b, k] * w[i, k]", ((3, 17), (5, 17))),
    ("y[j, i] = max(x[i, j] + w[j], x[i, 0])", ((7, 11), (11,))),
    ("y[n, i] = sum(k) x[n, i + k - 1 | outside: 0] * w[k] for i < 13", ((2, 13), (3,))),
    ("y[i] = max(k) x[k, i] if i < 4 else w[i]", ((5, 9), (9,))),
)


@cases(GenericOp, rows=[Row((f32,)), Row((i32,))])
def generic(draw: Draw) -> Iterator[Case]:
    for formula, shapes in draw.some(FORMULAS, 2):
        yield draw.case(*shapes, formula=formula)
