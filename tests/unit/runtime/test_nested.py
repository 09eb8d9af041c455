"""Sequences and optional values as inputs and outputs of models."""

from __future__ import annotations

import glow
import numpy as np
import onnx
import pytest
from glow.errors import InputError, UnsupportedError
from glow.models.nested_model import NestedModel

Backend = pytest.mark.parametrize("backend", ["cpu", "interpreter"])


def compiled(text: str, backend: str = "cpu") -> glow.CompiledModel:
    proto = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]>\ng {text}')
    return glow.compile(proto, backend)


INSERTED = """(seq(float[k]) xs, float[n] y) => (seq(float[m]) zs, float[s] all, int64 length) {
    zs = SequenceInsert(xs, y) all = ConcatFromSequence<axis=0>(zs) length = SequenceLength(zs) }"""


def drawn(rng: np.random.Generator, *sizes: int) -> list[np.ndarray]:
    return [rng.standard_normal(size).astype(np.float32) for size in sizes]


@Backend
def test_a_list_of_arrays_goes_in_and_out(backend: str, rng: np.random.Generator):
    model = compiled(INSERTED, backend)
    assert isinstance(model, NestedModel)
    assert model.get_inputs()[0].type == "seq(tensor(float))"
    assert not model.specializations
    for sizes, more in (((3, 1, 5), 2), ((), 4), ((3, 1, 5), 2)):
        xs, (y,) = drawn(rng, *sizes), drawn(rng, more)
        zs, joined, length = model(xs, y)
        assert int(length) == len(zs) == len(xs) + 1
        for found, wanted in zip(zs, [*xs, y], strict=True):
            np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(joined, np.concatenate([*xs, y]))
    assert len(model.specializations) == 2


def test_an_input_decides_the_length_of_an_output(rng: np.random.Generator):
    model = compiled("(float[9] x, int64[n] parts) => (seq(float[k]) ys) "
                     "{ ys = SplitToSequence<axis=0>(x, parts) }")  # fmt: skip
    (x,) = drawn(rng, 9)
    for parts in ([2, 3, 4], [9], [4, 4, 1], [2, 3, 4]):
        (found,) = model(x, np.array(parts))
        for a, b in zip(found, np.split(x, np.cumsum(parts)[:-1]), strict=True):
            np.testing.assert_array_equal(a, b)
    assert len(model.specializations) == 3


def test_an_optional_value_may_be_absent(rng: np.random.Generator):
    model = compiled("""(optional(float[n]) x) => (bool there, float[m] y) {
        there = OptionalHasElement(x)
        y = If (there) <then_branch = a () => (float[p] t) { t = OptionalGetElement(x) },
                        else_branch = b () => (float[q] e) { e = Constant<value_floats=[7.0]>() }>
    }""")
    (x,) = drawn(rng, 3)
    for given, wanted in ((x, x), (None, np.array([7], np.float32))):
        there, y = model(given)
        assert bool(there) == (given is not None)
        np.testing.assert_array_equal(y, wanted)
    assert not model.run(["there"], {})[0]


def test_wrong_inputs_are_named(rng: np.random.Generator):
    model = compiled(INSERTED)
    (y,) = drawn(rng, 2)
    with pytest.raises(InputError, match=r"input 'xs': expected a list of arrays, found ndarray"):
        model(y, y)
    with pytest.raises(InputError, match=r"input 'xs\[1\]': expected dtype float32, found float64"):
        model([y, y.astype(np.float64)], y)
    with pytest.raises(InputError, match=r"missing input 'y'"):
        model([y])
    assert not model.specializations


def test_what_nothing_tells_is_an_error(rng: np.random.Generator):
    """The places of a sequence are known or an input; this one the network computes."""
    model = compiled("""(seq(float[5000]) xs) => (seq(float[5000]) ys) {
        zero = Constant<value_int=0>() first = SequenceAt(xs, zero)
        most = ReduceMax<keepdims=0>(first) place = Cast<to=7>(most)
        ys = SequenceErase(xs, place) }""")
    with pytest.raises(UnsupportedError, match=r"'xs' is a sequence that has to be known"):
        model(drawn(rng, 5000, 5000))
