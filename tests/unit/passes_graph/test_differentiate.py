"""Gradients and directional derivatives, against finite differences of the interpreter in f64."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping

import glow
import numpy as np
import pytest
from glow.errors import CompileError
from glow.glow_dialects.glow import NODES
from glow.glow_dialects.glow.base import Node, short_name
from glow.passes.graph.adjoints import ADJOINTS, TANGENTS
from glow.runtime.interpreter import interpret
from glow.tests.support.derivatives import check_derivatives, differentiated, inputs, run
from glow.tests.support.graph_text import count, parse
from glow.tests.support.graph_text import run as run_passes
from glow.tests.support.seeds import generator
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

_EXAMPLE = re.compile(r"```mlir\n(%r = .*?-> (tensor<[^>]*>))\n```", re.S)
_LARGEST = 10_000
"""Elements of the operands of examples; larger ones have smaller cases of their own below."""

CASES = {
    "convolution": """%r = glow.convolution %x, %w, %b strides [2, 1] pads [1, 0, 1, 2]
        dilations [1, 2] : (tensor<2x3x7x6xf64>, tensor<4x3x3x2xf64>, tensor<4xf64>)
        -> tensor<2x4x4x6xf64>""",
    "grouped_convolution": """%r = glow.convolution %x, %w, %b strides [2] pads [1, 1] group 2
        : (tensor<1x4x7xf64>, tensor<6x2x3xf64>, tensor<6xf64>) -> tensor<1x6x4xf64>""",
    "transposed_convolution": """%r = glow.transposed_convolution %x, %w, %b strides [2]
        pads [1, 0] output_padding [1] group 2
        : (tensor<1x4x5xf64>, tensor<4x3x3xf64>, tensor<6xf64>) -> tensor<1x6x11xf64>""",
    "overlapping_windows": """%r = glow.max_pool %x kernel [3, 2] strides [2, 1] pads [1, 0, 0, 1]
        : (tensor<1x2x5x5xf64>) -> tensor<1x2x2x5xf64>""",
    "padded_means": """%r = glow.avg_pool %x kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1]
        : (tensor<1x2x5x7xf64>) -> tensor<1x2x3x4xf64>""",
    "reversed_slice": """%r = glow.slice %x starts [6, 1] sizes [3, 2] strides [-2, 1]
        : (tensor<7x5xf64>) -> tensor<3x2xf64>""",
    "diagonal": """%r = glow.generic %x formula "y[i] = x[i, i] * x[i, 0]"
        : (tensor<4x4xf64>) -> tensor<4xf64>""",
    "window": """%r = glow.generic %x, %w
        formula "y[i] = sum(k) x[2 * i + 3 * k - 1 | outside: 2] * w[k] for i < 4"
        : (tensor<11xf64>, tensor<3xf64>) -> tensor<4xf64>""",
    "bag": """%r = glow.generic %x, %n formula "y[b, d] = sum(t) x[clamp(n[b, t], 0, 4), d]"
        : (tensor<5x3xf64>, tensor<2x4xi64>) -> tensor<2x3xf64>""",
    **{
        f"indices_{place}": f"""%r = glow.generic %x, %n, %m formula "y[i] = x[{index}]"
            : (tensor<5x3xf64>, tensor<7xi{bits}>, tensor<7xui32>) -> tensor<7xf64>"""
        for bits in (8, 32, 64)
        for place, index in {
            f"of_two_types_i{bits}": "clamp(n[i], 0, 4), clamp(m[i] + i, 0, 2)",
            f"rounded_down_i{bits}": "clamp((n[i] - 3) // 2 + 3, 0, 4), (m[i] - n[i]) % 3",
            f"rounded_i{bits}": "clamp(ceil((n[i] + i) / 4), 0, 4), clamp(round(m[i] / 3), 0, 2)",
        }.items()
    },
    "extremes": """%r = glow.generic %x, %w
        formula "y[i] = max(j) (x[i, j] * w[j]) - min(j) x[j, i] ** 2 * prod(k) (x[k, i] + w[k])"
        : (tensor<5x5xf64>, tensor<5xf64>) -> tensor<5xf64>""",
    "parts": """%r = glow.generic %x formula "y[i] = x[i // 3] ** 2 * x[i % 3] for i < 12"
        : (tensor<5xf64>) -> tensor<12xf64>""",
    **{
        f"scatter_{kind}": f"""%r = glow.scatter %data, %n, %updates reduction "{kind}"
            : (tensor<2x3xf64>, tensor<5xi64>, tensor<5x3xf64>) -> tensor<2x3xf64>"""
        for kind in ("none", "mul", "max", "min")
    },
    "lstm": """%r = glow.lstm %x, %w, %first, %peepholes, %mask activations
        "Sigmoid Softsign HardSigmoid(0.3,0.4)" clip 0.7 reverse true
        : (tensor<5x2x12xf64>, tensor<3x12xf64>, tensor<2x2x3xf64>, tensor<3x3xf64>,
           tensor<5x2xi1>) -> tensor<2x6x2x3xf64>""",
    "lstm_input_forget": """%r = glow.lstm %x, %w, %first, %peepholes input_forget true
        : (tensor<3x1x8xf64>, tensor<2x8xf64>, tensor<2x1x2xf64>, tensor<3x2xf64>)
        -> tensor<2x4x1x2xf64>""",
    "gru": """%r = glow.gru %x, %w, %first, %bias reverse true
        : (tensor<4x2x9xf64>, tensor<3x9xf64>, tensor<1x2x3xf64>, tensor<1x3xf64>)
        -> tensor<1x5x2x3xf64>""",
    "gru_reset_after": """%r = glow.gru %x, %w, %first, %bias, %mask reset_after true
        : (tensor<4x2x9xf64>, tensor<3x9xf64>, tensor<1x2x3xf64>, tensor<1x3xf64>, tensor<4x2xi1>)
        -> tensor<1x5x2x3xf64>""",
    "rnn": """%r = glow.rnn %x, %w, %first, %mask activations "Elu(0.7)"
        : (tensor<5x2x3xf64>, tensor<3x3xf64>, tensor<1x2x3xf64>, tensor<5x2xi1>)
        -> tensor<1x6x2x3xf64>""",
    "lstm_keeps": """%r = glow.lstm %x, %w, %first, %peepholes, %mask keeps true reverse true
        : (tensor<3x2x12xf64>, tensor<3x12xf64>, tensor<2x2x3xf64>, tensor<3x3xf64>,
           tensor<3x2xi1>) -> tensor<6x4x2x3xf64>""",
    "gru_keeps": """%r = glow.gru %x, %w, %first, %bias keeps true
        : (tensor<4x2x9xf64>, tensor<3x9xf64>, tensor<1x2x3xf64>, tensor<1x3xf64>)
        -> tensor<4x5x2x3xf64>""",
    "rnn_keeps": """%r = glow.rnn %x, %w, %first, %mask keeps true
        : (tensor<5x2x3xf64>, tensor<3x3xf64>, tensor<1x2x3xf64>, tensor<5x2xi1>)
        -> tensor<2x6x2x3xf64>""",
}
REASONS = {
    "nonzero_places": "its results are integers",
    "non_max_suppression": "its results are integers",
    "tree_ensemble": "its results are constant between its thresholds",
    "fused_embedding_bag": "the rows of its table are bytes, with a scale and an offset in them",
}
"""Operators that have no rule."""
WITHOUT = {*REASONS, "block_quantized_matmul", "fake_quantize"}
"""Operators whose examples cannot be differentiated, do not exist in f64, or have another rule."""
_ABOVE = {"acosh": 1.1}
"""The lower ends of the intervals in which functions are defined, if they are not below 1."""


def _examples() -> Mapping[str, str]:
    found: dict[str, str] = {}
    for node in NODES:
        example = _EXAMPLE.search(inspect.getdoc(node) or "")
        if example is None or "!quant" in example[1] or not _has_floats(example[1]):
            continue
        name = short_name(node)
        if name not in {*CASES, *WITHOUT} and _size(example[1]) <= _LARGEST:
            found[name] = example[1].replace("f32", "f64").replace("f16", "f64")
    return found


def _has_floats(text: str) -> bool:
    operands, result = text.rsplit("->", 1)
    return re.search(r"x?f(16|32|64)>", result) is not None and "f32" in operands


def _size(text: str) -> int:
    shapes = re.findall(r"tensor<((?:\d+x)*)", text)
    return sum(int(np.prod([int(n) for n in s.split("x") if n])) for s in shapes)


def _function(text: str) -> ModuleOp:
    """Returns a graph of one node, whose operands are inputs of their names."""
    names = re.findall(r"%(\w+)", text.split("=", 1)[1])
    types = re.findall(r"tensor<[^>]*>", text[text.rindex(": (") :])
    inputs = ", ".join(
        f'%{n}: {t} {{glow.name = "{n}"}}' for n, t in zip(names, types[:-1], strict=True)
    )
    return parse(
        f'func.func @main({inputs}) -> ({types[-1]} {{glow.name = "out"}}) {{\n'
        f"{text}\nfunc.return %r : {types[-1]}\n}}"
    )


@pytest.mark.parametrize("name", [*_examples(), *CASES])
def test_derivatives_of_operators(name: str) -> None:
    module = _function(CASES.get(name) or _examples()[name])
    check_derivatives(module, inputs(module, _ABOVE.get(name, 0.2)))


def test_operators_without_a_rule() -> None:
    found = {short_name(n) for n in NODES if n not in ADJOINTS or n not in TANGENTS}
    assert found - {"constant", "splat"} == set(REASONS)


_NETWORK = """
func.func @main(%x: tensor<2x1x8x8xf32> {glow.name = "x"},
                %w: tensor<3x1x3x3xf32> {glow.name = "w"},
                %b: tensor<3xf32> {glow.name = "b"}, %v: tensor<5x48xf32> {glow.name = "v"},
                %c: tensor<5xf32> {glow.name = "c"}, %t: tensor<2x5xf32> {glow.name = "t"})
    -> (tensor<f32> {glow.name = "loss"}) {
  %0 = glow.convolution %x, %w, %b pads [1, 1, 1, 1]
    : (tensor<2x1x8x8xf32>, tensor<3x1x3x3xf32>, tensor<3xf32>) -> tensor<2x3x8x8xf32>
  %1 = glow.relu %0 : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %2 = glow.max_pool %1 kernel [2, 2] strides [2, 2]
    : (tensor<2x3x8x8xf32>) -> tensor<2x3x4x4xf32>
  %3 = glow.reshape %2 : (tensor<2x3x4x4xf32>) -> tensor<2x48xf32>
  %4 = glow.fully_connected %3, %v, %c
    : (tensor<2x48xf32>, tensor<5x48xf32>, tensor<5xf32>) -> tensor<2x5xf32>
  %5 = glow.log_softmax %4 axis 1 : (tensor<2x5xf32>) -> tensor<2x5xf32>
  %6 = glow.mul %5, %t : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
  %7 = glow.reduce_sum %6 axes [0, 1] : (tensor<2x5xf32>) -> tensor<f32>
  %loss = glow.neg %7 : (tensor<f32>) -> tensor<f32>
  func.return %loss : tensor<f32>
}
"""


def test_compiled_gradients_of_a_network() -> None:
    """A convolutional network's gradients in machine code are those of the interpreter in f64."""
    wide = parse(_NETWORK.replace("f32", "f64"))
    feeds = inputs(wide)
    wrt = ("w", "b", "v", "c")
    expected = run(differentiated(wide, wrt=wrt), feeds)
    model = glow.compile(differentiated(parse(_NETWORK), wrt=wrt))
    found = model.run(None, {n: v.astype(np.float32) for n, v in feeds.items()})
    for info, value in zip(model.get_outputs(), found, strict=True):
        scale = np.abs(expected[info.name]).max()
        np.testing.assert_allclose(value, expected[info.name], rtol=1e-4, atol=1e-4 * scale)


