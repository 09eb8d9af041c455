"""Minifloats and integers of 2 and 4 bits: as inputs and outputs, as constants, and in between."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import glow
import ml_dtypes
import numpy as np
import onnx
import pytest
from glow.errors import InputError, ModelError
from glow.frontend.onnx import import_onnx
from glow.semantics import constant_of
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from .models import model, node, value

F8, F4, I4, U2 = (
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float4_e2m1fn,
    ml_dtypes.int4,
    ml_dtypes.uint2,
)
F8_FORMATS = [
    *(ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz),
    *(ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz),
]
OPSET = 25


def code_of(dtype: Any) -> int:
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def elements(rng: np.random.Generator, dtype: Any, *shape: int) -> np.ndarray:
    """Returns numbers of which none is NaN."""
    if np.dtype(dtype) in map(np.dtype, (I4, U2)):
        return rng.integers(-8, 8, shape).astype(dtype)
    return rng.uniform(-6, 6, shape).astype(dtype)


def by_reference(made: ModelProto, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    return ReferenceEvaluator(made).run(None, inputs)  # pyright: ignore


def expect_same(made: ModelProto, inputs: dict[str, np.ndarray], backend: str = "cpu") -> None:
    """Expects the bits that ONNX's reference evaluator gives."""
    options: dict[str, Any] = {"cache": False} if backend == "cpu" else {}
    compiled = glow.compile(made, backend=backend, **options)
    for have, want in zip(compiled.run(None, inputs), by_reference(made, inputs), strict=True):
        assert (have.dtype, have.shape) == (want.dtype, want.shape)
        np.testing.assert_array_equal(have.view(np.uint8), want.view(np.uint8))


MOVES: list[NodeProto] = [
    node("Identity", ["x"], ["y"]),
    node("Reshape", ["x", "flat"], ["y"]),
    node("Transpose", ["x"], ["y"], perm=[2, 0, 1]),
    node("Concat", ["x", "w"], ["y"], axis=1),
    node("Slice", ["x", "last", "first", "two", "last"], ["y"]),
    node("Gather", ["x", "i"], ["y"], axis=1),
    node("Pad", ["x", "pads", "one"], ["y"]),
    node("Tile", ["x", "flat"], ["y"]),
    node("Where", ["c", "x", "w"], ["y"]),
    node("ScatterElements", ["x", "e", "w"], ["y"]),
    node("GatherND", ["x", "nd"], ["y"]),
    node("ConstantOfShape", ["flat"], ["y"]),
]


@pytest.mark.parametrize("dtype", [F8, F4, I4, U2])
def test_operators_that_move_elements(dtype: Any, rng: np.random.Generator) -> None:
    x, w = elements(rng, dtype, 2, 3, 5), elements(rng, dtype, 2, 3, 5)
    weights = {
        "w": w,
        "flat": np.array([1, 5, 6]),
        "last": np.array([-1]),
        "first": np.array([-99]),
        "two": np.array([2]),
        "i": np.array([2, 0, 0, 1]),
        "pads": np.array([0, 1, 0, 0, 0, 2]),
        "one": w[0, 0, 0].reshape(()),
        "c": rng.integers(0, 2, (2, 3, 5)).astype(bool),
        "e": rng.permuted(np.indices((2, 3, 5))[0], axis=0),
        "nd": np.array([[0, 1], [1, 2]]),
    }
    weights["flat"] = np.array([1, 5, 6])
    nodes: list[NodeProto] = []
    for i, each in enumerate(MOVES):
        copy = NodeProto()
        copy.CopyFrom(each)
        copy.output[0] = f"y{i}"
        if copy.op_type == "ConstantOfShape":
            filler = numpy_helper.from_array(w.reshape(-1)[:1], "filler")
            copy.attribute.append(helper.make_attribute("value", filler))
        nodes.append(copy)
    made = model(
        nodes,
        [value("x", [2, 3, 5], code_of(dtype))],
        [f"y{i}" for i in range(len(nodes))],
        {n: a for n, a in weights.items()},
        opset=OPSET,
    )
    made.graph.node[1].input[1] = "rows"
    made.graph.initializer.append(numpy_helper.from_array(np.array([5, 6]), "rows"))
    made.ir_version = 13
    expect_same(made, {"x": x})


def test_inputs_and_outputs(rng: np.random.Generator) -> None:
    """Arrays have the dtypes of ml_dtypes, in any memory layout."""
    made = model([node("Identity", ["x"], ["y"])], [value("x", [3, 5], code_of(I4))], ["y"])
    compiled = glow.compile(made, cache=False)
    (info,) = compiled.get_inputs()
    assert (info.type, info.dtype) == ("tensor(int4)", np.dtype(I4))
    x = elements(rng, I4, 5, 3).T
    (y,) = compiled(x)
    assert y.dtype == I4
    np.testing.assert_array_equal(y, x)
    # bytes may have bits that do not count
    odd = np.array([[0xF9, 0x19, 0x09, 0x79, 0x89]] * 3, np.uint8).view(I4)
    np.testing.assert_array_equal(compiled(odd)[0].astype(int), -7)
    with glow.HostManager(["interpreter"]) as host:
        host.add_network("same", made).result(60)
        (found,) = host.run("same", [x]).result(60)
    assert found.dtype == I4
    np.testing.assert_array_equal(found, x)
    with pytest.raises(InputError, match=r"expected dtype int4, found int8"):
        compiled(x.astype(np.int8))


