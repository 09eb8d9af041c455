"""Every graph pass keeps the meaning of random graphs, and leaves IR that is valid."""

from __future__ import annotations

import numpy as np
import pytest
from glow.context import make_context
from glow.passes.verify_dominance import verify_dominance
from glow.runtime.interpreter import interpret
from glow.runtime.stages import parse_pipeline
from glow.tests.support.random_graphs import BOTH, random_graph, random_inputs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import bf16, f32, f64

FOLD, SHAPES, SINK = "glow-fold-constants", "glow-simplify-shapes", "glow-sink-transposes"
NORM = "glow-fold-batch-norm"
PIPELINES = {
    "fold-constants": FOLD,
    "fold-constants-small": "glow-fold-constants{max-elements=1}",
    "canonicalize": "canonicalize",
    "canonicalize-cse": "canonicalize,cse,canonicalize,dce",
    "simplify-shapes": SHAPES,
    "simplify-shapes-mixed": f"{SHAPES},canonicalize,cse,{FOLD},{SHAPES}",
    "sink-transposes": SINK,
    "sink-transposes-mixed": f"{SHAPES},{SINK},{FOLD},{SINK},{SHAPES},canonicalize",
    "fold-batch-norm": f"{FOLD},{NORM}",
    "fold-batch-norm-twice": f"{NORM},{FOLD},{NORM},{FOLD}",
    "lower-nodes": "glow-lower-nodes{backend=none}",
    "lower-nodes-keep": "glow-lower-nodes{backend=none keep=softmax,relu,batch_norm}",
}
CONTEXT = make_context()
FLOATS = {"f64": (f64,), "f32": (f32,), "mixed": BOTH, "bf16": (bf16, f32)}
TOLERANCE = {"f64": 1e-9, "f32": 2e-4, "mixed": 4e-2, "bf16": 3e-1}
"""The largest difference relative to the largest result."""


def assert_close(want: dict[str, np.ndarray], have: dict[str, np.ndarray], tolerance: float):
    assert list(want) == list(have)
    for name, expected in want.items():
        found = have[name]
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        a, b = expected.astype(np.float64), found.astype(np.float64)
        np.testing.assert_allclose(b, a, rtol=0, atol=tolerance * max(1, np.abs(a).max(initial=0)))


def check(pipeline: str, seed: int, steps: int, floats: str):
    module = random_graph(seed, steps, FLOATS[floats])
    inputs = random_inputs(module, seed)
    want = interpret(module, inputs)
    for single in parse_pipeline(pipeline):
        single.apply(CONTEXT, module)
    module.verify()
    verify_dominance(module)
    assert_close(want, interpret(module, inputs), TOLERANCE[floats])


RELAXED = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@pytest.mark.parametrize("name", PIPELINES)
@settings(deadline=None, max_examples=40, suppress_health_check=RELAXED)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 25), floats=st.sampled_from(list(FLOATS)))
def test_passes_keep_the_meaning(name: str, seed: int, steps: int, floats: str):
    check(PIPELINES[name], seed, steps, floats)
