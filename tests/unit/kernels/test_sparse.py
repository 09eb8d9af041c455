"""Products that skip rows agree with the interpreter, whatever is zero, on several machines."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from unittest import mock

import ml_dtypes
import numpy as np
import pytest
from glow.glow_dialects.glow_cpu.sparse import SparseVectorMatMulOp
from glow.glow_dialects.glow_inst.instruction import Instruction
from glow.glow_dialects.machine import MachineDescription
from glow.glow_dialects.operator import with_shape
from glow.glow_dialects.timings import TIMINGS
from glow.lowering.kernels.schedules import blocking
from glow.runtime.interpreter import interpret
from glow.semantics import element_type
from glow.tests.support.graph_text import parse
from glow.tests.support.native import apply, check_native, compile_native, run_native
from glow.tests.support.operator_kernels import MACHINES, TOLERANCE, check, one_node, random
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

SIZES = [(1, 1), (7, 1), (8, 16), (9, 3), (16, 129), (31, 64), (65, 67), (130, 211), (3, 4100)]


@pytest.fixture(params=[1024, 4], ids=["one list", "parts of the list"])
def parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Divides short lists too, which would be one part otherwise."""
    fewer = replace(TIMINGS, least_list_rows=request.param)
    monkeypatch.setattr(blocking, "TIMINGS", fewer)


def with_zeros(rng: np.random.Generator, count: int, share: float) -> np.ndarray:
    """Returns random numbers, about a `share` of which are zeros of both signs."""
    x = rng.standard_normal(count).astype(np.float32)
    zeros = rng.random(count) < share
    x[zeros] = rng.choice([0.0, -0.0], count)[zeros]
    return x


def allocated(x: np.ndarray, w: np.ndarray) -> ModuleOp:
    types = [with_shape(element_type(a.dtype), a.shape) for a in (x, w)]
    module = one_node(SparseVectorMatMulOp, types)
    return apply(module, "glow-irgen,glow-eliminate-copies,glow-allocate")


def sum_of_rows(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Returns the meaning of the operator, one row after the other."""
    total = np.zeros(w.shape[1])
    for element, row in zip(x.astype(np.float64), w.astype(np.float64), strict=True):
        if element != 0:
            total += element * row
    return total


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64, ml_dtypes.bfloat16], ids=str)
def test_sizes(size: tuple[int, int], dtype: type, rng: np.random.Generator):
    inner, columns = size
    x = with_zeros(rng, inner, 0.5).astype(dtype)
    check(SparseVectorMatMulOp, x, random(1, inner, columns, dtype=dtype), tolerance=2e-5)


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("machine", MACHINES, ids=range(len(MACHINES)))
def test_any_number_of_zeros(
    machine: MachineDescription | None, threads: int, rng: np.random.Generator
):
    module = allocated(np.zeros((1, 1, 64), np.float32), np.zeros((64, 200), np.float32))
    run = compile_native(module, machine, threads)
    for count in (0, 1, 7, 8, 9, 41, 64):
        x, w = np.zeros((1, 1, 64), np.float32), random(count, 64, 200)
        at = rng.permutation(64)[:count]
        x[..., at] = rng.standard_normal(count)
        (found,) = run([x, w])
        assert found.shape == (1, 1, 200)
        np.testing.assert_allclose(found[0, 0], sum_of_rows(x[0, 0], w), rtol=0, atol=2e-5 * 8)


@settings(max_examples=15)
@given(
    st.integers(0, 1 << 30),
    st.integers(1, 60),
    st.integers(1, 300),
    st.integers(2, 5),
    st.integers(1, 40),
)
def test_same_bytes_on_several_threads(
    seed: int, inner: int, columns: int, threads: int, rows: int
):
    rng = np.random.default_rng(seed)
    x, w = with_zeros(rng, inner, rng.random()), random(seed, inner, columns)
    module, machine = allocated(x, w), MACHINES[seed % len(MACHINES)]
    with mock.patch.object(blocking, "TIMINGS", replace(TIMINGS, least_list_rows=rows)):
        (single,), (several,) = (run_native(module, [x, w], machine, n) for n in (1, threads))
    assert single.tobytes() == several.tobytes()
    np.testing.assert_allclose(single, sum_of_rows(x, w), rtol=0, atol=1e-4)


@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_not_finite(threads: int, rng: np.random.Generator):
    """It counts in the vector, and in rows of the matrix that meet no zero."""
    w = random(1, 21, 150)
    zeros = with_zeros(rng, 21, 0.6)
    zeros[5] = 0
    w[5] = np.inf
    module = allocated(zeros, w)
    run = compile_native(module, threads=threads)
    (found,) = run([zeros, w])
    assert np.isfinite(found).all()
    (want,) = interpret(module, [zeros, w]).values()
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-4)
    for number, place in product((np.nan, np.inf, -np.inf), (2, 20)):
        x = zeros.copy()
        x[place] = number
        (found,) = run([x, w])
        (want,) = interpret(module, [x, w]).values()
        np.testing.assert_array_equal(found, want)
        assert not np.isfinite(found).any()


LAYERS = """
func.func @main(%x: tensor<1x40xf32> {glow.name = "x"}, %w: tensor<40xNxf32> {glow.name = "w"},
                %b: tensor<1xNxf32> {glow.name = "b"}) -> (tensor<1xNxf32> {glow.name = "y"}) {
  %p = glow_cpu.sparse_vector_matmul %x, %w
    : (tensor<1x40xf32>, tensor<40xNxf32>) -> tensor<1xNxf32>
  %s = glow.add %p, %b : (tensor<1xNxf32>, tensor<1xNxf32>) -> tensor<1xNxf32>
  %y = glow.relu %s : (tensor<1xNxf32>) -> tensor<1xNxf32>
  func.return %y : tensor<1xNxf32>
}"""


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("columns", [1, 130, 257])
def test_epilogue(columns: int, threads: int, rng: np.random.Generator):
    module = parse(LAYERS.replace("xNx", f"x{columns}x"))
    apply(module, "glow-irgen,glow-eliminate-copies,glow-stack-ops,glow-allocate")
    (kernel,) = [op for op in module.walk() if isinstance(op, Instruction)]
    assert kernel.name == "glow_inst.sparse_vector_matmul"
    x, w, b = with_zeros(rng, 40, 0.4)[None], random(1, 40, columns), random(2, 1, columns)
    check_native(module, [x, w, b], tolerance=2e-5, threads=threads)


def test_16_bit_floats_are_summed_in_32_bits():
    x, w = np.ones(3000, np.float16), np.ones((3000, 40), np.float16)
    assert TOLERANCE[x.dtype] < 0.1
    (found,) = run_native(allocated(x, w), [x, w])
    np.testing.assert_array_equal(found, np.full(40, 3000, np.float16))
