"""Weights that write themselves into the segment of a program."""

from __future__ import annotations

from pathlib import Path

import glow
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def layers(path: Path, rng: np.random.Generator, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """
    Writes a model of a rectifier and a fully connected layer whose weights are larger than the
    second cache; the weights and the bias.
    """
    weights = rng.standard_normal((columns, 1 << 12)).astype(np.float32)
    bias = rng.standard_normal(columns).astype(np.float32)
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Gemm", ["a", "w", "b"], ["y"], transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "layers",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1 << 12])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, columns])],
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(bias, "b")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), path)
    return weights, bias


def test_transposed_weights_of_a_file(tmp_path: Path, rng: np.random.Generator):
    weights, bias = layers(tmp_path / "m.onnx", rng, 1030)
    x = rng.standard_normal((1, 1 << 12)).astype(np.float32)
    want = np.maximum(x, 0).astype(np.float64) @ weights.T.astype(np.float64) + bias
    for threads in (1, 2):
        # compiled, and found again
        for _ in range(2):
            model = glow.compile(tmp_path / "m.onnx", cache=tmp_path / "c", threads=threads)
            (found,) = model(x)
            np.testing.assert_allclose(found, want, rtol=0, atol=1e-4 * np.abs(want).max())
            assert "glow_inst.sparse_vector_matmul" in str(model.stages["allocated"])
