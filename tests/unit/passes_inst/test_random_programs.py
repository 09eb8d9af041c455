"""
Every sequence of instruction passes keeps the meaning of random graphs and the rules of memory.
"""

from __future__ import annotations

import numpy as np
from glow.context import make_context
from glow.passes.instructions.verify_memory import verify_memory
from glow.passes.verify_dominance import verify_dominance
from glow.runtime.interpreter import interpret
from glow.runtime.stages import parse_pipeline
from glow.tests.support.random_graphs import BOTH, random_graph, random_inputs
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, f32
from xdsl.parser import Parser

CONTEXT = make_context()
USUAL = (
    "glow-eliminate-copies",
    "glow-stack-ops",
    "glow-share-buffers",
    "glow-eliminate-dead-stores",
    "glow-hoist-padding-fills",
    "glow-share-bodies",
)
TOLERANCE = {True: 1e-5, False: 1e-2}
"""
The largest difference relative to the largest result, in f32 alone and with f16: numpy sums in
another order where strides differ.
"""

graphs = {
    "seed": st.integers(0, 2**32),
    "steps": st.integers(1, 25),
    "single": st.booleans(),
}
relaxed = settings(
    deadline=None,
    max_examples=12,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def assert_close(want: dict[str, np.ndarray], have: dict[str, np.ndarray], tolerance: float):
    assert list(want) == list(have)
    for name, expected in want.items():
        found = have[name]
        assert found.dtype == expected.dtype
        a, b = expected.astype(np.float64), found.astype(np.float64)
        np.testing.assert_allclose(b, a, rtol=0, atol=tolerance * max(1, np.abs(a).max(initial=0)))


def run(module: ModuleOp, pipeline: str) -> None:
    for single_pass in parse_pipeline(pipeline):
        single_pass.apply(CONTEXT, module)
        module.verify()
        verify_dominance(module)
        verify_memory(module)


def check(pipeline: str, seed: int, steps: int, single: bool) -> ModuleOp:
    module = random_graph(seed, steps, (f32,) if single else BOTH)
    inputs = random_inputs(module, seed)
    want = interpret(module, inputs)
    run(module, pipeline)
    assert_close(want, interpret(module, inputs), TOLERANCE[single])
    return module


@relaxed
@given(**graphs)
def test_irgen(seed: int, steps: int, single: bool):
    check("glow-irgen", seed, steps, single)


@relaxed
@given(**graphs)
def test_schedule(seed: int, steps: int, single: bool):
    check("glow-schedule-nodes,glow-irgen,glow-allocate", seed, steps, single)


@relaxed
@given(**graphs, passes=st.lists(st.sampled_from(USUAL), max_size=7))
def test_any_order(seed: int, steps: int, single: bool, passes: list[str]):
    check(",".join(["glow-irgen", *passes, "glow-allocate"]), seed, steps, single)


@relaxed
@given(**graphs, lower=st.booleans(), max_ops=st.sampled_from([1, 3, 64]))
def test_usual_order(seed: int, steps: int, single: bool, lower: bool, max_ops: int):
    graph_passes = ["canonicalize", "glow-fold-constants", "glow-lower-nodes{backend=none}"]
    usual = [f"{p}{{max-ops={max_ops}}}" if p == "glow-stack-ops" else p for p in USUAL]
    first = graph_passes if lower else []
    pipeline = [*first, "glow-schedule-nodes", "glow-irgen", *usual, "glow-allocate"]
    module = random_graph(seed, steps, (f32,) if single else BOTH)
    inputs = random_inputs(module, seed)
    want = interpret(module, inputs)
    run(module, ",".join(pipeline))
    tolerance = 50 * TOLERANCE[single] if lower else TOLERANCE[single]
    assert_close(want, interpret(module, inputs), tolerance)


@relaxed
@given(**graphs)
def test_plan_and_text(seed: int, steps: int, single: bool):
    """The arena is never below the lower bound, and the program survives printing."""
    module = check(",".join(["glow-irgen", *USUAL, "glow-allocate"]), seed, steps, single)
    (main,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    size, bound = (main.attributes[f"glow.arena_{name}"] for name in ("size", "lower_bound"))
    assert isinstance(size, IntegerAttr)
    assert isinstance(bound, IntegerAttr)
    assert size.value.data >= bound.value.data
    text = str(module)
    again = Parser(CONTEXT, text).parse_module()
    again.verify()
    verify_memory(again)
    assert str(again) == text


@relaxed
@given(**graphs)
@example(seed=16131683, steps=1, single=False)
@example(seed=35943, steps=15, single=True)
def test_second_run_changes_nothing(seed: int, steps: int, single: bool):
    """
    Each pass leaves nothing for itself to do, except that stacking can open up further stacks.
    """
    for name in (name for name in USUAL if name != "glow-stack-ops"):
        module = random_graph(seed, steps, (f32,) if single else BOTH)
        run(module, f"glow-irgen,glow-stack-ops,{name}")
        once = str(module)
        run(module, name)
        assert str(module) == once
