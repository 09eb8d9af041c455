"""Operators on large numbers, integers, conditions and shapes that exporters write seldom."""

from __future__ import annotations

from typing import Any

import glow
import numpy as np
import onnx
import pytest
from glow.errors import ModelError
from glow.frontend.onnx import import_onnx
from glow.tests.unit.frontend.against_onnxruntime import check, ints
from onnx import TensorProto, helper

from .models import model, node, value


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sum_of_exponentials_of_large_numbers(dtype: type) -> None:
    x = np.array([[1e5, 0, 1], [-1e5, -1e5, -1e5], [np.inf, 0, 1], [-np.inf] * 3], dtype)
    made = node("ReduceLogSumExp", ["x", "a"], ["y"], keepdims=0)
    check(made, {"x": x}, {"a": ints(1)}, opset=18)


@pytest.mark.parametrize("name", ["ReduceL2", "ReduceLogSum", "ReduceLogSumExp"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_reductions_of_integers_to_floats(name: str, dtype: type, rng: np.random.Generator) -> None:
    """Squares of these numbers do not fit into 32 bits."""
    x = rng.integers(30_000, 60_000, (3, 5)).astype(dtype)
    check(node(name, ["x", "a"], ["y"]), {"x": x}, {"a": ints(1)}, opset=18)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, 63])
def test_powers_of_integers(dtype: type, exponent: int, rng: np.random.Generator) -> None:
    """They are exact, and wrap where they do not fit."""
    largest = np.iinfo(dtype).max
    x = np.append(rng.integers(-largest, largest, 5), [3, -2, 46_341]).astype(dtype)
    weights = {"n": np.array([exponent], dtype)}
    declared = [value("x", x.shape, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))]
    made = model([node("Pow", ["x", "n"], ["y"])], declared, ["y"], weights)
    (found,) = glow.compile(made, backend="interpreter").run(None, {"x": x})
    wanted = [pow(int(v), exponent, 1 << np.iinfo(dtype).bits) for v in x]
    np.testing.assert_array_equal(found, np.array(wanted, object).astype(np.uint64).astype(dtype))


def test_inverse_hyperbolic_cosine_below_one() -> None:
    x = np.array([-3e38, -1e20, -1e8, -1, 0.5, 1, 1.5, 1e30], np.float32)
    check(node("Acosh", ["x"], ["y"]), {"x": x})


@pytest.mark.parametrize("surrounded_by", [None, False, True])
def test_padding_of_conditions(surrounded_by: bool | None, rng: np.random.Generator) -> None:
    names = ["x", "p"] if surrounded_by is None else ["x", "p", "v"]
    weights = {"p": ints(1, -1, 0, 2), "v": np.array(surrounded_by, bool)}
    x = rng.random((3, 5)) < 0.5
    check(node("Pad", names, ["y"]), {"x": x}, {name: weights[name] for name in names[1:]})


def test_transposes_that_count_from_the_end(rng: np.random.Generator) -> None:
    """PyTorch's exporter `torchscript` writes them; onnxruntime refuses them."""
    x = rng.standard_normal((2, 3, 1, 5)).astype(np.float32)
    nodes = [node("Transpose", ["x"], ["y"], perm=[0, -2, -1, 1])]
    declared = [value("x", x.shape)]
    for backend in ("interpreter", "cpu"):
        (found,) = glow.compile(model(nodes, declared, ["y"]), backend).run(None, {"x": x})
        np.testing.assert_array_equal(found, x.transpose(0, -2, -1, 1))
    for wrong in ([0, -2, -1, 2], [0, 1, 2, -5]):
        nodes = [node("Transpose", ["x"], ["y"], perm=wrong)]
        with pytest.raises(glow.ModelError, match="expected a permutation of the 4 dimensions"):
            glow.compile(model(nodes, declared, ["y"]), "interpreter")


@pytest.mark.parametrize(
    ("operator", "attributes", "shapes", "wrong"),
    [
        ("SoftmaxCrossEntropyLoss", {}, [(3, 5), (3,)], (0, (6, 5))),
        ("NegativeLogLikelihoodLoss", {}, [(3, 5, 7), (3, 7)], (0, (3, 5, 14))),
        (
            "LinearAttention",
            {"q_num_heads": 3, "kv_num_heads": 3, "update_rule": "linear"},
            [(2, 5, 21), (2, 5, 21), (2, 5, 21)],
            (1, (5, 2, 21)),
        ),
        ("CausalConvWithState", {}, [(2, 3, 7), (3, 1, 5)], (1, (6, 1, 5))),
    ],
)
def test_shapes_that_do_not_fit_a_definition_by_other_operators(
    operator: str,
    attributes: dict[str, Any],
    shapes: list[tuple[int, ...]],
    wrong: tuple[int, tuple[int, ...]],
) -> None:
    kinds = [TensorProto.INT64 if "Loss" in operator and i else TensorProto.FLOAT for i in range(3)]
    newest = onnx.defs.onnx_opset_version()

    def imported(shapes: list[tuple[int, ...]]) -> None:
        inputs = [value(f"x{i}", s, k) for i, (s, k) in enumerate(zip(shapes, kinds, strict=False))]
        outputs = ["y"] if "Loss" in operator else ["y", "state"]
        called = node(operator, [i.name for i in inputs], outputs, **attributes)
        import_onnx(model([called], inputs, ["y"], opset=newest))

    imported(shapes)
    index, shape = wrong
    with pytest.raises(ModelError, match=rf"{operator}.*expected inputs whose shapes fit, found"):
        imported([*shapes[:index], shape, *shapes[index + 1 :]])
