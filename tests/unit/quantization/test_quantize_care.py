"""Products and values whose numbers or names need care when a graph is quantized."""

from __future__ import annotations

import glow
import numpy as np
import pytest
from glow import quantization
from glow.context import make_context
from glow.errors import QuantizationError
from glow.glow_dialects.glow.matrix import MatMulOp
from glow.glow_dialects.operator import element_of
from glow.glow_dialects.quant import QuantizedType
from glow.quantization.metrics import METRICS
from glow.quantization.options import Quantization
from glow.quantization.profiling import optimized_graph
from glow.quantization.quantize import quantize
from glow.quantization.tuning import Goal, Tuner
from xdsl.parser import Parser


def test_a_value_is_kept_and_not_the_operator_of_the_same_name():
    """The first of two products is called as their operator is."""
    text = """
func.func @main(%x: tensor<3x7xf32> {glow.name = "x"}) -> tensor<3x7xf32> {
  %w = glow.constant dense<0.5> : tensor<7x7xf32>
  %matmul = glow.matmul %x, %w : (tensor<3x7xf32>, tensor<7x7xf32>) -> tensor<3x7xf32>
  %e = glow.exp %matmul : (tensor<3x7xf32>) -> tensor<3x7xf32>
  %y = glow.matmul %e, %w : (tensor<3x7xf32>, tensor<7x7xf32>) -> tensor<3x7xf32>
  func.return %y : tensor<3x7xf32>
}
"""
    graph = optimized_graph(Parser(make_context(), text).parse_module())
    feeds = [{"x": np.linspace(-1, 1, 21, dtype=np.float32).reshape(3, 7)}]
    found = quantization.profile(graph, feeds, cache=False)
    report = quantize(graph.clone(), found, Quantization(keep_float=("%matmul",)))
    assert report.quantized == ["y"]
    assert report.kept == {"matmul": "it is kept in float"}
    tuned = Tuner(graph, found, feeds, Goal(1.0)).tune()
    assert {row.name for row in tuned.products} == {"matmul", "y"}
    alone = {row.name: row.alone.loss for row in tuned.products if row.alone is not None}
    for name, other in (("matmul", "y"), ("y", "matmul")):
        module = graph.clone()
        quantize(module, found, Quantization(keep_float=(f"%{other}",)))
        (got,), (want,) = glow.compile(module)(feeds[0]["x"]), glow.compile(graph)(feeds[0]["x"])
        assert alone[name] == METRICS["error"]([[want]], [[got]], None) > 0


@pytest.mark.parametrize("per_channel", [True, False])
@pytest.mark.parametrize("weight_schema", ["symmetric", "power_of_two"])
def test_the_bias_of_channels_without_weights(
    rng: np.random.Generator, per_channel: bool, weight_schema: str
):
    """Any scale represents zeros, so the one is chosen in which the bias is precise."""
    filters = rng.standard_normal((5, 3, 1, 1)).astype(np.float32)
    filters[[0, 3] if per_channel else slice(None)] = 0
    bias = np.array([0.3, -0.7, 1.1, -0.01, 0.0], np.float32)
    weights = nested(filters)
    text = f"""
func.func @main(%x: tensor<1x3x5x7xf32> {{glow.name = "x"}}) -> tensor<1x5x5x7xf32> {{
  %w = glow.constant dense<{weights}> : tensor<5x3x1x1xf32>
  %b = glow.constant dense<{nested(bias)}> : tensor<5xf32>
  %y = glow.convolution %x, %w, %b
    : (tensor<1x3x5x7xf32>, tensor<5x3x1x1xf32>, tensor<5xf32>) -> tensor<1x5x5x7xf32>
  func.return %y : tensor<1x5x5x7xf32>
}}
"""
    module = optimized_graph(Parser(make_context(), text).parse_module())
    x = (rng.standard_normal((1, 3, 5, 7)) * 100).astype(np.float32)
    found = quantization.profile(module, [{"x": x}], cache=False)
    choices = Quantization(per_channel=per_channel, weight_schema=weight_schema)
    assert quantize(module, found, choices).quantized == ["y"]
    (y,) = glow.compile(module)(x)
    empty = ~filters.any(axis=(1, 2, 3))
    want = np.broadcast_to(bias[None, :, None, None], y.shape)
    np.testing.assert_allclose(y[:, empty], want[:, empty], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize(
    ("w", "x", "nodes"),
    [
        ((3, 5), (5, 7), "%y = glow.matmul %w, %x : ({w}, {x}) -> {y}"),
        ((3, 5), (7, 5), "%y = glow.matmul %w, %x transpose_rhs true : ({w}, {x}) -> {y}"),
        ((2, 3, 5), (2, 5, 7), "%y = glow.matmul %w, %x : ({w}, {x}) -> {y}"),
        (
            (3, 5),
            (2, 5, 7),
            """%b = glow.broadcast %w : ({w}) -> tensor<2x3x5xf32>
            %y = glow.matmul %b, %x : (tensor<2x3x5xf32>, {x}) -> {y}""",
        ),
        (
            (5, 3),
            (2, 7, 5),
            """%b = glow.broadcast %w : ({w}) -> tensor<2x5x3xf32>
            %y = glow.matmul %x, %b : ({x}, tensor<2x5x3xf32>) -> {y}""",
        ),
    ],
    ids=["left", "transposed", "batch", "repeated", "repeated-right"],
)
def test_constants_anywhere_in_a_product(
    rng: np.random.Generator,
    w: tuple[int, ...],
    x: tuple[int, ...],
    nodes: str,
    everything: bool,
):
    """Constants on the left, and repeated ones, are weights, and the product is one of integers."""
    weights, data = (rng.standard_normal(shape).astype(np.float32) for shape in (w, x))
    left = "%x," not in nodes
    y = "tensor<" + "x".join(map(str, (*x[:-2], *((3, 7) if left else (7, 3))))) + "xf32>"
    types = {"w": weights, "x": data}
    shown = {n: f"tensor<{'x'.join(map(str, a.shape))}xf32>" for n, a in types.items()}
    text = f"""
func.func @main(%x: {shown["x"]} {{glow.name = "x"}}) -> {y} {{
  %w = glow.constant dense<{nested(weights)}> : {shown["w"]}
  {nodes.format(**shown, y=y)}
  func.return %y : {y}
}}
"""
    module = optimized_graph(Parser(make_context(), text).parse_module())
    (want,) = glow.compile(module.clone(), "interpreter")(data)
    found = quantization.profile(module, [{"x": data}], cache=False)
    report = quantize(module, found, Quantization(everything=everything))
    assert report.quantized == ["y"]
    assert not report.kept
    (expected,) = glow.compile(module.clone(), "interpreter")(data)
    model = glow.compile(module)
    (product,) = (op for op in model.stages["lowered"].walk() if isinstance(op, MatMulOp))
    assert all(isinstance(element_of(o.type), QuantizedType) for o in product.operands)
    (y_found,) = model(data)
    np.testing.assert_allclose(y_found, expected, atol=1e-6 * np.abs(want).max())
    # 5 numbers with 8 bits for each factor
    np.testing.assert_allclose(y_found, want, atol=0.04 * np.abs(want).max())


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        (
            """%y = glow.matmul %w, %x
            : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>""",
            "its constant is the left operand, and not the right one",
        ),
        (
            """%b = glow.broadcast %w : (tensor<3x3xf32>) -> tensor<2x3x3xf32>
            %y = glow.matmul %x, %b
            : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>""",
            "its weights are repeated for several matrices",
        ),
    ],
    ids=["left", "repeated"],
)
def test_why_products_are_not_dynamic(nodes: str, why: str):
    shape = (2, 3, 3) if why.startswith("its constant") else (3, 3)
    weights = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    text = f"""
func.func @main(%x: tensor<2x3x3xf32> {{glow.name = "x"}}) -> tensor<2x3x3xf32> {{
  %w = glow.constant dense<{nested(weights)}> : tensor<{"x".join(map(str, shape))}xf32>
  {nodes}
  func.return %y : tensor<2x3x3xf32>
}}
"""
    graph = optimized_graph(Parser(make_context(), text).parse_module())
    with pytest.raises(QuantizationError, match=f"y stays float: {why}"):
        quantize(graph, None, Quantization(dynamic=True))


