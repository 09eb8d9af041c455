"""Values that are computed again: the meaning of programs, their memory, and training steps."""

from __future__ import annotations

from typing import Any

import glow
import numpy as np
import pytest
from glow import nn
from glow.context import make_context
from glow.errors import GlowError
from glow.passes.graph.rematerialize import rematerialize
from glow.passes.graph.schedule_nodes import peak, problem_of, schedule
from glow.runtime.interpreter import interpret
from glow.runtime.signature import main_function
from glow.tests.support.random_graphs import BOTH, random_graph, random_inputs
from glow.training import SGD
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.parser import Parser


def _peak(block: Block) -> int:
    problem = problem_of(block)
    return peak(problem, range(len(problem.tasks)))


@given(st.integers(0, 2**32), st.integers(5, 25), st.floats(0, 1))
@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow])
def test_random_graphs(seed: int, steps: int, share: float):
    """The same nodes run, so results are equal to the bit; the peaks are those of the scheduler."""
    module = random_graph(seed, steps, BOTH)
    block = main_function(module).body.block
    schedule(block)
    inputs = random_inputs(module, seed)
    wanted, kept = interpret(module, inputs), _peak(block)
    before, after = rematerialize(block, int(kept * share))
    module.verify()
    assert (before, after) == (kept, _peak(block))
    assert after <= before
    for name, found in interpret(module, inputs).items():
        np.testing.assert_array_equal(found, wanted[name])


def _parse(text: str) -> ModuleOp:
    return Parser(make_context(), text).parse_module()


def _network() -> nn.Module:
    layers = [m for _ in range(5) for m in (nn.Linear(29, 29), nn.relu)]
    network = nn.Sequential(*layers, nn.Linear(29, 3))
    network.initialize(1)
    return network


def test_a_training_step_in_less_memory(rng: np.random.Generator):
    x = rng.standard_normal((331, 29)).astype(np.float32)
    batch = (x, rng.integers(0, 3, 331))
    found: list[dict[str, np.ndarray]] = []
    for budget in (None, "150K"):
        trainer = glow.Trainer(_network(), nn.cross_entropy, SGD(0.1), memory_budget=budget)
        for _ in range(3):
            trainer.train_step([batch])
        found.append(trainer.parameters)
    for name, array in found[0].items():
        np.testing.assert_allclose(found[1][name], array, rtol=1e-5, atol=1e-6)


KEPT = """
func.func @main(%x: tensor<100x4xf32>) -> tensor<4xf32> {
  %a = glow.exp %x : (tensor<100x4xf32>) -> tensor<100x4xf32>
  %b = glow.softmax %a axis 0 : (tensor<100x4xf32>) -> tensor<100x4xf32>
  %p = glow.reduce_sum %b axes [0] : (tensor<100x4xf32>) -> tensor<4xf32>
  %w = glow.broadcast %p : (tensor<4xf32>) -> tensor<500x4xf32>
  %c = glow.softmax %w axis 1 : (tensor<500x4xf32>) -> tensor<500x4xf32>
  %d = glow.reduce_sum %c axes [0] : (tensor<500x4xf32>) -> tensor<4xf32>
  %e = glow.broadcast %d : (tensor<4xf32>) -> tensor<100x4xf32>
  %f = glow.mul %a, %e : (tensor<100x4xf32>, tensor<100x4xf32>) -> tensor<100x4xf32>
  %y = glow.reduce_sum %f axes [0] : (tensor<100x4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""


def test_the_memory_plan_has_both_peaks(rng: np.random.Generator):
    plain = glow.compile(_parse(KEPT))
    smaller = glow.compile(_parse(KEPT), memory_budget="9K")
    assert plain.memory is not None
    assert smaller.memory is not None
    assert plain.memory.kept_peak == 0
    assert smaller.memory.lower_bound < plain.memory.lower_bound <= smaller.memory.kept_peak
    x = rng.standard_normal((100, 4)).astype(np.float32)
    np.testing.assert_allclose(smaller(x), plain(x), rtol=1e-6)
    with pytest.warns(UserWarning, match="more than the budget of 100$"):
        glow.compile(_parse(KEPT), memory_budget=100)


@pytest.mark.parametrize("budget", ["much", 1.5, True, "-3", ["64M"]])
def test_bad_budgets(budget: Any):
    with pytest.raises(GlowError, match="memory_budget: expected a size such as 64MiB, found"):
        glow.compile(nn.build(_network(), {"input": (1, 29)}), memory_budget=budget)
