"""Ranges of symbols, buckets, programs made ahead, and the memory of specializations."""

from __future__ import annotations

import glow
import numpy as np
import onnx
import onnxruntime
import pytest
from glow.tests.support.small_decoder import VOCABULARY, no_past, small_decoder
from glow.tests.unit.runtime.masked_attention import WIDTH, attention, feed


def sizes(model: glow.CompiledModel) -> list[tuple[int | None, int | None]]:
    found = (m.symbols for m in model.specializations)
    return [(s["batch"], s["sequence"]) for s in found]


def test_few_programs_serve_many_sizes(rng: np.random.Generator):
    data = attention(masked=True)
    exact = glow.compile(data, "interpreter", max_specializations=20)
    model = glow.compile(
        data,
        symbols={"sequence": (1, 13)},
        buckets={"sequence": "pow2", "batch": [3, 1]},
        max_specializations=20,
    )
    model.warm_up([{"batch": 2, "sequence": 5}, {"batch": 1, "sequence": 1}])
    assert sizes(model) == [(3, 8), (1, 1)]
    for batch, sequence in [(1, 1), (2, 5), (3, 7), (1, 6), (2, 12), (3, 13)]:
        inputs = feed(rng, batch, sequence)
        (found,), (expected,) = model(**inputs), exact(**inputs)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    # (2, 5) was compared with a program of its own; a power of two beyond the range is not needed
    assert sorted(sizes(model)) == [(1, 1), (1, 8), (2, 5), (3, 8), (3, 13)]


def test_padding_that_changes_results_is_an_error(rng: np.random.Generator):
    model = glow.compile(attention(masked=False), "interpreter", buckets={"sequence": [4, 16]})
    x = feed(rng, 2, 5)["x"]
    with pytest.raises(glow.GlowError, match=r"along 'sequence' give another output 'y'.* a mask"):
        model(x)
    (y,) = model(x[:, :4])
    assert y.shape == (2, 4, WIDTH)


def test_sizes_out_of_range(rng: np.random.Generator):
    symbols = {"batch": (2, 3), "sequence": 4}
    model = glow.compile(attention(masked=True), "interpreter", symbols=symbols)
    model(**feed(rng, 3, 4))
    with pytest.raises(glow.InputError, match="symbol 'batch' is 1: expected a size from 2 to 3"):
        model(**feed(rng, 1, 4))
    with pytest.raises(glow.InputError, match="'batch' is 4"):
        model.specialize({"batch": 4})
    with pytest.raises(glow.InputError, match="'batch' is 4"):
        model.warm_up([{"batch": 2}, {"batch": 4}])
    listed = glow.compile(attention(masked=True), "interpreter", buckets=[2, 4])
    with pytest.raises(glow.InputError, match="'sequence' is 5, and its largest bucket is 4"):
        listed(**feed(rng, 1, 5))


def test_memory_of_specializations(rng: np.random.Generator):
    one = glow.compile(attention(masked=True), symbols={"batch": 1, "sequence": 64})
    assert one.memory is not None
    limit = one.memory.arena_bytes
    assert limit > 0
    model = glow.compile(attention(masked=True), max_specialization_bytes=limit)
    model(**feed(rng, 1, 64))
    model(**feed(rng, 1, 48))
    assert sizes(model) == [(1, 48)]
    with pytest.raises(glow.GlowError, match=r"batch = 2, sequence = 64 has \d+ bytes of activ"):
        model(**feed(rng, 2, 64))
    assert sizes(model) == [(1, 48)]
    with pytest.raises(glow.GlowError, match="9 specializations are more than the 8"):
        model.warm_up([{"batch": 1, "sequence": n} for n in range(1, 10)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"symbols": {"batch": (2,)}}, r"smallest and the largest size .*found \(2,\)"),
        ({"symbols": {"batch": (3, 2)}}, "smallest size 3 is above the largest, 2"),
        ({"symbols": {"batch": (0, 2)}}, "at least 1 for symbol batch, found 0"),
        ({"symbols": {"bach": (1, 2)}}, "no symbol is called 'bach'; did you mean batch"),
        ({"buckets": {"bach": "pow2"}}, "buckets: no symbol.* 'bach'; did you mean batch"),
        ({"buckets": "pow3"}, "expected 'pow2' or sizes.*found 'pow3'"),
        ({"buckets": []}, r"found \[\]"),
        ({"buckets": {"batch": [0]}}, r"buckets of symbol 'batch'.*found \[0\]"),
        ({"max_specialization_bytes": 0}, "max_specialization_bytes to be an integer"),
        ({"symbols": {"batch": 1, "sequence": 2}, "buckets": "pow2"}, "this model has none"),
    ],
)
def test_wrong_rules(options: dict[str, object], message: str):
    with pytest.raises(glow.GlowError, match=message):
        glow.compile(attention(masked=True), "interpreter", **options)  # pyright: ignore


