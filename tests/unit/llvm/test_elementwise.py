"""Every operation on numbers, scalar and vector, against numpy."""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from glow.errors import CompileError
from glow.tests.support.kernels import Kernels, convert
from glow.tests.unit.llvm.elementwise_kernels import LANES, Case, kernel

DTYPES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "index": np.int64,
}


def samples(case: Case, rng: np.random.Generator) -> list[np.ndarray]:
    arrays = []
    for t in case.operands:
        values = rng.uniform(case.low, case.high, LANES)
        if t == "i1":
            values = rng.integers(0, 2, LANES)
        elif t[0] == "i":
            values = rng.integers(int(case.low), int(case.high) + 1, LANES)
        arrays.append(values.astype(DTYPES[t]))
    return arrays


def check(case: Case, rng: np.random.Generator, *, vector: bool) -> None:
    check_function(case, Kernels(kernel(case, vector=vector)).k, rng)


def check_function(case: Case, function: Callable[..., None], rng: np.random.Generator) -> None:
    arrays = samples(case, rng)
    dtype = DTYPES[case.result_type]
    result = np.zeros(LANES, dtype)
    function(*arrays, result)
    with np.errstate(all="ignore"):
        expected = np.asarray(case.oracle(*arrays)).astype(dtype)
    if result.dtype.kind in "ib":
        np.testing.assert_array_equal(result, expected)
        return
    tolerance = {2: 1e-2, 4: 1e-5, 8: 1e-12}[result.dtype.itemsize]
    np.testing.assert_allclose(
        result.astype(float), expected.astype(float), rtol=tolerance, atol=tolerance
    )