@pytest.mark.parametrize("kind", ["typed", "raw", "external"])
@pytest.mark.parametrize(
    "code", ["INT4", "UINT4", "INT2", "UINT2", "FLOAT4E2M1", "FLOAT8E5M2", "FLOAT8E8M0"]
)
def test_constants(kind: str, code: str, rng: np.random.Generator, tmp_path: Path) -> None:
    """Elements share bytes in the model, the first ones in the low bits."""
    data_type = getattr(TensorProto, code)
    dtype = helper.tensor_dtype_to_np_dtype(data_type)
    for shape in ((3, 3), (71, 67)):
        bits = rng.integers(1, 0x78, shape, np.uint8).view(dtype)  # no infinity and no NaN
        array = bits if "FLOAT8" in code else bits.astype(np.float32).astype(dtype)
        tensor = numpy_helper.from_array(array, "w")
        if kind == "typed":
            tensor = helper.make_tensor("w", data_type, shape, array.astype(np.float32).flatten())
        made = model([node("Identity", ["w"], ["y"])], [], ["y"], [tensor], opset=OPSET)
        path = tmp_path / f"{shape[0]}.onnx"
        external = {"save_as_external_data": True, "size_threshold": 0}
        onnx.save(made, path, **(external if kind == "external" else {}), location="data")
        (result,) = import_onnx(path).body.block.last_op.body.block.last_op.operands  # pyright: ignore
        found = constant_of(result)
        assert found is not None
        np.testing.assert_array_equal(found.astype(np.float32), array.astype(np.float32))


FORMS: dict[str, tuple[tuple[int, ...], dict[str, int]]] = {
    "tensor": ((), {}),
    "axis": ((3,), {"axis": 1}),
    "blocks": ((2, 2), {"axis": 1, "block_size": 2}),
}


@pytest.mark.parametrize("form", FORMS)
def test_quantization_to_minifloats(form: str, rng: np.random.Generator) -> None:
    """Scales may be inputs. What is too large saturates, unless it must not."""
    shape, attributes = FORMS[form]
    nodes, outputs, weights = [], [], {}
    for i, dtype in enumerate((*F8_FORMATS, F4)):
        weights[f"z{i}"] = np.zeros(shape, dtype)
        rules = {"saturate": i % 2} if dtype is not F4 else {}
        nodes += [
            node("QuantizeLinear", ["x", "s", f"z{i}"], [f"q{i}"], **attributes, **rules),
            node("DequantizeLinear", [f"q{i}", "s", f"z{i}"], [f"y{i}"], **attributes),
        ]
        outputs += [f"q{i}", f"y{i}"]
    inputs = [value("x", [2, 3]), value("s", shape)]
    made = model(nodes, inputs, outputs, weights, opset=OPSET)
    made.ir_version = 13
    x = np.array([[0.3, -7, 1e6], [np.inf, 449, -0.01]], np.float32)
    s = rng.uniform(0.5, 2, shape).astype(np.float32)
    expect_same(made, {"x": x, "s": s})


@pytest.mark.parametrize("dtype", [F8, F4, I4, U2])
def test_scales_that_are_powers_of_two(dtype: Any, rng: np.random.Generator) -> None:
    """As in the MX formats, with blocks along the last dimension."""
    w = elements(rng, dtype, 3, 8)
    s = np.exp2(rng.integers(-4, 5, (3, 2))).astype(ml_dtypes.float8_e8m0fnu)
    attributes = {"axis": 1, "block_size": 4, "output_dtype": TensorProto.FLOAT}
    nodes = [node("DequantizeLinear", ["w", "s"], ["y"], **attributes)]
    inputs = [value("w", w.shape, code_of(dtype)), value("s", s.shape, code_of(s.dtype))]
    made = model(nodes, inputs, ["y"], opset=OPSET)
    (y,) = glow.compile(made, cache=False)(w, s)
    wanted = w.astype(np.float32) * np.repeat(s.astype(np.float32), 4, axis=1)
    np.testing.assert_array_equal(y, wanted)


def test_nothing_is_computed_on_stored_types() -> None:
    for operator, dtype in (("Add", F8), ("Equal", F4), ("Relu", I4)):
        names = ["x"] if operator == "Relu" else ["x", "x"]
        made = model([node(operator, names, ["y"])], [value("x", [2, 2], code_of(dtype))], ["y"])
        with pytest.raises(ModelError, match=f"{operator} with output 'y': expected"):
            import_onnx(made)
