"""Weights of 8 or 4 bits in groups."""

from __future__ import annotations

from pathlib import Path

import glow
import numpy as np
import onnx
import pytest
from glow import quantization
from glow.errors import GlowError, QuantizationError
from glow.glow_dialects.glow.narrow_weights import BlockQuantizedMatMulOp
from glow.loading import load_model
from glow.runtime.interpreter import interpret
from onnx import TensorProto, helper, numpy_helper


def network(rng: np.random.Generator, inner: int = 64) -> onnx.ModelProto:
    """Returns two products, of a matrix and of a fully connected layer, with a rectifier."""
    w = rng.normal(size=(inner, 37)).astype(np.float32)
    v = rng.normal(size=(11, 37)).astype(np.float32)
    arrays = {"w": np.pad(w, ((0, 0), (0, 27))), "v": np.pad(v, ((0, 0), (0, 27)))}
    arrays["b"] = rng.normal(size=11).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Gemm", ["r", "v", "b"], ["y"], transB=1),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, inner])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 11])]
    weights = [numpy_helper.from_array(a, name) for name, a in arrays.items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(("storage", "most"), [("u4", 0.12), ("u8", 0.008)])
def test_compiled(storage: str, most: float, rng: np.random.Generator) -> None:
    """
    Compares with the interpreter, which does not round inputs. Rounding them to 8 bits changes the
    results of each product by about 0.6 %, in the root of the mean square.
    """
    model = network(rng)
    x = rng.normal(size=(3, 64)).astype(np.float32)
    module = load_model(model)
    options = quantization.WeightQuantization(storage, 32)
    report = quantization.quantize_weights(module, options)
    assert len(report.errors) == 2
    assert all(0 < error < most for error in report.errors.values())
    exact, wide = (interpret(m, [x])["y"] for m in (module, load_model(model)))
    (found,) = glow.compile(model, weights=storage, group=32, cache=False)(x)
    size = np.sqrt(np.square(wide).mean())
    assert np.sqrt(np.square(found - exact).mean()) < (2e-2 if storage == "u4" else 1e-4) * size
    assert np.sqrt(np.square(found - wide).mean()) < 2 * most * size


def test_memory(rng: np.random.Generator) -> None:
    """A weight of 4 bits in groups of 64 takes 4 bits, and a scale and a zero point 5 bytes."""
    compiled = glow.compile(network(rng, 1024), weights="u4", cache=False)
    assert compiled.memory is not None
    groups = 64 * 16 + 16  # of both products; columns fill vectors
    assert compiled.memory.weight_bytes < groups * (32 + 5) + 2048


def test_shared_weights_are_quantized_once(rng: np.random.Generator) -> None:
    model = network(rng)
    model.graph.node.append(helper.make_node("MatMul", ["x", "w"], ["again"]))
    model.graph.output.append(helper.make_tensor_value_info("again", TensorProto.FLOAT, [3, 64]))
    module = load_model(model)
    quantization.quantize_weights(module)
    products = [op for op in module.walk() if isinstance(op, BlockQuantizedMatMulOp)]
    assert len(products) == 3
    assert len({op.weights for op in products}) == 2


def test_report(rng: np.random.Generator, tmp_path: Path) -> None:
    file = tmp_path / "report.txt"
    options = f'glow-quantize-weights{{group=32 report="{file}"}}'
    glow.compile(network(rng), quantize=options, cache=False)
    lines = file.read_text().splitlines()
    assert len(lines) == 2
    assert "weights differ by" in lines[0]


def test_wrong_options(rng: np.random.Generator) -> None:
    with pytest.raises(GlowError, match="expected weights to be u4 or u8, found 'u3'"):
        glow.compile(network(rng), weights="u3")
    with pytest.raises(GlowError, match="expected group to be an integer of at least 1, found 0"):
        glow.compile(network(rng), weights="u4", group=0)
    with pytest.raises(GlowError, match="a group of 48 weights does not divide 64 rows"):
        glow.compile(network(rng), weights="u4", group=48, cache=False)
    with pytest.raises(QuantizationError, match="expected input_bits of 8, 16 or 32, found 4"):
        quantization.WeightQuantization(input_bits=4)
    rectifier = network(rng)
    del rectifier.graph.node[2], rectifier.graph.node[0]
    rectifier.graph.node[0].input[0] = "x"
    rectifier.graph.node[0].output[0] = "y"
    with pytest.raises(QuantizationError, match="there are no matrix products with constant"):
        quantization.quantize_weights(load_model(rectifier))
    broken = network(rng)
    array = numpy_helper.to_array(broken.graph.initializer[0]).copy()
    array[0, 0] = np.nan
    broken.graph.initializer[0].CopyFrom(numpy_helper.from_array(array, "w"))
    with pytest.raises(QuantizationError, match="expected finite weights, found NaN"):
        quantization.quantize_weights(load_model(broken))
