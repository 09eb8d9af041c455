"""
Conversions between minifloats and wider floats, as scalar expressions.

All follow from one description of a format: the numbers of bits of its exponent and mantissa, the
bias, and which codes are infinite or NaN. xDSL's types have it (`SEMANTICS`, modelled on LLVM's
`fltSemantics`). Expressions are arithmetic on bits without branches or tables, so they compile to
vector code, and the interpreter evaluates the same.

Sources: Micikevicius et al., FP8 Formats for Deep Learning, 2022; Noune et al., 8-bit Numerical
Formats for Deep Neural Networks, 2022 (the FNUZ formats); OCP Microscaling Formats (MX) 1.0, 2023.
"""

from __future__ import annotations

from math import nan
from typing import NamedTuple

from xdsl.dialects.builtin import (
    FloatNanEncoding,
    FloatNonfiniteBehavior,
    FloatSemantics,
    IntegerType,
    ReducedPrecisionFloatType,
    f32,
    f64,
    i32,
    i64,
)
from xdsl.ir import Attribute

from .elements import is_minifloat
from .integers import u8
from .scalar import Expr, bitcast, convert, equal, select

CODE = u8
"""The integer that a minifloat is in memory."""
ROUNDINGS = ("up", "down", "nearest")
"""
The ways in which a number becomes a power of two; `nearest` takes a number in the middle up.
"""


class _Wide(NamedTuple):
    """A format of IEEE 754 in which minifloats are computed."""

    float: Attribute
    word: IntegerType
    bits: int
    mantissa: int
    bias: int


_F32 = _Wide(f32, i32, 32, 23, 127)
_F64 = _Wide(f64, i64, 64, 52, 1023)


def semantics_of(element: Attribute) -> FloatSemantics:
    """Returns the description of the format of a minifloat."""
    assert isinstance(element, ReducedPrecisionFloatType)
    return element.SEMANTICS


def code_of(value: float, element: Attribute) -> int:
    """Returns the code of the minifloat that is nearest to a number; NaN for a 0 that it lacks."""
    assert isinstance(element, ReducedPrecisionFloatType)
    if not value and not element.SEMANTICS.has_zero:
        value = nan
    (code,) = element.pack([float(value)])
    return code


def converted(
    x: Expr, source: Attribute, target: Attribute, saturate: bool = True, rounding: str = "up"
) -> Expr:
    """
    Returns `x`, of type `source`, as an element of type `target`. Either may be a minifloat.

    A minifloat is the nearest one, ties to even. One that is too large becomes the largest with
    `saturate`, and otherwise infinite, or NaN in a format without infinities. `rounding` is one of
    `ROUNDINGS`, for formats without mantissa.
    """
    if is_minifloat(source):
        x, source = _decoded(bitcast(x, CODE), semantics_of(source)), f32
    if not is_minifloat(target):
        return x if source == target else convert(x, target)
    format_, wide = semantics_of(target), _wide(source)
    if not format_.has_zero:
        code = _power_of_two(convert(x, f64), format_, saturate, rounding)
    else:
        code = _encoded(convert(x, wide.float), format_, wide, saturate)
    return bitcast(convert(code, CODE), target)


def _wide(source: Attribute) -> _Wide:
    """Returns the format that a number is exact in, before it becomes a minifloat."""
    if isinstance(source, IntegerType):
        return _F32 if source.width.data <= _F32.mantissa else _F64
    return _F64 if source == f64 else _F32


def _left(a: Expr, bits: int) -> Expr:
    return a << bits if bits else a


def _right(a: Expr, bits: int) -> Expr:
    return a >> bits if bits else a


# from minifloats


def _decoded(code: Expr, s: FloatSemantics) -> Expr:
    """Returns the f32 of a code, which is exact."""
    word = convert(code, i32)
    size = word & ((1 << s.sign_shift) - 1) if s.has_sign else word
    exponents = (_F32.bias - s.exponent_bias) << _F32.mantissa
    aligned = _left(size, _F32.mantissa - s.mantissa_bits)
    number = bitcast(aligned + exponents if exponents else aligned, f32)
    if s.has_zero:
        unit = 2.0 ** (1 - s.exponent_bias - s.mantissa_bits)
        number = select(size < (1 << s.mantissa_bits), convert(size, f32) * unit, number)
    else:
        number = select(equal(size, 0), 2.0**-s.exponent_bias, number)
    if s.nonfinite is FloatNonfiniteBehavior.IEEE:
        # the exponent of infinities and NaNs stays the largest one; so does whether a bit is set
        special = bitcast(aligned | (0xFF << _F32.mantissa), f32)
        number = select(size < (s.max_exponent << s.mantissa_bits), number, special)
    elif s.nan_encoding is FloatNanEncoding.ALL_ONES and _has_nan(s):
        number = select(equal(size, (1 << s.sign_shift) - 1), nan, number)
    if s.has_sign:
        sign = _left(_right(word, s.sign_shift) & 1, _F32.bits - 1)
        number = bitcast(bitcast(number, i32) | sign, f32)
    if s.nan_encoding is FloatNanEncoding.NEGATIVE_ZERO:
        number = select(equal(word, 1 << s.sign_shift), nan, number)
    return number