def fmod(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.fmod(a, b)


def truncated_division(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.trunc(a.astype(float) / b.astype(float)).astype(a.dtype)


def unsigned(f: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    def on_unsigned(*arrays: np.ndarray) -> np.ndarray:
        return f(*(a.view(f"u{a.dtype.itemsize}") for a in arrays))

    return on_unsigned


FLOAT_BINARY = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
}
FLOAT_UNARY = {
    "arith.negf": np.negative,
    "math.absf": np.abs,
    "math.ceil": np.ceil,
    "math.floor": np.floor,
    "math.roundeven": np.round,
    "math.exp": np.exp,
    "math.sin": np.sin,
    "math.cos": np.cos,
    "math.tanh": np.tanh,
    "math.erf": np.vectorize(math.erf),
}
POSITIVE = {
    "math.log": np.log,
    "math.sqrt": np.sqrt,
}
INTEGER_BINARY = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.minsi": np.minimum,
    "arith.maxsi": np.maximum,
    "arith.minui": unsigned(np.minimum),
    "arith.maxui": unsigned(np.maximum),
}
INTEGER_NONZERO = {
    "arith.divsi": truncated_division,
    "arith.remsi": fmod,
    "arith.divui": np.floor_divide,
    "arith.remui": np.remainder,
    "arith.shli": np.left_shift,
    "arith.shrui": np.right_shift,
    "arith.shrsi": np.right_shift,
}


def float_cases(t: str) -> list[Case]:
    found = [Case("math.powf {0}, {1} : {t}", np.power, (t, t), low=0.5, high=3)]
    found.append(Case("math.fma {0}, {1}, {2} : {t}", lambda a, b, c: a * b + c, (t, t, t)))
    found.append(Case("glow_vec.remf {0}, {1} : {t}", np.fmod, (t, t), low=1))
    for name, f in FLOAT_BINARY.items():
        found.append(Case(name + " {0}, {1} : {t}", f, (t, t)))
    for name, f in FLOAT_UNARY.items():
        found.append(Case(name + " {0} : {t}", f, (t,), high=4, low=-4))
    for name, f in POSITIVE.items():
        found.append(Case(name + " {0} : {t}", f, (t,), low=1.1, high=9))
    return found


def comparison_cases(t: str) -> list[Case]:
    predicates = {"olt": np.less, "ole": np.less_equal, "une": np.not_equal}
    form = "arith.cmpf {}, {{0}}, {{1}} : {{t}}"
    return [Case(form.format(name), f, (t, t), "i1") for name, f in predicates.items()]


def integer_cases(t: str) -> list[Case]:
    found = []
    for name, f in INTEGER_BINARY.items():
        found.append(Case(name + " {0}, {1} : {t}", f, (t, t), low=-5, high=5))
    for name, f in INTEGER_NONZERO.items():
        found.append(Case(name + " {0}, {1} : {t}", f, (t, t), low=1, high=5))
    predicates = {"slt": np.less, "sle": np.less_equal, "eq": np.equal, "ne": np.not_equal}
    for predicate, f in (*predicates.items(), ("ult", unsigned(np.less))):
        found.append(Case(f"arith.cmpi {predicate}, {{0}}, {{1}} : {{t}}", f, (t, t), "i1"))
    return found


def check_together(cases: list[Case], rng: np.random.Generator, *, vector: bool) -> None:
    """Checks all cases as functions of one module, which is faster."""
    texts = [kernel(c, vector=vector, name=f"k{i}") for i, c in enumerate(cases)]
    kernels = Kernels("\n".join(texts))
    for i, case in enumerate(cases):
        try:
            check_function(case, getattr(kernels, f"k{i}"), rng)
        except AssertionError as error:
            raise AssertionError(f"{case.form} on {case.operands}: {error}") from error


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("t", ["f32", "f64"])
def test_operations_on_floats(t: str, vector: bool, rng: np.random.Generator):
    check_together(float_cases(t), rng, vector=vector)


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("t", ["f32", "f64", "f16", "bf16"])
def test_comparisons_of_floats(t: str, vector: bool, rng: np.random.Generator):
    check_together(comparison_cases(t), rng, vector=vector)


@pytest.mark.parametrize("form", ["arith.mulf {0}, {0}", "math.fma {0}, {0}, {0}", "math.erf {0}"])
def test_arithmetic_on_16_bit_floats_is_refused(form: str):
    case = Case(form + " : {t}", lambda x: x, ("bf16",))
    for vector, found in ((False, "bf16"), (True, "vector<8xbf16>")):
        with pytest.raises(CompileError, match=f"in @k.*expected f32 or f64, found {found}"):
            convert(kernel(case, vector=vector))


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("t", ["i8", "i16", "i32", "i64", "index"])
def test_operations_on_integers(t: str, vector: bool, rng: np.random.Generator):
    check_together(integer_cases(t), rng, vector=vector)


@pytest.mark.parametrize("vector", [False, True])
def test_operations_on_truth_values(vector: bool, rng: np.random.Generator):
    operations = {"andi": np.logical_and, "ori": np.logical_or, "xori": np.logical_xor}
    form = "arith.{} {{0}}, {{1}} : {{t}}"
    cases = [Case(form.format(n), f, ("i1", "i1")) for n, f in operations.items()]
    check_together(cases, rng, vector=vector)


CASTS = [
    ("extsi", "i8", "i32"),
    ("extsi", "i16", "i64"),
    ("extui", "i8", "i32"),
    ("extui", "i1", "i8"),
    ("trunci", "i64", "i8"),
    ("sitofp", "i32", "f32"),
    ("sitofp", "i8", "f16"),
    ("sitofp", "i16", "bf16"),
    ("uitofp", "i8", "f32"),
    ("uitofp", "i32", "f64"),
    ("fptosi", "f32", "i32"),
    ("fptosi", "f16", "i16"),
    ("fptosi", "bf16", "i8"),
    ("fptoui", "f32", "i8"),
    ("fptoui", "f64", "i32"),
]
UNSIGNED = ("extui", "uitofp")


@pytest.mark.parametrize(("kind", "source", "target"), CASTS)
def test_casts(kind: str, source: str, target: str, rng: np.random.Generator):
    def oracle(x: np.ndarray) -> np.ndarray:
        return x.view(f"u{x.dtype.itemsize}") if kind in UNSIGNED and source != "i1" else x

    low = 0 if kind == "fptoui" else -100
    for prefix, vector in (("arith.", False), ("glow_vec.cast ", True)):
        form = prefix + kind + " {0} : {t} to {r}"
        check(Case(form, oracle, (source,), target, low=low, high=100), rng, vector=vector)


@pytest.mark.parametrize(
    ("op", "source", "target"),
    [
        ("extf", "f16", "f32"),
        ("extf", "bf16", "f32"),
        ("extf", "f32", "f64"),
        ("truncf", "f32", "f16"),
        ("truncf", "f64", "f32"),
        ("truncf", "f64", "bf16"),
    ],
)
def test_float_conversions(op: str, source: str, target: str, rng: np.random.Generator):
    for vector in (False, True):
        form = f"arith.{op}" + " {0} : {t} to {r}"
        check(Case(form, lambda x: x, (source,), target), rng, vector=vector)


def test_rounding_to_bf16_is_exact(rng: np.random.Generator):
    case = Case("arith.truncf {0} : {t} to {r}", lambda x: x, ("f32",), "bf16")
    bits = rng.integers(0, 2**32, (64, LANES), dtype=np.uint32)
    special = [
        0x7F800000,
        0xFF800000,
        0x7FC00000,
        0x7F800001,
        0,
        0x80000000,
        0x3F808000,
        0x3F818000,
    ]
    bits[0] = special
    kernels = Kernels(kernel(case, vector=True))
    for row in bits.view(np.float32):
        result = np.zeros(LANES, ml_dtypes.bfloat16)
        kernels.k(row, result)
        with np.errstate(invalid="ignore"):
            expected = row.astype(ml_dtypes.bfloat16)
        nan = np.isnan(expected)
        np.testing.assert_array_equal(np.isnan(result), nan)
        np.testing.assert_array_equal(result.view(np.uint16)[~nan], expected.view(np.uint16)[~nan])


def test_maximum_keeps_nan():
    a = np.array([np.nan, 1, np.nan, -0.0, 2, 3, 4, 5], np.float32)
    b = np.array([1, np.nan, np.nan, 0.0, 1, 4, np.inf, -np.inf], np.float32)
    case = Case("arith.maximumf {0}, {1} : {t}", np.maximum, ("f32", "f32"))
    for vector in (False, True):
        result = np.zeros(LANES, np.float32)
        Kernels(kernel(case, vector=vector)).k(a, b, result)
        np.testing.assert_array_equal(result, np.maximum(a, b))


def test_select_by_scalar_and_by_mask(rng: np.random.Generator):
    def oracle(c: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.where(c, a, b)

    for form, vector in (
        ("arith.select {0}, {1}, {2} : {t}", False),
        ("glow_vec.select {0}, {1}, {2} : vector<8xi1>, {t}", True),
    ):
        check(Case(form, oracle, ("i1", "f32", "f32")), rng, vector=vector)


def test_bitcast(rng: np.random.Generator):
    case = Case("arith.bitcast {0} : {t} to {r}", lambda x: x.view(np.int32), ("f32",), "i32")
    for vector in (False, True):
        check(case, rng, vector=vector)


@pytest.mark.parametrize(
    ("source", "target"), [("i8", "index"), ("index", "i32"), ("i64", "index")]
)
def test_index_cast(source: str, target: str, rng: np.random.Generator):
    scalar = Case("arith.index_cast {0} : {t} to {r}", lambda x: x, (source,), target)
    check(scalar, rng, vector=False)
    lanes = Case("glow_vec.cast index_cast {0} : {t} to {r}", lambda x: x, (source,), target)
    check(lanes, rng, vector=True)