@pytest.mark.parametrize("mode", ["vjp", "jvp"])
@pytest.mark.parametrize("p", [2, 3, None])
def test_norms_of_zeros_have_no_derivative(p: int | None, mode: str) -> None:
    """The derivative of a root is infinite at 0, but a norm has its minimum there."""
    if p is None:
        text = """%s = glow.mul %x, %x
                : (tensor<1x1x2x5xf64>, tensor<1x1x2x5xf64>) -> tensor<1x1x2x5xf64>
            %t = glow.reduce_sum %s axes [3] : (tensor<1x1x2x5xf64>) -> tensor<1x1x2xf64>
            %q = glow.sqrt %t : (tensor<1x1x2xf64>) -> tensor<1x1x2xf64>
            %r = glow.reshape %q : (tensor<1x1x2xf64>) -> tensor<1x1x2x1xf64>"""
    else:
        text = f"""%r = glow.lp_pool %x kernel [1, 5] p {p}
            : (tensor<1x1x2x5xf64>) -> tensor<1x1x2x1xf64>"""
    module = parse(f"""
        func.func @main(%x: tensor<1x1x2x5xf64> {{glow.name = "x"}})
            -> (tensor<1x1x2x1xf64> {{glow.name = "out"}}) {{
          {text}
          func.return %r : tensor<1x1x2x1xf64>
        }}""")
    x = np.zeros((1, 1, 2, 5))
    x[..., 1, :] = generator().uniform(0.1, 1, 5)
    power = p or 2
    wanted = (x / np.maximum((x**power).sum(-1, keepdims=True) ** (1 / power), 1e-9)) ** (power - 1)
    if mode == "jvp":
        found = run(differentiated(module, mode=mode), {"x": x, "tangent.x": np.ones(x.shape)})
        np.testing.assert_allclose(found["tangent.out"], wanted.sum(-1, keepdims=True), rtol=1e-9)
    else:
        seed = np.ones((1, 1, 2, 1))
        found = run(differentiated(module, seed=True), {"x": x, "seed.out": seed})
        np.testing.assert_allclose(found["grad.x"], wanted, rtol=1e-9)


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("term", ["x[i,j] - w[j] * w[j]", "x[i,j] * w[j] + x[i,j]", "exp(x[i,j])"])
def test_code_finds_which_terms_attain_an_extremum(
    term: str, element: str, rng: np.random.Generator
) -> None:
    """One term of each row does, in whatever order code rounds products and sums."""
    given, w, loss = (f"tensor<{n}{element}>" for n in ("53x7x", "7x", "53x"))
    reads = "%x, %w" if "w" in term else "%x"
    types = f"{given}, {w}" if "w" in term else given
    module = parse(f"""
        func.func @main(%x: {given} {{glow.name = "x"}}, %w: {w} {{glow.name = "w"}})
            -> ({loss} {{glow.name = "out"}}) {{
          %y = glow.generic {reads} formula "y[i] = min(j) ({term})" : ({types}) -> {loss}
          func.return %y : {loss}
        }}""")
    dtype = np.dtype(f"f{int(element[1:]) // 8}")
    feeds = {
        "x": rng.standard_normal((53, 7)),
        "w": rng.standard_normal(7),
        "seed.out": np.ones(53),
    }
    model = glow.compile(glow.differentiate(module, wrt=["x"], seed=True))
    (found,) = model.run(["grad.x"], {n: a.astype(dtype) for n, a in feeds.items()})
    assert np.isfinite(found).all()
    assert (np.count_nonzero(found, axis=1) == 1).all()


