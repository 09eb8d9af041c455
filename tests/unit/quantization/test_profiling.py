"""Profiles made by running networks: against the values that the interpreter computes."""

from __future__ import annotations

from collections.abc import Sequence

import glow
import numpy as np
import pytest
from glow.errors import CompileError, GlowError, InputError, QuantizationError
from glow.quantization import (
    Histogram,
    ObservedGraph,
    Profiler,
    name_values,
    optimized_graph,
    profile,
    values_of,
)
from glow.runtime.cpu_backend import CpuBackend
from glow.runtime.interpreter import interpret
from glow.tests.support.graph_text import count, parse, run
from glow.tests.support.small_models import small_network
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

LOG = """
func.func @main(%x: tensor<2x3xf32> {glow.name = "x"}) -> (tensor<2x3xf32> {glow.name = "y"}) {
  %log = glow.log %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %half = glow.mul %log, %log : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %y = glow.exp %half : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
"""


def seen(graph: ModuleOp, feeds: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Returns all numbers of each value, as the interpreter computes them."""
    runs = [values_of(graph, feed) for feed in feeds]
    return {name: np.concatenate([r[name].ravel() for r in runs]) for name in runs[0]}


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
@pytest.mark.parametrize("size", [1, 3])
def test_every_value_is_counted(rng: np.random.Generator, backend: str, size: int) -> None:
    model, symbols = small_network(7), {"batch": size}
    shape = (size, 3, 8, 10)
    feeds = [{"image": rng.standard_normal(shape).astype(np.float32)} for _ in range(3)]
    steps: list[int] = []
    made = profile(
        model, iter(feeds), symbols=symbols, backend=backend, bins=100, on_batch=steps.append
    )
    assert steps == [size, 2 * size, 3 * size]
    assert made.samples == 3 * size
    want = seen(optimized_graph(model, symbols), feeds)
    assert list(made.values) == list(want)
    assert {"image", "conv", "relu", "logits", "probabilities"} <= set(want)
    for name, array in want.items():
        h = made.values[name].histogram
        assert h.count == array.size
        tolerance = 1e-5 * float(np.abs(array).max())
        assert h.low == pytest.approx(array.min(), abs=tolerance)
        assert h.high == pytest.approx(array.max(), abs=tolerance)
        assert h.total == pytest.approx(array.sum(dtype=np.float64), abs=tolerance * array.size)
        below, counted = np.searchsorted(np.sort(array), h.edges[1:-1]), np.cumsum(h.counts)[:-1]
        # each of the two growths moves what is in a bin by less than a bin, and rounds counts;
        # numbers near a bound may be on its other side
        assert (counted[:-2] <= below[2:] + 3).all()
        assert (counted[2:] >= below[:-2] - 3).all()


def test_half_floats(rng: np.random.Generator) -> None:
    text = LOG.replace("f32", "f16").replace("glow.log", "glow.tanh")
    x = rng.standard_normal((2, 3)).astype(np.float16)
    made = profile(parse(text), [{"x": x}])
    want = seen(optimized_graph(parse(text)), [{"x": x}])
    for name, array in want.items():
        assert made.values[name].histogram.high == pytest.approx(float(array.max()), rel=2e-3)


def test_the_model_is_not_changed(rng: np.random.Generator) -> None:
    module = parse(LOG)
    before = str(module)
    profile(module, [{"x": rng.uniform(0.1, 2, (2, 3)).astype(np.float32)}])
    assert str(module) == before


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_nan_and_infinity_are_refused(rng: np.random.Generator, backend: str) -> None:
    good = rng.uniform(0.5, 2, (2, 3)).astype(np.float32)
    bad = good.copy()
    bad[0, 1], bad[1, 2] = -1, 0
    profiler = Profiler(parse(LOG), backend=backend)
    profiler.add({"x": good})
    with pytest.raises(QuantizationError) as error:
        profiler.add({"x": bad})
    assert str(error.value) == (
        "value 'log' (glow.log) has 1 NaN and 1 infinite number of 6 after 2 samples, and 2 other "
        'values; look at the data, or ignore such numbers (nan="ignore", --nan ignore)'
    )
    # nothing of the batch was counted
    found = profiler.profile()
    assert found.samples == 2
    assert {v.histogram.count for v in found.values.values()} == {6}


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_nan_and_infinity_are_counted(rng: np.random.Generator, backend: str) -> None:
    x = rng.uniform(0.5, 2, (2, 3)).astype(np.float32)
    x[0, 1], x[1, 2] = -1, 0
    found = profile(parse(LOG), [{"x": x}], nan="ignore", backend=backend).values
    assert [(n, v.histogram.nans, v.histogram.infinities) for n, v in found.items()] == [
        ("x", 0, 0),
        ("log", 1, 1),
        ("half", 1, 1),
        ("y", 1, 1),
    ]
    assert found["y"].histogram.count == 4
    assert np.isfinite(found["y"].histogram.high)


def test_infinite_data_are_named(rng: np.random.Generator) -> None:
    x = np.full((2, 3), np.inf, np.float32)
    with pytest.raises(QuantizationError, match=r"value 'x' \(input\) has 0 NaN and 6 infinite"):
        profile(parse(LOG), [{"x": x}])


def test_constant_and_zero_activations() -> None:
    text = LOG.replace("glow.log", "glow.relu")
    found = profile(parse(text), [{"x": -np.ones((2, 3), np.float32)}] * 2).values
    assert found["log"].histogram.counts[0] == 12
    assert (found["log"].histogram.low, found["log"].histogram.high) == (0, 0)
    assert (found["y"].histogram.low, found["y"].histogram.high) == (1, 1)


def test_no_data() -> None:
    with pytest.raises(QuantizationError, match="there are no data: a profile needs at least one"):
        profile(parse(LOG), [])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nan": "keep"}, "expected nan to be refuse or ignore, found 'keep'"),
        ({"bins": 1}, "at least 2 bins"),
        ({"backend": "gpu"}, "no backend is called 'gpu'"),
    ],
)
def test_wrong_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(GlowError, match=message):
        profile(parse(LOG), [{"x": np.ones((2, 3), np.float32)}], **options)  # pyright: ignore


def test_wrong_data() -> None:
    with pytest.raises(InputError, match="expected shape"):
        profile(parse(LOG), [{"x": np.ones((3, 3), np.float32)}])
    with pytest.raises(InputError, match="missing input 'x'"):
        profile(parse(LOG), [{}])


def test_a_network_without_floats() -> None:
    text = LOG.replace("f32", "i32").replace("glow.log", "glow.abs").replace("glow.exp", "glow.abs")
    with pytest.raises(QuantizationError, match="no values of floats"):
        Profiler(parse(text))


def test_the_interpreter_stands_in(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: CpuBackend, stages: object) -> None:
        raise CompileError("no kernel for this")

    monkeypatch.setattr(CpuBackend, "compile", refuse)
    x = rng.uniform(0.5, 2, (2, 3)).astype(np.float32)
    with pytest.warns(UserWarning, match="slow interpreter, because: no kernel for this"):
        found = profile(parse(LOG), [{"x": x}]).values["y"].histogram
    want = np.exp(np.log(x) ** 2)
    assert (found.low, found.high) == pytest.approx((want.min(), want.max()), rel=1e-5)
    with pytest.raises(CompileError, match="no kernel"):
        profile(parse(LOG), [{"x": x}], backend=CpuBackend())


def test_instrumented_graphs_run_in_the_interpreter(rng: np.random.Generator) -> None:
    x = rng.uniform(0.5, 2, (2, 3)).astype(np.float32)
    plain = interpret(parse(LOG), {"x": x})
    instrumented = run("glow-profile,canonicalize,cse,dce", parse(LOG))
    assert count(instrumented)["glow.profile"] == 4
    assert np.array_equal(interpret(instrumented, {"x": x})["y"], plain["y"])
    outputs = interpret(run("glow-profile{as-outputs=true}", parse(LOG)), {"x": x})
    assert list(outputs) == ["y", "profile.log", "profile.half"]
    assert np.array_equal(outputs["profile.log"], np.log(x))


def looked_up() -> bytes:
    """Returns a model from `x` f32[2, 3] to the exponentials of the rows that it computes."""
    nodes = [
        helper.make_node("Cast", ["x"], ["i"], to=TensorProto.INT64),
        helper.make_node("Gather", ["table", "i"], ["rows"]),
        helper.make_node("Exp", ["rows"], ["e"]),
        helper.make_node("Relu", ["e"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "lookup",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
        [numpy_helper.from_array(np.array([0.5, -1.0, 2.0], np.float32), "table")],
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()


def test_results_that_a_caller_does_not_see() -> None:
    """The extremes of indices that a network computes are results in front of the values."""
    feed = {"x": np.array([[0, 1, 2], [2, 2, 0]], np.float32)}
    rows = np.array([0.5, -1.0, 2.0], np.float32)[feed["x"].astype(int)]
    want = {"x": feed["x"], "rows": rows, "e": np.exp(rows), "y": np.exp(rows)}
    found = profile(looked_up(), [feed]).values
    assert list(found) == list(want)
    for name, array in want.items():
        h = found[name].histogram
        assert (h.low, h.high) == pytest.approx((array.min(), array.max()), rel=1e-6)
    graph = optimized_graph(looked_up())
    name_values(graph)
    observed = ObservedGraph(graph)
    for name, array in observed.run(feed).items():
        np.testing.assert_allclose(array, want[name], rtol=1e-6)
    assert len(observed.outputs) == 1
    # memory of the caller is given for what it sees
    instrumented = glow.compile(run("glow-profile{as-outputs=true}", graph))
    memory = [np.empty(info.shape, info.dtype) for info in instrumented.get_outputs()]
    complete: list[str] = []
    instrumented.run_reporting(memory, feed, complete.append)
    assert sorted(complete) == ["profile.e", "profile.rows", "y"]
    for info, array in zip(instrumented.get_outputs(), memory, strict=True):
        np.testing.assert_allclose(array, want[info.name.removeprefix("profile.")], rtol=1e-6)


def test_a_profile_of_a_large_range_keeps_its_counts(rng: np.random.Generator) -> None:
    feeds = [
        {"x": (rng.standard_normal((2, 3)) * 10.0**e).astype(np.float32)} for e in range(-30, 31, 6)
    ]
    found = profile(parse(LOG.replace("log", "tanh")), feeds).values["x"].histogram
    assert isinstance(found, Histogram)
    assert found.count == 66
