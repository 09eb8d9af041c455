"""
Elementary functions on f32, written with arithmetic that vectorises.

Each function takes expressions of f32, and returns that of the f32 result. They follow IEEE 754 and
C for signed zeros, infinities, NaN and subnormal numbers. Maximum errors, in units in the last
place of the correctly rounded result, over all floats (measured by the tests on samples of every
binade, on x86 with FMA):

| exp | log | tanh | erf | sin, cos | powf |
|---|---|---|---|---|---|
| 1.02 | 0.9 | 2.6 | 1.1 | 1.6 | 0.51 |

Without FMA, that of exp is 1.1, and that of erf is 1.2. The sum `1 + exp(x)` is a function of its
own, within 1.5 units. The logistic function, which is compiled as `1 / (1 + exp(-x))`, is within
2.5 units where its result is a normal number. The sum `1 + erf(x)`, which the Gaussian error linear
unit has, is a function, too: its error is at most 3.9e-7, 4.5e-7 without FMA.

The methods are the classical ones (Cody and Waite, *Software Manual for the Elementary Functions*,
1980; Muller, *Elementary Functions*, 2016): reduce the argument with a constant in two or three
parts, evaluate a polynomial, put the result together in the bits of the float. The polynomials
were fitted by Lawson's algorithm (iteratively reweighted least squares) to minimise the largest
relative error of the result; absolute for `1 + erf(x)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nan, pi, sqrt
from struct import pack, unpack

from xdsl.dialects.builtin import f32, f64, i32

from ..glow_dialects.integers import u32, u64
from ..glow_dialects.scalar import (
    Expr,
    Operand,
    Primitive,
    apply,
    bitcast,
    convert,
    equal,
    multiply_add,
    select,
)

_SIGN = 1 << 31
"""The sign bit of an f32."""

_LOG2_E = 1.44269504088896341
_LN2 = (0.693147182464599609375, -1.904654299957767878541e-9)
"""ln 2 as the sum of two f32: with FMA, `x - n * ln 2` loses nothing."""
_ROUND_F32, _ROUND_F64 = 1.5 * 2**23, 1.5 * 2**52
"""Adding one of these rounds to an integer, and leaves that integer in the low bits of the sum."""


def _bits32(value: float) -> int:
    return unpack("<i", pack("<f", value))[0]


def _bits64(value: float) -> int:
    return unpack("<q", pack("<d", value))[0]


def _polynomial(x: Expr, coefficients: Sequence[float]) -> Expr:
    """Returns `c[0] + c[1] * x + c[2] * x**2 + ...` by Horner's rule."""
    *rest, last = coefficients
    result: Operand = last
    for c in reversed(rest):
        result = multiply_add(result, x, c)
    assert isinstance(result, Expr)
    return result


def _at_most(x: Expr, bound: float) -> Expr:
    """Returns the smaller of the two; NaN stays NaN. One `min` instruction on x86."""
    return select(x > bound, bound, x)


def _at_least(x: Expr, bound: float) -> Expr:
    """Returns the larger of the two; NaN stays NaN."""
    return select(x < bound, bound, x)


def _rounded(a: Expr) -> Expr:
    return apply(Primitive.ROUND_EVEN, a)


def _with_sign_of(magnitude: Expr, x: Expr) -> Expr:
    """Returns a float that is not negative, with the sign of `x`."""
    sign = bitcast(x, u32) & _SIGN
    return bitcast(bitcast(magnitude, u32) | sign, f32)


def _scaled(p: Expr, n: Expr) -> Expr:
    """Returns `p * 2**n` for p near 1 and |n| < 254, which may overflow or become subnormal."""
    # 2**n itself need not be a normal number, but the power of each half of n is
    half = n >> 1
    return p * _power_of_two(half) * _power_of_two(n - half)


def _shifted_power_of_two(shifted: Expr) -> Expr:
    """Returns `2**n` for `shifted = n + _ROUND_F32`; 0 at -127. The shift drops the other bits."""
    return bitcast((bitcast(shifted, i32) << 23) + _bits32(1.0), f32)


def _power_of_two(n: Expr) -> Expr:
    return bitcast((n + 127) << 23, f32)


