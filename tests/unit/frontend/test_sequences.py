"""Sequences between nodes, which are gone when a model is imported."""

from __future__ import annotations

import numpy as np
import pytest
from glow.errors import ModelError, UnsupportedError
from glow.frontend.onnx import import_onnx
from glow.tests.unit.frontend.against_onnxruntime import check
from onnx import NodeProto

from .models import model, node, value

SPLIT = node("SplitToSequence", ["x", "sizes"], ["s"], axis=1)


@pytest.mark.parametrize("sizes", [np.array(2), np.array([1, 0, 4])], ids=["equal", "listed"])
@pytest.mark.parametrize("end", ["", "first", "last"])
def test_parts(rng: np.random.Generator, sizes: np.ndarray, end: str):
    nodes = [
        SPLIT,
        node("SequenceInsert", ["s", "x", end] if end else ["s", "x"], ["longer"]),
        node("SequenceErase", ["longer", "second"], ["t"]),
        node("ConcatFromSequence", ["t"], ["y"], axis=1),
        node("SequenceLength", ["t"], ["n"]),
        node("SequenceAt", ["t", "last"], ["z"]),
    ]
    weights = {"sizes": sizes, "first": np.array(0), "second": np.array(1), "last": np.array(-1)}
    x = {"x": rng.standard_normal((3, 5)).astype(np.float32)}
    check(nodes, x, weights, ("y", "n", "z"))


def test_slices_are_joined_along_a_new_axis(rng: np.random.Generator):
    nodes = [
        node("SplitToSequence", ["x"], ["s"], axis=0, keepdims=0),
        node("ConcatFromSequence", ["s"], ["y"], axis=-1, new_axis=1),
    ]
    check(nodes, {"x": rng.standard_normal((3, 5)).astype(np.float32)})


def imported(nodes: list[NodeProto], outputs: list[str], sizes: list[int]) -> None:
    import_onnx(model(nodes, [value("x", [3, 5])], outputs, {"sizes": np.array(sizes)}))


def test_what_is_wrong_with_sequences():
    with pytest.raises(ModelError, match=r"expected parts with 5 elements in all, found \[2, 2\]"):
        imported([SPLIT, node("SequenceAt", ["s", "sizes"], ["y"])], ["y"], [2, 2])
    with pytest.raises(ModelError, match="expected a sequence as input 0"):
        imported([node("SequenceLength", ["x"], ["y"])], ["y"], [2])
    with pytest.raises(UnsupportedError, match="the output 's' is a sequence"):
        imported([SPLIT], ["s"], [2, 3])
