"""
Scalar expressions over whole arrays.

Each value is an array of the type in which its element type computes: f32 for 16-bit floats, the
storage for quantized types, otherwise the type itself. Integers wrap around.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np
from xdsl.ir import Attribute

from ..glow_dialects.elements import compute_type, is_narrow_storage, storage_type
from ..glow_dialects.scalar import Number, Primitive
from .arrays import BFLOAT16, number, numpy_dtype


def compute_dtype(element: Attribute) -> np.dtype:
    """Returns the dtype in which scalar expressions on `element` compute."""
    return numpy_dtype(compute_type(element))


def convert(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """
    Returns `array` as `dtype`, as a C cast does: to integers towards zero, to bool whether it is
    not 0.

    Floats beyond an integer's range, infinities and NaN give an unspecified integer.
    """
    if array.dtype == dtype:
        return array
    if dtype == np.bool_:
        return array != 0
    if array.dtype == BFLOAT16:
        array = array.astype(np.float32)
    if dtype == BFLOAT16 and array.dtype.kind in "iu" and array.itemsize >= 4:
        array = _to_odd_f64(array)
    if dtype == BFLOAT16 and array.dtype == np.float64:
        return _to_bfloat16(array)
    return array.astype(dtype)


def _to_bfloat16(array: np.ndarray) -> np.ndarray:
    # ml_dtypes rounds f64 to f32 first; an f32 rounded to odd does not disturb the second rounding
    narrow = array.astype(np.float32)
    back = narrow.astype(np.float64)
    inexact = np.isfinite(back) & (back != array)
    even = (narrow.view(np.uint32) & 1) == 0
    away = np.where(back < array, np.float32(np.inf), np.float32(-np.inf))
    return np.where(inexact & even, np.nextafter(narrow, away), narrow).astype(BFLOAT16)


def _to_odd_f64(array: np.ndarray) -> np.ndarray:
    # as above: integers that are not exact in f64 become odd multiples of the last bit that stays
    if array.itemsize == 8:
        large = (array >= 2**53) | (array <= -(2**53))
        low = array & 0x7FF
        odd = (array ^ low) | (low != 0).astype(array.dtype) << 11
        array = np.where(large, odd, array)
    return array.astype(np.float64)


def wrapped(array: np.ndarray, element: Attribute) -> np.ndarray:
    """Returns integers in bytes without the bits that do not fit a narrower integer `element`."""
    unused = array.dtype.type(8 - storage_type(element).width.data)  # pyright: ignore
    return (array << unused) >> unused


def erf(x: np.ndarray) -> np.ndarray:
    """Returns the error function, correctly rounded up to an ulp, in the dtype of `x`."""
    return np.asarray(_erf(x)).astype(x.dtype)


_erf = np.frompyfunc(math.erf, 1, 1)


def divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns the quotient; for integers, truncated towards zero, and 0 where `b` is 0."""
    if a.dtype.kind not in "iu":
        return np.divide(a, b)
    floor, remainder = np.floor_divide(a, b), np.remainder(a, b)
    return floor + ((remainder != 0) & ((a < 0) != (b < 0))).astype(a.dtype)


