"""Mel filters and counts of n-grams, against ONNX's reference evaluator."""

from __future__ import annotations

from typing import Any

import glow
import numpy as np
import pytest
from glow.errors import ModelError, UnsupportedError
from glow.frontend.onnx import import_onnx
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator

from .models import model, node, value

POOL = {
    "pool_int64s": [2, 3, 5, 4, 5, 6, 7, 8, 6, 7, 1, 2, 3],
    "ngram_counts": [0, 4, 10],
    "ngram_indexes": [0, 2, 1, 3, 5, 4, 6, 9],
}


@pytest.mark.parametrize(("bins", "length", "rate"), [(8, 16, 8192), (5, 31, 16000), (1, 4, 100)])
def test_mel_filters(bins: int, length: int, rate: int) -> None:
    """The arguments are constants, or inputs whose values decide what is compiled."""
    low, high = np.float32(20), np.float32(rate / 2)
    given = {"n": np.int64(bins), "l": np.int64(length), "r": np.int64(rate)}
    given |= {"low": low, "high": high}
    arrays = {name: np.array(v) for name, v in given.items()}
    nodes = [node("MelWeightMatrix", list(arrays), ["y"])]
    wanted: Any
    (wanted,) = ReferenceEvaluator(model(nodes, [], ["y"], arrays)).run(None, {})
    declared = value("y", [None, None])
    types = [TensorProto.INT64] * 3 + [TensorProto.FLOAT] * 2
    inputs = [value(name, [], t) for name, t in zip(arrays, types, strict=True)]
    made = model(nodes, inputs, [declared])
    (found,) = glow.compile(made, backend="interpreter").run(None, arrays)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_counts_of_ngrams(mode: str, dtype: Any, rng: np.random.Generator) -> None:
    """From 1 to 3 numbers with gaps, longer than some rows; a place without an n-gram."""
    weights = rng.uniform(0.5, 2, 10).astype(np.float32).tolist()
    rules = {**POOL, "mode": mode, "min_gram_length": 1, "max_gram_length": 3, "weights": weights}
    code = TensorProto.INT32 if dtype is np.int32 else TensorProto.INT64
    wanted: Any
    for shape in ((3, 13), (11,), (2, 1)):
        nodes = [node("TfIdfVectorizer", ["x"], ["y"], max_skip_count=4, **rules)]
        made = model(nodes, [value("x", shape, code)], ["y"])
        x = rng.integers(1, 9, shape).astype(dtype)
        (wanted,) = ReferenceEvaluator(made).run(None, {"x": x})  # pyright: ignore
        (found,) = glow.compile(made, backend="interpreter")(x)
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_what_is_refused() -> None:
    rules: dict[str, Any] = {**POOL, "mode": "TF", "min_gram_length": 1, "max_gram_length": 3}
    rules |= {"max_skip_count": 0}
    ints = value("x", [4], TensorProto.INT64)
    for changed, problem in (
        ({"ngram_indexes": [0, 1]}, "an index for each n-gram"),
        ({"ngram_counts": [0, 4, 9]}, "n-grams of 2 numbers"),
        ({"mode": "IDF", "weights": [1.0]}, "expected 10 weights, found 1"),
        ({"mode": "x"}, "expected the mode"),
    ):
        nodes = [node("TfIdfVectorizer", ["x"], ["y"], **{**rules, **changed})]
        with pytest.raises(ModelError, match=problem):
            import_onnx(model(nodes, [ints], ["y"]))
    rules["ngram_indexes"] = [0, 0, *rules["ngram_indexes"][2:]]
    nodes = [node("TfIdfVectorizer", ["x"], ["y"], **rules)]
    with pytest.raises(UnsupportedError, match="two n-grams with the index 0"):
        import_onnx(model(nodes, [ints], ["y"]))
    arrays = {"n": np.array(3), "l": np.array(8), "r": np.array(0)}
    arrays |= {"low": np.array(0, np.float32), "high": np.array(9, np.float32)}
    with pytest.raises(ModelError, match="rate 0"):
        import_onnx(model([node("MelWeightMatrix", list(arrays), ["y"])], [], ["y"], arrays))


def test_strings_that_nothing_needs() -> None:
    """Strings that nothing reads are left out; those that an output has are numbers."""
    text = TensorProto(name="s", data_type=TensorProto.STRING, dims=[1], string_data=[b"a"])
    nodes = [
        node("Identity", ["s"], ["t"]),
        node("Reshape", ["t", "shape"], ["u"]),
        node("Relu", ["x"], ["y"]),
    ]
    shape = {"name": "shape", "data_type": TensorProto.INT64, "dims": [1]}
    weights = [text, TensorProto(**shape, int64_data=[1])]
    made = model(nodes, [value("x", [2])], ["y"], weights)
    (found,) = glow.compile(made, backend="interpreter")(np.array([-1, 2], np.float32))
    assert found.tolist() == [0, 2]
    with pytest.warns(UserWarning, match=r"output 'u' has strings.*\['a'\]"):
        import_onnx(model(nodes, [value("x", [2])], ["y", "u"], weights))
