"""Networks with symbolic dimensions: bound by the inputs of each call, compiled once for each."""

from __future__ import annotations

import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import glow
import numpy as np
import onnx
import pytest
from glow.models.specialization import LatestUsed
from glow.tests.support.small_models import graph, small_network
from onnx import TensorProto, helper, numpy_helper

F32 = TensorProto.FLOAT


def images(rng: np.random.Generator, *batches: int) -> list[np.ndarray]:
    return [rng.standard_normal((n, 3, 8, 10)).astype(np.float32) for n in batches]


def sum_of_two(x: list, y: list, weight: np.ndarray | None = None) -> onnx.ModelProto:
    """
    Returns `x + y`, and the product with a matrix if there is one, with these declared shapes.
    """
    nodes = [helper.make_node("Add", ["x", "y"], ["z"])]
    weights = []
    if weight is not None:
        nodes.append(helper.make_node("MatMul", ["z", "w"], ["product"]))
        weights.append(numpy_helper.from_array(weight, "w"))
    made = helper.make_graph(
        nodes,
        "sum",
        [helper.make_tensor_value_info(n, F32, s) for n, s in (("x", x), ("y", y))],
        [helper.make_tensor_value_info("z", F32, ["rows", None])]
        + ([helper.make_tensor_value_info("product", F32, None)] if weights else []),
        weights,
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def sizes(model: glow.CompiledModel) -> list[dict[str, int | None]]:
    return [each.symbols for each in model.specializations]


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_sizes_follow_the_inputs(backend: str, rng: np.random.Generator):
    model = glow.compile(small_network(1), backend)
    assert model.symbols == {"batch": None}
    assert not model.specializations
    for x in images(rng, 2, 1, 2):
        expected = glow.compile(small_network(1), "interpreter", symbols={"batch": len(x)})(x)
        for found in (model(x), model(image=x)):
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    assert sizes(model) == [{"batch": 1}, {"batch": 2}]
    (logits,) = model.run(["logits"], {"image": images(rng, 2)[0]})
    assert logits.shape == (2, 7)


def test_inputs_show_symbols_by_name():
    model = glow.compile(sum_of_two(["n", None, "?"], ["n", -1, 3]), "interpreter")
    x, y = model.get_inputs()
    assert x.shape == ["n", "x_dim1", "x_dim2"]
    assert y.shape == ["n", "y_dim1", 3]
    assert (x.type, x.dtype) == ("tensor(float)", np.float32)
    assert model.get_outputs()[0].shape == ["rows", None]
    assert model.symbols == dict.fromkeys(["n", "x_dim1", "x_dim2", "y_dim1"])


def test_a_name_of_the_model_is_not_taken_for_a_dimension_without_one():
    model = glow.compile(sum_of_two([None, "x_dim0"], [1, 1]), "interpreter")
    assert model.get_inputs()[0].shape == ["x_dim0_", "x_dim0"]
    x = np.ones((2, 3), np.float32)
    assert model(x, x[:1, :1])[0].shape == (2, 3)


def test_outputs_that_the_model_does_not_declare(rng: np.random.Generator):
    w = rng.standard_normal((3, 2)).astype(np.float32)
    model = glow.compile(sum_of_two(["n", 3], [1, 3], w), "interpreter")
    assert [o.shape for o in model.get_outputs()] == [["rows", None], [None, None]]
    assert model.get_outputs()[1].dtype == np.float32
    x = rng.standard_normal((4, 3)).astype(np.float32)
    np.testing.assert_allclose(model(x, x[:1])[1], (x + x[:1]) @ w, rtol=1e-5, atol=1e-5)


def test_named_symbols_are_fixed(rng: np.random.Generator):
    model = glow.compile(sum_of_two(["n", "m"], ["n", "m"]), "interpreter", symbols={"m": 3})
    assert model.symbols == {"m": 3, "n": None}
    assert model.get_inputs()[0].shape == ["n", 3]
    x = rng.standard_normal((4, 3)).astype(np.float32)
    np.testing.assert_array_equal(model(x, x)[0], x + x)
    with pytest.raises(glow.InputError, match=r"'x': expected shape \(n, 3\), found \(4, 2\)"):
        model(x[:, :2], x[:, :2])
    assert sizes(model) == [{"m": 3, "n": 4}]
    assert glow.compile(sum_of_two(["n"], ["n"]), "interpreter", symbols={"n": 2}).symbols == {
        "n": 2
    }


def test_an_empty_batch(rng: np.random.Generator):
    x = np.zeros((0, 3), np.float32)
    assert glow.compile(sum_of_two(["n", 3], ["n", 3]))(x, x)[0].shape == (0, 3)


def test_wrong_calls_compile_nothing():
    model = glow.compile(sum_of_two(["n", "m"], ["n", 3]), "interpreter")
    x = np.ones((4, 3), np.float32)
    cases = [
        ((x, x[:2]), r"'n' is 4 in dimension 0 of input 'x', but 2 in dimension 0 of input 'y'"),
        ((x[0], x), r"'x': expected shape \(n, m\), found \(3,\)"),
        ((x, x[:, :2]), r"'y': expected shape \(n, 3\), found \(4, 2\)"),
        ((x.astype(int), x), "'x': expected dtype float32, found int64"),
        ((x,), "missing input 'y'"),
    ]
    for arguments, message in cases:
        with pytest.raises(glow.InputError, match=message):
            model(*arguments)
    assert not model.specializations


def test_what_is_of_one_specialization(tmp_path: Path, rng: np.random.Generator):
    model = glow.compile(small_network(2), timed=True)
    for look in (lambda: model.stages, lambda: model.memory, lambda: model.times):
        with pytest.raises(glow.GlowError, match=r"none before the first call.*specialize\(\{'ba"):
            look()
    x, y = images(rng, 1, 2)
    model(x)
    only = model.specialize({"batch": np.int64(1)})  # pyright: ignore
    assert [only] == model.specializations
    assert model.stages is only.stages
    assert model.memory == only.memory
    assert model.times == only.times
    assert model.dump_stages(tmp_path)
    assert model.profile(x, repeat=1).instructions
    model(y)
    for look in (lambda: model.stages, lambda: model.dump_stages(tmp_path)):
        with pytest.raises(glow.GlowError, match=r"there are 2 \(\{'batch': 1\}; \{'batch': 2\}\)"):
            look()
    assert type(only) is glow.CompiledModel
    assert only.get_inputs()[0].shape == [1, 3, 8, 10]
    assert only.specialize() is only


def test_wrong_symbols():
    two = sum_of_two(["batch", "m"], ["batch", "m"])
    model = glow.compile(two, "interpreter", symbols={"m": 3})
    static = model.specialize({"batch": 2, "m": 3})
    ask = model.specialize
    cases = [
        (lambda: ask({"bach": 1}), "no symbol is called 'bach'; did you mean batch"),
        (lambda: ask(), r"there is none for: batch \(dimension 0 of input 'x', dimension 0 of"),
        (lambda: ask({"batch": 1, "m": 2}), "symbol m was fixed: it is 3"),
        (lambda: ask({"batch": 0}), "at least 1 for symbol batch, found 0"),
        (lambda: static.specialize({"batch": 3}), "batch has the size 2, not 3"),
        (lambda: static.specialize({"x": 3}), "no symbol 'x'"),
        (lambda: glow.compile(two, symbols={"bach": 1}), "no symbol bach.*did you mean batch"),
        (lambda: glow.compile(two, symbols={"rows": 1}), "no symbol rows.*outputs follow from"),
        (
            lambda: glow.compile(two, max_specializations=0),
            "max_specializations to be an integer",
        ),
    ]
    for call, message in cases:
        with pytest.raises(glow.GlowError, match=message):
            call()


@pytest.mark.parametrize(
    ("symbols", "message"),
    [
        ({"batch": -1}, "whole number of at least 1 for symbol batch, found -1"),
        ({"batch": 0}, "found 0"),
        ({"batch": True}, "found True"),
        ({"batch": 2.0}, r"found 2\.0"),
        ({"batch": "2"}, "found '2'"),
        ({1: 2}, "name of a symbol as a string, found 1"),
        (["batch"], r"mapping of names to sizes, such as \{\"batch\": 4\}, found \['batch'\]"),
        (3, "mapping"),
        ("batch=3", "mapping"),
    ],
)
def test_wrong_types_of_symbols(symbols: object, message: str):
    for model in (small_network(1), small_network(1).SerializeToString()):
        with pytest.raises(glow.GlowError, match=message):
            glow.compile(model, symbols=symbols)  # pyright: ignore[reportArgumentType]


def test_any_integer_is_a_size():
    data = small_network(1).SerializeToString()
    for size in (np.int64(2), np.uint8(2)):
        model = glow.compile(data, symbols={"batch": size})  # pyright: ignore
        assert model.get_inputs()[0].shape[0] == 2


def test_the_latest_used_are_kept(rng: np.random.Generator):
    model = glow.compile(
        sum_of_two(["n"], ["n"]),
        "interpreter",
        max_specializations=np.int64(2),  # pyright: ignore
    )
    assert model.max_specializations == 2

    def call(*sizes: int) -> None:
        for n in sizes:
            x = rng.standard_normal(n).astype(np.float32)
            np.testing.assert_array_equal(model(x, x)[0], x + x)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(1, 2, 1)
    with pytest.warns(RuntimeWarning, match="more than 2 combinations .*: give max_spec"):
        call(3)
    assert sizes(model) == [{"n": 1}, {"n": 3}]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(2)


def test_what_is_missing_is_said_at_once():
    made = sum_of_two(["n"], ["n"])
    made.graph.node.append(helper.make_node("StringNormalizer", ["z"], ["more"], name="bad"))
    made.graph.output.append(onnx.ValueInfoProto(name="more"))
    with pytest.raises(glow.UnsupportedError, match="StringNormalizer 'bad'"):
        glow.compile(made)


def test_sizes_that_do_not_fit_are_errors_of_their_call(rng: np.random.Generator):
    shape = numpy_helper.from_array(np.array([2, -1]), "s")
    made = sum_of_two(["n", "m"], ["n", "m"])
    made.graph.node.append(helper.make_node("Reshape", ["z", "s"], ["r"], name="halves"))
    made.graph.output.append(helper.make_tensor_value_info("r", F32, [2, None]))
    made.graph.initializer.append(shape)
    model = glow.compile(made, "interpreter")
    x = rng.standard_normal((3, 4)).astype(np.float32)
    np.testing.assert_array_equal(model(x, x)[1], (x + x).reshape(2, 6))
    with pytest.raises(glow.ModelError, match="halves"):
        model(x[:, :3], x[:, :3])
    assert sizes(model) == [{"n": 3, "m": 4}]


def test_a_module_has_no_symbols():
    model = glow.compile(graph(), "interpreter")
    assert model.symbols == {}
    assert model.specializations == [model]
    assert model.specialize({}) is model


# programs and their weights


def test_equal_weights_are_in_memory_and_on_disk_once(tmp_path: Path, rng: np.random.Generator):
    w = rng.standard_normal((40, 50)).astype(np.float32)
    path = tmp_path / "sum.onnx"
    onnx.save(sum_of_two(["n", 40], [1, 40], w), path)
    time.sleep(0.05)
    cache = tmp_path / "cache"
    cold, warm = (glow.compile(path, cache=cache) for _ in range(2))
    x = rng.standard_normal((9, 40)).astype(np.float32)
    for n in (7, 9):
        for model in (cold, warm):
            found = model(x[:n], x[:1])[1]
            np.testing.assert_allclose(found, (x[:n] + x[:1]) @ w, rtol=1e-4, atol=1e-4)
    assert all(set(each.times) == {"load"} for each in warm.specializations)
    programs = [each._program for m in (cold, warm) for each in m.specializations]
    assert len({id(p.weights) for p in programs}) == 1  # pyright: ignore
    assert len(list(cache.glob("*.weights"))) == 1


def test_a_warm_start_needs_no_import(tmp_path: Path, rng: np.random.Generator, monkeypatch):
    path = tmp_path / "small.onnx"
    onnx.save(small_network(3), path)
    time.sleep(0.05)
    (x,) = images(rng, 2)
    expected = glow.compile(path, cache=tmp_path / "cache")(x)
    monkeypatch.setattr("glow.cold_compilation.load_model", None)
    monkeypatch.setattr("glow.frontend.onnx.load_onnx", None)
    model = glow.compile(path, cache=tmp_path / "cache")
    np.testing.assert_array_equal(model(x)[0], expected[0])
    assert model.get_inputs() == glow.compile(path, cache=tmp_path / "cache").get_inputs()
    assert model.get_inputs()[0].shape == ["batch", 3, 8, 10]


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_another_model_in_the_file_is_an_error(
    backend: str, tmp_path: Path, rng: np.random.Generator
):
    path = tmp_path / "small.onnx"
    onnx.save(small_network(3), path)
    one, two = images(rng, 1, 2)
    model = glow.compile(path, backend, cache=False)
    expected = model(one)
    time.sleep(0.05)
    onnx.save(small_network(4), path)
    with pytest.raises(glow.ModelError, match=r"small\.onnx has changed"):
        model(two)
    if backend == "cpu":
        np.testing.assert_array_equal(model(one)[0], expected[0])


# several threads


def test_threads_wait_for_one_compilation(rng: np.random.Generator, monkeypatch):
    model = glow.compile(small_network(5), "interpreter")
    made: list[int] = []
    compile = model.backend.compile

    def slow(stages):
        made.append(1)
        time.sleep(0.05)
        return compile(stages)

    monkeypatch.setattr(model.backend, "compile", slow)
    x, y = images(rng, 1, 2)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(model, [x, y] * 6))
    assert len(made) == 2
    for each in found[2:]:
        np.testing.assert_array_equal(each[0], found[0 if len(each[0]) == 1 else 1][0])


def test_keys_do_not_wait_for_each_other_and_failures_are_tried_again():
    entered, leave = threading.Event(), threading.Event()
    tries: list[str] = []

    def make(key: str) -> str:
        tries.append(key)
        if key == "slow":
            entered.set()
            assert leave.wait(20)
        if key == "bad" and tries.count("bad") == 1:
            raise ValueError(key)
        return key.upper()

    kept = LatestUsed(make, 3)
    with ThreadPoolExecutor(2) as pool:
        slow = [pool.submit(kept.get, "slow") for _ in range(2)]
        assert entered.wait(20)
        assert kept.get("quick") == "QUICK"
        leave.set()
        assert [f.result() for f in slow] == ["SLOW", "SLOW"]
    with pytest.raises(ValueError, match="bad"):
        kept.get("bad")
    assert kept.get("bad") == "BAD"
    assert tries == ["slow", "quick", "bad", "bad"]
    assert [kept.get("quick"), kept.get("more")] == ["QUICK", "MORE"]
    assert kept.values() == ["BAD", "QUICK", "MORE"]
