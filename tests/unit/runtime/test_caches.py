"""Decoders whose caches of keys and values stay in memory of a session."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import glow
import numpy as np
import onnx
import onnxruntime
import pytest
from glow.models.cached_model import CachedModel
from glow.tests.support.files import settled
from glow.tests.support.small_decoder import POSITIONS, VOCABULARY, no_past, small_decoder

STATES = {"past_*": "present_*"}
_ALIBI = """
  distance = Sub(columns, rows_1)
  slope = Cast<to = 1>(distance)
  mask_1 = Add(mask_0, slope)
"""


def _compiled(model: onnx.ModelProto, backend: str = "cpu", **options) -> CachedModel:
    found = glow.compile(model.SerializeToString(), backend, states=STATES, **options)
    assert isinstance(found, CachedModel)
    return found


def _reference(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(model.SerializeToString())


def _expect_close(found: np.ndarray, want: object) -> None:
    wanted = np.asarray(want)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-4 * np.abs(wanted).max())


@pytest.mark.parametrize("masked", [False, True])
def test_steps_equal_those_of_onnxruntime(masked: bool, rng: np.random.Generator):
    """Through several buckets, with calls of one token and of several, and hidden tokens."""
    network = small_decoder(rng, masked)
    reference, batch = _reference(network), 2
    session = _compiled(network, buckets=[7, 16, POSITIONS]).session()
    state, names = no_past(network, batch), [o.name for o in network.graph.output]
    hidden = np.ones((batch, POSITIONS), np.int64)
    hidden[1, 1:3] = 0
    for new in (3, 1, 1, 3, 1, 1, 1, 3, 1, 1):
        feed = {"ids": rng.integers(0, VOCABULARY, (batch, new))}
        if masked:
            feed["attention_mask"] = hidden[:, : session.length + new]
        logits, *presents = reference.run(None, {**feed, **state})
        state = {f"past{n[7:]}": v for n, v in zip(names[1:], presents, strict=True)}
        _expect_close(session.run(["logits"], feed)[0], logits)
    assert session.length == 16


def test_long_prompts(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch):
    """The import does not fold large masks, such as those of 100 tokens by 1,024."""
    monkeypatch.setattr("glow.frontend.onnx.builder.FOLD_ELEMENTS", 100)
    network = small_decoder(rng, masked=True)
    session = _compiled(network, buckets=[40]).session()
    ids, seen = rng.integers(0, VOCABULARY, (1, 24)), np.ones((1, 24), np.int64)
    feed = {"ids": ids, "attention_mask": seen, **no_past(network)}
    (want, *_) = _reference(network).run(None, feed)
    found = [session(ids[:, a:b], seen[:, :b])[0] for a, b in ((0, 17), (17, 18), (18, 24))]
    _expect_close(np.concatenate(found, 1), want)


def test_programs_come_from_the_cache(
    rng: np.random.Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A program that was compiled before needs no graph; that of other weights is not taken."""
    file, feed = tmp_path / "decoder.onnx", {"ids": rng.integers(0, VOCABULARY, (1, 3))}

    def logits() -> np.ndarray:
        model = glow.compile(file, states=STATES, buckets=[7], cache=tmp_path / "cache")
        return model.session().run(["logits"], feed)[0]

    onnx.save(small_decoder(rng, False), str(file))
    settled(file)
    found = logits()
    monkeypatch.setattr("glow.compilation.Compilation.graphs", None)
    np.testing.assert_array_equal(logits(), found)
    onnx.save(small_decoder(rng, False), str(file))
    with pytest.raises(TypeError, match="not callable"):
        logits()


