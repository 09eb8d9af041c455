"""The generator of random graphs: what it makes is valid, runs, and stays finite."""

from __future__ import annotations

import numpy as np
import pytest
from glow.passes.verify_dominance import verify_dominance
from glow.runtime.interpreter import interpret
from glow.tests.support.random_graphs import BOTH, random_graph, random_inputs


@pytest.mark.parametrize("number", range(20))
def test_random_graphs_are_valid_and_finite(number: int, rng: np.random.Generator):
    seed = int(rng.integers(2**32))
    module = random_graph(seed, 15, BOTH)
    module.verify()
    verify_dominance(module)
    results = interpret(module, random_inputs(module, seed))
    assert results
    for array in results.values():
        assert np.isfinite(array.astype(np.float64)).all()


def test_a_seed_always_gives_the_same_graph():
    assert str(random_graph(7, 12).body.block.first_op).split() != []
    first, second = (interpret(m, random_inputs(m, 1)) for m in (random_graph(7), random_graph(7)))
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name])
