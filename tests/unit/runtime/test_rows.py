"""Models with one program for all sizes of a symbol: results, programs, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import glow
import numpy as np
import onnx
import pytest
from glow.errors import CompileError, GlowError, IndexRangeError, InputError
from glow.tests.support.oracle import close
from glow.tests.unit.runtime import encoder_of_rows as texts
from glow.tests.unit.runtime.masked_attention import attention
from glow.tests.unit.runtime.masked_attention import feed as attention_feed
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

RANGE = {"sequence": (1, texts.MOST)}


def expected(data: bytes) -> Callable[[dict[str, np.ndarray]], np.ndarray]:
    """Returns what computes the only result of a model, as the reference of ONNX does."""
    session = ReferenceEvaluator(onnx.load_from_string(data))

    def compute(given: dict[str, np.ndarray]) -> np.ndarray:
        results: Any = session.run(None, given)
        return results[0]

    return compute


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("masked", [True, False])
def test_one_program_computes_all_lengths(
    tmp_path: Path, rng: np.random.Generator, masked: bool, threads: int
):
    data = (texts.encoder if masked else texts.decoder)(rng)
    exact = expected(data)
    model = glow.compile(data, threads=threads, symbols=RANGE, rows="sequence", cache=tmp_path)
    for length in (texts.MOST, *range(1, texts.MOST)):
        given = texts.feed(rng, length, masked)
        (got,), want = model(**given), exact(given)
        assert got.shape == want.shape
        close(got, want)
    (program,) = model.specializations
    assert program.symbols == {"sequence": texts.MOST}
    assert model.specialize({"sequence": 2}) is program
    assert model.symbols == {"sequence": None}
    again = glow.compile(data, threads=threads, symbols=RANGE, rows="sequence", cache=tmp_path)
    given = texts.feed(rng, 5, masked)
    np.testing.assert_array_equal(again(**given)[0], model(**given)[0])
    assert again.from_cache
    (want,) = model(**given)
    y = np.empty(want.shape, np.float32)
    model.run_into([y], given)
    np.testing.assert_array_equal(y, want)


def test_other_symbols_have_programs(rng: np.random.Generator):
    model = glow.compile(attention(masked=True), symbols={"sequence": (1, 9)}, rows="sequence")
    exact = expected(attention(masked=True))
    model.warm_up([{"batch": 1}, {"batch": 3}])
    for batch, sequence in ((1, 3), (3, 5), (3, 9), (1, 1), (1, 8)):
        given = attention_feed(rng, batch, sequence)
        close(model(**given)[0], exact(given))
    found = [program.symbols for program in model.specializations]
    assert sorted(s["batch"] or 0 for s in found) == [1, 3]
    with pytest.raises(InputError, match="'sequence' is 10: expected a size from 1 to 9"):
        model(**attention_feed(rng, 1, 10))


@pytest.mark.parametrize("buckets", [{"batch": [4]}, {"sequence": [7]}])
def test_buckets_of_symbols(rng: np.random.Generator, buckets: dict[str, list[int]]):
    """A call is padded before its program is there."""
    data = attention(masked=True)
    model = glow.compile(data, symbols=RANGE, rows="sequence", buckets=buckets)
    exact = expected(data)
    for batch, length in ((3, 5), (2, 1), (4, 7)):
        given = attention_feed(rng, batch, length)
        (got,), want = model(**given), exact(given)
        assert got.shape == want.shape
        close(got, want)


def test_other_symbols_may_be_fixed(rng: np.random.Generator):
    data = attention(masked=True)
    model = glow.compile(data, symbols={"batch": 2, "sequence": (1, 9)}, rows="sequence")
    for length in (9, 4, 1):
        given = attention_feed(rng, 2, length)
        close(model(**given)[0], expected(data)(given))
    (program,) = model.specializations
    assert program.symbols["sequence"] == 9


def test_batches_that_change(rng: np.random.Generator):
    """The images of a batch may be the rows."""
    model = glow.compile(attention(masked=True), symbols={"batch": (1, 6)}, rows="batch", threads=2)
    exact = expected(attention(masked=True))
    for batch, sequence in ((1, 3), (6, 3), (5, 3), (4, 7)):
        given = attention_feed(rng, batch, sequence)
        close(model(**given)[0], exact(given))
    assert len(model.specializations) == 2


def test_memory_is_not_left(rng: np.random.Generator):
    """No loop leaves the memory of the largest number of rows."""
    data = texts.encoder(rng)
    model = glow.compile(data, symbols=RANGE, rows="sequence", sanitize=True, cache=False)
    exact = expected(data)
    for length in (1, 8, 17, texts.MOST):
        given = texts.feed(rng, length, True)
        close(model(**given)[0], exact(given))


def test_times_of_instructions(rng: np.random.Generator):
    model = glow.compile(texts.decoder(rng), symbols=RANGE, rows="sequence", timed=True)
    assert model.profile(texts.feed(rng, 4, False)["ids"], repeat=1).instructions


def rows_model(*nodes: onnx.NodeProto, shape: list[str | int], **constants: object) -> bytes:
    """Returns a model of nodes from `x` [1, sequence] to `z`."""
    made = [numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()]
    return texts.model(nodes, made, {"x": TensorProto.FLOAT}, "z", shape)


def test_sums_over_rows(rng: np.random.Generator):
    """A sum ends with the rows, though memory behind them has no zeros."""
    data = rows_model(
        helper.make_node("Exp", ["x"], ["e"]),
        helper.make_node("ReduceSum", ["e", "axes"], ["z"], keepdims=1),
        shape=[1],
        axes=np.array([1]),
    )
    model = glow.compile(data, symbols={"sequence": (1, 50)}, rows="sequence")
    for length in (50, 49, 33, 32, 31, 16, 2, 1):
        x = rng.standard_normal((1, length)).astype(np.float32)
        close(model(x)[0], np.exp(x).sum(1, keepdims=True))


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_means_over_rows(rng: np.random.Generator, width: int, kind: type):
    """A mean divides by the rows of the call; sums of 16-bit floats would have no number."""
    element = TensorProto.FLOAT if kind is np.float32 else TensorProto.FLOAT16
    nodes = [
        helper.make_node("Expand", ["x", "shape"], ["all"]),
        helper.make_node("ReduceMean", ["all", "axes"], ["z"], keepdims=0),
        helper.make_node("Cast", ["z"], ["y"], to=TensorProto.FLOAT),
    ]
    graph = helper.make_graph(
        nodes,
        "mean",
        [helper.make_tensor_value_info("x", element, [2, "sequence", 1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
        [
            numpy_helper.from_array(np.array([1, 1, width]), "shape"),
            numpy_helper.from_array(np.array([1, 2]), "axes"),
        ],
    )
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    data = whole.SerializeToString()
    model = glow.compile(data, symbols={"sequence": (1, 50)}, rows="sequence")
    for length in (50, 49, 33, 16, 3, 1):
        x = (rng.uniform(0.5, 1.5, (2, length, 1)) * 2e4).astype(kind)
        tolerance = 1e-5 if kind is np.float32 else 1e-3
        np.testing.assert_allclose(model(x)[0], x.mean((1, 2), np.float64), rtol=tolerance)


def without_output_names(data: bytes) -> bytes:
    """Returns a model whose outputs have names of their own for their sizes, as exporters do."""
    made = onnx.load_from_string(data)
    for output in made.graph.output:
        for i, dim in enumerate(output.type.tensor_type.shape.dim):
            dim.dim_param = f"{output.name}_dim_{i}"
    return made.SerializeToString()


@pytest.mark.parametrize("most", [texts.MOST, 9, 2])
def test_results_whose_sizes_have_other_names_are_cut(rng: np.random.Generator, most: int):
    """The program has results for the largest size, also if the model does not name the rows."""
    data = without_output_names(texts.encoder(rng))
    exact = expected(data)
    model = glow.compile(data, symbols={"sequence": (1, most)}, rows="sequence")
    assert model.get_outputs()[0].shape == [1, "sequence", texts.WIDTH]
    for length in (1, most - 1, most):
        given = texts.feed(rng, length, True)
        close(model(**given)[0], exact(given))


def test_sizes_that_other_symbols_decide_need_no_names(rng: np.random.Generator):
    """Results are cut to their rows only: other sizes are those of the program."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "n"])
    z = helper.make_tensor_value_info("z", TensorProto.FLOAT, ["first", "second"])
    nodes = [
        helper.make_node("Exp", ["x"], ["e"]),
        helper.make_node("Concat", ["x", "e"], ["z"], axis=1),
    ]
    graph = helper.make_graph(nodes, "joined", [x], [z])
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    data = whole.SerializeToString()
    model = glow.compile(data, symbols={"batch": (1, 5)}, rows="batch")
    for batch, n in ((2, 3), (5, 3), (1, 7), (5, 7)):
        given = rng.standard_normal((batch, n)).astype(np.float32)
        (got,) = model(given)
        close(got, np.concatenate([given, np.exp(given)], 1))
        out = np.empty_like(got)
        model.run_into([out], {"x": given})
        np.testing.assert_array_equal(out, got)
    assert len(model.specializations) == 2
    with pytest.raises(CompileError, match="results whose sizes are n or do not depend on it"):
        glow.compile(data, symbols={"n": (1, 5)}, rows="n").warm_up([{"batch": 2}])


