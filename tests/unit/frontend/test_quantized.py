"""Quantized operators: imported as quantized types, with the numbers of ONNX's reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import glow
import ml_dtypes
import numpy as np
import pytest
from glow.errors import ModelError, UnsupportedError
from glow.frontend.onnx import import_onnx
from glow.models.cut_model import CutModel
from glow.models.specialization import SymbolicModel
from glow.tests.support.reference import CONTRIB, by_reference
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from .models import model, node, value

CODES: dict[str, int] = {
    "float32": TensorProto.FLOAT,
    "uint8": TensorProto.UINT8,
    "int8": TensorProto.INT8,
    "uint16": TensorProto.UINT16,
    "int16": TensorProto.INT16,
    "int32": TensorProto.INT32,
}
Arrays = Mapping[str, np.ndarray]


def built(
    nodes: Sequence[NodeProto], inputs: Arrays, outputs: Mapping[str, type], weights: Arrays
) -> ModelProto:
    return model(
        nodes,
        [value(name, a.shape, CODES[a.dtype.name]) for name, a in inputs.items()],
        [value(name, None, CODES[np.dtype(t).name]) for name, t in outputs.items()],
        [numpy_helper.from_array(a, name) for name, a in weights.items()],
        opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(CONTRIB, 1)],
    )


def check(made: ModelProto, inputs: Arrays, step: float = 1, backend: str = "interpreter") -> None:
    """
    Checks against ONNX's reference evaluator, within a step, on all but one in a thousand values.
    Its products of integers are exact, unlike onnxruntime's on some machines.
    """
    made.ir_version = 10
    wanted = by_reference(made, inputs)
    cache: dict[str, Any] = {"cache": False} if backend == "cpu" else {}
    found = glow.compile(made, backend=backend, **cache).run(None, dict(inputs))
    for have, want in zip(found, wanted, strict=True):
        assert isinstance(want, np.ndarray)
        assert (have.dtype, have.shape) == (want.dtype, want.shape)
        off = np.abs(have.astype(np.float64) - want.astype(np.float64)) > 1.0001 * step
        assert off.mean() <= 0.001


def integers(rng: np.random.Generator, dtype: Any, *shape: int) -> np.ndarray:
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max + 1, shape).astype(dtype)


def scales(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.uniform(0.005, 0.05, shape).astype(np.float32)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_there_and_back(dtype: Any, axis: int | None, rng: np.random.Generator) -> None:
    shape = tuple(int(n) for n in rng.integers(1, 8, 3))
    count = () if axis is None else (shape[axis],)
    weights = {"s": scales(rng, *count), "z": integers(rng, dtype, *count)}
    x = {"x": (rng.standard_normal(shape) * 3).astype(np.float32)}
    attributes = {} if axis is None else {"axis": axis}
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"], **attributes),
        node("DequantizeLinear", ["q", "s", "z"], ["y"], **attributes),
    ]
    made = built(nodes, x, {"q": dtype, "y": np.float32}, weights)
    text = str(import_onnx(made))
    assert "!quant.uniform<" in text
    assert "glow.div" not in text
    check(made, x, step=1e-4)


def test_integers_of_arguments_and_results(rng: np.random.Generator) -> None:
    """Nodes between that only move numbers work on them as they are."""
    x = {"x": integers(rng, np.int8, 1, 3, 5)}
    weights = {"s": scales(rng), "z": np.array(7, np.int8), "shape": np.array([5, 3])}
    nodes = [
        node("Reshape", ["x", "shape"], ["r"]),
        node("DequantizeLinear", ["r", "s", "z"], ["f"]),
        node("Relu", ["f"], ["g"]),
        node("QuantizeLinear", ["g", "s", "z"], ["y"]),
    ]
    for backend in ("interpreter", "cpu"):
        check(built(nodes, x, {"y": np.int8}, weights), x, 0, backend)


def test_scales_that_the_network_computes(rng: np.random.Generator) -> None:
    x = {
        "x": rng.standard_normal((3, 7)).astype(np.float32),
        "s": scales(rng, 7),
        "z": integers(rng, np.uint8, 7),
    }
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=1),
        node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=1),
    ]
    made = built(nodes, x, {"q": np.uint8, "y": np.float32}, {})
    assert "quant.uniform" not in str(import_onnx(made))
    check(made, x, step=1e-5)


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, np.int8])
def test_blocks_of_weights(dtype: Any, rng: np.random.Generator) -> None:
    """Blocks of 4 of 10 rows; a scale of 0 is no type's."""
    limits = ml_dtypes.iinfo(dtype)
    w = rng.integers(limits.min, limits.max + 1, (10, 3)).astype(dtype)
    z = rng.integers(limits.min, limits.max + 1, (3, 3)).astype(dtype)
    x = {"x": rng.standard_normal((2, 10)).astype(np.float32)}
    nodes = [
        node("DequantizeLinear", ["w", "s", "z"], ["f"], axis=0, block_size=4),
        node("MatMul", ["x", "f"], ["y"]),
    ]
    made = built(nodes, x, {"y": np.float32}, {"w": w, "s": scales(rng, 3, 3), "z": z})
    check(made, x, 1e-4)
    nodes[0] = node("DequantizeLinear", ["w", "s"], ["f"])
    check(built(nodes, x, {"y": np.float32}, {"w": w, "s": np.zeros((), np.float32)}), x, 1e-4)


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_a_bias_that_does_not_fit_beside_the_sums(backend: str, rng: np.random.Generator) -> None:
    """The bias has the scale of the sums, and numbers of 32 bits that leave no room for them."""
    largest = np.iinfo(np.int32).max
    weights = {
        "w": np.full((3, 4), 100, np.int8),
        "b": np.array([largest, 0, -largest - 1], np.int32),
        **{"s": np.float32(0.02), "z": np.uint8(0), "t": np.float32(0.5), "u": np.float32(0.01)},
    }
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        node("DequantizeLinear", ["w", "t"], ["v"]),
        node("DequantizeLinear", ["b", "u"], ["c"]),
        node("Gemm", ["d", "v", "c"], ["y"], transB=1),
    ]
    x = {"x": rng.uniform(1, 5, (2, 4)).astype(np.float32)}
    check(
        built(nodes, x, {"y": np.float32}, {k: np.asarray(v) for k, v in weights.items()}),
        x,
        4,
        backend,
    )


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("known", [True, False])
def test_products_of_integers(dtype: Any, known: bool, rng: np.random.Generator) -> None:
    """With zero points that are constants, or inputs."""
    m, k, n, batch = (int(v) for v in rng.integers(1, 9, 4))
    arrays = {
        "a": integers(rng, np.uint8, batch, m, k),
        "p": integers(rng, np.uint8),
        "b": integers(rng, dtype, k, n),
        "q": integers(rng, dtype),
    }
    names = ["a", "b", "p", "q"]
    nodes = [node("MatMulInteger", names, ["y"])]
    inputs = {"a": arrays["a"]} if known else arrays
    weights = {name: a for name, a in arrays.items() if name not in inputs}
    made = built(nodes, inputs, {"y": np.int32}, weights)
    for backend in ("interpreter", "cpu"):
        check(made, inputs, 0, backend)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("zero_points", [0, 1, 2])
