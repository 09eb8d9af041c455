"""The programs around exported architectures; PyTorch itself is needed by the last test only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from glow.benchmarks.exports.architecture import Input, Scale
from glow.benchmarks.exports.check import check, feeds_of
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


def test_both_exporters_write_an_architecture(tmp_path: Path):
    pytest.importorskip("onnxscript")
    pytest.importorskip("transformers")
    export = pytest.importorskip("glow.benchmarks.exports.export")
    export.main(["wavenet", "--folder", str(tmp_path), "--exporter", "torchscript"])
    paths = sorted(tmp_path.glob("*.onnx"))
    assert len(paths) == 2
    assert [check(p, 0.0, "interpreter")["state"] for p in paths] == ["equal", "equal"]
