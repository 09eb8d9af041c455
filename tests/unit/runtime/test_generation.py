"""Choice of tokens, and generation by a decoder."""

from __future__ import annotations

import glow
import numpy as np
import onnx
import onnxruntime
import pytest
from glow.generation import Sampling, generate, stream
from glow.models.cached_model import CachedModel
from glow.tests.support.small_decoder import VOCABULARY, no_past, small_decoder

ALL = Sampling(temperature=1.0)


@pytest.mark.parametrize("masked", [False, True])
def test_greedy_tokens_are_those_of_whole_calls(masked: bool, rng: np.random.Generator):
    network = small_decoder(rng, masked, layers=1)
    content = network.SerializeToString()
    model = glow.compile(content, states={"past_*": "present_*"}, buckets=[32])
    assert isinstance(model, CachedModel)
    prompts = [rng.integers(0, VOCABULARY, n).tolist() for n in (3, 6, 3)]
    reference = onnxruntime.InferenceSession(content)
    want: list[list[int]] = []
    for prompt in prompts:
        tokens = list(prompt)
        for _ in range(7):
            feed = {"ids": np.array([tokens]), **no_past(network)}
            if masked:
                feed["attention_mask"] = np.ones((1, len(tokens)), np.int64)
            logits = np.asarray(reference.run(["logits"], feed)[0])
            tokens.append(int(logits[0, -1].argmax()))
        want.append(tokens[len(prompt) :])
    assert generate(model, prompts, 7, pieces=(2, 1)) == want
    stop = want[0][3]
    found = generate(model, prompts, 7, stop=[stop], pieces=(2, 1))
    assert found == [w[: w.index(stop)] if stop in w else w for w in want]
    # what is drawn for a prompt does not depend on the others
    several = generate(model, prompts, 5, ALL, seed=3, pieces=(2, 1))
    assert generate(model, prompts[:1], 5, ALL, seed=3, pieces=(2, 1)) == several[:1]
    with pytest.raises(glow.InputError, match="empty"):
        generate(model, [[1], []], 3)
    with pytest.raises(glow.GlowError, match="of which one is 1"):
        generate(model, [[1]], 3, pieces=(2,))
    for wrong in ([1, 2], [[1.5]], [[[1], [2, 3]]], ["text"]):
        with pytest.raises(glow.InputError, match="expected each prompt to be a list of integers"):
            generate(model, wrong, 3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(glow.InputError, match=r"of one length, found the lengths \[1, 2\]"):
        stream(model, [[1], [2, 3]])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"most": 1.5}, "expected most to be an integer of at least 0, found 1.5"),
        ({"most": -1}, "most to be an integer of at least 0, found -1"),
        ({"seed": -1}, "seed to be an integer of at least 0, found -1"),
        ({"stop": 3}, "stop to be a collection of tokens, found 3"),
        ({"stop": ["end"]}, "each of stop to be an integer of at least 0, found 'end'"),
        ({"stop": [[1, 2]]}, r"each of stop to be an integer of at least 0, found \[1, 2\]"),
        ({"prompts": [[1], [3, -1]]}, "expected tokens of at least 0, found -1"),
        ({"prompts": [[2**32 + 1]]}, "input 'ids': .* found 4294967297"),
        (
            {"prompts": [np.array([2**63 + 1], np.uint64)]},
            "'ids' is int64, which cannot hold all tokens: the largest is 9223372036854775809",
        ),
        ({"sampling": {"top_k": 3}}, "sampling to be a glow.generation.Sampling, found {'top_k'"),
        ({"pieces": 1}, "pieces to be a list of numbers of tokens, found 1"),
        ({"pieces": (0, 1)}, "each of pieces to be an integer of at least 1, found 0"),
        ({"prompts": 5}, "expected a list of prompts, found 5"),
        ({"model": None}, r"whose caches grow in place, found a NoneType: give .* states"),
    ],
)
def test_wrong_arguments_are_explained(
    wrong: dict[str, object], message: str, rng: np.random.Generator
):
    content = small_decoder(rng, layers=1).SerializeToString()
    model = glow.compile(content, "interpreter", states={"past_*": "present_*"})
    right = {"model": model, "prompts": [[1, 2]], "most": 3}
    with pytest.raises(glow.GlowError, match=message):
        generate(**{**right, **wrong})  # pyright: ignore[reportArgumentType]
    assert isinstance(model, CachedModel)
    with pytest.raises(glow.GlowError, match=r"numbers for 1 prompts, found \[1, 2\]"):
        stream(model, [[1]], numbers=[1, 2])
    for numbers in ([-1], [0.5], ["1"]):
        with pytest.raises(glow.GlowError, match="each of numbers to be an integer of at least 0"):
            stream(model, [[1]], numbers=numbers)  # pyright: ignore[reportArgumentType]
    with pytest.raises(glow.GlowError, match="numbers to be a list of integers, found 3"):
        stream(model, [[1]], numbers=3)  # pyright: ignore[reportArgumentType]
    assert generate(model, [[1, 2]], 0) == [[]]
    assert generate(model, [], 3) == []


