"""Scales and zero points against their definitions, and what is stored against plain arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from glow.errors import GlowError, QuantizationError
from glow.glow_dialects.integers import integer_range
from glow.glow_dialects.quant import QuantizedType
from glow.quantization import (
    SCHEMAS,
    STORAGES,
    Range,
    bias_type,
    choose,
    choose_per_axis,
    dequantize_array,
    quantize_array,
)
from hypothesis import given
from hypothesis import strategies as st

FINITE = st.floats(-1e30, 1e30, allow_subnormal=False)
SCHEMA = st.sampled_from(sorted(SCHEMAS))
STORAGE = st.sampled_from(sorted(set(STORAGES) - {"i32"}))


def parts(t: QuantizedType) -> tuple[float, int, int, int]:
    (scale,), (point,) = t.scale_values(), t.zero_point_values()
    return scale, point, *integer_range(t.storage)


@given(FINITE, FINITE, SCHEMA, STORAGE)
def test_the_range_is_represented_and_zero_is_exact(
    a: float, b: float, schema: str, storage: str
) -> None:
    low, high = min(a, b), max(a, b)
    t = choose(Range(low, high), schema, storage)
    scale, point, bottom, top = parts(t)
    assert scale == float(np.float32(scale))
    assert bottom <= point <= top
    assert dequantize_array(np.array([point], dtype=np.int64), t)[0] == 0
    # every number of the range is at most a step from a stored one: half by rounding, half by the
    # zero point that was moved to an integer
    for x in (low, high, 0.0):
        stored = min(max(round(Fraction(x) / Fraction(scale)) + point, bottom), top)
        assert abs((stored - point) * scale - x) <= 0.501 * scale * (1 + 1e-6) + 1e-5 * abs(x)


@given(FINITE, FINITE, STORAGE)
def test_power_of_two(a: float, b: float, storage: str) -> None:
    low, high = min(a, b), max(a, b)
    scale, point, bottom, top = parts(choose(Range(low, high), "power_of_two", storage))
    mantissa, _ = math.frexp(scale)
    assert mantissa == 0.5
    assert point == (bottom + top + 1) // 2
    largest = max(-low, high)
    if largest > 1e-30:
        assert scale * (top - point) >= largest * (1 - 1e-6)
        assert scale / 2 * (top - point) < largest * (1 + 1e-6)  # none smaller would do


@pytest.mark.parametrize(
    ("schema", "storage", "range", "want"),
    [
        ("asymmetric", "i8", Range(0.0, 255.0), "<i8:f32, 1.0:-128>"),
        ("asymmetric", "u8", Range(-128.0, 127.0), "<u8:f32, 1.0:128>"),
        ("asymmetric", "u8", Range(10.0, 255.0), "<u8:f32, 1.0>"),
        ("asymmetric", "i8", Range(-255.0, -3.0), "<i8:f32, 1.0:127>"),
        ("asymmetric", "i16", Range(0.0, 65535.0), "<i16:f32, 1.0:-32768>"),
        ("asymmetric", "u4", Range(-5.0, 10.0), "<u4:f32, 1.0:5>"),
        ("symmetric", "i8", Range(-3.0, 127.0), "<i8:f32, 1.0>"),
        ("symmetric", "u8", Range(-127.0, 5.0), "<u8:f32, 1.0:128>"),
        ("symmetric", "i4", Range(-7.0, 5.0), "<i4:f32, 1.0>"),
        ("symmetric_uint8", "i8", Range(0.0, 255.0), "<u8:f32, 1.0>"),
        ("symmetric_uint8", "u8", Range(3.0, 255.0), "<u8:f32, 1.0>"),
        ("symmetric_uint8", "i8", Range(-0.5, 127.0), "<i8:f32, 1.0>"),
        ("symmetric_uint8", "i16", Range(0.0, 32767.0), "<i16:f32, 1.0>"),
        ("symmetric_uint8", "i32", Range(0.0, 1.0), "<i32:f32, 4.656612873077393e-10>"),
        ("power_of_two", "i8", Range(-127.0, 5.0), "<i8:f32, 1.0>"),
        ("power_of_two", "i8", Range(-127.5, 5.0), "<i8:f32, 2.0>"),
    ],
)
def test_known_types(schema: str, storage: str, range: Range, want: str) -> None:
    assert str(choose(range, schema, storage)) == "!quant.uniform" + want


@pytest.mark.parametrize("schema", sorted(SCHEMAS))
@pytest.mark.parametrize("storage", sorted(STORAGES))
def test_nothing_but_zero_has_scale_one(schema: str, storage: str) -> None:
    t = choose(Range(0.0, 0.0), schema, storage)
    assert t.scale_values() == (1.0,)
    q = quantize_array(np.zeros(3, np.float32), t)
    assert (dequantize_array(q, t) == 0).all()


@pytest.mark.parametrize("schema", sorted(SCHEMAS))
@pytest.mark.parametrize("constant", [0.37, -41.0, 1e-44, 3e38])
def test_constant_ranges_are_kept(schema: str, constant: float) -> None:
    t = choose(Range(constant, constant), schema, "i8")
    x = np.full(4, constant, np.float32)
    back = dequantize_array(quantize_array(x, t), t)
    assert np.abs(back - x).max() <= max(t.scale_values()[0] / 2, 1e-6 * abs(constant))


@pytest.mark.parametrize(
    "range", [Range(np.nan, 1.0), Range(0.0, np.inf), Range(-np.inf, 0.0), Range(2.0, 1.0)]
)
def test_wrong_ranges(range: Range) -> None:
    with pytest.raises(QuantizationError, match="expected a range of finite numbers, found"):
        choose(range)


def test_unknown_names() -> None:
    with pytest.raises(GlowError, match=r"expected a schema of asymmetric, .*, found 'affine'"):
        choose(Range(0.0, 1.0), "affine")
    with pytest.raises(GlowError, match=r"expected a storage of i4, u4, i8, .*, found 'i7'"):
        choose(Range(0.0, 1.0), storage="i7")


@pytest.mark.parametrize("storage", ["i8", "u8", "i16", "i4", "u4"])
@pytest.mark.parametrize("schema", sorted(SCHEMAS))
def test_arrays_are_rounded_to_the_nearest(
    rng: np.random.Generator, schema: str, storage: str
) -> None:
    x = (rng.standard_normal((3, 7, 5)) * 10).astype(np.float32)
    t = choose(Range(-15.0, 20.0), schema, storage)
    scale, point, bottom, top = parts(t)
    q = quantize_array(x, t)
    want = np.clip(np.rint(x / np.float32(scale)).astype(np.int64) + point, bottom, top)
    assert (q.astype(np.int64) == want).all()
    want = (q.astype(np.float32) - point) * np.float32(scale)
    assert (dequantize_array(q, t) == want).all()


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_per_axis(rng: np.random.Generator, axis: int) -> None:
    x = rng.standard_normal((5, 3, 7)).astype(np.float32)
    rows = np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1)
    t = choose_per_axis(rows.min(1), rows.max(1), axis, "asymmetric", "u8")
    back = np.moveaxis(dequantize_array(quantize_array(x, t), t), axis, 0)
    for i, row in enumerate(rows):
        alone = choose(Range(float(row.min()), float(row.max())), "asymmetric", "u8")
        assert (t.scale_values()[i], t.zero_point_values()[i]) == parts(alone)[:2]
        assert (back[i].ravel() == dequantize_array(quantize_array(row, alone), alone)).all()


def test_per_axis_errors_name_the_channel() -> None:
    with pytest.raises(QuantizationError, match="of channel 1, found nan to 1"):
        choose_per_axis([0.0, np.nan], [1.0, 1.0], 0)
    with pytest.raises(QuantizationError, match="as many lows as highs, found 2 and 1"):
        choose_per_axis([0.0, 0.0], [1.0], 0)


def test_bias_has_the_scale_of_products(rng: np.random.Generator) -> None:
    x = choose(Range(-1.0, 3.0), "asymmetric", "u8")
    w = choose_per_axis(-rng.uniform(0.1, 1, 7), rng.uniform(0.1, 1, 7), 0)
    bias = rng.standard_normal(7).astype(np.float32)
    t = bias_type(x, w, bias)
    want = np.float32(np.array(w.scale_values()) * x.scale_values()[0])
    assert np.array_equal(np.array(t.scale_values(), np.float32), want)
    assert set(t.zero_point_values()) == {0}
    assert np.allclose(dequantize_array(quantize_array(bias, t), t), bias, atol=want.max())


def test_narrow_bias(rng: np.random.Generator) -> None:
    x = choose(Range(-1.0, 1.0), "power_of_two")
    w = choose(Range(-1.0, 1.0), "power_of_two")
    bias = rng.standard_normal(11).astype(np.float32) * 4
    t = bias_type(x, w, bias, "i8", "power_of_two")
    ratio = t.scale_values()[0] / (x.scale_values()[0] * w.scale_values()[0])
    assert ratio >= 1
    assert math.frexp(ratio)[0] == 0.5
    assert np.abs(dequantize_array(quantize_array(bias, t), t) - bias).max() <= t.scale_values()[0]
    zero = bias_type(x, w, np.zeros(11, np.float32), "i8")
    assert zero.scale_values()[0] == x.scale_values()[0] * w.scale_values()[0]


def test_wrong_biases() -> None:
    x, w = choose(Range(-1.0, 1.0)), choose(Range(-1e-12, 1e-12))
    with pytest.raises(QuantizationError, match=r"bias of 3 does not fit into i32 .* in float"):
        bias_type(x, w, np.array([1.0, -3.0]))
    with pytest.raises(QuantizationError, match="bias of finite numbers"):
        bias_type(x, w, np.array([np.nan]))
    per_axis = choose_per_axis([-1.0, -1.0], [1.0, 1.0], 0)
    with pytest.raises(QuantizationError, match="expected a bias of 2 elements, found 3"):
        bias_type(x, per_axis, np.ones(3))
    with pytest.raises(QuantizationError, match="schema without zero point"):
        bias_type(x, w, np.ones(2), "u8", "symmetric")
