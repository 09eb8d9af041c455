"""Constants whose bytes are computed when they are read."""

from __future__ import annotations

import gc
import weakref
from functools import partial

import numpy as np
import pytest
from glow.glow_dialects.blob import BlobAttr
from glow.glow_dialects.glow.constant import SplatOp
from glow.passes.graph.pack_weights import turn, turned
from glow.semantics.arrays import (
    LAZY_ELEMENTS,
    constant_array,
    constant_of,
    constant_reader,
    lazy_constant,
    make_constant,
    numpy_dtype,
)
from xdsl.dialects.builtin import TensorType, bf16, f32


def test_small_constants_are_computed_at_once():
    calls = []
    op = lazy_constant([2, 3], f32, "w", lambda: calls.append(1) or np.ones((2, 3), np.float32))
    assert calls == [1]
    assert np.array_equal(constant_array(op.value, op.result.type), np.ones((2, 3)))


@pytest.mark.parametrize("element", [f32, bf16])
def test_large_constants_are_computed_at_each_reading_and_not_kept(
    element, rng: np.random.Generator
):
    shape = (LAZY_ELEMENTS // 8 + 1, 9)
    source = rng.standard_normal(shape).astype(numpy_dtype(element))
    made: list[weakref.ref] = []

    def compute() -> np.ndarray:
        array = source * 1
        made.append(weakref.ref(array))
        return array.T

    op = lazy_constant(shape[::-1], element, "w", compute)
    assert not made
    assert isinstance(op.value, BlobAttr)
    assert op.value.data.is_computed
    for _ in range(2):
        found = constant_of(op.result)
        assert found is not None
        assert np.array_equal(found, source.T)
        del found
    gc.collect()
    assert len(made) == 2
    assert all(ref() is None for ref in made)


def test_a_chain_computes_through_without_its_operations(rng: np.random.Generator):
    values = rng.standard_normal((64, 128)).astype(np.float32)
    first = make_constant(values, "first")
    read = constant_reader(first.result)
    assert read is not None
    second = lazy_constant((128, 64), f32, "second", lambda: read().T)
    read_second = constant_reader(second.result)
    assert read_second is not None
    third = lazy_constant((128, 64), f32, "third", lambda: read_second() + 1)
    first.erase()
    second.erase()
    assert np.array_equal(constant_array(third.value, third.result.type), values.T + 1)


def test_what_does_not_match_its_type_is_an_error():
    wrong_shape = lazy_constant((5000, 2), f32, "w", lambda: np.zeros((2, 5000), np.float32))
    wrong_dtype = lazy_constant((5000, 2), f32, "w", lambda: np.zeros((5000, 2)))
    for op in (wrong_shape, wrong_dtype):
        with pytest.raises(ValueError, match="expected float32"):
            constant_of(op.result)


def test_a_splat_can_be_read_later():
    splat = SplatOp.of(result_types=[TensorType(f32, [3, 2])], value=1.5)
    read = constant_reader(splat.result)
    assert read is not None
    assert np.array_equal(read(), np.full((3, 2), 1.5, np.float32))


def test_constants_that_write_themselves_are_not_copied(rng: np.random.Generator):
    source = rng.standard_normal((130, 77)).astype(np.float32)
    op = lazy_constant(source.shape[::-1], f32, "w", lambda: turned(source), partial(turn, source))
    assert isinstance(op.value, BlobAttr)
    target = np.zeros(source.nbytes, np.uint8)
    assert op.value.data.write(target.data)
    assert np.array_equal(target.view(np.float32).reshape(77, 130), source.T)
    assert np.array_equal(constant_array(op.value, op.result.type), source.T)
    plain = lazy_constant(source.shape, f32, "w", lambda: source).value
    assert isinstance(plain, BlobAttr)
    assert not plain.data.write(target.data)
    assert target.any()
