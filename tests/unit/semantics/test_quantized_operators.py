"""Operators on quantized numbers, against exact rational arithmetic in Python."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from glow.glow_dialects.glow.base import Node
from glow.glow_dialects.glow.convolution import ConvolutionOp
from glow.glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from glow.glow_dialects.glow.quantization import (
    DequantizeOp,
    FakeQuantizeOp,
    QuantizeOp,
    RescaleOp,
    StorageCastOp,
)
from glow.glow_dialects.operator import with_shape
from glow.glow_dialects.python_values import Python
from glow.glow_dialects.quant import QuantizedType
from glow.semantics import element_type, evaluate, numpy_dtype
from xdsl.dialects import test
from xdsl.dialects.builtin import IntegerType, Signedness, f32, i8, i32
from xdsl.ir import Attribute

U8 = IntegerType(8, Signedness.UNSIGNED)
TYPES = [
    QuantizedType(i8, f32, 0.05, 3),
    QuantizedType(U8, f32, 0.5, 128),
    QuantizedType(IntegerType(4), f32, 0.3),
    QuantizedType(IntegerType(16), f32, 0.001, -5),
    QuantizedType(i32, f32, 1e-4, 9),
    QuantizedType(i8, f32, 0.05, 3, storage_bounds=(-100, 90)),
]


def run(
    operator: type[Node],
    types: list[Attribute],
    arrays: list[np.ndarray],
    result: Attribute | None = None,
    **properties: Python,
) -> np.ndarray:
    """Returns an operator on operands with element types, which dtypes do not tell."""
    tensors = [with_shape(t, a.shape) for t, a in zip(types, arrays, strict=True)]
    operands = test.TestOp.create(result_types=tensors).results
    results = None if result is None else [with_shape(result, arrays[0].shape)]
    op = operator.of(*operands, result_types=results, **properties)
    op.verify()
    (found,) = evaluate(op.call, arrays)
    return found


def test_quantize(rng: np.random.Generator):
    for t in TYPES:
        (scale,), (zero_point,) = t.scale_values(), t.zero_point_values()
        low, high = t.storage_min.data, t.storage_max.data
        x = (rng.standard_normal(257) * 60 * scale).astype(np.float32)
        # Fractions of f32 quotients: what is rounded is the quotient in f32
        steps = [round(Fraction(float(q))) for q in x / np.float32(scale)]
        want = [min(max(s + zero_point, low), high) for s in steps]
        assert run(QuantizeOp, [f32], [x], t).tolist() == want


def test_quantize_saturates_and_takes_nan_for_the_smallest():
    x = np.array([np.inf, -np.inf, np.nan, 3e38, -3e38], np.float32)
    for t in TYPES:
        low, high = t.storage_min.data, t.storage_max.data
        assert run(QuantizeOp, [f32], [x], t).tolist() == [high, low, low, high, low]


def test_dequantize(rng: np.random.Generator):
    for t in TYPES:
        (scale,), (zero_point,) = t.scale_values(), t.zero_point_values()
        low, high = max(t.storage_min.data, -(2**20)), min(t.storage_max.data, 2**20)
        q = rng.integers(low, high + 1, 257).astype(numpy_dtype(t))
        found = run(DequantizeOp, [t], [q])
        want = np.array([int(v) - zero_point for v in q], np.float32) * np.float32(scale)
        np.testing.assert_array_equal(found, want)


def test_fake_quantize_is_dequantize_after_quantize(rng: np.random.Generator):
    """The numbers are equal to the bit: signs of zeros, ties, and what saturates included."""
    for t in (t for t in TYPES if t.bitwidth <= 16):
        (scale,), (zero_point,) = t.scale_values(), t.zero_point_values()
        low, high = t.storage_min.data, t.storage_max.data
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, 3e38, -1e-30]
        ties = (np.arange(low - 2, high + 2) - zero_point + 0.5) * np.float32(scale)
        far = rng.standard_normal(257) * 2 * (high - low) * scale
        x = np.concatenate([special, ties[:600], far]).astype(np.float32)
        want = run(DequantizeOp, [t], [run(QuantizeOp, [f32], [x], t)])
        parameters = [np.full_like(x, scale), np.full_like(x, zero_point)]
        found = run(FakeQuantizeOp, [f32] * 3, [x, *parameters], least=low, greatest=high)
        np.testing.assert_array_equal(found.view(np.int32), want.view(np.int32))


def test_storage_cast(rng: np.random.Generator):
    t = QuantizedType(U8, f32, 0.5, 128)
    q = rng.integers(0, 256, 31).astype(np.uint8)
    np.testing.assert_array_equal(run(StorageCastOp, [t], [q], U8), q)
    np.testing.assert_array_equal(run(StorageCastOp, [U8], [q], t), q)


@pytest.mark.parametrize("source", [i32, QuantizedType(U8, f32, 0.5, 131)])
def test_rescale(rng: np.random.Generator, source: Attribute):
    result = QuantizedType(i8, f32, 0.25, -7)
    zero_point = 131 if isinstance(source, QuantizedType) else 0
    bounds = (0, 256) if isinstance(source, QuantizedType) else (-(2**31), 2**31)
    x = rng.integers(*bounds, 257).astype(numpy_dtype(source))
    multiplier = rng.integers(1, 2**31, 257).astype(np.int32)
    shift = rng.integers(1, 63, 257).astype(np.int32)
    found = run(RescaleOp, [source, i32, i32], [x, multiplier, shift], result)
    real = [
        Fraction((int(v) - zero_point) * int(m), 2 ** int(s))
        for v, m, s in zip(x, multiplier, shift, strict=True)
    ]
    want = [min(max(floor(r + Fraction(1, 2)) - 7, -128), 127) for r in real]
    assert found.tolist() == want


INTEGERS = [(np.uint8, np.int8), (np.int8, np.int8), (np.uint8, np.uint8), (np.int16, np.int16)]


def numbers(rng: np.random.Generator, dtype: type, *shape: int) -> np.ndarray:
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)


@pytest.mark.parametrize(("left", "right"), INTEGERS)
def test_products_are_summed_in_i32_which_wraps_around(
    rng: np.random.Generator, left: type, right: type
):
    a, b = numbers(rng, left, 5, 301), numbers(rng, right, 301, 7)
    types: list[Attribute] = [element_type(x.dtype) for x in (a, b)]
    want = a.astype(np.int64) @ b.astype(np.int64)
    found = run(MatMulOp, types, [a, b])
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, want.astype(np.int32))
    bias = numbers(rng, np.int32, 7)
    weights = np.ascontiguousarray(b.T)
    found = run(FullyConnectedOp, [*types, i32], [a, weights, bias])
    np.testing.assert_array_equal(found, (want + bias).astype(np.int32))


def test_convolution_of_stored_numbers(rng: np.random.Generator):
    x, w = numbers(rng, np.uint8, 2, 5, 7, 4), numbers(rng, np.int8, 3, 5, 2, 3)
    bias = numbers(rng, np.int32, 3)
    want = np.zeros((2, 3, 6, 2), np.int64) + bias[:, None, None]
    for i in range(6):
        for j in range(2):
            window = x[:, :, i : i + 2, j : j + 3].astype(np.int64)
            want[:, :, i, j] += np.einsum("ncij,ocij->no", window, w.astype(np.int64))
    types: list[Attribute] = [QuantizedType(U8, f32, 0.1, 3), QuantizedType(i8, f32, 0.2), i32]
    ones = [1, 1]
    arrays = [x, w, bias]
    found = run(ConvolutionOp, types, arrays, strides=ones, pads=[0] * 4, dilations=ones)
    np.testing.assert_array_equal(found, want.astype(np.int32))
