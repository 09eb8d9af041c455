"""Exported nodes with indices compute in ONNX's reference evaluator what the graph computes."""

from __future__ import annotations

import glow
import numpy as np
import pytest
from glow.frontend.onnx.export import export_onnx
from glow.tests.unit.frontend.exports import parsed
from onnx.reference import ReferenceEvaluator

X, N, R, U = "tensor<4x5xf32>", "tensor<4x3xi64>", "tensor<3xi32>", "tensor<3x5xf32>"
NODES = [
    ("glow.gather_elements %x, %i axis 1", f"({X}, {N}) -> tensor<4x3xf32>"),
    ("glow.arg_max %x axis 1", f"({X}) -> tensor<4xi64>"),
    ("glow.arg_min %x axis 0 last true", f"({X}) -> tensor<5xi64>"),
    ("glow.top_indices %x axis 1 k 2", f"({X}) -> tensor<4x2xi64>"),
    ("glow.top_indices %x axis 0 k 4 smallest true", f"({X}) -> tensor<4x5xi64>"),
    ("glow.cum_sum %x axis 1 exclusive true", f"({X}) -> {X}"),
    ("glow.cum_prod %x axis 0 reverse true", f"({X}) -> {X}"),
    ("glow.scatter %x, %r, %u", f"({X}, {R}, {U}) -> {X}"),
    ('glow.scatter %x, %r, %u reduction "add"', f"({X}, {R}, {U}) -> {X}"),
    ("glow.atan %x", f"({X}) -> {X}"),
    ("glow.sinh %x", f"({X}) -> {X}"),
    ("glow.shift_left %r, %r", f"({R}, {R}) -> {R}"),
]


@pytest.mark.parametrize(("node", "types"), NODES, ids=[n for n, _ in NODES])
def test_nodes(rng: np.random.Generator, node: str, types: str):
    result = types.partition(" -> ")[2]
    arrays = {
        "x": rng.standard_normal((4, 5)).astype(np.float32),
        # beyond both ends: clamped
        "i": rng.integers(-9, 9, (4, 3)),
        "r": rng.integers(0, 6, 3).astype(np.int32),
        "u": rng.standard_normal((3, 5)).astype(np.float32),
    }
    kinds = {"x": X, "i": N, "r": R, "u": U}
    used = [name for name in kinds if f"%{name}" in node]
    arguments = ", ".join(f'%{n}: {kinds[n]} {{glow.name = "{n}"}}' for n in used)
    graph = parsed(
        f'func.func @main({arguments}) -> ({result} {{glow.name = "y"}}) {{\n'
        f"  %y = {node} : {types}\n  func.return %y : {result}\n}}\n"
    )
    inputs = {name: arrays[name] for name in used}
    (wanted,) = glow.compile(graph, backend="interpreter")(*inputs.values())
    (found,) = ReferenceEvaluator(export_onnx(graph)).run(None, inputs)
    assert isinstance(found, np.ndarray)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