def multiply_add(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Returns `a * b + c`; of floats, rounded once."""
    dtype = np.asarray(a).dtype
    if dtype == np.float32:
        # the product is exact in f64; a sum that is rounded to odd there rounds well to f32
        product, c = np.multiply(a, b, dtype=np.float64), np.asarray(c, np.float64)
        return _odd_sum(product, c).astype(np.float32)
    if dtype.kind != "f":
        return np.asarray(a * b + c)
    return np.asarray(_multiply_add(a, b, c)).astype(dtype)


def _odd_sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """
    Returns `a + b`; if that is not exact, the neighbour of the exact sum with an odd significand.
    """
    total = np.asarray(a + b)
    other = total - a
    error = (a - (total - other)) + (b - other)
    away = np.where(error > 0, np.inf, -np.inf)
    even = (total.view(np.uint64) & 1) == 0
    inexact = np.isfinite(total) & (error != 0)
    return np.where(inexact & even, np.nextafter(total, away), total)


def _exact_multiply_add(a: float, b: float, c: float) -> float:
    try:
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        return float(exact) if exact else a * b + c
    except (OverflowError, ValueError):  # not finite
        return a * b + c


_multiply_add = np.frompyfunc(_exact_multiply_add, 3, 1)


def multiply_add_pairs(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Returns `c` plus the products of the signed 16-bit halves of i32 arrays, modulo 2^32."""
    low_a, low_b = ((x << 16) >> 16 for x in (a, b))
    return low_a * low_b + (a >> 16) * (b >> 16) + c


def multiply_add_bytes(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """
    Returns, in each half of i32 arrays, `c` plus the saturated sum of the products of two bytes, of
    which those of `a` are unsigned.
    """
    result = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), c.dtype)
    for half in (0, 16):
        low, high = ((a >> place & 0xFF) * (b << 24 - place >> 24) for place in (half, half + 8))
        total = np.clip(low + high, -(2**15), 2**15 - 1) + (c >> half)
        result |= (total & 0xFFFF) << half
    return result


def multiply_add_quads(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """
    Returns `c` plus the products of the four bytes of i32 arrays, of which those of `a` are
    unsigned, modulo 2^32.
    """
    products = [(a >> at & 0xFF) * (b << 24 - at >> 24) for at in range(0, 32, 8)]
    return sum(products, c)


_PRIMITIVES: Mapping[Primitive, Callable[..., np.ndarray]] = {
    Primitive.ADD: np.add,
    Primitive.SUB: np.subtract,
    Primitive.MUL: np.multiply,
    Primitive.DIV: divide,
    Primitive.REM: np.fmod,
    Primitive.MAXIMUM: np.maximum,
    Primitive.MINIMUM: np.minimum,
    Primitive.POW: np.power,
    Primitive.NEG: np.negative,
    Primitive.ABS: np.abs,
    Primitive.SQRT: np.sqrt,
    Primitive.EXP: np.exp,
    Primitive.LOG: np.log,
    Primitive.SIN: np.sin,
    Primitive.COS: np.cos,
    Primitive.TANH: np.tanh,
    Primitive.ERF: erf,
    Primitive.FLOOR: np.floor,
    Primitive.CEIL: np.ceil,
    Primitive.ROUND_EVEN: np.rint,
    Primitive.EQ: np.equal,
    Primitive.LT: np.less,
    Primitive.LE: np.less_equal,
    Primitive.AND: np.bitwise_and,
    Primitive.OR: np.bitwise_or,
    Primitive.XOR: np.bitwise_xor,
    Primitive.NOT: np.invert,
    Primitive.SELECT: np.where,
    Primitive.SHIFT_RIGHT: np.right_shift,
    Primitive.SHIFT_LEFT: np.left_shift,
    Primitive.MULTIPLY_ADD: multiply_add,
    Primitive.MULTIPLY_ADD_PAIRS: multiply_add_pairs,
    Primitive.MULTIPLY_ADD_BYTES: multiply_add_bytes,
    Primitive.MULTIPLY_ADD_QUADS: multiply_add_quads,
}


class NumpyAlgebra:
    """Folds an expression whose result has the element type `result` over arrays."""

    def __init__(self, result: Attribute):
        self.result = result
        self.dtype = compute_dtype(result)

    def constant(
        self, value: Number, like: Sequence[np.ndarray], element: Attribute | None
    ) -> np.ndarray:
        if element is not None:
            return number(value, compute_dtype(element))
        return number(value, like[0].dtype if like else self.dtype)

    def convert(self, value: np.ndarray, target: Attribute | None) -> np.ndarray:
        element = target or self.result
        converted = convert(value, numpy_dtype(element))
        if is_narrow_storage(element):
            return wrapped(converted, element)
        return convert(converted, compute_dtype(element))

    def bitcast(self, value: np.ndarray, target: Attribute) -> np.ndarray:
        return np.asarray(value).view(compute_dtype(target))

    def apply(self, kind: Primitive, args: Sequence[np.ndarray]) -> np.ndarray:
        return np.asarray(_PRIMITIVES[kind](*args))