def test_other_buckets_join_a_cache(
    rng: np.random.Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """
    The graphs of a program are compared, whatever the cache knows before they are imported. The
    import does not fold large tables, such as that of 1,024 positions.
    """
    monkeypatch.setattr("glow.frontend.onnx.builder.FOLD_ELEMENTS", 100)
    network, file = small_decoder(rng, False), tmp_path / "decoder.onnx"
    onnx.save(network, str(file))
    settled(file)
    ids = rng.integers(0, VOCABULARY, (1, 1))
    (want, *_) = _reference(network).run(None, {"ids": ids, **no_past(network)})
    for bucket in (7, 16):
        model = glow.compile(file, states=STATES, buckets=[bucket], cache=tmp_path / "cache")
        _expect_close(model.session().run(["logits"], {"ids": ids})[0], want)


def test_200_steps_equal_one_call(rng: np.random.Generator):
    network = small_decoder(rng, layers=1)
    wpe = next(i for i in network.graph.initializer if i.name == "wpe")
    # so many that rows are sliced, not folded
    table = rng.standard_normal((4096, wpe.dims[1]), np.float32)
    wpe.CopyFrom(onnx.numpy_helper.from_array(table, "wpe"))
    ids = rng.integers(0, VOCABULARY, (1, 200))
    (whole, *_) = _reference(network).run(None, {"ids": ids, **no_past(network)})
    session = _compiled(network, buckets=[256]).session()
    steps = [session(ids[:, i : i + 1])[0] for i in range(200)]
    _expect_close(np.concatenate(steps, 1), whole)


def test_ten_threads_with_a_session_each(rng: np.random.Generator):
    network = small_decoder(rng, layers=1)
    model, reference = _compiled(network, buckets=[POSITIONS]), _reference(network)
    ids = rng.integers(0, VOCABULARY, (10, 1, 30))
    want = [reference.run(["logits"], {"ids": i, **no_past(network)})[0] for i in ids]

    def run(own: np.ndarray) -> np.ndarray:
        session = model.session()
        return np.concatenate([session(own[:, i : i + 1])[0] for i in range(30)], 1)

    with ThreadPoolExecutor(10) as pool:
        for found, wanted in zip(pool.map(run, ids), want, strict=True):
            _expect_close(found, wanted)
    assert len(model.programs) == 1


def test_wrong_rows_of_a_session_are_refused_at_once(rng: np.random.Generator):
    model = _compiled(small_decoder(rng, layers=1), "interpreter", buckets=[16])
    for rows in (-1, 2.0, "16"):
        with pytest.raises(glow.GlowError, match="expected rows to be an integer"):
            model.session(rows=rows)  # pyright: ignore[reportArgumentType]
    with pytest.raises(glow.InputError, match="is 17, and its largest bucket is 16"):
        model.session(rows=17)
    for state in ({"past_0_k": np.zeros(3)}, np.zeros(3), [1]):
        with pytest.raises(glow.GlowError, match="caches of a session begin without rows"):
            model.session(state)  # pyright: ignore[reportArgumentType]


def test_sessions_fork_truncate_and_begin_anew(rng: np.random.Generator):
    network = small_decoder(rng, layers=1)
    model = _compiled(network, "interpreter", buckets=[16])
    first, second = (rng.integers(0, VOCABULARY, (1, 4)) for _ in range(2))
    session = model.session()
    (begun,) = session(first)
    fork = session.fork()
    (continued,) = session(second)
    np.testing.assert_array_equal(fork(second)[0], continued)
    session.truncate(4)
    for wrong in (5, -1, 2.0):
        with pytest.raises(glow.InputError, match=f"expected a length in 0 to 4, found {wrong}"):
            session.truncate(wrong)  # pyright: ignore[reportArgumentType]
    np.testing.assert_array_equal(session(second)[0], continued)
    session.reset()
    np.testing.assert_array_equal(session(first)[0], begun)
    assert not np.array_equal(begun, continued)


@pytest.mark.parametrize("masked", [False, True])
def test_new_tokens_fill_the_largest_bucket(masked: bool, rng: np.random.Generator):
    """Also where no row, or one row, of the past has room beside them."""
    network = small_decoder(rng, masked, layers=1)
    model, size = _compiled(network, buckets=[7, 11]), 11
    feed = {"ids": rng.integers(0, VOCABULARY, (2, size))}
    if masked:
        feed["attention_mask"] = np.ones((2, size), np.int64)
        feed["attention_mask"][1, 1:3] = 0
    want = np.asarray(_reference(network).run(None, {**feed, **no_past(network, 2)})[0])
    for first in (0, 1, 2, 3):
        session = model.session()
        parts = [feed["ids"][:, :first]] if first else []
        for ids in (*parts, feed["ids"][:, first:]):
            end = session.length + ids.shape[1]
            given = {n: v[:, :end] for n, v in feed.items()} | {"ids": ids}
            _expect_close(session.run(["logits"], given)[0], want[:, end - ids.shape[1] : end])
        assert session.length == size
        # the keys and values of all tokens are in their places
        session.truncate(size - 1)
        (last,) = session.run(["logits"], {**feed, "ids": feed["ids"][:, -1:]})
        _expect_close(last, want[:, -1:])
    with pytest.raises(glow.InputError, match="is 12, and its largest bucket is 11"):
        model.session().run(None, {n: np.ones((2, 12), np.int64) for n in feed})


def test_calls_of_sessions_have_sizes_in_the_ranges_of_symbols(rng: np.random.Generator):
    """The range of the past has 0, whatever it begins with, since caches begin without rows."""
    ranges = {"batch": (1, 2), "past": (1, 3), "total": (1, 5)}
    network = small_decoder(rng, masked=True, layers=1)
    model = _compiled(network, "interpreter", symbols=ranges, buckets=[8])

    def call(batch: int, *several: int) -> None:
        session = model.session()
        for new in several:
            total = session.length + new
            session(np.zeros((batch, new), np.int64), np.ones((batch, total), np.int64))

    call(2, 3, 2)
    for wrong, symbol in (
        ((3, 1), "'batch' is 3"),
        ((1, 6), "'total' is 6"),
        ((1, 4, 1), "'past'"),
    ):
        with pytest.raises(glow.InputError, match=f"symbol {symbol}.* expected a size from"):
            call(*wrong)
    filled = _compiled(network, "interpreter", symbols={"past": (1, 8)}, buckets=[8]).session()
    filled(np.zeros((1, 8), np.int64), np.ones((1, 8), np.int64))
    assert filled.length == 8


def test_more_rows_than_positions_are_an_error_that_names_buckets(rng: np.random.Generator):
    network = small_decoder(rng, layers=1)
    ids = rng.integers(0, VOCABULARY, (1, POSITIONS))
    with pytest.raises(glow.ModelError, match=r"caches of 128 rows: Gather .* give .* buckets"):
        _compiled(network).session()(ids)
    (want, *_) = _reference(network).run(None, {"ids": ids, **no_past(network)})
    _expect_close(_compiled(network, buckets=[32, POSITIONS]).session()(ids)[0], want)


@pytest.mark.parametrize("new", [1, 3])
def test_forgotten_tokens_leave_no_trace(new: int, rng: np.random.Generator):
    """Also those whose keys and values are not finite."""
    network = small_decoder(rng, layers=1)
    (wte,) = (i for i in network.graph.initializer if i.name == "wte")
    tokens = onnx.numpy_helper.to_array(wte).copy()
    tokens[0] = np.inf
    wte.CopyFrom(onnx.numpy_helper.from_array(tokens, "wte"))
    model, bad = _compiled(network, buckets=[11, 29]), np.zeros((1, 3), np.int64)
    ids = rng.integers(1, VOCABULARY, (1, 5 + new))
    (want, *_) = _reference(network).run(None, {"ids": ids, **no_past(network)})
    session = model.session()
    for _ in range(2):
        assert np.isnan(session(bad[:, :new])[0]).any()
        session.reset()
        _expect_close(session(ids[:, :5])[0], np.asarray(want)[:, :5])
        assert np.isnan(session(bad)[0]).any()
        session.truncate(5)
        _expect_close(session.fork()(ids[:, 5:])[0], np.asarray(want)[:, 5:])
        _expect_close(session(ids[:, 5:])[0], np.asarray(want)[:, 5:])


def test_a_session_survives_a_call_that_has_no_program(rng: np.random.Generator):
    """Its memory stays as large as before, for which there are programs."""
    network = small_decoder(rng, layers=1)
    ids = rng.integers(0, VOCABULARY, (1, 17))
    (want, *_) = _reference(network).run(None, {"ids": ids, **no_past(network)})
    session = _compiled(network, buckets=[17, POSITIONS + 5]).session()
    _expect_close(session(ids[:, :14])[0], np.asarray(want)[:, :14])
    with pytest.raises(glow.ModelError, match=f"caches of {POSITIONS + 5} rows"):
        session(ids[:, :5])
    _expect_close(session(ids[:, 14:])[0], np.asarray(want)[:, 14:])


def test_a_session_survives_a_lack_of_memory(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
):
    """It keeps its tokens where there is no memory for more."""
    network = small_decoder(rng, layers=1)
    ids = rng.integers(0, VOCABULARY, (1, 13))
    model = _compiled(network, "interpreter", buckets=[8, 31])
    (want, *_) = _reference(network).run(None, {"ids": ids, **no_past(network)})
    session, zeros = model.session(), np.zeros
    session(ids[:, :3])

    def no_second_cache(shape, *rest):
        if isinstance(shape, list) and 31 in shape:
            made.append(shape)
            if len(made) == 2:
                raise MemoryError("no room")
        return zeros(shape, *rest)

    made: list[object] = []
    monkeypatch.setattr(np, "zeros", no_second_cache)
    with pytest.raises(glow.InputError, match=r"no memory for caches of 31 rows \(no room\)"):
        session(ids[:, 3:])
    monkeypatch.undo()
    assert session.length == 3
    _expect_close(session(ids[:, 3:])[0], np.asarray(want)[:, 3:])


def test_caches_are_changed_in_place(rng: np.random.Generator):
    """No copy writes more of a cache than the new rows, and none is in the arena."""
    model = _compiled(small_decoder(rng, layers=1), buckets=[32])
    model.session()(ids=np.zeros((1, 1), np.int64))
    (program,) = model.programs
    text = str(program.model.stages["allocated"])
    assert text.count('glow.qualifier = "inout"') == 2
    lines = text.splitlines()
    assert not any("1x32x2x5" in line for line in lines if "alloc_activation" in line)
    copies = [line for line in lines if "copy @out %past" in line]
    assert all("1x1x2x5" in line for line in copies)
    assert "masked_attention" in text


def test_what_depends_on_distances_is_refused(rng: np.random.Generator):
    model = _compiled(small_decoder(rng, bias=_ALIBI, layers=1), "interpreter")
    with pytest.raises(glow.UnsupportedError, match="distance between new and past rows"):
        model.session()(ids=np.zeros((1, 1), np.int64))
    # without a session it is the network as it was exported
    (logits, *_) = model(
        np.zeros((1, 3), np.int64), *no_past(small_decoder(rng, layers=1)).values()
    )
    assert logits.shape == (1, 3, VOCABULARY)


def test_errors_name_what_is_wrong(rng: np.random.Generator):
    network = small_decoder(rng, masked=True, layers=1)
    content = network.SerializeToString()
    for states, message in (
        ({"passed_*": "present_*"}, "no input is called 'passed_\\*'"),
        ({"past_*": "presents_*"}, "no output is called 'presents_0_k'"),
        ({"past_*": "logits"}, "one `\\*` each"),
    ):
        with pytest.raises(glow.GlowError, match=message):
            glow.compile(content, states=states)
    with pytest.raises(glow.GlowError, match="buckets of symbol 'past'"):
        glow.compile(content, states=STATES, buckets="pow3")
    session = _compiled(network, "interpreter", buckets=[8]).session()
    ids = np.zeros((1, 3), np.int64)
    with pytest.raises(glow.InputError, match="symbol total is 4: expected 3"):
        session(ids, np.ones((1, 4), np.int64))
    with pytest.raises(
        glow.InputError, match="symbol sequence is 0: expected at least 1 new token"
    ):
        session(ids[:, :0], np.ones((1, 0), np.int64))
    session(ids, np.ones((1, 3), np.int64))
    with pytest.raises(glow.InputError, match=f"found {VOCABULARY} at"):
        session(ids + VOCABULARY, np.ones((1, 6), np.int64))
    with pytest.raises(glow.InputError, match="symbol 'past' is 9, and its largest bucket is 8"):
        session(np.zeros((1, 6), np.int64), np.ones((1, 9), np.int64))
    with pytest.raises(glow.InputError, match="the session has sizes"):
        session(np.zeros((2, 1), np.int64), np.ones((2, 4), np.int64))
    assert session.length == 3