# 1 + r + r**2 * P(r), error 3.1e-9 for |r| <= ln(2) / 2
_EXP = (0.49999994, 0.166665196, 0.0416684002, 0.00836885069, 0.00138143206)
# log(1 + f) = f - f**2 / 2 + f**3 * P(f), error 7.7e-10 for sqrt(1/2) <= 1 + f <= sqrt(2)
_LOG = (
    *(0.333333105, -0.250000089, 0.200021669, -0.166680902, 0.142185539),
    *(-0.124030836, 0.118935123, -0.116943352, 0.0675757006),
)
MODERATE_EXP = (-88.0, 88.0)
"""The arguments of which `moderate_exp` is the exponential."""
_LN2_SHORT = (0.693359375, -2.12194440e-4)
"""ln 2 in two parts. The first has so few bits that its product with an exponent is exact."""
_SMALLEST_NORMAL = 2.0**-126
# e**2u - 1 = 2u + u**2 * P(u), error 1.4e-8 for |u| <= ln(2) / 4
_EXPM1_OF_DOUBLE = (1.99999988, 1.33332348, 0.66667521, 0.267730564, 0.0888480693)
# x + x * P(x**2), error 6.1e-10 for |x| <= 0.95
_ERF_SMALL = (
    *(0.128379166, -0.376126319, 0.112836637, -0.0268577058, 0.00519695226),
    *(-0.000809770369, 8.18509361e-05),
)
# 1 - erf(x) = e**-(x + x * P(x)), error 2.5e-10 of erf for 0.9 <= x <= 3.95
_ERF_LARGE = (
    *(0.12854144, 0.635673165, 0.105169483, -0.0225756038, 0.00286911335),
    *(-2.74323302e-05, -4.99410526e-05, 5.29705039e-06),
)
# erf(x) = x * P(x**2) / Q(x**2), error 3.3e-8 for |x| <= 3.832
_ERF_OVER = (
    *(1.1283788681030273, 0.19799281656742096, 0.0503348708152771, 0.0036455036606639624),
    *(0.0001426985691068694, -2.0108050193812232e-06, 2.0856488092135805e-08),
)
_ERF_UNDER = (
    *(1.0, 0.5087963342666626, 0.11422061920166016, 0.014209967106580734),
    0.0009497643914073706,
)
_ERF_ONE = 3.832**2
"""The square from which the error function is 1 in f32, up to half a unit in the last place."""
# r + r**3 * P(r**2) and 1 - r**2 / 2 + r**4 * P(r**2), errors 4.5e-9 and 1.5e-10 for |r| <= 0.8
_SIN = (-0.166666538, 0.00833206344, -0.000195021348)
_COS = (0.0416666418, -0.00138871849, 2.44181283e-05)
_HALF_PI = (1.57079637050628662109375, -4.37113882867379e-8, -1.71512489e-15)
"""pi / 2 as the sum of three f32."""
SIN_COS_LIMIT = 1e5
"""`sin` and `cos` reduce arguments up to this size."""


