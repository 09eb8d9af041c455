"""Recurrent layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.dialects.builtin import f32, f64, i1

from ...glow_dialects.glow.recurrent import GruOp, LstmOp, Recurrent, RnnOp
from .cases import Case, Draw, Row, cases

# steps, batch, hidden
SIZES = ((1, 1, 1), (5, 3, 7), (3, 1, 33), (2, 5, 16))


def _layers(draw: Draw, operator: type[Recurrent], **properties: Any) -> Iterator[Case]:
    for steps, batch, hidden in draw.some(SIZES, 2):
        columns = operator.gates() * hidden
        shapes = [(steps, batch, columns), (hidden, columns), (operator.STATES, batch, hidden)]
        shapes += [(operator.ROWS, hidden)] if operator.ROWS else []
        masks = [(steps, batch)] if len(draw.row.operands) > 1 else []
        yield draw.case(
            *shapes,
            *masks,
            values=lambda a: a if a.dtype == bool else a / 4,
            reverse=bool(draw.rng.integers(2)),
            **properties,
        )


def _rows(operands: int) -> list[Row]:
    return [Row((e,)) for e in (f32, f64)] + [Row((*[e] * operands, i1)) for e in (f32, f64)]


@cases(LstmOp, rows=_rows(4))
def lstm(draw: Draw) -> Iterator[Case]:
    forget = bool(draw.rng.integers(2))
    yield from _layers(draw, LstmOp, input_forget=forget, clip=draw.some((0.0, 0.5), 1)[0])


@cases(GruOp, rows=_rows(4))
def gru(draw: Draw) -> Iterator[Case]:
    yield from _layers(draw, GruOp, reset_after=bool(draw.rng.integers(2)))


@cases(RnnOp, rows=_rows(3))
def rnn(draw: Draw) -> Iterator[Case]:
    yield from _layers(draw, RnnOp, activations=draw.some(("Tanh", "Affine(0.5,0.1)"), 1)[0])