def test_a_report_with_dynamic_quantization(rng: np.random.Generator):
    """A product is either quantized or kept, and those that are made are none of the network's."""
    text = """
func.func @main(%x: tensor<3x7xf32> {glow.name = "x"}) -> tensor<3x3xf32> {
  %w = glow.constant dense<0.5> : tensor<7x7xf32>
  %a = glow.matmul %x, %w : (tensor<3x7xf32>, tensor<7x7xf32>) -> tensor<3x7xf32>
  %y = glow.matmul %a, %x transpose_rhs true
    : (tensor<3x7xf32>, tensor<3x7xf32>) -> tensor<3x3xf32>
  func.return %y : tensor<3x3xf32>
}
"""
    graph = optimized_graph(Parser(make_context(), text).parse_module())
    feeds = [{"x": rng.standard_normal((3, 7)).astype(np.float32)}]
    found = quantization.profile(graph, feeds, cache=False)
    report = quantize(graph, found, Quantization(dynamic=True))
    assert report.quantized == ["a", "y"]
    assert not report.kept


@pytest.mark.parametrize("infinity", ["0xFF800000", "-3.4028235e+38"])
def test_infinite_numbers_stay_float(rng: np.random.Generator, infinity: str):
    """The scale of a mask of infinite numbers would leave nothing of the scores."""
    mask = str(np.where(np.tri(5, dtype=bool), 0.0, -np.inf).tolist()).replace("-inf", infinity)
    text = f"""
func.func @main(%x: tensor<5x5xf32> {{glow.name = "x"}}) -> tensor<5x5xf32> {{
  %w = glow.constant dense<{nested(rng.standard_normal((5, 5)))}> : tensor<5x5xf32>
  %m = glow.constant dense<{mask}> : tensor<5x5xf32>
  %s = glow.matmul %x, %w : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
  %t = glow.add %s, %m : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
  %p = glow.softmax %t axis 1 : (tensor<5x5xf32>) -> tensor<5x5xf32>
  %y = glow.matmul %p, %w : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
  func.return %y : tensor<5x5xf32>
}}
"""
    module = optimized_graph(Parser(make_context(), text).parse_module())
    x = rng.standard_normal((5, 5)).astype(np.float32)
    found = quantization.profile(module, [{"x": x}], nan="ignore", cache=False)
    (want,) = glow.compile(module)(x)
    report = quantize(module, found, Quantization(everything=True))
    assert report.quantized == ["s", "y"]
    assert report.kept == {"t": "t has infinite numbers in the profile"}
    (got,) = glow.compile(module)(x)
    assert quantization.snr_db(want, got) > 25


def nested(array: np.ndarray) -> str:
    return str(np.asarray(array, np.float32).tolist())