def test_computed_indices(rng: np.random.Generator):
    """The extremes of indices that the network computes are results behind its outputs."""
    data = rows_model(
        helper.make_node("Cast", ["x"], ["i"], to=TensorProto.INT64),
        helper.make_node("Gather", ["table", "i"], ["z"]),
        shape=["sequence", 3],
        table=(table := rng.standard_normal((9, 3)).astype(np.float32)),
    )
    model = glow.compile(data, symbols={"sequence": (1, 20)}, rows="sequence")
    for length in (20, 7, 1):
        x = rng.integers(0, 9, (1, length)).astype(np.float32)
        np.testing.assert_array_equal(model(x)[0], table[x.astype(int)])
    x[0, 0] = 9
    with pytest.raises(IndexRangeError, match="expected indices in -9 to 8, found 9"):
        model(x)
    model(np.zeros((1, 5), np.float32))


def images(rng: np.random.Generator) -> bytes:
    """Returns a small residual network of `x`, of [batch, 3, 9, 11], with features beside it."""

    def made(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) / max(1, np.prod(shape[1:]) ** 0.5)).astype(np.float32)

    first, second, narrow, features = (
        made(16, 3, 3, 3),
        made(16, 16, 3, 3),
        made(16, 16),
        made(1, 5),
    )
    constants = {"a": first, "b": second, "c": narrow, "f": features}
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "a"], ["p"], pads=[1, 1, 1, 1]),
        node("Relu", ["p"], ["q"]),
        node("Conv", ["q", "b"], ["r"], pads=[1, 1, 1, 1]),
        node("Add", ["r", "q"], ["s"]),
        node("MaxPool", ["s"], ["t"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("GlobalAveragePool", ["t"], ["u"]),
        node("Flatten", ["u"], ["v"]),
        node("MatMul", ["v", "c"], ["w"]),
        # features that all images have, as many times as there are images
        node("Shape", ["x"], ["shape"], start=0, end=1),
        node("Concat", ["shape", "one"], ["times"], axis=0),
        node("Tile", ["f", "times"], ["fs"]),
        node("Softmax", ["fs"], ["soft"], axis=1),
        node("Concat", ["soft", "w"], ["z"], axis=1),
    ]
    weights = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    weights.append(numpy_helper.from_array(np.array([1]), "one"))
    graph = helper.make_graph(
        nodes,
        "images",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 9, 11])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, ["batch", 21])],
        weights,
    )
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(whole)
    return whole.SerializeToString()


