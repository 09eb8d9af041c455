"""Models with one program for batches of all sizes: results, programs, and what is refused."""

from __future__ import annotations

from pathlib import Path

import glow
import numpy as np
import onnx
import pytest
from glow.errors import CompileError, GlowError, InputError
from glow.tests.support.oracle import close
from glow.tests.support.small_models import small_network
from glow.tests.unit.runtime.masked_attention import attention, feed

RANGE = {"batch": (1, 7)}


def images(rng: np.random.Generator, batch: int) -> np.ndarray:
    return rng.standard_normal((batch, 3, 8, 10)).astype(np.float32)


@pytest.mark.parametrize("threads", [1, 2])
def test_one_program_computes_all_batches(tmp_path: Path, rng: np.random.Generator, threads: int):
    data = small_network(1).SerializeToString()
    exact = glow.compile(data, "interpreter")
    model = glow.compile(data, threads=threads, symbols=RANGE, batch_loop="batch", cache=tmp_path)
    for batch in (3, 1, 7, 6):
        x = images(rng, batch)
        for got, want in zip(model(x), exact(x), strict=True):
            assert got.shape == want.shape
            close(got, want)
    (program,) = model.specializations
    assert program.symbols == {"batch": 7}
    assert model.specialize({"batch": 2}) is program
    assert model.symbols == {"batch": None}
    again = glow.compile(data, threads=threads, symbols=RANGE, batch_loop="batch", cache=tmp_path)
    x = images(rng, 5)
    np.testing.assert_array_equal(again(x)[0], model(x)[0])
    assert again.from_cache


def test_other_symbols_have_programs(rng: np.random.Generator):
    model = glow.compile(attention(masked=True), symbols=RANGE, batch_loop="batch")
    exact = glow.compile(attention(masked=True), "interpreter", max_specializations=9)
    model.warm_up([{"sequence": 3}, {"sequence": 5}])
    for batch, sequence in ((1, 3), (4, 5), (7, 3), (2, 5)):
        given = feed(rng, batch, sequence)
        close(model(**given)[0], exact(**given)[0])
        y = np.empty((batch, sequence, 5), np.float32)
        model.run_into([y], given)
        np.testing.assert_array_equal(y, model(**given)[0])
    found = [program.symbols for program in model.specializations]
    assert sorted(s["sequence"] or 0 for s in found) == [3, 5]
    with pytest.raises(InputError, match="'batch' is 8: expected a size from 1 to 7"):
        model(**feed(rng, 8, 3))


def test_buckets_of_other_symbols(rng: np.random.Generator):
    model = glow.compile(
        attention(masked=True), symbols=RANGE, batch_loop="batch", buckets={"sequence": [6]}
    )
    exact = glow.compile(attention(masked=True), "interpreter")
    given = feed(rng, 3, 4)
    (got,) = model(**given)
    assert got.shape == (3, 4, 5)
    np.testing.assert_allclose(got, exact(**given)[0], rtol=1e-4, atol=1e-5)


def test_times_of_instructions(rng: np.random.Generator):
    model = glow.compile(small_network(2), symbols=RANGE, batch_loop="batch", timed=True)
    assert model.profile(images(rng, 2), repeat=1).instructions


def joined_images() -> onnx.ModelProto:
    made = small_network(1)
    next(node for node in made.graph.node if node.op_type == "Softmax").attribute[0].i = 0
    return made


def transposed() -> bytes:
    made = onnx.load_from_string(attention(masked=False))
    shape = made.graph.input[0].type.tensor_type.shape
    shape.dim[0].dim_param, shape.dim[1].dim_param = "sequence", "batch"
    return made.SerializeToString()


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (small_network(1), {}, r"memory is planned for the largest size; give.*\(1, 64\)"),
        (small_network(1), {"symbols": {"batch": (1, 1)}}, "give the sizes that batch may have"),
        (small_network(1), {"symbols": {"batch": 3}}, "expected a model with a symbol"),
        (small_network(1), {"symbols": RANGE, "batch_loop": "bach"}, "did you mean batch"),
        (attention(masked=True), {"symbols": RANGE, "states": {"x": "y"}}, "states keep values"),
        (transposed(), {"symbols": RANGE}, r"dimension 0 of each.*input 'x' is sequence, batch, 5"),
    ],
)
def test_what_is_refused(model: object, options: dict[str, object], message: str):
    with pytest.raises(GlowError, match=message):
        glow.compile(model, "interpreter", **{"batch_loop": "batch", **options})  # pyright: ignore


def test_nodes_that_join_images(rng: np.random.Generator):
    model = glow.compile(joined_images(), symbols=RANGE, batch_loop="batch")
    with pytest.raises(CompileError, match=r"softmax.*each of the 7 images by itself"):
        model(images(rng, 2))


def test_random_numbers():
    made = small_network(1)
    made.graph.node.append(onnx.helper.make_node("RandomNormalLike", ["logits"], ["noise"]))
    made.graph.output[1].name = "noise"
    model = glow.compile(made, "interpreter", symbols=RANGE, batch_loop="batch")
    with pytest.raises(CompileError, match="also has random numbers; leave out batch_loop"):
        model.warm_up([{"batch": 1}])
