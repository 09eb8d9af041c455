"""Exported models compute in onnxruntime what the graph computes."""

from __future__ import annotations

from pathlib import Path

import glow
import numpy as np
import onnx
import onnxruntime
import pytest
from glow import quantization
from glow.errors import UnsupportedError
from glow.frontend.onnx import import_onnx
from glow.frontend.onnx.export import export_onnx
from glow.frontend.onnx.export.writer import EXPORTERS
from glow.glow_dialects.glow import NODES
from glow.glow_dialects.glow_cpu import NODES as CPU_NODES
from glow.tests.support.quantized_models import (
    NETWORKS,
    node_by_node,
    quantize,
    quantum,
    random_input,
)
from glow.tests.support.random_graphs import random_graph, random_inputs
from glow.tests.support.reference import by_reference
from glow.tests.unit.frontend.exports import parsed
from onnx import helper

INTERNAL = {
    *("glow.rescale", "glow.nonzero_places", "glow.non_max_suppression", "glow.random_bits"),
    "glow.fake_quantize",
}
"""Operators of `glow` that passes make, or converters as a part of something else."""
NOT_WRITTEN = {"glow.fused_embedding_bag", "glow.tree_ensemble"}
"""Operators that frontends make, whose operands say more than ONNX's counterpart can."""


def unused(model: onnx.ModelProto) -> set[str]:
    """Returns the results and constants of a model that no node and no output reads."""
    graph = model.graph
    made = {t.name for t in graph.initializer} | {n for node in graph.node for n in node.output}
    made |= {info.name for info in graph.value_info}
    read = {o.name for o in graph.output} | {n for node in graph.node for n in node.input}
    return made - read


def by_session(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    onnx.checker.check_model(model)
    assert not unused(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, ["CPUExecutionProvider"]
    )
    return session.run(None, inputs)  # pyright: ignore


def test_nearly_every_operator_of_frontends_is_written() -> None:
    assert {n.name for n in NODES if n not in EXPORTERS} == INTERNAL | NOT_WRITTEN


def test_nodes_of_a_target_have_no_counterpart() -> None:
    assert not [n.name for n in CPU_NODES if n in EXPORTERS]


@pytest.mark.parametrize("_", range(12))
def test_random_graphs(_: int, rng: np.random.Generator) -> None:
    graph = random_graph(int(rng.integers(1 << 30)), 16)
    inputs = random_inputs(graph, int(rng.integers(1 << 30)))
    wanted = glow.compile(graph, backend="interpreter")(*inputs.values())
    found = by_session(export_onnx(graph), inputs)
    for have, want in zip(found, wanted, strict=True):
        assert (have.dtype, have.shape) == (want.dtype, want.shape)
        size = 1 + np.abs(want.astype(np.float64)).max(initial=0)
        np.testing.assert_allclose(have, want, rtol=1e-3, atol=1e-4 * size)


@pytest.mark.parametrize("form", ["QDQ", "QOperator"])
@pytest.mark.parametrize("network", NETWORKS)
def test_quantized_networks(
    network: str, form: str, rng: np.random.Generator, tmp_path: Path
) -> None:
    """A QDQ model comes out, whichever form went in."""
    net = NETWORKS[network](rng)
    model = quantize(net, tmp_path, quant_format=form, per_channel=True)
    exported = export_onnx(import_onnx(model))
    assert not unused(exported)
    assert {"QuantizeLinear", "DequantizeLinear"} <= {n.op_type for n in exported.graph.node}
    assert not [n for n in exported.graph.node if n.domain]
    x = random_input(net)
    # the exported model has products of floats only
    found, wanted = node_by_node(exported, x), by_reference(model, {"x": x})[0]
    assert np.abs(found - wanted).max() <= 1.01 * quantum(model)


BOUNDED = "!quant.uniform<i8<-100:100>:f32, 0.03:7>"
WEIGHTS = "!quant.uniform<i4:f32:1, {0.5:1, 0.25, 2.0:-2}>"
WORDS = "!quant.uniform<i16:f32, 0.001:5>"
BYTES = "!quant.uniform<u8:f32, 0.5:3>"
TYPES = f"""
func.func @main(%x: tensor<2x3xf32> {{glow.name = "x"}}, %s: tensor<2x3x{BYTES}>)
    -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3x{BOUNDED}>) {{
  %w = glow.constant dense<[[1, -7, 3], [0, 5, -8]]> : tensor<2x3xi4> : tensor<2x3x{WEIGHTS}>
  %a = glow.dequantize %w : (tensor<2x3x{WEIGHTS}>) -> tensor<2x3xf32>
  %q = glow.quantize %x : (tensor<2x3xf32>) -> tensor<2x3x{WORDS}>
  %b = glow.dequantize %q : (tensor<2x3x{WORDS}>) -> tensor<2x3xf32>
  %c = glow.dequantize %s : (tensor<2x3x{BYTES}>) -> tensor<2x3xf32>
  %d = glow.quantize %x : (tensor<2x3xf32>) -> tensor<2x3x{BOUNDED}>
  func.return %a, %b, %c, %d
    : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3x{BOUNDED}>
}}
"""


def test_types_of_storage(rng: np.random.Generator) -> None:
    """4 and 16 bits, narrow bounds, scales along an axis, quantized arguments and results."""
    graph = parsed(TYPES)
    x = (rng.standard_normal((2, 3)) * 4).astype(np.float32)
    s = rng.integers(0, 256, (2, 3)).astype(np.uint8)
    wanted = glow.compile(graph, backend="interpreter")(x, s)
    found = by_session(export_onnx(graph), {"x": x, "input1": s})
    for have, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-6)


