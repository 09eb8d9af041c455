"""Canonicalization rules whose conditions are worth a proof by exhaustion."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from glow.passes.graph.canonicalization.logic import holds
from glow.passes.graph.permutations import compose, inverse, is_identity, moves_only_ones
from glow.runtime.interpreter import interpret
from glow.semantics.arrays import numpy_dtype
from glow.semantics.numpy_algebra import convert
from glow.tests.support.graph_text import count, parse, run
from glow.tests.support.random_graphs import random_graph
from xdsl.dialects.builtin import (
    IntegerType,
    Signedness,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)

UI8, UI16 = (IntegerType(w, Signedness.UNSIGNED) for w in (8, 16))
TYPES = (f16, bf16, f32, f64, i1, i8, UI8, i16, UI16, i32, i64)


def extremes(element) -> np.ndarray:
    """Returns numbers of a type that another type is most likely to lack."""
    dtype = numpy_dtype(element)
    if dtype == np.bool_:
        return np.array([False, True])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.array([limits.min, limits.max, limits.max - 1, 1], dtype)
    # all bits of the fraction set, near the ends of the exponents
    bits = np.array([1, 0x0401, 0x7BFF, 0xFBFF, 0x7F7F], np.uint16)
    if dtype.itemsize == 2:
        return bits.view(dtype)[np.isfinite(bits.view(dtype).astype(np.float64))]
    return np.nextafter(np.array([1, -1, 1e-30, 1e30], dtype), dtype.type(0))


def as_numbers(array: np.ndarray) -> list[int | float]:
    exact = array.dtype.kind in "iub"
    return [int(x) if exact else float(x) for x in array]


@pytest.mark.parametrize(("wide", "narrow"), list(product(TYPES, TYPES)), ids=str)
def test_holds_is_what_a_round_trip_shows(wide, narrow):
    numbers = extremes(narrow)
    with np.errstate(all="ignore"):
        there = convert(numbers, numpy_dtype(wide))
        back = convert(there, numpy_dtype(narrow))
    as_numbers = [
        x.astype(object if x.dtype.kind in "iub" else np.float64) for x in (numbers, there)
    ]
    exact = bool((back == numbers).all() and (as_numbers[0] == as_numbers[1]).all())
    assert holds(wide, narrow) == exact


BOUNDS = (None, -1.0, 0.0, 2.0)


def clip(low: float | None, high: float | None) -> str:
    entries = [f"{n} = {v} : f64" for n, v in (("max", high), ("min", low)) if v is not None]
    return "{" + ", ".join(entries) + "}"


@pytest.mark.parametrize(("low", "high"), list(product(BOUNDS, BOUNDS)), ids=str)
def test_clips_of_clips(low: float | None, high: float | None, rng: np.random.Generator):
    values = [*rng.uniform(-3, 3, 20), np.nan, np.inf, -np.inf, -0.0]
    inputs = [np.array(values, np.float32)]
    for inner in product(BOUNDS, BOUNDS):
        module = parse(f"""
        func.func @main(%x: tensor<24xf32> {{glow.name = "x"}})
            -> (tensor<24xf32> {{glow.name = "y"}}) {{
          %a = glow.clip %x {clip(*inner)} : (tensor<24xf32>) -> tensor<24xf32>
          %b = glow.clip %a {clip(low, high)} : (tensor<24xf32>) -> tensor<24xf32>
          func.return %b : tensor<24xf32>
        }}""")
        want = interpret(module, inputs)["y"]
        run("canonicalize", module)
        found = interpret(module, inputs)["y"]
        np.testing.assert_array_equal(found, want, err_msg=str(inner))


@pytest.mark.parametrize("number", range(30))
def test_passes_reach_a_fixed_point(number: int, rng: np.random.Generator):
    """A pass may leave work to the others, but a few rounds of them leave none."""
    pipeline = "canonicalize,glow-simplify-shapes,glow-sink-transposes"
    module = random_graph(int(rng.integers(2**32)), 20)
    for _ in range(4):
        run(pipeline, module)
    for name in pipeline.split(","):
        before = str(module)
        assert str(run(name, module)) == before


@pytest.mark.parametrize("number", range(40))
def test_sinking_never_adds_transposes(number: int, rng: np.random.Generator):
    module = random_graph(int(rng.integers(2**32)), 25)
    before = count(module)["glow.transpose"]
    run("glow-sink-transposes,glow-fold-constants", module)
    assert count(module)["glow.transpose"] <= before


def test_permutations(rng: np.random.Generator):
    for rank in range(6):
        p, q = (tuple(int(i) for i in rng.permutation(rank)) for _ in range(2))
        shape = tuple(int(d) for d in rng.integers(1, 4, rank))
        array = rng.standard_normal(shape)
        np.testing.assert_array_equal(
            array.transpose(compose(p, q)), array.transpose(p).transpose(q)
        )
        assert is_identity(compose(p, inverse(p)))
        same = array.transpose(p).ravel().tolist() == array.ravel().tolist()
        assert moves_only_ones(p, shape) == same
