"""
Elementary functions on f32, written with arithmetic that vectorises.

Each function takes the arithmetic to use and f32 operands, and returns the f32 result. They follow
IEEE 754 and C for signed zeros, infinities, NaN and subnormal numbers. Maximum errors, in units in
the last place of the correctly rounded result, over all floats (measured by the tests on samples
of every binade, on x86 with FMA):

| exp | exp2 | log | tanh | erf | sin, cos | powf |
|---|---|---|---|---|---|---|
| 1.02 | 1.0 | 0.9 | 1.4 | 1.1 | 1.6 | 0.51 |

Without FMA, those of exp and exp2 are 1.1, and that of erf is 1.2. The logistic function, which is
compiled as `1 / (1 + exp(-x))`, is within 2.5 units where its result is a normal number.

The methods are the classical ones (Cody and Waite, *Software Manual for the Elementary Functions*,
1980; Muller, *Elementary Functions*, 2016): reduce the argument with a constant in two or three
parts, evaluate a polynomial, put the result together in the bits of the float. The polynomials
were fitted by Lawson's algorithm (iteratively reweighted least squares) to minimise the largest
relative error of the result.
"""

from __future__ import annotations

from math import inf, nan, sqrt
from struct import pack, unpack

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from .lanes import Lanes

_SIGN = -(1 << 31)
"""The sign bit of an f32 as a signed integer."""

_LOG2_E = 1.44269504088896341
_LN2 = (0.693147182464599609375, -1.904654299957767878541e-9)
"""ln 2 as the sum of two f32: with FMA, `x - n * ln 2` loses nothing."""
_ROUND_F32, _ROUND_F64 = 1.5 * 2**23, 1.5 * 2**52
"""Adding one of these rounds to an integer, and leaves that integer in the low bits of the sum."""


def _bits32(value: float) -> int:
    return unpack("<i", pack("<f", value))[0]


def _bits64(value: float) -> int:
    return unpack("<q", pack("<d", value))[0]


# 1 + r + r**2 * P(r), error 3.1e-9 for |r| <= ln(2) / 2
_EXP = (0.49999994, 0.166665196, 0.0416684002, 0.00836885069, 0.00138143206)
# 1 + r * P(r), error 2e-9 for |r| <= 1/2
_EXP2 = (
    *(0.693147182, 0.240226477, 0.0555033199, 0.00961843971, 0.00133991323),
    0.000153531539,
)


def _rounded(v: Lanes, x: SSAValue, factor: float) -> tuple[SSAValue, SSAValue]:
    """Returns the integer nearest to `x * factor`, |it| < 2**22, as a float and as an integer."""
    shifted = v.fma(x, v.number(factor), v.number(_ROUND_F32))
    whole = v.sub(shifted, v.number(_ROUND_F32))
    return whole, v.int_sub(v.bits(shifted), v.integer(_bits32(_ROUND_F32)))