def _has_nan(s: FloatSemantics) -> bool:
    return s.nonfinite is not FloatNonfiniteBehavior.FINITE_ONLY


# to minifloats


def _largest(s: FloatSemantics) -> int:
    """Returns the code of the largest number."""
    if s.nonfinite is FloatNonfiniteBehavior.IEEE:
        return (s.max_exponent << s.mantissa_bits) - 1
    return (1 << s.sign_shift) - 1 - (_has_nan(s) and s.nan_encoding is FloatNanEncoding.ALL_ONES)


def _nan(s: FloatSemantics) -> int:
    """
    Returns the code of a NaN, without its sign. Formats without one have a zero instead, as in
    ml_dtypes.
    """
    if s.nonfinite is FloatNonfiniteBehavior.IEEE:
        return (s.max_exponent << s.mantissa_bits) | (1 << (s.mantissa_bits - 1))
    if _has_nan(s) and s.nan_encoding is FloatNanEncoding.ALL_ONES:
        return (1 << s.sign_shift) - 1
    return 1 << s.sign_shift


def _too_large(s: FloatSemantics, saturate: bool) -> int:
    """Returns the code of what is above the largest number."""
    if saturate or not _has_nan(s):
        return _largest(s)
    if s.nonfinite is FloatNonfiniteBehavior.IEEE:
        return s.max_exponent << s.mantissa_bits
    return _nan(s)


def _encoded(x: Expr, s: FloatSemantics, wide: _Wide, saturate: bool) -> Expr:
    """
    Returns the code of a float, in bits of its own width. Half of the last kept bit, less one if
    that bit is even, is added to the pattern before it is cut off. For subnormal numbers, the sum
    with a large number rounds, whose last bit is the least of the format.
    """
    bits, size = bitcast(x, wide.word), abs(x)
    pattern, dropped = bitcast(size, wide.word), wide.mantissa - s.mantissa_bits
    odd = _right(pattern, dropped) & 1
    rounded = _right(pattern + ((1 << (dropped - 1)) - 1) + odd, dropped)
    normal = rounded - ((wide.bias - s.exponent_bias) << s.mantissa_bits)
    exponent = dropped + 1 - s.exponent_bias
    shifted = bitcast(size + 2.0**exponent, wide.word)
    subnormal = shifted - ((exponent + wide.bias) << wide.mantissa)
    code = select(size < 2.0 ** (1 - s.exponent_bias), subnormal, normal)
    code = select(code > _largest(s), _too_large(s, saturate), code)
    sign = _right(bits, wide.bits - 1 - s.sign_shift) & (1 << s.sign_shift)
    is_number = equal(x, x)
    if s.nan_encoding is FloatNanEncoding.NEGATIVE_ZERO:
        signed = select(equal(code, 0), 0, code | sign)
        return select(is_number, signed, _nan(s))
    return select(is_number, code, _nan(s)) | sign


def _power_of_two(x: Expr, s: FloatSemantics, saturate: bool, rounding: str) -> Expr:
    """
    Returns the exponent of a power of two, from an f64, in a format that has no more than that. The
    sign is left out.
    """
    added = {"up": (1 << _F64.mantissa) - 1, "nearest": 1 << (_F64.mantissa - 1), "down": 0}
    pattern = bitcast(abs(x), i64)
    rounded = _right(pattern + added[rounding], _F64.mantissa)
    code = rounded - (_F64.bias - s.exponent_bias)
    largest, not_a_number = s.max_exponent - 1, s.max_exponent
    code = select(code < 0, 0 if saturate else not_a_number, code)
    code = select(code > largest, largest if saturate else not_a_number, code)
    return select(equal(x, x), code, not_a_number)
