"""Files of models that change, move or go while a model of theirs lives."""

from __future__ import annotations

import time
from pathlib import Path

import glow
import numpy as np
import onnx
import pytest
from glow.tests.support.small_models import small_network


@pytest.mark.parametrize("external", [False, True])
@pytest.mark.parametrize("change", ["other bytes", "truncated", "empty"])
def test_weights_that_change_behind_an_interpreter(change: str, external: bool, tmp_path: Path):
    path = tmp_path / "small.onnx"
    place = {"save_as_external_data": True, "location": "w.bin", "size_threshold": 0}
    onnx.save(small_network(3), path, **(place if external else {}))
    model = glow.compile(path, "interpreter", symbols={"batch": 1})
    x = np.ones((1, 3, 8, 10), np.float32)
    model(x)
    weights = tmp_path / "w.bin" if external else path
    data = weights.read_bytes()
    time.sleep(0.02)
    changed = {"other bytes": data[::-1], "truncated": data[:100], "empty": b""}[change]
    with weights.open("r+b") as file:
        file.truncate(len(changed))
        file.write(changed)
    with pytest.raises(glow.ModelError, match=f"{weights.name} has changed since it was first"):
        model(x)


@pytest.mark.parametrize("change", ["renamed", "deleted", "replaced"])
def test_a_file_that_was_read_may_go(change: str, tmp_path: Path):
    path = tmp_path / "small.onnx"
    onnx.save(small_network(3), path)
    model = glow.compile(path, "interpreter", symbols={"batch": 1})
    x = np.ones((1, 3, 8, 10), np.float32)
    expected = model(x)
    if change == "replaced":
        onnx.save(small_network(4), tmp_path / "other.onnx")
        (tmp_path / "other.onnx").replace(path)
    else:
        path.rename(tmp_path / "moved.onnx")
    if change == "deleted":
        (tmp_path / "moved.onnx").unlink()
    np.testing.assert_array_equal(model(x)[0], expected[0])


@pytest.mark.parametrize("lazy", [False, True])
def test_a_program_does_not_depend_on_its_file(lazy: bool, tmp_path: Path):
    path = tmp_path / "small.onnx"
    onnx.save(small_network(3), path)
    time.sleep(0.05)
    model = glow.compile(path, symbols={"batch": 1}, cache=tmp_path / "cache")
    if lazy:
        model = glow.compile(path, symbols={"batch": 1}, cache=tmp_path / "cache")
        assert set(model.times) == {"load"}
    x = np.ones((1, 3, 8, 10), np.float32)
    expected = model(x)
    path.write_bytes(b"")
    np.testing.assert_array_equal(model(x)[0], expected[0])
    if lazy:
        with pytest.raises(glow.ModelError, match=r"small\.onnx"):
            _ = model.stages