@pytest.mark.parametrize("case", ["lstm", "lstm_input_forget", "gru", "gru_reset_after", "rnn"])
def test_recurrent_layers_are_computed_once(case: str) -> None:
    """A compiled gradient has one layer, which keeps what the backward pass reads."""
    wide, feeds = _function(CASES[case]), inputs(_function(CASES[case]))
    expected = run(differentiated(wide, seed=True), feeds | {"seed.out": (s := _seed(wide))})
    narrow = _function(CASES[case].replace("f64", "f32"))
    module = differentiated(narrow, seed=True)
    run_passes("canonicalize,cse,dce", module)
    assert count(module)[f"glow.{case.partition('_')[0]}"] == 1
    given = {n: v.astype(np.float32) if v.dtype.kind == "f" else v for n, v in feeds.items()}
    found = run(module, given | {"seed.out": s.astype(np.float32)}, backend="cpu")
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-5)


def _seed(module: ModuleOp) -> np.ndarray:
    """Returns an adjoint for the result of a function."""
    (info,) = glow.compile(module, backend="interpreter").get_outputs()
    return generator().uniform(-1, 1, info.shape)


def test_fake_quantization_passes_derivatives_straight_through(rng: np.random.Generator) -> None:
    """They pass where the rounded number needs no clamping; the parameters have none."""
    shape = "tensor<5x17xf32>"
    text = f"%r = glow.fake_quantize %x, %s, %z least -7 greatest 8 : ({shape}, {shape}, {shape})"
    module = _function(f"{text} -> {shape}")
    s = rng.uniform(0.1, 0.3, (5, 1)).repeat(17, 1).astype(np.float32)
    z = rng.integers(-3, 4, (5, 1)).repeat(17, 1).astype(np.float32)
    x = (rng.standard_normal((5, 17)) * 2).astype(np.float32)
    seed = rng.standard_normal((5, 17)).astype(np.float32)
    steps = np.rint(x / s) + z
    want = np.where((steps >= -7) & (steps <= 8), seed, 0)
    assert 0 < np.count_nonzero(want) < want.size
    feeds = {"x": x, "s": s, "z": z}
    for backend in ("interpreter", "cpu"):
        reverse = differentiated(module, seed=True)
        found = run(reverse, {**feeds, "seed.out": seed}, backend)
        np.testing.assert_array_equal(found["grad.x"], want)
        assert not found["grad.s"].any()
        assert not found["grad.z"].any()
        forward = differentiated(module, mode="jvp", wrt=("x",))
        found = run(forward, {**feeds, "tangent.x": seed}, backend)
        np.testing.assert_array_equal(found["tangent.out"], want)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "expected a scalar to differentiate, found out of type tensor<2x3xf32>"),
        ({"wrt": ("q",)}, "expected an input or a constant for 'wrt', found 'q'; there are x"),
        ({"of": "q"}, "expected a result for 'of', found 'q'; there are out"),
        ({"mode": "up"}, "expected mode vjp or jvp, found 'up'"),
    ],
)
def test_bad_options(options: dict[str, object], message: str) -> None:
    module = _function("%r = glow.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>")
    with pytest.raises(CompileError, match=re.escape(message)):
        differentiated(module, **options)


