"""Inputs whose values decide shapes: a program for each value, made when a call brings it."""

from __future__ import annotations

from pathlib import Path

import glow
import numpy as np
import onnx
import pytest
from glow.errors import UnsupportedError, ValuesNeededError
from onnx import TensorProto, helper

F32, I64 = TensorProto.FLOAT, TensorProto.INT64


def network(shape: list, nodes: list[onnx.NodeProto], decides: int = 2) -> onnx.ModelProto:
    """Returns a model of `x` of a shape and of `n`, a list of `decides` integers."""
    made = helper.make_graph(
        nodes,
        "deciding",
        [
            helper.make_tensor_value_info("x", F32, shape),
            helper.make_tensor_value_info("n", I64, [decides]),
        ],
        [helper.make_tensor_value_info("y", F32, None)],
    )
    made.output[0].type.tensor_type.shape.dim.add()
    made.output[0].type.tensor_type.shape.dim.add()
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def reshaped(shape: list) -> onnx.ModelProto:
    """Returns `x` in a shape that `n` has reversed."""
    nodes = [
        helper.make_node("Constant", [], ["order"], value_ints=[1, 0]),
        helper.make_node("Gather", ["n", "order"], ["m"]),
        helper.make_node("Reshape", ["x", "m"], ["y"], name="reshape"),
    ]
    return network(shape, nodes)


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_a_value_decides_a_shape(backend: str, rng: np.random.Generator):
    model = glow.compile(reshaped([3, 4]), backend)
    assert not model.specializations
    x = rng.standard_normal((3, 4)).astype(np.float32)
    for n in ([2, 6], [12, 1], [2, 6]):
        (y,) = model(x, np.array(n))
        np.testing.assert_array_equal(y, x.reshape(n[::-1]))
    assert len(model.specializations) == 2


def test_values_and_sizes_together(rng: np.random.Generator):
    model = glow.compile(reshaped(["rows", 4]), "interpreter")
    assert model.symbols == {"rows": None}
    for rows, n in ((3, [2, 6]), (2, [2, 4]), (3, [6, 2])):
        x = rng.standard_normal((rows, 4)).astype(np.float32)
        (y,) = model(x, np.array(n))
        np.testing.assert_array_equal(y, x.reshape(n[::-1]))
    with pytest.raises(ValuesNeededError, match=r"Reshape 'reshape': input 'shape'") as error:
        model.specialize({"rows": 2})
    assert error.value.inputs == ("n",)


def test_programs_for_values_are_found_in_the_cache(tmp_path: Path, rng: np.random.Generator):
    path = tmp_path / "model.onnx"
    onnx.save(reshaped([3, 4]), path)
    x = rng.standard_normal((3, 4)).astype(np.float32)
    for restored in (False, True):
        model = glow.compile(path, cache=tmp_path / "cache")
        for n in ([2, 6], [4, 3]):
            (y,) = model(x, np.array(n))
            np.testing.assert_array_equal(y, x.reshape(n[::-1]))
        assert [each.from_cache for each in model.specializations] == [restored] * 2


def test_what_is_missing_besides_is_reported_at_once():
    nodes = [
        helper.make_node("Reshape", ["x", "n"], ["z"], name="reshape"),
        helper.make_node("StringNormalizer", ["z"], ["y"], name="normalizer"),
    ]
    with pytest.raises(UnsupportedError, match=r"(?s)normalizer.*reshape") as error:
        glow.compile(network([3, 4], nodes), "interpreter")
    assert not isinstance(error.value, ValuesNeededError)


def test_a_large_input_decides_nothing():
    nodes = [helper.make_node("Reshape", ["x", "n"], ["y"], name="reshape")]
    with pytest.raises(UnsupportedError, match="is not a constant"):
        glow.compile(network([3, 4], nodes, decides=4097), "interpreter")