def with_open_outputs(data: bytes) -> bytes:
    """Returns a model whose outputs have dimensions of other names, as PyTorch exports them."""
    made = onnx.load_from_string(data)
    for output in made.graph.output:
        for i, dim in enumerate(output.type.tensor_type.shape.dim):
            if not dim.dim_value:
                dim.dim_param = f"{output.name}_dim_{i}"
    return made.SerializeToString()


def test_symbols_of_outputs_follow_from_imports(rng: np.random.Generator):
    data = attention(masked=True)
    exact = glow.compile(data, "interpreter")
    model = glow.compile(with_open_outputs(data), "interpreter", buckets="pow2")
    assert model.get_outputs()[0].shape == ["batch", "sequence", WIDTH]
    for batch, sequence in [(2, 5), (3, 7), (1, 6)]:
        inputs = feed(rng, batch, sequence)
        np.testing.assert_allclose(
            model(**inputs)[0], exact(**inputs)[0], rtol=1e-4, atol=1e-5, strict=True
        )


def test_a_decoder_needs_no_mask(rng: np.random.Generator):
    """Tokens behind another one decide nothing about it."""
    network = small_decoder(rng)
    del network.graph.output[1:]
    data = with_open_outputs(network.SerializeToString())
    reference = onnxruntime.InferenceSession(data)
    model = glow.compile(data, buckets={"sequence": [4, 16]}, max_specializations=9)
    for sequence in (3, 11, 4, 7):
        inputs = {"ids": rng.integers(0, VOCABULARY, (2, sequence)), **no_past(network, 2)}
        want, found = (np.asarray(of.run(None, inputs)[0]) for of in (reference, model))
        largest = np.abs(want).max()
        np.testing.assert_allclose(found, want, rtol=0, atol=1e-4 * largest, strict=True)
    assert sorted(s[1] or 0 for s in sizes(model)) == [3, 4, 16]


def test_outputs_that_cannot_be_cut():
    made = onnx.load_from_string(attention(masked=False))
    made.graph.node[-1].output[0] = "once"
    made.graph.node.append(onnx.helper.make_node("Concat", ["once", "once"], ["y"], axis=1))
    made.graph.output[0].type.tensor_type.shape.dim[1].dim_param = "other"
    with pytest.raises(glow.GlowError, match=r"output 'y'.* 'other' is not the symbol of an input"):
        glow.compile(made, "interpreter", buckets="pow2")


def test_outputs_of_callers(rng: np.random.Generator):
    model = glow.compile(attention(masked=True), buckets="pow2")
    inputs = feed(rng, 2, 3)
    (expected,) = model(**inputs)
    for sequence in (3, 4):
        inputs = feed(rng, 2, sequence)
        y = np.empty((2, sequence, WIDTH), np.float32)
        model.run_into([y], inputs)
        np.testing.assert_array_equal(y, model(**inputs)[0])
    assert expected.shape == (2, 3, WIDTH)
