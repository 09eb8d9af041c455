"""Operators that users state as formulas: in Python, in ONNX models, in compiled networks."""

from __future__ import annotations

import glow
import numpy as np
import onnx
import pytest
from glow.errors import GlowError, ModelError
from glow.frontend.onnx import import_onnx
from glow.frontend.onnx.export import export_onnx
from glow.glow_dialects.glow.activation import ReluOp
from glow.glow_dialects.operator import with_shape
from glow.semantics.arrays import make_constant
from numpy.random import Generator
from onnx import TensorProto, helper
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, f16, f32, i8
from xdsl.ir import Block, Region

LINEAR = "y[b, i] = sum(k) x[b, k] * w[i, k]"


def test_a_defined_operator_in_a_network(rng: Generator):
    linear = glow.define("linear", LINEAR)
    assert linear.operands == ("x", "w")
    x, w = (rng.standard_normal(s).astype(np.float32) for s in ((3, 17), (19, 17)))
    np.testing.assert_allclose(linear(x, w), x @ w.T, rtol=1e-5, atol=1e-5)
    module = linear.graph(*(with_shape(f32, a.shape) for a in (x, w)))
    model = glow.compile(module, cache=False)
    assert [i.name for i in model.get_inputs()] == ["x", "w"]
    (y,) = model(x, w)
    np.testing.assert_allclose(y, x @ w.T, rtol=1e-5, atol=1e-5)


def test_neighbours_move_into_its_loops():
    block = Block(arg_types=[with_shape(f32, (3, 17)), with_shape(f32, (19, 17))])
    node = glow.define("linear", LINEAR)(*block.args)
    relu = ReluOp.of(node.result)
    block.add_ops([node, relu, func.ReturnOp(relu.result)])
    t = FunctionType.from_lists([a.type for a in block.args], [relu.result.type])
    module = ModuleOp([func.FuncOp("main", t, Region(block))])
    text = str(glow.compile(module, cache=False).stages["allocated"])
    assert "epilogue" in text
    assert "glow_inst.relu" not in text


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("y[b, i] = sum(k) i32(x[b, k]) * i32(w[i, k])", [(3, 17), (19, 17)]),
        ("y[i, b] = sum(k) i32(x[k, b]) * i32(w[k, i])", [(17, 3), (17, 19)]),
        ("y[b, i, j] = sum(k, l) i32(x[b, k, l]) * i32(w[l, j, k, i])", [(1, 5, 7), (7, 3, 5, 2)]),
        ("y[n, b, i] = sum(k) i32(x[n, b, k]) * i32(w[n, k, i])", [(2, 3, 5), (2, 5, 1)]),
    ],
)
@pytest.mark.parametrize("constant", [False, True])
def test_products_of_bytes_are_matrix_products(
    text: str, shapes: list[tuple[int, ...]], constant: bool, rng: Generator
):
    product = glow.define("product", text)
    x, w = (rng.integers(-128, 128, s).astype(np.int8) for s in shapes)
    block = Block(arg_types=[with_shape(i8, a.shape) for a in ((x,) if constant else (x, w))])
    weights = make_constant(w)
    node = product(block.args[0], weights.result if constant else block.args[1])
    block.add_ops([*([weights] if constant else []), node, func.ReturnOp(node.result)])
    t = FunctionType.from_lists([a.type for a in block.args], [node.result.type])
    model = glow.compile(ModuleOp([func.FuncOp("main", t, Region(block))]), cache=False)
    # a transpose at run time would cost more than it saves
    needs_transpose = not constant and "w[l, j, k, i]" in text
    assert ("generic" in str(model.stages["allocated"])) == needs_transpose
    np.testing.assert_array_equal(model(x)[0] if constant else model(x, w)[0], product(x, w))


def model_of(*nodes: onnx.NodeProto) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [9, 5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("ai.glow", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def test_onnx_models_state_operators(rng: Generator):
    mean = glow.define(
        "mean",
        "y[i, c] = (sum(t < 2 * radius + 1) x[i + t - radius, c | outside: 0]) / (2 * radius + 1) "
        "for i < size(x, 0)",
        constants={"radius": 2},
    )
    model = model_of(mean.onnx_node(["x"], "y"))
    x = rng.standard_normal((9, 5)).astype(np.float32)
    (found,) = glow.compile(model, cache=False)(x)
    padded = np.pad(x, ((2, 2), (0, 0)))
    wanted = sum(padded[t : t + 9] for t in range(5)) / 5
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    module = import_onnx(model)
    again = import_onnx(export_onnx(module))
    assert str(again).count("constants = {radius = 2 : i64}") == 1
    np.testing.assert_array_equal(glow.compile(again, cache=False)(x)[0], found)


def test_a_result_may_be_declared():
    doubled = glow.define("doubled", "y[i] = x[clamp(i // 2, 0, 6)]", shape=[14], element=f16)
    assert str(doubled.result_type(with_shape(f32, (7,)))) == "tensor<14xf16>"
    (node,) = [n for n in [doubled.onnx_node(["x"], "y")]]
    assert {a.name for a in node.attribute} == {"formula", "element", "shape"}


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("y[i] = x[i] +", "expected a value, found the end"),
        ("y[i] = avg(k) x[i, k]", "avg is no reduction"),
    ],
)
def test_texts_that_are_no_formulas(formula: str, message: str):
    with pytest.raises(GlowError, match=message):
        glow.define("bad", formula)


def test_operands_that_do_not_fit():
    linear = glow.define("linear", LINEAR)
    with pytest.raises(GlowError, match=r"linear: index k runs over 17 values, but dimension 1"):
        linear.result_type(with_shape(f32, (3, 17)), with_shape(f32, (19, 18)))
    with pytest.raises(GlowError, match="expected 2 operands for x, w of the formula, found 1"):
        linear.result_type(with_shape(f32, (3, 17)))
    with pytest.raises(GlowError, match="expected other names of constants than shape"):
        glow.define("bad", "y[i] = x[i]", constants={"shape": 3})


def test_wrong_formulas_in_models():
    node = helper.make_node("Generic", ["x"], ["y"], domain="ai.glow", formula="y[i] = x[i]")
    with pytest.raises(ModelError, match="expected 2 indices of x, found 1"):
        glow.compile(model_of(node), cache=False)
    node = helper.make_node("Generic", ["x"], ["y"], domain="ai.glow")
    with pytest.raises(ModelError, match="expected an attribute formula"):
        glow.compile(model_of(node), cache=False)