def test_numbers_of_prompts_are_any_collection(rng: np.random.Generator):
    content = small_decoder(rng, layers=1).SerializeToString()
    model = glow.compile(content, "interpreter", states={"past_*": "present_*"})
    assert isinstance(model, CachedModel)
    prompts = [rng.integers(0, VOCABULARY, 3).tolist() for _ in range(2)]
    several = generate(model, prompts, 1, ALL, seed=5, stop=np.array([VOCABULARY]))  # pyright: ignore[reportArgumentType]
    for numbers in (np.array([0, 1]), (0, 1), iter([0, 1])):
        tokens = next(stream(model, prompts, ALL, seed=5, numbers=numbers))
        assert [[token] for token in tokens] == several


def _with_input(model: onnx.ModelProto, name: str, shape: list[str]) -> bytes:
    """Returns a decoder whose positions are an input, or which adds vectors of token types."""
    found = onnx.ModelProto()
    found.CopyFrom(model)
    found.graph.input.append(onnx.helper.make_tensor_value_info(name, 7, shape))
    (node,) = (n for n in found.graph.node if list(n.output) == ["places"])
    if "position" in name:
        node.input[1] = name
    else:
        place = list(found.graph.node).index(node)
        node.output[0] = "first"
        types = onnx.helper.make_node("Gather", ["wte", name], ["second"])
        found.graph.node.insert(place + 1, types)
        both = onnx.helper.make_node("Add", ["first", "second"], ["places"])
        found.graph.node.insert(place + 2, both)
    return found.SerializeToString()


def test_inputs_beside_tokens(rng: np.random.Generator):
    """Positions have the batch or not. Other inputs with a number for each token are refused."""
    network = small_decoder(rng, layers=1)
    options = {"states": {"past_*": "present_*"}, "buckets": [16]}
    prompts = [rng.integers(0, VOCABULARY, n).tolist() for n in (3, 5, 3)]
    plain = glow.compile(network.SerializeToString(), "interpreter", **options)
    assert isinstance(plain, CachedModel)
    want = generate(plain, prompts, 4, pieces=(2, 1))
    for name, shape in (
        ("position_ids", ["batch", "sequence"]),
        ("cache_position", ["sequence"]),
    ):
        model = glow.compile(_with_input(network, name, shape), "interpreter", **options)
        assert isinstance(model, CachedModel)
        assert generate(model, prompts, 4, pieces=(2, 1)) == want
    content = _with_input(network, "types", ["batch", "sequence"])
    model = glow.compile(content, "interpreter", **options)
    assert isinstance(model, CachedModel)
    with pytest.raises(glow.GlowError, match=r"'types' \(batch, sequence\) is neither tokens, nor"):
        generate(model, prompts, 4)


