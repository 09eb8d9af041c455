"""
Random graphs over all operators, compared with the interpreter and onnxruntime.

`python -m glow.tests.fuzz` compares more of them. What it has found are tests of their own.
"""

from __future__ import annotations

import numpy as np
import pytest
from glow.glow_dialects.glow import NODES
from glow.glow_dialects.glow.base import Node
from glow.tests.support.drawn_graph import DrawnGraph
from glow.tests.support.drawn_nodes import OPERATORS, node_of
from glow.tests.support.fuzzing import Drawn, Report, check, graphs
from hypothesis import given, settings

ATTEMPTS = 60


@settings(max_examples=30)
@given(graphs())
def test_random_graphs(drawn: Drawn) -> None:
    check(drawn, Report())


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda o: o.name)
def test_every_operator_is_drawn(operator: type[Node], rng: np.random.Generator) -> None:
    """Operators with operands that fit each other need a recipe: tests/support/drawn_recipes.py."""
    g = DrawnGraph(lambda low, high: int(rng.integers(low, high, endpoint=True)))
    assert any(g.step(lambda g: node_of(g, operator)) for _ in range(ATTEMPTS))


def test_no_operator_is_left_out() -> None:
    assert set(OPERATORS) == set(NODES)