def _exp_reduced(v: Lanes, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Returns `(p, n)` with e**x = p * 2**n and p near 1."""
    whole, n = _rounded(v, x, _LOG2_E)
    r = v.fma(whole, v.number(-_LN2[0]), x)
    r = v.fma(whole, v.number(-_LN2[1]), r)
    q = v.fma(v.mul(r, r), v.polynomial(r, _EXP), r)
    return v.add(q, v.number(1.0)), n


def _scaled(v: Lanes, p: SSAValue, n: SSAValue) -> SSAValue:
    """Returns `p * 2**n` for p near 1 and |n| < 254, which may overflow or become subnormal."""
    # 2**n itself need not be a normal number, but the power of each half of n is
    half = v.int_op(arith.ShRSIOp, n, v.integer(1))
    first, second = (
        v.from_bits(v.shift_left(v.int_add(k, v.integer(127)), 23))
        for k in (half, v.int_sub(n, half))
    )
    return v.mul(v.mul(p, first), second)


def _exp_moderate(v: Lanes, x: SSAValue) -> SSAValue:
    """Returns e**x for |x| < 80 or NaN, where the result is a normal number."""
    p, n = _exp_reduced(v, x)
    # a multiplication, because adding to the exponent bits fails for NaN, whose n is garbage
    return v.mul(p, v.from_bits(v.shift_left(v.int_add(n, v.integer(127)), 23)))


def exp(v: Lanes, x: SSAValue) -> SSAValue:
    """Returns e**x."""
    return _scaled(v, *_exp_reduced(v, v.at_least(v.at_most(x, 89.0), -104.0)))


def exp2(v: Lanes, x: SSAValue) -> SSAValue:
    """Returns 2**x."""
    x = v.at_least(v.at_most(x, 129.0), -151.0)
    whole, n = _rounded(v, x, 1.0)
    r = v.sub(x, whole)
    return _scaled(v, v.fma(r, v.polynomial(r, _EXP2), v.number(1.0)), n)


# log(1 + f) = f - f**2 / 2 + f**3 * P(f), error 7.7e-10 for sqrt(1/2) <= 1 + f <= sqrt(2)
_LOG = (
    *(0.333333105, -0.250000089, 0.200021669, -0.166680902, 0.142185539),
    *(-0.124030836, 0.118935123, -0.116943352, 0.0675757006),
)
_LN2_SHORT = (0.693359375, -2.12194440e-4)
"""ln 2 in two parts. The first has so few bits that its product with an exponent is exact."""
_SMALLEST_NORMAL = 2.0**-126


def log(v: Lanes, x: SSAValue) -> SSAValue:
    """Returns the natural logarithm: -inf at zeros, and NaN for negative numbers."""
    one = _bits32(1.0)
    subnormal = v.compare("olt", x, v.number(_SMALLEST_NORMAL))
    scaled = v.select(subnormal, v.mul(x, v.number(2.0**23)), x)
    # x = 2**e * m with m between sqrt(1/2) and sqrt(2); e is biased by 127
    bits = v.bits(scaled)
    above = v.int_add(bits, v.integer(one - _bits32(sqrt(0.5))))
    biased = v.int_op(arith.ShRUIOp, above, v.integer(23))
    m = v.from_bits(v.int_add(v.int_sub(bits, v.shift_left(biased, 23)), v.integer(one)))
    exponent = v.from_bits(v.int_add(biased, v.integer(_bits32(2.0**23))))
    bias = v.select(subnormal, v.number(2.0**23 + 127 + 23), v.number(2.0**23 + 127))
    e = v.sub(exponent, bias)

    f = v.sub(m, v.number(1.0))
    square = v.mul(f, f)
    tail = v.mul(v.mul(f, square), v.polynomial(f, _LOG))
    tail = v.fma(e, v.number(_LN2_SHORT[1]), tail)
    tail = v.fma(square, v.number(-0.5), tail)
    result = v.fma(e, v.number(_LN2_SHORT[0]), v.add(f, tail))

    zero, infinity = v.number(0.0), v.number(inf)
    outside = v.select(v.compare("oeq", x, zero), v.number(-inf), v.number(nan))
    result = v.select(v.compare("olt", zero, x), result, outside)
    return v.select(v.compare("oeq", x, infinity), infinity, result)


def _with_sign_of(v: Lanes, magnitude: SSAValue, x: SSAValue) -> SSAValue:
    """Returns a float that is not negative, with the sign of `x`."""
    sign = v.int_op(arith.AndIOp, v.bits(x), v.integer(_SIGN))
    return v.from_bits(v.int_op(arith.OrIOp, v.bits(magnitude), sign))


# x + x**3 * P(x**2), error 1.6e-10 for |x| <= 0.625
_TANH = (
    *(-0.333333313, 0.133332059, -0.0539467633, 0.0217007026, -0.00817739777),
    0.00214296184,
)


def tanh(v: Lanes, x: SSAValue) -> SSAValue:
    """Returns the hyperbolic tangent: a polynomial below 0.625, above it 1 - 2 / (e**2x + 1)."""
    a = v.abs(x)
    square = v.mul(x, x)
    small = v.fma(v.mul(a, square), v.polynomial(square, _TANH), a)
    bounded = v.at_most(a, 10.0)  # tanh rounds to 1 from 9.02 on
    power = _exp_moderate(v, v.add(bounded, bounded))
    one = v.number(1.0)
    large = v.sub(one, v.div(v.number(2.0), v.add(power, one)))
    result = v.select(v.compare("olt", a, v.number(0.625)), small, large)
    return _with_sign_of(v, result, x)


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


def erf(v: Lanes, x: SSAValue) -> SSAValue:
    """Returns the error function: a polynomial below 0.95, above it the exponential of one."""
    a = v.abs(x)
    square = v.mul(x, x)
    small = v.fma(a, v.polynomial(square, _ERF_SMALL), a)
    bounded = v.at_most(a, 3.95)  # erf rounds to 1 from 3.92 on
    exponent = v.fma(bounded, v.polynomial(bounded, _ERF_LARGE), bounded)
    complement = _exp_moderate(v, v.sub(v.number(0.0), exponent))
    large = v.sub(v.number(1.0), complement)
    result = v.select(v.compare("olt", a, v.number(0.95)), small, large)
    return _with_sign_of(v, result, x)


# r + r**3 * P(r**2) and 1 - r**2 / 2 + r**4 * P(r**2), errors 4.5e-9 and 1.5e-10 for |r| <= 0.8
_SIN = (-0.166666538, 0.00833206344, -0.000195021348)
_COS = (0.0416666418, -0.00138871849, 2.44181283e-05)
_HALF_PI = (1.57079637050628662109375, -4.37113882867379e-8, -1.71512489e-15)
"""pi / 2 as the sum of three f32."""
SIN_COS_LIMIT = 1e5
"""`sin` and `cos` reduce arguments up to this size."""


def _quadrant(v: Lanes, a: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Returns sin(r), cos(r) and n, where a = r + n * pi / 2 and |r| is hardly more than pi / 4."""
    whole, n = _rounded(v, a, 0.636619772367581343)
    r = a
    for part in _HALF_PI:
        r = v.fma(whole, v.number(-part), r)
    square = v.mul(r, r)
    sine = v.fma(v.mul(r, square), v.polynomial(square, _SIN), r)
    cosine = v.fma(square, v.number(-0.5), v.number(1.0))
    cosine = v.fma(v.mul(square, square), v.polynomial(square, _COS), cosine)
    return sine, cosine, n


def _flip(v: Lanes, value: SSAValue, n: SSAValue) -> SSAValue:
    """Returns `value`, negated where bit 1 of `n` is set."""
    sign = v.shift_left(v.int_op(arith.AndIOp, n, v.integer(2)), 30)
    return v.from_bits(v.int_op(arith.XOrIOp, v.bits(value), sign))


def _is_odd(v: Lanes, n: SSAValue) -> SSAValue:
    return v.compare("ne", v.int_op(arith.AndIOp, n, v.integer(1)), v.integer(0))


def sin(v: Lanes, x: SSAValue) -> SSAValue:
    """Returns the sine for |x| up to `SIN_COS_LIMIT`."""
    # the sine of |x| gets the sign of x, so that the sine of -0 is -0
    sine, cosine, n = _quadrant(v, v.abs(x))
    result = _flip(v, v.select(_is_odd(v, n), cosine, sine), n)
    sign = v.int_op(arith.AndIOp, v.bits(x), v.integer(_SIGN))
    return v.from_bits(v.int_op(arith.XOrIOp, v.bits(result), sign))


def cos(v: Lanes, x: SSAValue) -> SSAValue:
    """Returns the cosine for |x| up to `SIN_COS_LIMIT`."""
    sine, cosine, n = _quadrant(v, v.abs(x))
    result = v.select(_is_odd(v, n), sine, cosine)
    return _flip(v, result, v.int_add(n, v.integer(1)))


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


def _log2_f64(d: Lanes, a: SSAValue) -> SSAValue:
    """
    Returns the binary logarithm in f64 of an f32 that is not negative; its error is below 2**-40.
    """
    one = _bits64(1.0)
    bits = d.bits(a)
    above = d.int_add(bits, d.integer(one - _bits64(sqrt(0.5))))
    biased = d.int_op(arith.ShRUIOp, above, d.integer(52))
    m = d.from_bits(d.int_add(d.int_sub(bits, d.shift_left(biased, 52)), d.integer(one)))
    exponent = d.from_bits(d.int_add(biased, d.integer(_bits64(2.0**52))))
    e = d.sub(exponent, d.number(2.0**52 + 1023))
    f = d.sub(m, d.number(1.0))
    result = d.fma(f, d.polynomial(f, _LOG2_F64), e)
    result = d.select(d.compare("olt", a, d.number(inf)), result, a)
    return d.select(d.compare("oeq", a, d.number(0.0)), d.number(-inf), result)


def _exp2_f64(d: Lanes, t: SSAValue) -> SSAValue:
    """
    Returns 2**t in f64, exact enough for f32; a result beyond the range of f32 stays beyond it.
    """
    t = d.at_least(d.at_most(t, 200.0), -200.0)
    shifted = d.add(t, d.number(_ROUND_F64))
    r = d.sub(t, d.sub(shifted, d.number(_ROUND_F64)))
    # the low bits of `shifted` hold the exponent; the shift drops all others
    power = d.shift_left(d.bits(shifted), 52)
    return d.from_bits(d.int_add(d.bits(d.polynomial(r, _EXP2_F64)), power))


def powf(v: Lanes, x: SSAValue, y: SSAValue) -> SSAValue:
    """Computes x**y as 2**(y * log2|x|) in f64, then the signs and special cases of C's `pow`."""
    d = v.widened()
    a = d.abs(d.widen(x))
    magnitude = v.narrow(_exp2_f64(d, d.mul(d.widen(y), _log2_f64(d, a))))
    zero, one = v.number(0.0), v.number(1.0)
    # 1**y is 1 and so is (-1)**±inf, where y * log2|x| is NaN
    magnitude = v.select(v.compare("oeq", v.abs(x), one), one, magnitude)

    half = v.mul(y, v.number(0.5))
    integral = v.compare("oeq", v.round_even(y), y)
    odd = v.both(integral, v.compare("une", v.round_even(half), half))
    result = v.select(odd, _with_sign_of(v, magnitude, x), magnitude)

    negative = v.both(v.compare("olt", x, zero), v.compare("une", x, v.number(-inf)))
    undefined = v.both(negative, v.compare("une", v.round_even(y), y))
    result = v.select(undefined, v.number(nan), result)
    return v.select(v.compare("oeq", y, zero), one, result)
