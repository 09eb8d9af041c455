"""Memory of callers for inputs and outputs, and states."""

from __future__ import annotations

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import glow
import numpy as np
import onnx
import onnxruntime
import pytest
from glow.passes.graph.states import set_states
from glow.runtime.interpreter import interpret
from glow.runtime.signature import main_function
from glow.tests.support.small_models import graph, small_network

BACKENDS = ["cpu", "interpreter"]
QUEUE = """
func.func @main(%x: tensor<1x2x5xf32> {glow.name = "x"},
                %s: tensor<1x7x5xf32> {glow.name = "past", glow.state = 1})
    -> (tensor<1x7x5xf32> {glow.name = "y"}, tensor<1x7x5xf32> {glow.name = "present"}) {
  %kept = glow.slice %s starts [0, 2, 0] sizes [1, 5, 5] strides [1, 1, 1]
     : (tensor<1x7x5xf32>) -> tensor<1x5x5xf32>
  %r = glow.relu %x : (tensor<1x2x5xf32>) -> tensor<1x2x5xf32>
  %whole = glow.concat %kept, %r axis 1
     : (tensor<1x5x5xf32>, tensor<1x2x5xf32>) -> tensor<1x7x5xf32>
  %y = glow.sub %whole, %s : (tensor<1x7x5xf32>, tensor<1x7x5xf32>) -> tensor<1x7x5xf32>
  func.return %y, %whole : tensor<1x7x5xf32>, tensor<1x7x5xf32>
}
"""
"""A queue whose elements move, so that its new value cannot be written over the old one at once."""
SWAP = """
func.func @main(%a: tensor<3xf32> {glow.name = "a", glow.state = 1},
                %b: tensor<3xf32> {glow.name = "b", glow.state = 0})
    -> (tensor<3xf32> {glow.name = "to_b"}, tensor<3xf32> {glow.name = "to_a"}) {
  func.return %a, %b : tensor<3xf32>, tensor<3xf32>
}
"""


class _Exporter:
    """An array that exports its memory by DLPack only."""

    def __init__(self, array: np.ndarray):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


@pytest.mark.parametrize("backend", BACKENDS)
def test_outputs_in_memory_of_the_caller(backend: str, rng: np.random.Generator):
    model = glow.compile(graph(), backend)
    x, y = rng.standard_normal((2, 2, 3)).astype(np.float32)
    total, difference = np.empty((2, 2, 3), np.float32)
    model.run_into([total, difference], {"x": x, "y": y})
    np.testing.assert_array_equal(total, x + y)
    np.testing.assert_array_equal(difference, x - y)
    outputs = {"difference": _Exporter(difference), "sum": _Exporter(total)}
    model.run_into(outputs, {"x": _Exporter(y), "y": _Exporter(x)})
    np.testing.assert_array_equal(difference, y - x)


def test_a_symbolic_model_writes_into_memory(rng: np.random.Generator):
    network = small_network(int(rng.integers(2**32)))
    model = glow.compile(network)
    x = rng.standard_normal((3, 3, 8, 10), np.float32)
    outputs = [np.empty((3, 7), np.float32) for _ in range(2)]
    model.run_into(outputs, {"image": x})
    for found, want in zip(outputs, model(x), strict=True):
        np.testing.assert_array_equal(found, want)
    with pytest.raises(glow.InputError, match=r"expected memory float32\[3, 7\], found"):
        model.run_into([outputs[0], np.empty((2, 7), np.float32)], {"image": x})


def test_a_steady_call_allocates_no_arrays(rng: np.random.Generator):
    text = GRAPH_OF_65536
    model = glow.compile(graph(text))
    x = rng.standard_normal(65536).astype(np.float32)
    feed, outputs = {"x": x}, [np.empty_like(x)]
    model.run_into(outputs, feed)
    tracemalloc.start()
    try:
        model.run_into(outputs, feed)
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        for _ in range(20):
            model.run_into(outputs, feed)
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 2048
    assert peak - before < 8192  # an array has 262144 bytes


GRAPH_OF_65536 = """
func.func @main(%x: tensor<65536xf32> {glow.name = "x"})
    -> (tensor<65536xf32> {glow.name = "y"}) {
  %0 = glow.relu %x : (tensor<65536xf32>) -> tensor<65536xf32>
  %1 = glow.softmax %0 axis 0 : (tensor<65536xf32>) -> tensor<65536xf32>
  func.return %1 : tensor<65536xf32>
}
"""


