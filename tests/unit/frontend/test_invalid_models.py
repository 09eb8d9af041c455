"""Models that random changes of valid ones led to, which are refused with one error each."""

from __future__ import annotations

import glow
import numpy as np
import onnx
import pytest
from glow.errors import GlowError
from onnx import NodeProto, TensorProto

from .models import model, node, value


@pytest.mark.parametrize(
    ("operator", "code", "message"),
    [
        ("IsInf", TensorProto.INT32, "'X' of type .*tensor.float.*; found tensor.int32."),
        ("BitShift", TensorProto.FLOAT, "'X' of type .*tensor.uint8.; found tensor.float."),
    ],
)
def test_types_that_an_operator_is_not_defined_for(operator: str, code: int, message: str) -> None:
    attributes = {"direction": "LEFT"} if operator == "BitShift" else {}
    names = ["x"] * (1 + len(attributes))
    made = model([node(operator, names, ["y"], **attributes)], [value("x", [2, 3], code)], ["y"])
    with pytest.raises(GlowError, match=f"{operator} with output 'y': expected input {message}"):
        glow.compile(made, backend="interpreter")


def test_tensors_that_are_trained_have_all_their_inputs() -> None:
    names = ["r", "t", "x", "g", "v", "x"]
    made = model(
        [
            node(
                "Momentum",
                names,
                ["y", "w"],
                domain="ai.onnx.preview.training",
                mode="standard",
                alpha=0.9,
                beta=1.0,
                norm_coefficient=0.0,
            )
        ],
        [value("r", []), value("t", [], TensorProto.INT64), *(value(n, [3]) for n in "xgv")],
        ["y", "w"],
        opset_imports=[
            onnx.helper.make_opsetid("", 17),
            onnx.helper.make_opsetid("ai.onnx.preview.training", 1),
        ],
    )
    with pytest.raises(GlowError, match=r"expected 3 inputs for each tensor .* found 4 in all"):
        glow.compile(made, backend="interpreter")


def test_sizes_of_a_sequence_are_a_vector() -> None:
    made = model(
        [node("SplitToSequence", ["x", "s"], ["q"]), node("SequenceLength", ["q"], ["y"])],
        [value("x", [6])],
        ["y"],
        {"s": np.array([[1, 2], [1, 2]])},
    )
    with pytest.raises(GlowError, match=r"expected a vector of sizes, found \[2, 2\]"):
        glow.compile(made, backend="interpreter")


def test_one_constant_index_out_of_range() -> None:
    made = model(
        [node("Gather", ["x", "i"], ["y"])], [value("x", [2, 3])], ["y"], {"i": np.array(2)}
    )
    with pytest.raises(GlowError, match="expected indices in -2 to 1, found 2"):
        glow.compile(made, backend="interpreter")


@pytest.mark.parametrize("count", [0, 2, 1 << 62])
def test_parts_are_as_many_as_outputs(count: int) -> None:
    made = model(
        [node("Split", ["x"], ["a", "b", "c"], num_outputs=count)],
        [value("x", [2, 8])],
        ["a", "b", "c"],
        opset=18,
    )
    with pytest.raises(GlowError, match=f"expected num_outputs 3, found {count}"):
        glow.compile(made, backend="interpreter")


def test_inverse_transform_of_one_number() -> None:
    made = model(
        [node("DFT", ["x", "", "a"], ["y"], inverse=1, onesided=1)],
        [value("x", [2, 1, 2])],
        ["y"],
        {"a": np.array(1)},
        opset=20,
    )
    with pytest.raises(GlowError, match="expected a transform of at least 1 number, found 0"):
        glow.compile(made, backend="interpreter")