@pytest.mark.parametrize("threads", [1, 2])
def test_images_of_a_batch(rng: np.random.Generator, threads: int):
    """Frames around images, and what all images share, have no rows."""
    data = images(rng)
    exact = expected(data)
    model = glow.compile(data, symbols={"batch": (1, 5)}, rows="batch", threads=threads)
    for batch in (5, 1, 4, 2, 3):
        x = rng.standard_normal((batch, 3, 9, 11)).astype(np.float32)
        close(model(x)[0], exact({"x": x}))
    assert len(model.specializations) == 1


LAST = rows_model(
    helper.make_node("Slice", ["x", "from", "to", "axes"], ["z"]),
    shape=[1],
    **{"from": [-1], "to": [2**40], "axes": [1]},
)
REPEATED = rows_model(
    helper.make_node("Slice", ["x", "zero", "one", "one"], ["first"]),
    helper.make_node("Shape", ["x"], ["shape"]),
    helper.make_node("Expand", ["first", "shape"], ["all"]),
    helper.make_node("Softmax", ["all"], ["z"], axis=1),
    shape=["sequence"],
    zero=[0],
    one=[1],
)
SUM = rows_model(helper.make_node("CumSum", ["x", "axis"], ["z"]), shape=["sequence"], axis=1)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            REPEATED,
            "glow.reduce_max %z: expected a value that depends on inputs of the size sequence",
        ),
        (LAST, r"glow.slice.*same for all sizes of sequence; for 9 and for 8, starts is"),
    ],
)
def test_what_depends_on_the_size(data: bytes, message: str):
    model = glow.compile(data, symbols={"sequence": (1, 9)}, rows="sequence")
    with pytest.raises(CompileError, match=message):
        model.warm_up([{}])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"memory is planned for the largest size; give.*\(1, 64\)"),
        ({"symbols": {"sequence": 3}}, "expected a model with a symbol"),
        ({"symbols": RANGE, "rows": "sequences"}, "did you mean sequence"),
        ({"symbols": RANGE, "states": {"x": "y"}}, "states keep values"),
        ({"symbols": RANGE, "batch_loop": "sequence"}, "expected batch_loop or rows, found both"),
        (
            {"symbols": RANGE, "backend": "interpreter"},
            "interpreter cannot take the number of rows",
        ),
    ],
)
def test_what_is_refused(options: dict[str, object], message: str):
    with pytest.raises(GlowError, match=message):
        glow.compile(SUM, **{"rows": "sequence", **options})  # pyright: ignore