def test_prompts_fill_the_largest_bucket(rng: np.random.Generator):
    """The last token of a text needs no row of its own."""
    content = small_decoder(rng, layers=1).SerializeToString()
    prompt = rng.integers(0, VOCABULARY, 11).tolist()
    wide, narrow = (
        glow.compile(content, states={"past_*": "present_*"}, buckets=[size]) for size in (32, 11)
    )
    assert isinstance(wide, CachedModel)
    assert isinstance(narrow, CachedModel)
    for pieces in ((11, 1), (10, 1), (4, 1)):
        found = generate(narrow, [prompt], 1, pieces=pieces)
        assert found == generate(wide, [prompt], 1, pieces=(4, 1))
        with pytest.raises(glow.InputError, match="is 12, and its largest bucket is 11"):
            generate(narrow, [prompt], 2, pieces=pieces)


def test_probabilities(rng: np.random.Generator):
    logits = rng.standard_normal(17).astype(np.float32) * 3
    softmax = np.exp(logits.astype(np.float64))
    softmax /= softmax.sum()
    np.testing.assert_allclose(ALL.probabilities(logits), softmax, rtol=1e-5)
    order = np.argsort(-logits)
    for k in (1, 3, 17, 20):
        found = Sampling(1.0, top_k=k).probabilities(logits)
        assert set(np.flatnonzero(found)) == set(order[:k])
        np.testing.assert_allclose(found.sum(), 1)
    for p in (0.05, 0.5, 0.93):
        found = Sampling(1.0, top_p=p).probabilities(logits)
        count = int(np.searchsorted(np.cumsum(softmax[order]), p)) + 1
        assert set(np.flatnonzero(found)) == set(order[:count])
    np.testing.assert_array_equal(Sampling(1e-320).probabilities(logits), np.eye(17)[order[0]])
    sharp = Sampling(0.5).probabilities(logits)
    np.testing.assert_allclose(sharp, softmax**2 / (softmax**2).sum(), rtol=1e-5)
    assert Sampling().probabilities(logits)[order[0]] == 1


@pytest.mark.parametrize("sampling", [Sampling(), ALL, Sampling(1.0, top_k=2, top_p=0.5)])
def test_logits_without_a_largest_number_are_refused(sampling: Sampling, rng: np.random.Generator):
    logits = rng.standard_normal(7).astype(np.float32)
    for wrong in (np.nan, np.inf):
        with pytest.raises(glow.GlowError, match=f"whose largest is finite, found {wrong}"):
            sampling.choose(np.where(np.arange(7) == 3, np.float32(wrong), logits), rng)
    with pytest.raises(glow.GlowError, match="whose largest is finite, found -inf"):
        sampling.choose(np.full(7, -np.inf, np.float32), rng)
    # single ones are never drawn
    assert sampling.choose(np.array([-np.inf, 2, -np.inf], np.float32), rng) == 1


def test_drawn_tokens_have_their_probabilities(rng: np.random.Generator):
    logits = np.log(np.array([0.1, 0.2, 0.3, 0.4], np.float32))
    counts = np.bincount([ALL.choose(logits, rng) for _ in range(4000)], minlength=4) / 4000
    # five standard deviations of the largest one
    np.testing.assert_allclose(counts, [0.1, 0.2, 0.3, 0.4], atol=5 * 0.5 / np.sqrt(4000))


@pytest.mark.parametrize(
    "wrong",
    [
        *({"temperature": -1}, {"top_k": -1}, {"top_p": 0}, {"top_p": 2}),
        *({"temperature": "1"}, {"top_k": 1.5}, {"top_k": None}, {"top_p": None}),
    ],
)
def test_wrong_sampling_is_refused(wrong: dict[str, object]):
    with pytest.raises(glow.GlowError, match="expected a temperature"):
        Sampling(**wrong)  # pyright: ignore[reportArgumentType]