@dataclass(frozen=True)
class Elementary:
    """The functions for machines that have fused multiply-add, or have not."""

    has_fma: bool

    def _fma(self, a: Operand, b: Operand, c: Operand) -> Expr:
        """
        Returns `a * b + c` of f32, rounded once. Without FMA, it goes through f64, in which the
        product is exact and the sum is right to 2**-53.
        """
        if self.has_fma:
            return multiply_add(a, b, c)
        given = (v if isinstance(v, Expr) else Expr.constant(v, f32) for v in (a, b, c))
        return convert(multiply_add(*(convert(v, f64) for v in given)), f32)

    def _exp_shifted(self, x: Expr, bias: int = 0) -> tuple[Expr, Expr]:
        """
        Returns `(n + bias + _ROUND_F32, r)` with x = r + n * ln 2 for an integer n, and r near 0.
        """
        shifted = self._fma(x, _LOG2_E, _ROUND_F32 + bias)
        whole = shifted - (_ROUND_F32 + bias)
        r = self._fma(whole, -_LN2[0], x)
        return shifted, self._fma(whole, -_LN2[1], r)

    def _exp_of_rest(self, r: Expr) -> Expr:
        """Returns e**r for |r| <= ln(2) / 2."""
        return self._fma(r * r, _polynomial(r, _EXP), r) + 1.0

    def moderate_exp(self, x: Expr) -> Expr:
        """
        Returns e**x for x from `MODERATE_EXP[0]` to `MODERATE_EXP[1]`, or NaN. Results that are no
        normal numbers may be zero.
        """
        shifted, r = self._exp_shifted(x)
        # a multiplication, because adding to the exponent bits fails for NaN, whose n is garbage
        return self._exp_of_rest(r) * _shifted_power_of_two(shifted)

    def exp(self, x: Expr) -> Expr:
        """Returns e**x."""
        shifted, r = self._exp_shifted(_at_least(_at_most(x, 89.0), -104.0))
        return _scaled(self._exp_of_rest(r), bitcast(shifted, i32) - _bits32(_ROUND_F32))

    def one_plus_exp(self, x: Expr) -> Expr:
        """Returns `1 + e**x`, whose small powers need not be exact."""
        # 2 * e**r times 2**(n - 1), which is a normal number although 2**n may overflow
        shifted, r = self._exp_shifted(_at_least(_at_most(x, 89.0), -80.0), bias=126)
        doubled = _polynomial(r, (2.0, 2.0, *(2 * c for c in _EXP)))
        power = bitcast(bitcast(shifted, i32) << 23, f32)
        return multiply_add(doubled, power, 1.0)

    def log(self, x: Expr) -> Expr:
        """Returns the natural logarithm: -inf at zeros, and NaN for negative numbers."""
        one = _bits32(1.0)
        subnormal = x < _SMALLEST_NORMAL
        scaled = select(subnormal, x * 2.0**23, x)
        # x = 2**e * m with m between sqrt(1/2) and sqrt(2); e is biased by 127
        bits = bitcast(scaled, u32)
        biased = (bits + (one - _bits32(sqrt(0.5)))) >> 23
        m = bitcast(bits - (biased << 23) + one, f32)
        exponent = bitcast(biased + _bits32(2.0**23), f32)
        e = exponent - select(
            subnormal, Expr.constant(2.0**23 + 127 + 23, f32), Expr.constant(2.0**23 + 127, f32)
        )

        f = m - 1.0
        square = f * f
        tail = f * square * _polynomial(f, _LOG)
        tail = self._fma(e, _LN2_SHORT[1], tail)
        tail = self._fma(square, -0.5, tail)
        result = self._fma(e, _LN2_SHORT[0], f + tail)

        outside = select(equal(x, 0.0), Expr.constant(-inf, f32), Expr.constant(nan, f32))
        result = select(x > 0.0, result, outside)
        return select(equal(x, inf), inf, result)

    def tanh(self, x: Expr) -> Expr:
        """Returns the hyperbolic tangent: `m / (m + 2)` for m = e**2|x| - 1."""
        a = _at_most(abs(x), 10.0)  # tanh rounds to 1 from 9.02 on
        # 2a = 2u + n * ln 2, and n is so small that ln 2 in one part suffices
        shifted = self._fma(a, 2 * _LOG2_E, _ROUND_F32 + 127)
        u = self._fma(shifted - (_ROUND_F32 + 127), -_LN2[0] / 2, a)
        power = bitcast(bitcast(shifted, i32) << 23, f32)
        rest = self._fma(u * u, _polynomial(u, _EXPM1_OF_DOUBLE), u + u)
        m = self._fma(power, rest, power - 1.0)
        return _with_sign_of(m / (m + 2.0), x)

    def erf(self, x: Expr) -> Expr:
        """Returns the error function: a polynomial below 0.95, then the exponential of one."""
        a = abs(x)
        small = self._fma(a, _polynomial(x * x, _ERF_SMALL), a)
        bounded = _at_most(a, 3.95)  # erf rounds to 1 from 3.92 on
        exponent = self._fma(bounded, _polynomial(bounded, _ERF_LARGE), bounded)
        large = 1.0 - self.moderate_exp(0.0 - exponent)
        return _with_sign_of(select(a < 0.95, small, large), x)

    def one_plus_erf(self, x: Expr) -> Expr:
        """Returns `1 + erf(x)`, from a quotient of polynomials that is 1 for large numbers."""
        square = _at_most(x * x, _ERF_ONE)
        quotient = x * _polynomial(square, _ERF_OVER) / _polynomial(square, _ERF_UNDER)
        return _at_least(_at_most(quotient, 1.0), -1.0) + 1.0

    def _quadrant(self, a: Expr) -> tuple[Expr, Expr, Expr]:
        """Returns sin(r), cos(r) and n, where a = r + n * pi / 2 with |r| hardly above pi / 4."""
        # n, for |n| < 2**22, as f32 and as i32
        shifted = self._fma(a, 2 / pi, _ROUND_F32)
        whole, n = shifted - _ROUND_F32, bitcast(shifted, i32) - _bits32(_ROUND_F32)
        r = a
        for part in _HALF_PI:
            r = self._fma(whole, -part, r)
        square = r * r
        sine = self._fma(r * square, _polynomial(square, _SIN), r)
        cosine = self._fma(square, -0.5, 1.0)
        return sine, self._fma(square * square, _polynomial(square, _COS), cosine), n

    def sin(self, x: Expr) -> Expr:
        """Returns the sine for |x| up to `SIN_COS_LIMIT`."""
        # the sine of |x| gets the sign of x, so that the sine of -0 is -0
        sine, cosine, n = self._quadrant(abs(x))
        result = _flip(select(_is_even(n), sine, cosine), n)
        sign = bitcast(x, u32) & _SIGN
        return bitcast(bitcast(result, u32) ^ sign, f32)

    def cos(self, x: Expr) -> Expr:
        """Returns the cosine for |x| up to `SIN_COS_LIMIT`."""
        sine, cosine, n = self._quadrant(abs(x))
        return _flip(select(_is_even(n), cosine, sine), n + 1)

    def powf(self, x: Expr, y: Expr) -> Expr:
        """Computes x**y as 2**(y * log2|x|) in f64, then the signs and special cases of `pow`."""
        logarithm = _log2_f64(abs(convert(x, f64)))
        magnitude = convert(_exp2_f64(convert(y, f64) * logarithm), f32)
        # 1**y is 1 and so is (-1)**±inf, where y * log2|x| is NaN
        magnitude = select(equal(abs(x), 1.0), 1.0, magnitude)
        half = y * 0.5
        odd = equal(_rounded(y), y) & ~equal(_rounded(half), half)
        result = select(odd, _with_sign_of(magnitude, x), magnitude)
        negative = (x < 0.0) & ~equal(x, -inf)
        result = select(negative & ~equal(_rounded(y), y), nan, result)
        return select(equal(y, 0.0), 1.0, result)


