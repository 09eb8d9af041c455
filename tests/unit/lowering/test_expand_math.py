"""Accuracy of the elementary functions, as machine code, over all of f32."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest
from glow.context import make_context
from glow.lowering.target import find_target, host_target
from glow.runtime.jit import Executable, compile_object
from glow.runtime.stages import apply_pass, parse_pipeline
from xdsl.parser import Parser

VECTOR = 16
SCALAR_COUNT = 4096
SPECIAL = [
    *(0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.17549435e-38, -1.17549435e-38),
    *(3.4028235e38, -3.4028235e38, 1.0, -1.0, 0.5, 2.0, 0.625, 0.95, 3.92, 3.95, 9.02, 10.0),
    *(37.778641, 59.297405),  # where the error of exp is largest
    *(88.72283, 88.72284, -87.33654, -103.97207, -103.97209, 128.0, -149.5, -150.5, 1e5, -1e5),
    *(0.99999994, 1.0000001, 2.0**23 + 1, 2.0**24, 2.0**24 + 2, 3.0, -2.0, -3.0, 0.75, -0.5),
]

TEXT = """
func.func @f(%x: memref<{n}xf32>, %y: memref<{n}xf32>, %z: memref<{n}xf32>) {{
  %zero = arith.constant 0 : index
  %step = arith.constant {lanes} : index
  %end = arith.constant {n} : index
  scf.for %i = %zero to %end step %step {{
    {load}
    {call}
    {store}
  }}
  func.return
}}
"""

ONE_PLUS = """
    %e = math.{name} %a : {t}
    %one = arith.constant {one} : {t}
    %r = arith.addf %one, %e : {t}
"""


BETWEEN_BOUNDS = """
    %low = arith.constant {low} : {t}
    %high = arith.constant {high} : {t}
    %above = arith.maximumf %a, %low : {t}
    %between = arith.minimumf %above, %high : {t}
    %r = math.exp %between : {t}