def test_wrong_memory_is_an_error():
    model = glow.compile(graph(), "cpu")
    x, y = np.ones((2, 2, 3), np.float32)
    one, two = np.empty((2, 2, 3), np.float32)
    feed = {"x": x, "y": y}
    fixed = np.empty((2, 3), np.float32)
    fixed.flags.writeable = False
    for outputs, message in (
        (None, "expected a list or a mapping of arrays for the outputs, found NoneType"),
        ([one], "expected memory for 2 outputs, found 1"),
        ({"sum": one}, "missing memory for output 'difference'"),
        ({"sum": one, "delta": two}, "no output is called 'delta'"),
        ([one, two.astype(np.float64)], "expected memory float32"),
        ([one, two.astype(two.dtype.newbyteorder())], "in the byte order of another machine"),
        ([one, np.empty((3, 2), np.float32).T], "C-contiguous"),
        ([one, fixed], "writable: False"),
        ([one, [1, 2]], "expected writable memory"),
        ([one, one], "expected memory of its own, found that of 'sum'"),
        ([one, x], "expected memory of its own, found that of 'x'"),
    ):
        with pytest.raises(glow.InputError, match=message):
            model.run_into(outputs, feed)  # pyright: ignore


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_state_keeps_its_value(backend: str, rng: np.random.Generator):
    model = glow.compile(graph(QUEUE), backend)
    inputs = rng.standard_normal((4, 1, 2, 5)).astype(np.float32)
    state = rng.standard_normal((1, 7, 5)).astype(np.float32)
    session = model.session({"past": state})
    begun = session.state["past"]
    for x in inputs:
        new = np.concatenate([state[:, 2:], np.maximum(x, 0)], 1)
        # a call without a session does not change what it is given
        y, present = model(x, state)
        np.testing.assert_array_equal(present, new)
        np.testing.assert_array_equal(y, new - state)
        np.testing.assert_array_equal(session(x)[0], new - state)
        state = new
        np.testing.assert_array_equal(session.state["past"], state)
    fork = session.fork()
    session.reset()
    np.testing.assert_array_equal(session.state["past"], begun)
    np.testing.assert_array_equal(fork.state["past"], state)


@pytest.mark.parametrize("stage", ["instructions", "optimized-instructions", "allocated"])
def test_programs_with_states_equal_their_graphs(stage: str, rng: np.random.Generator):
    for text, shapes in ((QUEUE, [(1, 2, 5), (1, 7, 5)]), (SWAP, [(3,), (3,)])):
        model = glow.compile(graph(text))
        inputs = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
        want = interpret(model.stages["imported"], inputs)
        found = interpret(model.stages[stage], inputs)
        assert list(found) == list(want)
        for name, array in want.items():
            np.testing.assert_array_equal(found[name], array)
        for array, name in zip(model(*inputs), want, strict=True):
            np.testing.assert_array_equal(array, want[name])


def _recurrent(rng: np.random.Generator) -> onnx.ModelProto:
    model = onnx.parser.parse_model("""
    <ir_version: 8, opset_import: ["" : 17]>
    cell (float[batch, 3] x, float[batch, 5] h) => (float[batch, 5] y, float[batch, 5] hn) {
      a = MatMul(x, w)
      b = MatMul(h, u)
      c = Add(a, b)
      hn = Tanh(c)
      y = Mul(hn, hn)
    }""")
    for name, shape in (("w", (3, 5)), ("u", (5, 5))):
        value = rng.standard_normal(shape).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    return model


def test_states_of_a_model_with_symbols(rng: np.random.Generator):
    """Ten threads have a session each of one program, which starts from the cache a second time."""
    network = _recurrent(rng)
    reference = onnxruntime.InferenceSession(network.SerializeToString())
    model = glow.compile(network.SerializeToString(), states={"h": "hn"})

    def run(inputs: np.ndarray) -> list[np.ndarray]:
        session = model.session()
        return [session(x)[0] for x in inputs]

    inputs = rng.standard_normal((10, 6, 2, 3)).astype(np.float32)
    with ThreadPoolExecutor(10) as pool:
        found = list(pool.map(run, inputs))
    for own, outputs in zip(inputs, found, strict=True):
        h: object = np.zeros((2, 5), np.float32)
        for x, y in zip(own, outputs, strict=True):
            want, h = reference.run(None, {"x": x, "h": h})
            np.testing.assert_allclose(y, np.asarray(want), rtol=0, atol=1e-5)
    assert len(model.specializations) == 1
    again = glow.compile(network.SerializeToString(), states={"h": "hn"}, symbols={"batch": 2})
    assert again.from_cache
    np.testing.assert_array_equal(again.session()(inputs[0, 0])[0], found[0][0])


