"""Random numbers: statistics with fixed seeds, and what differs between calls and models."""

from __future__ import annotations

import glow
import numpy as np
import onnx
import pytest


def compiled(text: str, backend: str = "cpu") -> glow.CompiledModel:
    proto = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]>\ng {text}')
    return glow.compile(proto, backend)


COUNT = 40_000
UNIFORM = "() => (float[200,200] y) { y = RandomUniform<shape=[200,200], %s>() }"
NORMAL = "() => (float[200,200] y) { y = RandomNormal<shape=[200,200], %s>() }"


def test_uniform_numbers_fill_their_range():
    """Checks moments, and the counts of 64 equal parts by a chi-squared test."""
    (y,) = compiled(UNIFORM % "low=-1.0, high=3.0, seed=7.0")()
    assert y.min() >= -1
    assert y.max() < 3
    counts = np.bincount(((y.ravel() + 1) * 16).astype(int), minlength=64)
    expected = COUNT / 64
    chi = ((counts - expected) ** 2 / expected).sum()
    assert 30 < chi < 110  # mean 63, deviation 11
    # neighbours and rows do not depend on each other
    centered = (y - 1) / (4 / np.sqrt(12))
    for shift in ((0, 1), (1, 0)):
        assert abs((centered * np.roll(centered, shift, (0, 1))).mean()) < 4 / np.sqrt(COUNT)


def test_normal_numbers_have_their_moments():
    (y,) = compiled(NORMAL % "mean=2.0, scale=3.0, seed=7.0")()
    z = (y - 2) / 3
    bound = 4 / np.sqrt(COUNT)
    assert abs(z.mean()) < bound
    assert abs((z**2).mean() - 1) < bound * np.sqrt(2)
    assert abs((z**3).mean()) < bound * np.sqrt(15)
    assert abs((z**4).mean() - 3) < bound * np.sqrt(96)


def test_compiled_and_interpreted_numbers_are_the_same_bits():
    text = UNIFORM % "seed=3.0"
    (found,), (wanted,) = compiled(text)(), compiled(text, "interpreter")()
    np.testing.assert_array_equal(found, wanted)


def test_with_a_seed_the_sequence_of_calls_repeats():
    first, second = (compiled(UNIFORM % "seed=3.0") for _ in range(2))
    calls = [(first()[0], second()[0]) for _ in range(2)]
    for a, b in calls:
        np.testing.assert_array_equal(a, b)
    assert (calls[0][0] != calls[1][0]).mean() > 0.99
    (other,) = compiled(UNIFORM % "seed=4.0")()
    assert (other != calls[0][0]).mean() > 0.99


def test_without_a_seed_calls_and_models_differ():
    text = UNIFORM % "low=0.0"
    model = compiled(text)
    arrays = [model()[0], model()[0], compiled(text)()[0]]
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert (arrays[a] != arrays[b]).mean() > 0.99


def test_two_nodes_have_different_numbers():
    text = """() => (float[500] a, float[500] b) {
        a = RandomUniform<shape=[500], seed=1.0>() b = RandomUniform<shape=[500], seed=1.0>() }"""
    a, b = compiled(text)()
    assert (a != b).mean() > 0.99


@pytest.mark.parametrize("element", ["float", "float16", "double"])
def test_like_another_tensor(element: str):
    text = f"({element}[50,40] x) => (y, z) {{ y = RandomUniformLike<seed=1.0>(x)"
    model = compiled(f"{text} z = RandomNormalLike<seed=2.0, dtype=1>(x) }}")
    x = np.zeros((50, 40), np.dtype(model.get_inputs()[0].dtype))
    y, z = model(x)
    assert (y.dtype, y.shape, z.dtype, z.shape) == (x.dtype, x.shape, np.float32, x.shape)
    assert abs(float(y.mean()) - 0.5) < 0.03
    assert abs(z.std() - 1) < 0.07


def test_samples_follow_their_probabilities():
    model = compiled(
        "(float[2,4] x) => (int64[2,8000] y) "
        "{ y = Multinomial<sample_size=8000, seed=1.0, dtype=7>(x) }"
    )
    p = np.array([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.2, 0]])
    with np.errstate(divide="ignore"):
        (y,) = model(np.log(3 * p).astype(np.float32))
    found = np.stack([np.bincount(row, minlength=4) / 8000 for row in y])
    assert np.abs(found - p).max() < 4 * np.sqrt(0.25 / 8000)
    assert found[1, 3] == 0


def test_bernoulli_gives_ones_with_their_probabilities():
    model = compiled(
        "(double[4,5000] p) => (bool[4,5000] y) { y = Bernoulli<seed=1.0, dtype=9>(p) }"
    )
    p = np.repeat([[0.0], [0.2], [0.7], [1.0]], 5000, 1)
    found = model(p)[0].mean(1)
    assert np.abs(found - p[:, 0]).max() < 4 * np.sqrt(0.25 / 5000)
    assert found[[0, 3]].tolist() == [0, 1]


def test_dropout_in_training(rng: np.random.Generator):
    text = """(float[50,40] x, float r, bool t) => (float[50,40] y, bool[50,40] m) {
        y, m = Dropout<seed=1>(x, r, t) }"""
    model, x = compiled(text), rng.standard_normal((50, 40)).astype(np.float32)
    y, mask = model(x, np.array(0.3, np.float32), np.array(True))
    assert abs(mask.mean() - 0.7) < 0.05
    np.testing.assert_allclose(y, np.where(mask, x / 0.7, 0), rtol=1e-5)
    for ratio, training in ((0.3, False), (0.0, True)):
        y, mask = model(x, np.array(ratio, np.float32), np.array(training))
        assert mask.all()
        np.testing.assert_array_equal(y, x)