def test_bounds_outside_of_a_type(rng: np.random.Generator) -> None:
    """Bounds of a clip that the type of its elements does not have become those of the type."""
    module = parsed("""
    func.func @main(%x: tensor<7xui8> {glow.name = "x"}) -> (tensor<7xui8> {glow.name = "y"},
                                                             tensor<7xui8> {glow.name = "z"}) {
      %y = glow.clip %x min 0 max -1 : (tensor<7xui8>) -> tensor<7xui8>
      %z = glow.clip %x min -5 max 100 : (tensor<7xui8>) -> tensor<7xui8>
      func.return %y, %z : tensor<7xui8>, tensor<7xui8>
    }""")
    x = rng.integers(1, 256, 7, np.uint8)
    y, z = by_session(export_onnx(module), {"x": x})
    np.testing.assert_array_equal(y, np.zeros(7, np.uint8))
    np.testing.assert_array_equal(z, np.minimum(x, 100))


def test_all_that_is_missing_is_listed() -> None:
    graph = parsed("""
    func.func @main(%x: tensor<2x4xi16>, %y: tensor<4x3xi16>) -> tensor<2x3xf32> {
      %a = glow.matmul %x, %y : (tensor<2x4xi16>, tensor<4x3xi16>) -> tensor<2x3xi32>
      %b = glow.bitcast %a : (tensor<2x3xi32>) -> tensor<2x3xf32>
      func.return %b : tensor<2x3xf32>
    }
    """)
    with pytest.raises(UnsupportedError) as error:
        export_onnx(graph)
    assert "glow.matmul %a: a product of tensor<2x4xi16>" in str(error.value)
    assert "glow.bitcast %b: the bits of tensor<2x3xi32>" in str(error.value)


def test_types_of_inputs_and_outputs_that_are_missing_are_listed() -> None:
    graph = parsed("""
    func.func @main(%x: tensor<3xf8E4M3B11FNUZ>) -> tensor<3xf8E3M4> {
      %y = glow.cast %x : (tensor<3xf8E4M3B11FNUZ>) -> tensor<3xf8E3M4>
      func.return %y : tensor<3xf8E3M4>
    }
    """)
    with pytest.raises(UnsupportedError) as error:
        export_onnx(graph)
    assert "input 0: elements of type f8E4M3B11FNUZ" in str(error.value)
    assert "output 0: elements of type f8E3M4" in str(error.value)


def test_weights_that_were_quantized_are_not_kept(rng: np.random.Generator, tmp_path: Path) -> None:
    """The file has the integers alone of a product that became one of integers."""
    weights = (rng.standard_normal((96, 128)) * 0.1).astype(np.float32)
    graph = parsed(f"""
    func.func @main(%x: tensor<4x128xf32> {{glow.name = "x"}}) -> tensor<4x96xf32> {{
      %w = glow.constant dense<{weights.tolist()}> : tensor<96x128xf32>
      %b = glow.splat value 0.5 : tensor<96xf32>
      %y = glow.fully_connected %x, %w, %b
        : (tensor<4x128xf32>, tensor<96x128xf32>, tensor<96xf32>) -> tensor<4x96xf32>
      %i = glow.splat value 2 : tensor<2xi32>
      %dead = glow.shift_right %i, %i : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
      func.return %y : tensor<4x96xf32>
    }}
    """)
    x = rng.standard_normal((4, 128)).astype(np.float32)
    profile = quantization.profile(graph, [{"x": x}], cache=False)
    assert quantization.quantize(graph, profile).quantized == ["y"]
    path = tmp_path / "quantized.onnx"
    onnx.save(export_onnx(graph), path)
    assert weights.size < path.stat().st_size < 2 * weights.size  # 4 bytes each before
    exact = x @ weights.T + 0.5
    (found,) = by_reference(onnx.load(path), {"x": x})
    assert np.abs(found - exact).max() < 0.05 * np.abs(exact).max()


def test_verdicts_are_not_written(rng: np.random.Generator) -> None:
    """The extremes of indices that a network computes are for calls of it alone."""
    nodes = [
        helper.make_node("Cast", ["x"], ["i"], to=onnx.TensorProto.INT64),
        helper.make_node("GatherElements", ["x", "i"], ["y"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "lookup",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [3, 5])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [3, 5])],
    )
    opset = [helper.make_opsetid("", 17)]
    model = export_onnx(import_onnx(helper.make_model(graph, opset_imports=opset, ir_version=8)))
    assert [o.name for o in model.graph.output] == ["y"]
    x = rng.uniform(-5, 5, (3, 5)).astype(np.float32)
    (y,) = by_session(model, {"x": x})
    np.testing.assert_array_equal(y, np.take_along_axis(x, x.astype(np.int64), 1))
