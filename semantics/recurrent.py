"""Recurrent layers: a loop over time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..glow_dialects.glow.recurrent import GruOp, LstmOp, Recurrent, RnnOp
from ..glow_dialects.operator import Call, shape_of
from ..glow_dialects.scalar import Expr, fold
from .matrix import unpacked
from .numpy_algebra import NumpyAlgebra
from .registry import meaning, wide

Step = Callable[[np.ndarray, np.ndarray], "list[np.ndarray]"]
"""All parts of the result after a step, of the input and the last states [S, B, H]."""


def _value(call: Call, expr: Expr, *arrays: np.ndarray) -> np.ndarray:
    return fold(expr, arrays, NumpyAlgebra(call.element(0)))


def _run(
    call: Call, x: np.ndarray, initial: np.ndarray, mask: tuple[np.ndarray, ...], step: Step
) -> np.ndarray:
    """Returns the states before the first step and after each, and what the layer keeps."""
    steps, backwards, count = len(x), call.get("reverse"), len(initial)
    result = np.zeros(shape_of(call.results[0]), x.dtype)
    result[:count, steps if backwards else 0] = last = wide(initial)
    for t in reversed(range(steps)) if backwards else range(steps):
        new = np.stack(step(x[t], last))
        if mask:
            new[:count] = np.where(mask[0][t][:, None], new[:count], last)
        # each state is rounded to its type
        narrow = new.astype(initial.dtype)
        result[:, t if backwards else t + 1] = wide(narrow)
        last = wide(narrow[:count])
    return result


def _parts(call: Call, *given: np.ndarray) -> list[np.ndarray]:
    """Returns all parts of the result after a step, of the arguments of the cell."""
    assert issubclass(call.operator, Recurrent)
    return [_value(call, e, *given) for e in call.operator.written(call)]


def _matrix(call: Call, weights: np.ndarray) -> np.ndarray:
    """Returns the weights [H, gates * H], which may be in panels."""
    if weights.ndim == 2:
        return wide(weights)
    operator = call.operator
    assert issubclass(operator, Recurrent)
    _, hidden, width = weights.shape
    ends = np.cumsum(operator.panels(hidden, width))
    parts = zip(np.split(wide(weights), ends[:-1]), operator.columns(hidden), strict=True)
    return np.concatenate([unpacked(panels, columns) for panels, columns in parts], axis=1)


@meaning(LstmOp)
def lstm(
    call: Call,
    x: np.ndarray,
    weights: np.ndarray,
    initial: np.ndarray,
    peepholes: np.ndarray,
    *mask: np.ndarray,
) -> np.ndarray:
    p, w = list(wide(peepholes)), _matrix(call, weights)

    def step(x: np.ndarray, last: np.ndarray) -> list[np.ndarray]:
        gates = np.split(x + last[0] @ w, 4, axis=-1)
        return _parts(call, *gates, last[1], *p)

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
    n, w = initial.shape[-1], _matrix(call, weights)

    def step(x: np.ndarray, last: np.ndarray) -> list[np.ndarray]:
        (state,) = last
        z, r = np.split(x[:, : 2 * n] + state @ w[:, : 2 * n], 2, axis=-1)
        after = call.get("reset_after")
        left = state if after else _value(call, GruOp.reset(call), r, state)
        product = left @ w[:, 2 * n :]
        given = (product, z, r, x[:, 2 * n :], wide(bias)[0], state)
        return _parts(call, *given)

    return _run(call, wide(x), initial, mask, step)


@meaning(RnnOp)
def rnn(
    call: Call, x: np.ndarray, weights: np.ndarray, initial: np.ndarray, *mask: np.ndarray
) -> np.ndarray:
    w = _matrix(call, weights)

    def step(x: np.ndarray, last: np.ndarray) -> list[np.ndarray]:
        return _parts(call, last[0] @ w, x)

    return _run(call, wide(x), initial, mask, step)
