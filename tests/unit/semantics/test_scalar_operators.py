"""Data-parallel operators in every element type, against Python's own arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from glow.glow_dialects.glow import (
    NODES,
    DataParallel,
    activation,
    arithmetic,
    integer_parts,
    inverse_functions,
    logic,
    random,
)
from glow.glow_dialects.operator import with_shape
from glow.glow_dialects.python_values import Python
from glow.semantics import element_type, numpy_dtype
from glow.semantics.numpy_algebra import convert
from glow.tests.support.oracle import run_node
from xdsl.dialects.builtin import IntegerType, bf16, f16, f32, f64, i1

NAN, INF = math.nan, math.inf
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
INTEGERS = [np.int8, np.uint8, np.int16, np.int32, np.int64]

Unary = Callable[[float], float]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def gelu(x: float) -> float:
    return x * 0.5 * (1 + math.erf(x / math.sqrt(2)))


def gelu_tanh(x: float) -> float:
    return x * 0.5 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def atanh(v: float) -> float:
    """Returns what IEEE 754 says, also at the poles, where `math.atanh` raises."""
    return math.copysign(INF, v) if abs(v) == 1 else within(math.atanh, -1, 1)(v)


def within(function: Unary, low: float, high: float) -> Unary:
    """Returns a function that is NaN outside of a range."""
    return lambda x: function(x) if low <= x <= high else NAN


def power(a: float, b: float) -> float:
    return a**b if a > 0 or b == int(b) else NAN


UNARY: list[tuple[type[DataParallel], dict[str, Python], Unary]] = [
    (arithmetic.NegOp, {}, lambda x: -x),
    (arithmetic.AbsOp, {}, abs),
    (arithmetic.SqrtOp, {}, lambda x: math.sqrt(x) if x >= 0 else NAN),
    (arithmetic.ReciprocalOp, {}, lambda x: 1 / x),
    (arithmetic.ExpOp, {}, math.exp),
    (arithmetic.LogOp, {}, lambda x: math.log(x) if x >= 0 else NAN),
    (arithmetic.SinOp, {}, math.sin),
    (arithmetic.CosOp, {}, math.cos),
    (arithmetic.FloorOp, {}, lambda x: float(math.floor(x))),
    (arithmetic.CeilOp, {}, lambda x: float(math.ceil(x))),
    (arithmetic.RoundEvenOp, {}, lambda x: float(round(x))),
    (arithmetic.SignOp, {}, lambda x: math.copysign(1.0, x)),
    (activation.ReluOp, {}, lambda x: max(x, 0.0)),
    (activation.LeakyReluOp, {"alpha": 0.25}, lambda x: x if x >= 0 else 0.25 * x),
    (activation.EluOp, {"alpha": 0.5}, lambda x: x if x >= 0 else 0.5 * math.expm1(x)),
    (activation.ClipOp, {"min": -0.5, "max": 1.25}, lambda x: min(max(x, -0.5), 1.25)),
    (activation.ClipOp, {"max": 0.5}, lambda x: min(x, 0.5)),
    (activation.SigmoidOp, {}, sigmoid),
    (activation.TanhOp, {}, math.tanh),
    (activation.ErfOp, {}, math.erf),
    (activation.GeluOp, {}, gelu),
    (activation.GeluOp, {"approximate": True}, gelu_tanh),
    (activation.SoftplusOp, {}, lambda x: math.log1p(math.exp(-abs(x))) + max(x, 0.0)),
    (
        activation.HardSigmoidOp,
        {"alpha": 0.25, "beta": 0.75},
        lambda x: max(0.0, min(1.0, 0.25 * x + 0.75)),
    ),
    (activation.HardSwishOp, {}, lambda x: x * max(0.0, min(1.0, x / 6 + 0.5))),
    (inverse_functions.AsinOp, {}, within(math.asin, -1, 1)),
    (inverse_functions.AcosOp, {}, within(math.acos, -1, 1)),
    (inverse_functions.AtanOp, {}, math.atan),
    (inverse_functions.SinhOp, {}, math.sinh),
    (inverse_functions.AsinhOp, {}, math.asinh),
    (inverse_functions.AcoshOp, {}, within(math.acosh, 1, INF)),
    (inverse_functions.AtanhOp, {}, atanh),
]

BINARY: list[tuple[type[DataParallel], Callable[[float, float], float | bool]]] = [
    (arithmetic.AddOp, lambda a, b: a + b),
    (arithmetic.SubOp, lambda a, b: a - b),
    (arithmetic.MulOp, lambda a, b: a * b),
    (arithmetic.DivOp, lambda a, b: a / b),
    (arithmetic.RemOp, math.fmod),
    (arithmetic.MaximumOp, max),
    (arithmetic.MinimumOp, min),
    (arithmetic.PowOp, power),
    (activation.PReluOp, lambda a, b: a if a >= 0 else b * a),
    (logic.EqualOp, lambda a, b: a == b),
    (logic.LessOp, lambda a, b: a < b),
    (logic.LessEqualOp, lambda a, b: a <= b),
]


def one_ulp(found: np.ndarray, expected: list[float], ulps: float) -> None:
    """Checks numbers within some units in the last place, or of 1 if they are smaller."""
    wide = np.array(expected, np.float64)
    info = ml_dtypes.finfo(found.dtype)
    wide[np.abs(wide) > float(info.max)] *= INF
    tolerance = ulps * float(info.eps) * np.maximum(1, np.abs(wide))
    difference = np.abs(found.astype(np.float64) - wide)
    same = (found == wide) | (np.isnan(wide) & np.isnan(found))
    assert np.all((difference <= tolerance) | same), difference.max()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("op", "properties", "reference"), UNARY, ids=lambda v: getattr(v, "name", "")
)
def test_float_unary(
    rng: np.random.Generator,
    op: type[DataParallel],
    properties: dict[str, Python],
    reference: Unary,
    dtype: type,
):
    x = np.concatenate([rng.normal(0, 2, 61), rng.normal(0, 0.1, 20), [0.5, 1.5, -2.5]])
    x = x.astype(dtype)
    found = run_node(op, x, **properties)  # pyright: ignore[reportArgumentType]
    assert found.dtype == dtype
    assert found.shape == x.shape
    ulps = 8 if dtype in (np.float32, np.float64) else 0.51
    one_ulp(found, [reference(float(v)) for v in x], ulps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("op", "reference", "low", "high"),
    [
        (inverse_functions.AsinOp, np.arcsin, -30, 0),
        (inverse_functions.AtanOp, np.arctan, -30, 30),
        (inverse_functions.SinhOp, np.sinh, -30, 4),
        (inverse_functions.AsinhOp, np.arcsinh, -30, 30),
        (inverse_functions.AtanhOp, np.arctanh, -30, -0.5),
    ],
    ids=lambda v: getattr(v, "name", ""),
)
def test_inverse_functions_keep_relative_errors_small(
    rng: np.random.Generator,
    op: type[DataParallel],
    reference: Callable[[np.ndarray], np.ndarray],
    low: float,
    high: float,
    dtype: type,
):
    """Also near their zeros, and where squares overflow."""
    x = (np.exp(rng.uniform(low, high, 500)) * rng.choice([-1, 1], 500)).astype(dtype)
    wanted = reference(x.astype(np.longdouble))
    error = np.abs(run_node(op, x).astype(np.longdouble) - wanted) / np.abs(wanted)
    assert error.max() < 6 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("op", "reference"), BINARY, ids=lambda v: getattr(v, "name", ""))
def test_float_binary(
    rng: np.random.Generator,
    op: type[DataParallel],
    reference: Callable[[float, float], float | bool],
    dtype: type,
):
    a, b = (np.append(rng.normal(0, 2, (7, 5)), 1.0).astype(dtype) for _ in range(2))
    found = run_node(op, a, b)
    expected = [reference(float(u), float(v)) for u, v in zip(a, b, strict=True)]
    if found.dtype == np.bool_:
        assert found.tolist() == expected
        return
    assert found.dtype == dtype
    one_ulp(found, expected, 8 if dtype in (np.float32, np.float64) else 0.51)


def wrap(value: int, dtype: np.dtype) -> int:
    """Returns `value` in two's complement."""
    info = np.iinfo(dtype)
    return (value - info.min) % (info.max - info.min + 1) + info.min