def test_one_window_may_have_any_stride(rng: np.random.Generator) -> None:
    x, w = (rng.standard_normal(s).astype(np.float32) for s in ((1, 2, 5, 3), (3, 2, 3, 3)))
    made = model(
        [node("Conv", ["x", "w"], ["y"], strides=[1, 1 << 62])],
        [value("x", x.shape)],
        ["y"],
        {"w": w},
    )
    plain = model([node("Conv", ["x", "w"], ["y"])], [value("x", x.shape)], ["y"], {"w": w})
    (wanted,) = glow.compile(plain, backend="interpreter").run(None, {"x": x})
    for backend in ("interpreter", "cpu"):
        (found,) = glow.compile(made, backend=backend).run(None, {"x": x})
        np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("operands", "code", "message"),
    [
        (["x", "w"], TensorProto.UINT8, "onnx's version converter cannot bring it to opset 7: "),
        (["x"], TensorProto.FLOAT, "PRelu with output 'y': expected 2 inputs, found 1"),
    ],
)
def test_old_slopes_that_are_wrong(operands: list[str], code: int, message: str) -> None:
    """The slopes are declared to have other elements than they have, or are not there."""
    made = model(
        [node("PRelu", operands, ["y"])],
        [value("x", [2, 3, 5]), value("w", [3], code)],
        [value("y", [2, 3, 5])],
        {"w": np.ones(3, np.float32)},
        opset=6,
    )
    with pytest.raises(GlowError, match=message):
        glow.compile(made, backend="interpreter")


_SHAPES: dict[str, tuple[NodeProto, dict[str, list[int]], str]] = {
    "offsets": (
        node("DeformConv", ["x", "w", "o"], ["y"], kernel_shape=[2, 2]),
        {"x": [1, 1, 4, 5], "w": [1, 1, 2, 2], "o": [1, 8, 3, 3]},
        r"expected offsets of shape \(1, 8, 3, 4\), found",
    ),
    "mask": (
        node("DeformConv", ["x", "w", "o", "", "m"], ["y"], kernel_shape=[2, 2]),
        {"x": [1, 1, 4, 5], "w": [1, 1, 2, 2], "o": [1, 8, 3, 4], "m": [1, 8, 3, 4]},
        r"expected a mask of shape \(1, 4, 3, 4\), found",
    ),
    "values": (
        node("OneHot", ["i", "depth", "v"], ["y"]),
        {"i": [3], "v": [4]},
        "expected two values, off and on, found",
    ),
    "places": (
        node("TensorScatter", ["x", "u", "p"], ["y"], axis=1),
        {"x": [2, 5, 3], "u": [2, 1, 3], "p": [2, 1]},
        "expected an index for each of 2 images, found",
    ),
    "one-sided": (
        node("DFT", ["x", "", "axis"], ["y"], onesided=1),
        {"x": [2, 6, 2]},
        "expected real numbers for a one-sided transform, found",
    ),
    "angles": (
        node("RotaryEmbedding", ["x", "p", "c", "s"], ["y"], domain="com.microsoft"),
        {"x": [1, 2, 3, 8], "p": [1, 3], "c": [9, 4], "s": [7, 4]},
        "expected caches of one shape, found",
    ),
}
"""Nodes, the shapes of their inputs that are not constant, and the error."""


@pytest.mark.parametrize("case", _SHAPES)
def test_inputs_of_other_shapes_than_an_operator_has(case: str) -> None:
    made, shapes, message = _SHAPES[case]
    codes = {"i": TensorProto.INT64, "p": TensorProto.INT64}
    inputs = [value(n, s, codes.get(n, TensorProto.FLOAT)) for n, s in shapes.items()]
    constants = {"depth": np.array(3), "axis": np.array(1)}
    given = {name: array for name, array in constants.items() if name in made.input}
    opsets = [onnx.helper.make_opsetid("", 24), onnx.helper.make_opsetid("com.microsoft", 1)]
    with pytest.raises(GlowError, match=message):
        glow.compile(
            model([made], inputs, ["y"], given, opset_imports=opsets), backend="interpreter"
        )