"""


def _call(name: str, operands: str, t: str) -> str:
    def number(x: float) -> str:
        return f"dense<{x}>" if t != "f32" else str(x)

    match name:
        case "one_plus_erf" | "one_plus_exp":
            return ONE_PLUS.format(name=name.removeprefix("one_plus_"), t=t, one=number(1.0))
        case "exp_between_bounds":
            return BETWEEN_BOUNDS.format(t=t, low=number(-88.0), high=number(88.0))
        case _:
            return f"%r = math.{name} {operands} : {t}"


@cache
def _program(name: str, n: int, lanes: int, fma: bool) -> Executable:
    vector = lanes > 1
    t = f"vector<{lanes}xf32>" if vector else "f32"
    operands = "%a, %b" if name == "powf" else "%a"
    memory = f"memref<{n}xf32>" + (f", {t}" if vector else "")
    kind = "vector" if vector else "memref"
    text = TEXT.format(
        n=n,
        lanes=lanes,
        load=f"%a = {kind}.load %x[%i] : {memory}\n%b = {kind}.load %y[%i] : {memory}",
        call=_call(name, operands, t),
        store=f"{kind}.store %r, %z[%i] : {memory}",
    )
    from glow.lowering.llvm.translate import translate_module

    context = make_context()
    module = Parser(context, text).parse_module()
    machine = f"glow-set-machine{{has-fma={str(fma).lower()}}}"
    for p in parse_pipeline(f"{machine},glow-expand-math,glow-convert-to-llvm"):
        apply_pass(p, context, module)
        module.verify()
    target = find_target() if fma else find_target("x86-64")
    return Executable([compile_object(translate_module(module), target)], "f", target)


def run(
    name: str, inputs: Sequence[np.ndarray], lanes: int = VECTOR, fma: bool = True
) -> np.ndarray:
    """
    Returns the compiled function of one or two f32 arrays, whose length is a multiple of `lanes`.
    """
    x, y = inputs[0], inputs[-1]
    z = np.empty(len(x), np.float32)
    # the entry of a program takes an array of addresses there; here it is memory like the others
    second = (ctypes.c_void_p * 0).from_address(y.ctypes.data)
    _program(name, len(x), lanes, fma)(x.ctypes.data, second, z.ctypes.data)
    return z


def every_binade(rng: np.random.Generator, n: int) -> np.ndarray:
    """
    Returns special values, random bit patterns, and values where the functions are not constant.
    """
    parts = [
        np.array(SPECIAL, np.float32),
        rng.integers(0, 2**32, n, dtype=np.uint32).view(np.float32),
        rng.uniform(-110, 110, n).astype(np.float32),
        rng.uniform(-5, 5, n).astype(np.float32),
    ]
    x = np.concatenate(parts)
    return np.resize(x, 3 * n + VECTOR * 4)


def errors(found: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """
    Returns errors in units in the last place of the correctly rounded result; infinite where only
    one of the two is finite, or NaN, or where zeros or infinities differ in sign.
    """
    with np.errstate(all="ignore"):
        rounded = exact.astype(np.float32)
        unit = np.spacing(np.abs(rounded)).astype(np.float64)
        difference = np.abs(found.astype(np.float64) - exact) / unit
    both = np.isfinite(found) & np.isfinite(rounded)
    same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
    return np.where(both, difference, np.where(same, 0.0, np.inf))


@np.errstate(all="ignore")
def check(
    name: str,
    exact: Callable[..., np.ndarray],
    limit: float,
    *inputs: np.ndarray,
    fma: bool = True,
) -> None:
    found = run(name, inputs, fma=fma)
    wide = exact(*(i.astype(np.float64) for i in inputs))
    error = errors(found, wide)
    worst = int(np.argmax(error))
    at = [float(i[worst]) for i in inputs]
    assert error[worst] <= limit, (name, at, found[worst], wide[worst], error[worst])
    signed = ~np.isnan(found)
    np.testing.assert_array_equal(np.signbit(found[signed]), np.signbit(wide[signed]))
    part = [i[:SCALAR_COUNT] for i in inputs]
    assert errors(run(name, part, lanes=1, fma=fma), wide[:SCALAR_COUNT]).max() <= limit


ERF = np.vectorize(math.erf, otypes=[np.float64])


@pytest.mark.parametrize(
    ("name", "exact", "limit", "count"),
    [
        ("exp", np.exp, 1.02, 300_000),
        ("log", np.log, 0.9, 300_000),
        ("tanh", np.tanh, 2.6, 300_000),
        ("erf", ERF, 1.1, 60_000),
    ],
)
def test_accuracy(name: str, exact, limit: float, count: int, rng: np.random.Generator):
    check(name, exact, limit, every_binade(rng, count))


@pytest.mark.parametrize("fma", [True, False])
def test_one_plus_erf(fma: bool, rng: np.random.Generator):
    """The sum is exact where the error function is one."""
    x = every_binade(rng, 20_000)
    found, scalars = run("one_plus_erf", [x], fma=fma), run("one_plus_erf", [x], lanes=1, fma=fma)
    with np.errstate(invalid="ignore"):
        exact = np.vectorize(math.erfc, otypes=[np.float64])(-x.astype(np.float64))
    # the largest errors of all floats
    np.testing.assert_allclose(found, exact, rtol=0, atol=3.9e-7 if fma else 4.5e-7)
    np.testing.assert_allclose(scalars, found, rtol=0, atol=1e-7)
    assert (found[x > 4] == 2).all()
    assert (found[x < -4] == 0).all()


@pytest.mark.parametrize("fma", [True, False])
def test_one_plus_exp(fma: bool, rng: np.random.Generator):
    """The sum overflows where it has to, and is one for all small powers."""
    near = rng.uniform(-20, 88.8, 64_000).astype(np.float32)
    near[:6] = 88.72283, 88.72284, 89, -80, -0.0, -np.inf
    for x in (near, every_binade(rng, 64_000)):
        check("one_plus_exp", lambda v: 1 + np.exp(v), 1.5, x, fma=fma)


@pytest.mark.parametrize("fma", [True, False])
def test_exponential_between_bounds(fma: bool, rng: np.random.Generator):
    """Powers are zero where the bound is so low that they are no normal numbers."""
    x = rng.uniform(-87.3, 88, 32_000).astype(np.float32)
    x[:6] = np.nan, 88, 0, -0.0, -87.3, 1e-45
    check("exp_between_bounds", np.exp, 1.02 if fma else 1.1, x, fma=fma)
    low = run(
        "exp_between_bounds", [np.resize(np.array([-np.inf, -88, -1e9], np.float32), 32)], fma=fma
    )
    assert (low == 0).all()


@pytest.mark.parametrize(("name", "exact"), [("sin", np.sin), ("cos", np.cos)])
def test_sine_and_cosine(name: str, exact, rng: np.random.Generator):
    n = 64_000
    near = (rng.integers(-63_000, 63_000, n) * (np.pi / 2)).astype(np.float32)
    check(name, exact, 1.6, np.concatenate([near, rng.uniform(-1e5, 1e5, n).astype(np.float32)]))
    # sixteen lanes of random bits always hold one that is large
    check(name, exact, 1.6, every_binade(rng, n))
    small = rng.uniform(-10, 10, n).astype(np.float32)
    for value in (np.nan, np.inf, 1e30):
        mixed = small.copy()
        mixed[5::VECTOR] = value
        check(name, exact, 1.6, mixed)


def test_power(rng: np.random.Generator):
    n = 100_000
    special = np.meshgrid(np.array(SPECIAL, np.float32), np.array(SPECIAL, np.float32))
    bits = rng.integers(0, 2**32, (2, n), dtype=np.uint32).view(np.float32)
    near_one = (1 + rng.standard_normal(n) * 1e-4).astype(np.float32)
    x = np.concatenate(
        [special[0].ravel(), bits[0], rng.uniform(0, 20, n), rng.uniform(-20, 20, n), near_one],
        dtype=np.float32,
    )
    y = np.concatenate(
        [
            special[1].ravel(),
            bits[1],
            rng.uniform(-5, 5, n),
            rng.integers(-9, 9, n),
            rng.normal(0, 1e5, n),
        ],
        dtype=np.float32,
    )
    length = (len(x) + VECTOR - 1) // VECTOR * VECTOR
    check("powf", np.power, 0.51, np.resize(x, length), np.resize(y, length))


def test_power_as_local_response_normalization_uses_it(rng: np.random.Generator):
    x = rng.uniform(1, 1000, 160_000).astype(np.float32)
    found = run("powf", [x, np.full_like(x, 0.75)])
    np.testing.assert_allclose(found, x.astype(np.float64) ** 0.75, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "exact", "limit"),
    [
        ("exp", np.exp, 1.1),
        ("log", np.log, 0.9),
        ("tanh", np.tanh, 2.6),
        # 1.192 at 0.93666184 is the largest error of all floats from 0.125 to 4
        ("erf", ERF, 1.2),
        ("sin", np.sin, 1.6),
        ("cos", np.cos, 1.6),
    ],
)
def test_accuracy_without_fma(name: str, exact, limit: float, rng: np.random.Generator):
    if host_target().architecture != "x86_64":
        pytest.skip("compiles for the x86-64 baseline")
    check(name, exact, limit, every_binade(rng, 30_000), fma=False)


def test_power_without_fma(rng: np.random.Generator):
    if host_target().architecture != "x86_64":
        pytest.skip("compiles for the x86-64 baseline")
    x = rng.uniform(0, 20, 16_000).astype(np.float32)
    y = rng.uniform(-20, 20, 16_000).astype(np.float32)
    check("powf", np.power, 0.51, x, y, fma=False)