def c_quotient(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


INTEGER_BINARY: list[tuple[type[DataParallel], Callable[[int, int], int | bool]]] = [
    (arithmetic.AddOp, lambda a, b: a + b),
    (arithmetic.SubOp, lambda a, b: a - b),
    (arithmetic.MulOp, lambda a, b: a * b),
    (arithmetic.DivOp, c_quotient),
    (arithmetic.RemOp, lambda a, b: a - b * c_quotient(a, b)),
    (arithmetic.MaximumOp, max),
    (arithmetic.MinimumOp, min),
    (logic.EqualOp, lambda a, b: a == b),
    (logic.LessOp, lambda a, b: a < b),
    (logic.LessEqualOp, lambda a, b: a <= b),
    (logic.AndOp, lambda a, b: a & b),
    (logic.OrOp, lambda a, b: a | b),
    (logic.XorOp, lambda a, b: a ^ b),
]

INTEGER_UNARY: list[tuple[type[DataParallel], dict[str, Python], Callable[[int], int]]] = [
    (arithmetic.NegOp, {}, lambda a: -a),
    (arithmetic.AbsOp, {}, abs),
    (arithmetic.SignOp, {}, lambda a: (a > 0) - (a < 0)),
    (activation.ReluOp, {}, lambda a: max(a, 0)),
    (activation.ClipOp, {"min": 3, "max": 90}, lambda a: min(max(a, 3), 90)),
    (logic.NotOp, {}, lambda a: ~a),
]


def integers(rng: np.random.Generator, dtype: np.dtype) -> np.ndarray:
    info = np.iinfo(dtype)
    found = rng.integers(info.min, info.max, 40, dtype, endpoint=True)
    return np.concatenate([found, np.array([info.max, 1, 2, 7], dtype)])


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(("op", "reference"), INTEGER_BINARY, ids=lambda v: getattr(v, "name", ""))
def test_integer_binary(
    rng: np.random.Generator,
    op: type[DataParallel],
    reference: Callable[[int, int], int | bool],
    dtype: type,
):
    a, b = integers(rng, np.dtype(dtype)), integers(rng, np.dtype(dtype))
    b[b == 0] = 3
    found = run_node(op, a, b)
    expected = [reference(int(u), int(v)) for u, v in zip(a, b, strict=True)]
    if found.dtype != np.bool_:
        assert found.dtype == dtype
        expected = [wrap(int(e), np.dtype(dtype)) for e in expected]
    assert found.tolist() == expected


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(
    ("op", "properties", "reference"), INTEGER_UNARY, ids=lambda v: getattr(v, "name", "")
)
def test_integer_unary(
    rng: np.random.Generator,
    op: type[DataParallel],
    properties: dict[str, Python],
    reference: Callable[[int], int],
    dtype: type,
):
    a = integers(rng, np.dtype(dtype))
    found = run_node(op, a, **properties)  # pyright: ignore[reportArgumentType]
    assert found.dtype == dtype
    assert found.tolist() == [wrap(reference(int(v)), np.dtype(dtype)) for v in a]


def test_division_by_integer_zero_is_silent():
    a = np.array([7, -7, 0], np.int32)
    assert run_node(arithmetic.DivOp, a, np.zeros(3, np.int32)).shape == (3,)
    assert run_node(arithmetic.RemOp, a, np.zeros(3, np.int32)).shape == (3,)


def test_truth_values():
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    assert run_node(logic.AndOp, a, b).tolist() == [False, False, False, True]
    assert run_node(logic.OrOp, a, b).tolist() == [False, True, True, True]
    assert run_node(logic.XorOp, a, b).tolist() == [False, True, True, False]
    assert run_node(logic.NotOp, a).tolist() == [True, True, False, False]
    assert run_node(logic.EqualOp, a, b).tolist() == [True, False, False, True]


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan(dtype: type):
    a = np.array([NAN, NAN, 1, INF, -INF], dtype)
    b = np.array([1, NAN, NAN, 1, 1], dtype)
    for op in (arithmetic.MaximumOp, arithmetic.MinimumOp, arithmetic.AddOp):
        assert np.isnan(run_node(op, a, b)[:3]).all()
    for op in (logic.EqualOp, logic.LessOp, logic.LessEqualOp):
        assert not run_node(op, a, b)[:3].any()
    for op in (activation.ReluOp, arithmetic.SignOp, activation.ClipOp):
        assert np.isnan(run_node(op, a)[:2]).all()
    assert np.isnan(run_node(activation.ClipOp, a, min=0.0, max=1.0)[0])


def test_extremes():
    x = np.array([-1e30, -200, 200, 1e30, INF, -INF], np.float32)
    assert run_node(activation.SigmoidOp, x).tolist() == [0, 0, 1, 1, 1, 0]
    np.testing.assert_array_equal(
        run_node(activation.SoftplusOp, x), np.array([0, 0, 200, 1e30, INF, 0], np.float32)
    )
    assert run_node(activation.TanhOp, x).tolist() == [-1, -1, 1, 1, 1, -1]


def test_clip_of_integers_with_infinite_bounds():
    x = np.array([-128, 0, 127], np.int8)
    assert run_node(activation.ClipOp, x, min=-INF, max=INF).tolist() == [-128, 0, 127]
    assert run_node(activation.ClipOp, x, min=-1000, max=5).tolist() == [-128, 0, 5]


def test_select(rng: np.random.Generator):
    c = rng.random(20) < 0.5
    a, b = (rng.normal(size=20).astype(np.float16) for _ in range(2))
    np.testing.assert_array_equal(run_node(logic.SelectOp, c, a, b), np.where(c, a, b))


CASTS = [np.bool_, *FLOATS, *INTEGERS]


@pytest.mark.parametrize("to", CASTS)
@pytest.mark.parametrize("source", CASTS)
def test_cast(rng: np.random.Generator, source: type, to: type):
    x = np.array([0, 1, 2, 100, *rng.integers(0, 100, 20), *(rng.random(20) * 100)])
    if np.dtype(source).kind not in "bu" and np.dtype(to).kind != "u":
        x[10:] *= -1
    x = convert(x, np.dtype(source))
    found = run_node(logic.CastOp, x, result_types=[with_shape(element_type(to), x.shape)])
    assert found.dtype == to
    if to is np.bool_:
        assert found.tolist() == [float(v) != 0 for v in x]
    elif np.dtype(to).kind in "iu":
        assert found.tolist() == [int(float(v)) for v in x]
    else:
        one_ulp(found, [float(v) for v in x], 0.5)


def test_cast_rounds_once():
    # halfway between two neighbours in bf16, but for a bit that f32 cannot hold
    x = np.array([1 + 2**-8 + 2**-40, 1 + 2**-8, 1 + 3 * 2**-8 - 2**-40, -1 - 2**-8 - 2**-40])
    found = run_node(logic.CastOp, x, result_types=[with_shape(bf16, x.shape)])
    assert found.astype(np.float64).tolist() == [1 + 2**-7, 1, 1 + 2**-7, -1 - 2**-7]


def test_narrow_floats_round_once(rng: np.random.Generator):
    x = rng.normal(size=1000).astype(np.float16)
    found = run_node(activation.GeluOp, x)
    wide = run_node(activation.GeluOp, x.astype(np.float32))
    np.testing.assert_array_equal(found, wide.astype(np.float16))


@pytest.mark.parametrize("dtype", [*INTEGERS, np.uint16])
def test_shift_left(rng: np.random.Generator, dtype: type):
    x = integers(rng, np.dtype(dtype))
    width = 8 * x.itemsize
    bits = rng.integers(0, width, x.shape).astype(dtype)
    found = run_node(logic.ShiftLeftOp, x, bits)
    assert found.dtype == dtype
    pairs = zip(x, bits, found, strict=True)
    assert all((int(a) << int(b)) % 2**width == int(c) % 2**width for a, b, c in pairs)


@pytest.mark.parametrize("dtype", [*INTEGERS, np.uint16])
def test_shift_right(rng: np.random.Generator, dtype: type):
    x = integers(rng, np.dtype(dtype))
    bits = rng.integers(0, 8 * x.itemsize, x.shape).astype(dtype)
    found = run_node(logic.ShiftRightOp, x, bits)
    assert found.dtype == dtype
    assert found.tolist() == [int(a) >> int(b) for a, b in zip(x, bits, strict=True)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_multiply_add_rounds_once(rng: np.random.Generator, dtype: type):
    info = np.finfo(dtype)
    # sums that cancel most of the product show its lowest bits
    a, b = (rng.uniform(1, 2, 200).astype(dtype) for _ in range(2))
    nudges = info.eps * rng.integers(-2, 3, 200).astype(dtype)
    for c in (-(a * b), -(a * b) + nudges, rng.normal(size=200).astype(dtype)):
        found = run_node(arithmetic.MultiplyAddOp, a, b, c)
        assert found.dtype == dtype
        x, y, z, f = ([Fraction(v) for v in array.tolist()] for array in (a, b, c, found))
        error = [abs(f[i] - x[i] * y[i] - z[i]) for i in range(len(found))]
        ulps = [Fraction(v) for v in np.spacing(np.abs(found)).tolist()]
        assert all(e <= u / 2 for e, u in zip(error, ulps, strict=True))
    special = run_node(arithmetic.MultiplyAddOp, *(np.array([s], dtype) for s in (np.inf, 0, 1)))
    assert np.isnan(special[0])


def test_multiply_add_of_integers_wraps_around():
    a, b, c = (np.array([x], np.int8) for x in (100, 3, 7))
    assert run_node(arithmetic.MultiplyAddOp, a, b, c).tolist() == [307 - 256]


def _saturated(number: int) -> int:
    return max(-(2**15), min(2**15 - 1, number))


def test_products_of_the_parts_of_integers(rng: np.random.Generator):
    a, b, c = (rng.integers(-(2**31), 2**31, 100).astype(np.int32) for _ in range(3))
    a[0] = b[0] = -(2**31) - 2**15 + 2**32  # its halves are the smallest numbers
    halves = [v.view(np.int16).reshape(-1, 2).astype(object) for v in (a, b, c)]
    want = (halves[0] * halves[1]).sum(-1) + c.astype(object)
    found = run_node(integer_parts.MultiplyAddPairsOp, a, b, c)
    assert [int(v) % 2**32 for v in found] == [int(v) % 2**32 for v in want]
    left, right = (v.view(t).reshape(-1, 2, 2).astype(object) for v, t in ((a, "u1"), (b, "i1")))
    sums = np.vectorize(_saturated, otypes=[object])((left * right).sum(-1)) + halves[2]
    found = run_node(integer_parts.MultiplyAddBytesOp, a, b, c).view(np.uint16)
    assert found.tolist() == [int(v) % 2**16 for v in sums.reshape(-1)]
    want = (left * right).sum((-2, -1)) + c.astype(object)
    found = run_node(integer_parts.MultiplyAddQuadsOp, a, b, c)
    assert [int(v) % 2**32 for v in found] == [int(v) % 2**32 for v in want]


def test_bitcast(rng: np.random.Generator):
    x = rng.normal(size=9).astype(np.float32)
    types = [with_shape(element_type(np.dtype(np.uint32)), x.shape)]
    bits = run_node(logic.BitcastOp, x, result_types=types)
    assert bits.tolist() == x.view(np.uint32).tolist()
    back = run_node(logic.BitcastOp, bits, result_types=[with_shape(element_type(x.dtype), (9,))])
    np.testing.assert_array_equal(back, x)


QUANTIZED = {n for n in NODES if n.__module__.endswith("glow.quantization")}
"""Tested in `test_quantized_operators.py`."""


def test_every_data_parallel_operator_is_tested():
    tables = (UNARY, BINARY, INTEGER_BINARY, INTEGER_UNARY)
    tested = {case[0] for table in tables for case in table} | {logic.SelectOp, logic.CastOp}
    tested |= {logic.BitcastOp, arithmetic.MultiplyAddOp}
    tested |= {integer_parts.MultiplyAddPairsOp, integer_parts.MultiplyAddBytesOp}
    tested |= {integer_parts.MultiplyAddQuadsOp}
    tested |= {logic.ShiftLeftOp, logic.ShiftRightOp, random.RandomBitsOp, *QUANTIZED}
    assert tested == {n for n in NODES if issubclass(n, DataParallel)}


def test_dtypes_of_elements():
    pairs = [(f16, np.float16), (bf16, ml_dtypes.bfloat16), (f32, np.float32), (f64, np.float64)]
    pairs += [(i1, np.bool_), (IntegerType(8), np.int8), (IntegerType(64), np.int64)]
    for element, dtype in pairs:
        assert numpy_dtype(element) == dtype
        assert element_type(dtype) == element