def test_indices_of_a_session_are_checked(rng: np.random.Generator):
    """The shapes of a call decide in which range indices are."""
    network = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        taken (int64[n] at, float[rows, 4] table, float[4] h) => (float[n, 4] y, float[4] next) {
          row = Gather(table, at)
          y = Add(row, h)
          next = Add(h, h)
        }
    """)
    model = glow.compile(network.SerializeToString(), states={"h": "next"})
    session = model.session({"h": np.ones(4, np.float32)})
    table = rng.standard_normal((5, 4)).astype(np.float32)
    at, y = np.array([1, -5, 4]), np.empty((3, 4), np.float32)
    np.testing.assert_array_equal(session(at, table)[0], table[at] + 1)
    message = "expected indices in -5 to 4, found 5 at"
    with pytest.raises(glow.InputError, match=message):
        session(at + 1, table)
    with pytest.raises(glow.InputError, match=message):
        session.run_into([y], {"at": at + 1, "table": table})
    # nothing has changed
    session.run_into([y], {"at": at, "table": table})
    np.testing.assert_array_equal(y, table[at] + 2)


def test_a_refused_call_gives_states_no_sizes(rng: np.random.Generator):
    """States of zeros get the batch of the first call that is not refused."""
    network = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        summed (int64[batch] at, float[5, 3] table, float[batch, 3] h)
            => (float[batch, 3] y, float[batch, 3] next) {
          row = Gather(table, at)
          next = Add(row, h)
          y = Relu(next)
        }
    """)
    session = glow.compile(network.SerializeToString(), states={"h": "next"}).session()
    table = rng.standard_normal((5, 3)).astype(np.float32)
    feed, y = {"at": np.array([1, 7]), "table": table}, np.empty((2, 3), np.float32)
    with pytest.raises(glow.InputError, match="found 7 at"):
        session.run(None, feed)
    with pytest.raises(glow.InputError, match="found 7 at"):
        session.run_into([y], feed)
    assert session.state == {}
    at = np.array([0, -1, 3])
    for times in (1, 2):
        want = np.maximum(table[at] * times, 0)
        np.testing.assert_allclose(session(at, table)[0], want, rtol=1e-6)


def test_a_model_without_states_has_no_sessions():
    with pytest.raises(glow.GlowError, match="has no states"):
        glow.compile(graph(), "interpreter").session()


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ({1: 2}, "expected the number of a result"),
        ({0: 0}, "expected a result of type tensor<1x2x5xf32>"),
        ({1: 0, 2: 0}, "expected a result of one state"),
    ],
)
def test_wrong_states_are_refused(states: dict[int, int], message: str):
    text = QUEUE.replace(", glow.state = 1", "")
    text = text.replace('"past"}', '"past"}, %t: tensor<1x7x5xf32> {glow.name = "other"}')
    module = graph(text)
    set_states(main_function(module), states)
    with pytest.raises(glow.GlowError, match=message):
        glow.compile(module).stages["instructions"]


def test_memory_that_overlaps_in_part(rng: np.random.Generator):
    """Inputs may share memory; an output shares it with nothing, in whatever order they lie."""
    model = glow.compile(graph())
    all_of = rng.standard_normal(60).astype(np.float32)

    def at(start: int) -> np.ndarray:
        return all_of[start : start + 6].reshape(2, 3)

    for order in ([0, 0, 6, 12], [3, 0, 18, 12], [12, 12, 0, 6], [30, 24, 12, 18]):
        x, y, one, two = map(at, order)
        want = x + y, x - y
        model.run_into([one, two], {"x": x, "y": y})
        np.testing.assert_array_equal(one, want[0])
        np.testing.assert_array_equal(two, want[1])
    for order in ([0, 6, 11, 30], [20, 6, 11, 30], [0, 6, 20, 25], [0, 6, 25, 20], [31, 6, 12, 26]):
        x, y, one, two = map(at, order)
        with pytest.raises(glow.InputError, match="expected memory of its own, found that of"):
            model.run_into([one, two], {"x": x, "y": y})
