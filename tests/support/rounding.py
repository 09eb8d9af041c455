"""
The change of the results of a graph if its values are rounded another way.

Two ways to compute a graph round differently: machine code fuses a multiplication and an addition,
sums in another order, and has its own elementary functions; passes merge two roundings to one. Now
and then that turns the rounding of a 16-bit float, and what follows makes of the unit in its last
place whatever it is worth there: by cancellation, or where a function is steep, much more than a
fixed part of the result. So tolerances for random graphs are what the graph itself makes of units.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from glow.runtime.signature import main_function
from glow.tests.support.random_qdq import values_of
from xdsl.dialects.builtin import ModuleOp

RUNS = 4
SLACK = 4
"""
The number of effects of single units that a comparison allows. In thousands of random graphs,
machine code and passes differ by up to one effect from the interpreter.
"""


def rounding_slack(module: ModuleOp, inputs: Sequence[np.ndarray]) -> list[float]:
    """
    Returns for each result of a graph by how much its elements may differ: `SLACK` times the
    largest change in some runs where every float that is computed is replaced by the next one above
    or below, at random.
    """
    block = main_function(module).body.block
    last = block.last_op
    assert last is not None

    def results(run: int | None) -> list[np.ndarray]:
        rng = np.random.default_rng(run)
        if run is None:
            values = values_of(block, inputs)
        else:
            values = values_of(block, inputs, lambda array: _neighbours(array, rng))
        return [values[o].astype(np.float64) for o in last.operands]

    exact, effects = results(None), [0.0] * len(last.operands)
    for run in range(RUNS):
        for i, (before, after) in enumerate(zip(exact, results(run), strict=True)):
            moved = np.abs(after - before)
            effects[i] = max(effects[i], float(moved[np.isfinite(moved)].max(initial=0)))
    return [SLACK * effect for effect in effects]


def _neighbours(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if array.dtype.kind in "iub":
        return array
    ends = np.where(rng.integers(0, 2, array.shape), np.inf, -np.inf)
    return np.nextafter(array, ends.astype(array.dtype))
