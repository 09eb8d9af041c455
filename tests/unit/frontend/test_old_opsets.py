"""Models of opsets before 7, which onnx's version converter brings up to date."""

from __future__ import annotations

import warnings
from pathlib import Path

import glow
import numpy as np
import onnx
import pytest
from glow.frontend.onnx import import_onnx
from glow.glow_dialects.blob import BlobAttr
from glow.glow_dialects.glow.constant import ConstantOp
from glow.runtime.interpreter import interpret
from onnx import ModelProto
from onnx.backend.test.loader import load_model_tests

from .models import model, node, value

NOTE = "uses opset 1, which onnx's version converter brings to opset 7"


def old(rng: np.random.Generator, batch: int | str = 2) -> tuple[ModelProto, np.ndarray]:
    """Returns a product, and a sum in the way of opset 1; and its matrix."""
    w = rng.standard_normal((40, 5)).astype(np.float32)
    b = np.arange(5, dtype=np.float32)
    nodes = [
        node("MatMul", ["x", "w"], ["product"]),
        node("Add", ["product", "b"], ["y"], broadcast=1, axis=1),
    ]
    inputs = [value("x", [batch, 40]), value("w", [40, 5]), value("b", [5])]
    return model(nodes, inputs, [value("y", [batch, 5])], {"w": w, "b": b}, opset=1), w


@pytest.mark.parametrize("kind", ["proto", "bytes", "path", "external"])
def test_weights_stay_where_they_are(kind: str, tmp_path: Path, rng: np.random.Generator) -> None:
    made, w = old(rng)
    source: object = made
    if kind == "bytes":
        source = made.SerializeToString()
    elif kind != "proto":
        source = tmp_path / "old.onnx"
        place = {"save_as_external_data": True, "location": "w.bin", "size_threshold": 100}
        onnx.save(made, source, **(place if kind == "external" else {}))
    with pytest.warns(UserWarning, match=NOTE):
        module = import_onnx(source)  # pyright: ignore[reportArgumentType]
    constants = [op for op in module.walk() if isinstance(op, ConstantOp)]
    (blob,) = (op.value.data for op in constants if isinstance(op.value, BlobAttr))
    place = {"path": "old.onnx", "external": "w.bin"}.get(kind, "memory:w")
    assert place in blob.path
    if kind == "proto":
        (tensor,) = (t for t in made.graph.initializer if t.name == "w")
        w *= 2  # no copy: what the model has now
        tensor.raw_data = w.tobytes()
    x = rng.standard_normal((2, 40)).astype(np.float32)
    (y,) = interpret(module, {"x": x}).values()
    np.testing.assert_allclose(y, x @ w + np.arange(5), rtol=1e-5, atol=1e-5)


def test_one_note_for_all_sizes(rng: np.random.Generator) -> None:
    made, w = old(rng, "n")
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        compiled = glow.compile(made, "interpreter")
        for n in (1, 3):
            x = rng.standard_normal((n, 40)).astype(np.float32)
            np.testing.assert_allclose(compiled(x)[0], x @ w + np.arange(5), rtol=1e-5, atol=1e-5)
    assert [NOTE in str(n.message) for n in notes] == [True]


def test_a_converter_that_fails_is_one_error() -> None:
    made = model([node("Upsample", ["x"], ["y"], wrong=1)], [value("x", [1])], ["y"], opset=6)
    with (
        pytest.warns(UserWarning, match="opset 6"),
        pytest.raises(glow.UnsupportedError, match="opset 6, and onnx's version converter cannot"),
    ):
        import_onnx(made)


def test_old_models_of_onnx() -> None:
    """A sample of those that the onnx package brings; all of them take long."""
    passed = 0
    for case in load_model_tests(kind="pytorch-converted")[::12]:
        assert case.model_dir is not None
        path = Path(case.model_dir) / "model.onnx"
        if onnx.load(path).opset_import[0].version >= 7:
            continue
        compiled = _compiled(path)
        if compiled is None:
            continue
        data = path.parent / "test_data_set_0"
        inputs = [_tensor(data / f"input_{i}.pb") for i in range(len(compiled.get_inputs()))]
        expected = _tensor(data / "output_0.pb")
        np.testing.assert_allclose(compiled(*inputs)[0], expected, rtol=1e-3, atol=1e-5)
        passed += 1
    assert passed >= 5


def _compiled(path: Path) -> glow.CompiledModel | None:
    """
    Returns None for paddings that are not supported, and slopes that onnx's converter does not
    adapt.
    """
    try:
        with pytest.warns(UserWarning, match="version converter"):
            return glow.compile(path, "interpreter")
    except glow.GlowError as error:
        if any(known in str(error) for known in ("reflect", "edge", "PRelu")):
            return None
        raise


def _tensor(path: Path) -> np.ndarray:
    return onnx.numpy_helper.to_array(onnx.load_tensor(str(path)))
