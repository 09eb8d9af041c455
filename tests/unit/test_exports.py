"""The programs around exported architectures; PyTorch itself is needed by the last test only."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from glow.benchmarks.exports.architecture import Input, Scale
from glow.benchmarks.exports.check import check, feeds_of
from glow.benchmarks.exports.published import extract, write_inputs
from glow.tests.support.seeds import numbered
from onnx import TensorProto, helper


def test_inputs_have_the_sizes_of_symbols():
    rng = numbered(1)
    sizes = {"batch": 3, "sequence": 7}
    ids = Input("ids", ("batch", "sequence"), "ids", below=5).sample(sizes, rng)
    assert ids.shape == (3, 7)
    assert 0 <= ids.min() <= ids.max() < 5
    mask = Input("mask", ("batch", "sequence"), "mask").sample(sizes, rng)
    assert (np.diff(mask, axis=1) <= 0).all()
    assert (mask.sum(axis=1) >= 4).all()
    lengths = Input("n", ("batch",), "lengths", longest="sequence").sample(sizes, rng)
    assert lengths[0] == 7
    assert (np.diff(lengths) <= 0).all()


@pytest.mark.parametrize(("operator", "state"), [("Abs", "equal"), ("MurmurHash3", "refused")])
def test_a_model_is_checked(tmp_path: Path, operator: str, state: str):
    pytest.importorskip("onnxruntime")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])
    hashed = operator == "MurmurHash3"
    result = TensorProto.UINT32 if hashed else TensorProto.FLOAT
    y = helper.make_tensor_value_info("y", result, ["n", 3])
    domain = "com.microsoft" if hashed else ""
    node = helper.make_node(operator, ["x"], ["y"], "node", domain=domain)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph([node], "g", [x], [y])
    path = tmp_path / "model.onnx"
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    path.write_bytes(model.SerializeToString())
    scale = Scale(lambda: None, [Input("x", ("n", 3))], [{"n": 2}, {"n": 5}])
    arrays = {f"{i}/x": feed["x"] for i, feed in enumerate(scale.feeds(0))}
    np.savez(path.with_suffix(".npz"), allow_pickle=False, **arrays)
    assert [f["x"].shape for f in feeds_of(path, ["x"])] == [(2, 3), (5, 3)]
    assert check(path, 0.0, "interpreter")["state"] == state


@pytest.mark.parametrize(("sizes", "state"), [((2, 5, 2), "equal"), ((5, 7, 3), "failed")])
def test_sizes_that_the_peer_does_not_run_are_left_out(
    tmp_path: Path, sizes: Sequence[int], state: str
):
    pytest.importorskip("onnxruntime")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])
    shape = helper.make_tensor("shape", TensorProto.INT64, [2], [2, 3])
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"])]
    graph = helper.make_graph(nodes, "g", [x], [y], [shape])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    scale = Scale(lambda: None, [Input("x", ("n", 3))], [{"n": n} for n in sizes])
    arrays = {f"{i}/x": feed["x"] for i, feed in enumerate(scale.feeds(0))}
    np.savez(path.with_suffix(".npz"), allow_pickle=False, **arrays)
    found = check(path, 0.0, "interpreter")
    assert found["state"] == state
    assert found.get("sizes") == ("2/3" if state == "equal" else None)


def test_models_of_packages_get_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    float32, int64 = helper.np_dtype_to_tensor_dtype(np.dtype(np.float32)), TensorProto.INT64
    inputs = [
        helper.make_tensor_value_info("x", float32, ["batch", 3, "side", 7]),
        helper.make_tensor_value_info("mask", int64, ["batch"]),
        helper.make_tensor_value_info("rows", int64, [1]),
    ]
    nodes = [
        helper.make_node("Cast", ["mask"], ["m"], to=float32),
        helper.make_node("ReduceMean", ["x"], ["means"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("Mul", ["means", "m"], ["y"]),
        helper.make_node("Gather", ["x", "rows"], ["z"], axis=2),
    ]
    outputs = [helper.make_tensor_value_info(n, float32, None) for n in "yz"]
    graph = helper.make_graph(nodes, "published", inputs, outputs)
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    wheel = tmp_path / "some_package-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("some_package/data/good.onnx", model.SerializeToString())
        archive.writestr("some_package/bad.onnx", b"no model")
        archive.writestr("some_package/code.py", "")
    good, bad = extract(wheel, tmp_path)
    assert good.name == "some-package.data-good.onnx"
    seed = int(numbered(2).integers(2**32))
    assert [write_inputs(path, seed) for path in (good, bad)] == [True, False]
    assert "some-package.bad: onnxruntime does not run it" in capsys.readouterr().out
    (feed,) = feeds_of(good, ["x", "mask", "rows"])
    assert [array.shape for array in feed.values()] == [(1, 3, 320, 7), (1,), (1,)]
    assert check(good, 0.0, "interpreter")["state"] == "equal"


def test_both_exporters_write_an_architecture(tmp_path: Path):
    pytest.importorskip("onnxscript")
    pytest.importorskip("transformers")
    export = pytest.importorskip("glow.benchmarks.exports.export")
    export.main(["wavenet", "--folder", str(tmp_path), "--exporter", "torchscript"])
    paths = sorted(tmp_path.glob("*.onnx"))
    assert len(paths) == 2
    assert [check(p, 0.0, "interpreter")["state"] for p in paths] == ["equal", "equal"]
