"""Random graphs with quantization everywhere: what passes make of them computes the same."""

from __future__ import annotations

import glow
import numpy as np
import pytest
from glow.context import make_context
from glow.runtime.stages import apply_pass, parse_pipeline
from glow.tests.support.random_graphs import random_graph, random_inputs
from glow.tests.support.random_qdq import insert_quantization
from xdsl.dialects.builtin import ModuleOp

PIPELINES = {
    "glow-activations-to-u8": 0.0,
    "glow-legalize-quantized": 0.04,
    "glow-legalize-quantized{integer-only=true}": 0.04,
    "glow-activations-to-u8,glow-legalize-quantized": 0.04,
}
"""
The largest error of results, relative to their range: roundings that differ add up from node to
node.
"""


def after(module: ModuleOp, passes: str) -> ModuleOp:
    context, result = make_context(), module.clone()
    for p in parse_pipeline(f"glow-fold-constants{{keep-quantized=true}},{passes},dce"):
        apply_pass(p, context, result)
    result.verify()
    return result


def compare(found: np.ndarray, wanted: np.ndarray, tolerance: float) -> None:
    if not wanted.size:
        return
    have, want = found.astype(np.float64), wanted.astype(np.float64)
    extent = max(want.max(), 0) - min(want.min(), 0)
    # ranges of quantized types contain 0, and those of what was always 0 are so wide: then what is
    # found is what nodes before it rounded, and may be anything in that range
    least = 1e-3 * (1 + 1e-6)
    off = np.abs(have - want) > (least if extent <= least else tolerance * extent)
    assert off.mean() <= 0.02, np.abs(have - want).max()


@pytest.mark.parametrize("_", range(5))
def test_random_graphs(_: int, rng: np.random.Generator) -> None:
    graph = random_graph(int(rng.integers(1 << 30)), 10)
    inputs = list(random_inputs(graph, int(rng.integers(1 << 30))).values())
    insert_quantization(graph, inputs, rng)
    wanted = glow.compile(graph.clone(), backend="interpreter")(*inputs)
    for passes, tolerance in PIPELINES.items():
        found = glow.compile(after(graph, passes), backend="interpreter")(*inputs)
        for have, want in zip(found, wanted, strict=True):
            compare(have, want, tolerance)
    for have, want in zip(glow.compile(graph, cache=False)(*inputs), wanted, strict=True):
        compare(have, want, 0.04)
