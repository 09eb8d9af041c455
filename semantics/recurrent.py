"""Recurrent layers: a loop over time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..glow_dialects.glow.recurrent import GruOp, LstmOp, RnnOp
from ..glow_dialects.operator import Call
from ..glow_dialects.scalar import Expr, fold
from .numpy_algebra import NumpyAlgebra
from .registry import meaning, wide

Step = Callable[[np.ndarray, np.ndarray], "list[np.ndarray]"]
"""The next states, of the input and the last states [S, B, H]."""


def _value(call: Call, expr: Expr, *arrays: np.ndarray) -> np.ndarray:
    return fold(expr, arrays, NumpyAlgebra(call.element(0)))


def _run(
    call: Call, x: np.ndarray, initial: np.ndarray, mask: tuple[np.ndarray, ...], step: Step
) -> np.ndarray:
    """Returns the states before the first step and after each."""
    steps, backwards = len(x), call.get("reverse")
    states = np.empty((len(initial), steps + 1, *initial.shape[1:]), x.dtype)
    states[:, steps if backwards else 0] = last = wide(initial)
    for t in reversed(range(steps)) if backwards else range(steps):
        new = np.stack(step(x[t], last))
        if mask:
            new = np.where(mask[0][t][:, None], new, last)
        # each state is rounded to its type
        narrow = new.astype(initial.dtype)
        states[:, t if backwards else t + 1] = last = wide(narrow)
    return states


@meaning(LstmOp)
def lstm(
    call: Call,
    x: np.ndarray,
    weights: np.ndarray,
    initial: np.ndarray,
    peepholes: np.ndarray,
    *mask: np.ndarray,
) -> np.ndarray:
    hidden, cell = LstmOp.cell(call)
    p = list(wide(peepholes))

    def step(x: np.ndarray, last: np.ndarray) -> list[np.ndarray]:
        gates = np.split(x + last[0] @ wide(weights), 4, axis=-1)
        return [_value(call, e, *gates, last[1], *p) for e in (hidden, cell)]

    return _run(call, wide(x), initial, mask, step)


@meaning(GruOp)
def gru(
    call: Call,
    x: np.ndarray,
    weights: np.ndarray,
    initial: np.ndarray,
    bias: np.ndarray,
    *mask: np.ndarray,
) -> np.ndarray:
    n, w = initial.shape[-1], wide(weights)

    def step(x: np.ndarray, last: np.ndarray) -> list[np.ndarray]:
        (state,) = last
        z, r = np.split(x[:, : 2 * n] + state @ w[:, : 2 * n], 2, axis=-1)
        after = call.get("reset_after")
        left = state if after else _value(call, GruOp.reset(call), r, state)
        product = left @ w[:, 2 * n :]
        given = (product, z, r, x[:, 2 * n :], wide(bias)[0], state)
        return [_value(call, GruOp.cell(call), *given)]

    return _run(call, wide(x), initial, mask, step)


@meaning(RnnOp)
def rnn(
    call: Call, x: np.ndarray, weights: np.ndarray, initial: np.ndarray, *mask: np.ndarray
) -> np.ndarray:
    def step(x: np.ndarray, last: np.ndarray) -> list[np.ndarray]:
        return [_value(call, RnnOp.cell(call), last[0] @ wide(weights), x)]

    return _run(call, wide(x), initial, mask, step)
