"""Batches in groups of images: the same results, and less memory."""

from __future__ import annotations

import glow
import numpy as np
import onnx
import onnxruntime
import pytest
from glow.passes.graph.images import batch_of
from glow.passes.graph.tile_batch import split
from glow.runtime.interpreter import interpret
from glow.tests.support.graph_text import count, parse
from glow.tests.support.oracle import close
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects import func


def network(rng: np.random.Generator, batch: int) -> bytes:
    """Returns two branches of convolutions, a sum with a constant, a pool, and a classifier."""
    weights = {
        "w0": rng.standard_normal((16, 3, 3, 3)) / 5,
        "w1": rng.standard_normal((16, 16, 3, 3)) / 12,
        "w2": rng.standard_normal((16, 16, 1, 1)) / 4,
        "b": rng.standard_normal((1, 16, 1, 1)),
        "m": rng.standard_normal((32, 5)),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["c0"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c0"], ["r0"]),
        helper.make_node("Conv", ["r0", "w1"], ["c1"], pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["r0", "w2"], ["c2"]),
        helper.make_node("Add", ["c2", "b"], ["a2"]),
        helper.make_node("Concat", ["c1", "a2"], ["cat"], axis=1),
        helper.make_node("GlobalAveragePool", ["cat"], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["flat"]),
        helper.make_node("MatMul", ["flat", "m"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["p"], axis=0),
    ]
    graph = helper.make_graph(
        nodes,
        "batched",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3, 11, 13])],
        [onnx.ValueInfoProto(name=name) for name in ("p", "r0")],
        [numpy_helper.from_array(v.astype(np.float32), n) for n, v in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model).SerializeToString()


@pytest.mark.parametrize("images", [1, 2, 3, 5])
@pytest.mark.parametrize("cache", [20_000, 10**6])
def test_results_do_not_change(rng: np.random.Generator, images: int, cache: int):
    """Also if groups are not equal. With room for all images, nothing is split."""
    data = network(rng, 7)
    module = glow.compile(data, backend="interpreter").stages["imported"].clone()
    x = rng.standard_normal((7, 3, 11, 13)).astype(np.float32)
    want = interpret(module, [x])
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    assert batch_of(function) == 7
    split(function.body.block, 7, images, cache)
    module.verify()
    groups = -(-7 // images) if cache < 10**6 else 1
    assert count(module)["glow.convolution"] == 3 * groups
    found = interpret(module, [x])
    assert found.keys() == want.keys()
    for name, value in want.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("threads", [1, 2])
def test_compiled_batches_agree_with_onnxruntime(rng: np.random.Generator, threads: int):
    data = network(rng, 5)
    x = rng.standard_normal((5, 3, 11, 13)).astype(np.float32)
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    for found, want in zip(
        glow.compile(data, threads=threads)(x), session.run(None, {"x": x}), strict=True
    ):
        close(found, np.asarray(want))


def test_a_bias_as_long_as_the_batch_is_not_taken_apart(rng: np.random.Generator):
    module = parse("""
    func.func @main(%x: tensor<4x2x5x5xf32> {glow.name = "x"})
        -> (tensor<4x4x5x5xf32> {glow.name = "y"}) {
      %b = glow.splat value 2.0 : tensor<4xf32>
      %w = glow.splat value 3.0 : tensor<4x2x1x1xf32>
      %r = glow.relu %x : (tensor<4x2x5x5xf32>) -> tensor<4x2x5x5xf32>
      %y = glow.convolution %r, %w, %b : (tensor<4x2x5x5xf32>, tensor<4x2x1x1xf32>,
           tensor<4xf32>) -> tensor<4x4x5x5xf32>
      func.return %y : tensor<4x4x5x5xf32>
    }""")
    x = rng.standard_normal((4, 2, 5, 5)).astype(np.float32)
    want = interpret(module, [x])["y"]
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    split(function.body.block, 4, 1, 1000)
    module.verify()
    assert count(module)["glow.convolution"] == 4
    np.testing.assert_array_equal(interpret(module, [x])["y"], want)


@pytest.mark.parametrize("images", [1, 2])
def test_large_batches_are_few_groups(rng: np.random.Generator, images: int):
    """The rows of a matrix, for example: code must not grow with them."""
    module = parse("""
    func.func @main(%x: tensor<1003x37xf32> {glow.name = "x"})
        -> (tensor<1003x37xf32> {glow.name = "y"}) {
      %r = glow.exp %x : (tensor<1003x37xf32>) -> tensor<1003x37xf32>
      %y = glow.softmax %r axis 1 : (tensor<1003x37xf32>) -> tensor<1003x37xf32>
      func.return %y : tensor<1003x37xf32>
    }""")
    x = rng.standard_normal((1003, 37)).astype(np.float32)
    want = interpret(module, [x])["y"]
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    split(function.body.block, 1003, images, 1000)
    assert count(module)["glow.softmax"] == 1  # a sixteenth of the rows does not fit
    split(function.body.block, 1003, images, 50_000)
    module.verify()
    assert 2 <= count(module)["glow.softmax"] <= 16
    np.testing.assert_allclose(interpret(module, [x])["y"], want, rtol=1e-5)


def test_one_node_alone_stays():
    module = parse("""
    func.func @main(%x: tensor<100x37xf32>) -> tensor<100x37xf32> {
      %r = glow.exp %x : (tensor<100x37xf32>) -> tensor<100x37xf32>
      func.return %r : tensor<100x37xf32>
    }""")
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    split(function.body.block, 100, 1, 5000)
    assert count(module)["glow.exp"] == 1