def test_convolutions_of_integers(dtype: Any, zero_points: int, rng: np.random.Generator) -> None:
    """Padding stands for the zero point, which the network may compute."""
    group, c, o = int(rng.integers(1, 3)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    inputs = {"x": integers(rng, np.uint8, 2, c * group, 5, 7), "p": integers(rng, np.uint8)}
    weights = {"w": integers(rng, dtype, o * group, c, 3, 2), "q": np.array(100, dtype)}
    names = ["x", "w", "p", "q"][: 2 + zero_points]
    nodes = [
        node("ConvInteger", names, ["y"], pads=[1, 0, 2, 1], strides=[2, 1], group=group),
    ]
    used = {name: a for name, a in inputs.items() if name in names}
    made = built(nodes, used, {"y": np.int32}, {k: v for k, v in weights.items() if k in names})
    for backend in ("interpreter", "cpu"):
        check(made, used, 0, backend)


def _parameters(rng: np.random.Generator, dtype: Any, *names: str) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    for name in names:
        found[f"{name}_s"] = scales(rng)
        found[f"{name}_z"] = rng.integers(20, 100, ()).astype(dtype)
    return found


def _operand(name: str) -> list[str]:
    return [name, f"{name}_s", f"{name}_z"]


SHAPE = (1, 4, 5, 6)
OPERATORS: dict[str, tuple[int, dict[str, Any]]] = {
    "QLinearAdd": (2, {}),
    "QLinearMul": (2, {}),
    "QLinearSigmoid": (1, {}),
    "QLinearLeakyRelu": (1, {"alpha": 0.2}),
    "QLinearGlobalAveragePool": (1, {"channels_last": 0}),
    "QLinearAveragePool": (1, {"kernel_shape": [2, 3], "pads": [1, 0, 0, 1]}),
    "QLinearSoftmax": (1, {"axis": 3, "opset": 13}),
}


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_of_onnxruntime(operator: str, dtype: Any, rng: np.random.Generator) -> None:
    count, attributes = OPERATORS[operator]
    inputs = {name: integers(rng, dtype, *SHAPE) for name in "ab"[:count]}
    weights = _parameters(rng, dtype, *inputs, "y")
    names = [n for name in inputs for n in _operand(name)]
    nodes = [node(operator, [*names, "y_s", "y_z"], ["y"], domain=CONTRIB, **attributes)]
    check(built(nodes, inputs, {"y": dtype}, weights), inputs, backend="cpu")


@pytest.mark.parametrize("bias", [True, False])
def test_matrix_product_of_onnxruntime(bias: bool, rng: np.random.Generator) -> None:
    m, k, n = (int(v) for v in rng.integers(1, 20, 3))
    inputs = {"a": integers(rng, np.uint8, m, k)}
    weights = _parameters(rng, np.uint8, "a", "y")
    weights |= {"b": integers(rng, np.int8, n, k), "b_s": scales(rng, n)}
    weights |= {"b_z": np.zeros(n, np.int8), "c": integers(rng, np.int16, n).astype(np.int32)}
    names = [*_operand("a"), *_operand("b"), "c" if bias else "", "y_s", "y_z"]
    nodes = [node("QGemm", names, ["y"], domain=CONTRIB, transB=1)]
    check(built(nodes, inputs, {"y": np.uint8}, weights), inputs, backend="cpu")


def test_parts_of_onnxruntime(rng: np.random.Generator) -> None:
    inputs = {"a": integers(rng, np.uint8, 2, 3), "b": integers(rng, np.uint8, 2, 5)}
    weights = _parameters(rng, np.uint8, "a", "b", "y")
    names = ["y_s", "y_z", *_operand("a"), *_operand("b")]
    nodes = [node("QLinearConcat", names, ["y"], domain=CONTRIB, axis=1)]
    check(built(nodes, inputs, {"y": np.uint8}, weights), inputs, backend="cpu")


def test_a_shape_that_is_computed_with_quantized_numbers(rng: np.random.Generator) -> None:
    """Quantizers do not know that MobileViT computes shapes with floats."""
    nodes = [
        node("Shape", ["x"], ["s"], start=1, end=2),
        node("Cast", ["s"], ["f"], to=TensorProto.FLOAT),
        node("QuantizeLinear", ["f", "step", "zero"], ["q"]),
        node(
            "QLinearMul",
            ["q", "step", "zero", "half", "step", "zero", "step", "zero"],
            ["p"],
            domain="com.microsoft",
        ),
        node("DequantizeLinear", ["p", "step", "zero"], ["d"]),
        node("Cast", ["d"], ["rows"], to=TensorProto.INT64),
        node("Concat", ["rows", "rest"], ["shape"], axis=0),
        node("Reshape", ["x", "shape"], ["y"]),
    ]
    weights = {
        **{"step": np.float32(0.5), "zero": np.uint8(7), "half": np.uint8(8)},
        "rest": np.array([-1]),
    }
    made = model(nodes, [value("x", [3, 10, 7])], ["y"], weights)
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    x = rng.standard_normal((3, 10, 7), dtype=np.float32)
    compiled = glow.compile(made, "interpreter")
    assert not isinstance(compiled, CutModel | SymbolicModel)
    np.testing.assert_array_equal(compiled(x)[0], x.reshape(5, 42))


def test_what_is_refused(rng: np.random.Generator) -> None:
    x = {"x": rng.standard_normal((2, 3)).astype(np.float32)}
    nodes = [node("QuantizeLinear", ["x", "s"], ["y"], axis=1)]
    wanted = r"expected 3 scales and zero points, one for each index of dimension 1 of 2x3, found "
    with pytest.raises(ModelError, match=wanted + "2 and 1"):
        import_onnx(built(nodes, x, {"y": np.uint8}, {"s": scales(rng, 2)}))
    nodes = [node("QuantizeLinear", ["x", "s", "z"], ["y"], axis=1)]
    points = {"s": scales(rng, 3), "z": np.array([1, 2], np.uint8)}
    with pytest.raises(ModelError, match=wanted + "3 and 2"):
        import_onnx(built(nodes, x, {"y": np.uint8}, points))
    nodes = [node("QuantizeLinear", ["x", "s"], ["y"], output_dtype=TensorProto.FLOAT16)]
    with pytest.raises(UnsupportedError, match="quantization to f16"):
        import_onnx(built(nodes, x, {"y": np.uint8}, {"s": scales(rng)}))
    nodes = [node("QLinearReduceMean", ["x", "x"], ["y"], domain=CONTRIB)]
    with pytest.raises(UnsupportedError, match=r"com\.microsoft\.QLinearReduceMean"):
        import_onnx(built(nodes, x, {"y": np.float32}, {}))