def test_an_operator_without_a_rule_is_named_with_the_path() -> None:
    class_without: type[Node] = next(n for n in NODES if short_name(n) == "tree_ensemble")
    example = _EXAMPLE.search(inspect.getdoc(class_without) or "")
    assert example is not None
    with pytest.raises(
        CompileError,
        match=r"glow\.tree_ensemble %r: has no rule .* path glow\.tree_ensemble %r <- x",
    ):
        differentiated(_function(example[1]), seed=True)


def test_gradients_of_an_onnx_model() -> None:
    """The gradient of the cross-entropy with respect to scores is softmax minus the label."""
    nodes = [
        helper.make_node("Gemm", ["x", "w"], ["scores"], transB=1),
        helper.make_node("SoftmaxCrossEntropyLoss", ["scores", "labels"], ["loss"]),
    ]
    rng = generator()
    w = rng.standard_normal((5, 3)).astype(np.float32)
    graph = helper.make_graph(
        nodes,
        "loss",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [7, 3]),
            helper.make_tensor_value_info("labels", TensorProto.INT64, [7]),
        ],
        [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
        [numpy_helper.from_array(w, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    compiled = glow.compile(glow.differentiate(model, wrt=["w"]), backend="interpreter")
    x = rng.standard_normal((7, 3)).astype(np.float32)
    labels = rng.integers(0, 5, 7)
    loss, gradient = compiled(x, labels)
    scores = x @ w.T
    power = np.exp(scores - scores.max(1, keepdims=True))
    p = power / power.sum(1, keepdims=True)
    np.testing.assert_allclose(loss, -np.log(p[np.arange(7), labels]).mean(), rtol=1e-5)
    expected = (p - np.eye(5)[labels]).T @ x / 7
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("bits", [2, 8])
@pytest.mark.parametrize("pass_options", ["mode=jvp wrt=x", "seed=true wrt=x"])
def test_products_with_packed_weights(bits: int, pass_options: str, rng: np.random.Generator):
    """The product is linear in x: its tangent is the product with the tangent."""
    graph = parse(f"""
func.func @main(%x: tensor<3x7xf32> {{glow.name = "x"}}, %w: tensor<5x1x16xui8> {{glow.name = "w"}},
                %s: tensor<5x1xf32> {{glow.name = "s"}}, %z: tensor<5x1xui8> {{glow.name = "z"}})
    -> (tensor<3x5xf32> {{glow.name = "y"}}) {{
  %y = glow.block_quantized_matmul %x, %w, %s, %z bits {bits}
     : (tensor<3x7xf32>, tensor<5x1x16xui8>, tensor<5x1xf32>, tensor<5x1xui8>) -> tensor<3x5xf32>
  func.return %y : tensor<3x5xf32>
}}""")
    x, dx = rng.uniform(-1, 1, (2, 3, 7)).astype(np.float32)
    more = {
        "w": rng.integers(0, 256, (5, 1, 16), np.uint8),
        "s": rng.uniform(0.01, 0.1, (5, 1)).astype(np.float32),
        "z": rng.integers(0, 2**bits, (5, 1), np.uint8),
    }
    want = interpret(graph, {"x": dx, **more})["y"]
    added = run_passes(f"glow-differentiate{{{pass_options}}}", graph.clone())
    if "jvp" in pass_options:
        found = interpret(added, {"x": x, "tangent.x": dx, **more})["tangent.y"]
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4 * np.abs(want).max())
        return
    seed = rng.uniform(-1, 1, (3, 5)).astype(np.float32)
    found = interpret(added, {"x": x, "seed.y": seed, **more})["grad.x"]
    np.testing.assert_allclose((found * dx).sum(), (seed * want).sum(), rtol=1e-3, atol=1e-3)