def _flip(value: Expr, n: Expr) -> Expr:
    """Returns `value`, negated where bit 1 of `n` is set."""
    sign = (n & 2) << 30
    return bitcast(bitcast(value, i32) ^ sign, f32)


def _is_even(n: Expr) -> Expr:
    return equal(n & 1, 0)


# log2(1 + f) = f * P(f), error 4.2e-13 for sqrt(1/2) <= 1 + f <= sqrt(2)
_LOG2_F64 = (
    *(1.4426950408893546, -0.7213475204249696, 0.4808983465855044, -0.3606737658996569),
    *(0.28853907067823564, -0.24044872728355746, 0.20609526667046577, -0.18035040419747542),
    *(0.16042523055919983, -0.14412616836670356, 0.12914413124656116, -0.11962575876315105),
    *(0.12612352424360437, -0.12352003910845752, 0.06318119446734609),
)
# 2**r = P(r), error 4e-11 for |r| <= 1/2
_EXP2_F64 = (
    *(0.9999999999616825, 0.6931471807284484, 0.24022651198154607, 0.05550410353439858),
    *(0.0096180272539756, 0.0013333922570307238, 0.00015469291060552287),
    1.5201920068980051e-05,
)


def _log2_f64(a: Expr) -> Expr:
    """
    Returns the binary logarithm in f64 of an f32 that is not negative; its error is below 2**-40.
    """
    one = _bits64(1.0)
    bits = bitcast(a, u64)
    biased = (bits + (one - _bits64(sqrt(0.5)))) >> 52
    m = bitcast(bits - (biased << 52) + one, f64)
    e = bitcast(biased + _bits64(2.0**52), f64) - (2.0**52 + 1023)
    f = m - 1.0
    result = multiply_add(f, _polynomial(f, _LOG2_F64), e)
    return select(equal(a, 0.0), -inf, select(a < inf, result, a))


def _exp2_f64(t: Expr) -> Expr:
    """
    Returns 2**t in f64, exact enough for f32; a result beyond the range of f32 stays beyond it.
    """
    t = _at_least(_at_most(t, 200.0), -200.0)
    shifted = t + _ROUND_F64
    r = t - (shifted - _ROUND_F64)
    # the low bits of `shifted` hold the exponent; the shift drops all others
    power = bitcast(shifted, u64) << 52
    return bitcast(bitcast(_polynomial(r, _EXP2_F64), u64) + power, f64)
