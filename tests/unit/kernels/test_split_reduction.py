"""
Reductions in parts, and results of rows as lanes, agree with sums in f64.

Sums of `n` products of random numbers may be off by 16 `sqrt(n)` + `n` / 8 times the relative
rounding error of their type; they are about as large as `sqrt(n)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from glow.glow_dialects.glow.base import Node
from glow.glow_dialects.glow.elementwise import X
from glow.glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from glow.glow_dialects.glow.normalization import GroupNormOp, LayerNormOp, SoftmaxOp
from glow.glow_dialects.glow.reduction import (
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceProdOp,
    ReduceSumOp,
)
from glow.glow_dialects.glow_cpu.dot import DotMatMulOp
from glow.glow_dialects.glow_cpu.packed import PackedMatMulOp
from glow.glow_dialects.glow_nest.affine import Buffer, Dim, View
from glow.glow_dialects.glow_nest.nest import Combine, Nest, Repeat
from glow.glow_dialects.machine import MachineDescription
from glow.glow_dialects.operator import with_shape
from glow.glow_dialects.python_values import Python
from glow.lowering.kernels.registry import Kernel, total
from glow.lowering.kernels.schedules.split_reduction import Splitter
from glow.lowering.target import find_target
from glow.passes.graph.panels import packed, panel_width
from glow.semantics import element_type
from glow.tests.support.graph_text import parse
from glow.tests.support.native import apply, check_native, run_native
from glow.tests.support.operator_kernels import one_node
from glow.tests.support.seeds import generator
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, f32

MACHINES = [
    find_target().describe(),
    MachineDescription(256, 16),
    MachineDescription(128, 16, False),
]
THREADS = (1, 2, 3, 5)
PREPARE = "glow-irgen,glow-eliminate-copies,glow-allocate"


def fresh(*shape: int, dtype: type = np.float32) -> np.ndarray:
    """Returns random numbers that differ in each run of the tests."""
    return generator().standard_normal(shape).astype(dtype)


def prepared(operator: type[Node], *arrays: np.ndarray, **properties: Python) -> ModuleOp:
    types = [with_shape(element_type(a.dtype), a.shape) for a in arrays]
    return apply(one_node(operator, types, None, **properties), PREPARE)


def exact(x: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """
    Returns the product of one row, for which f64 itself would be no better than what is tested.
    """
    return (x.T.astype(np.longdouble) * matrix).sum(0, keepdims=True).astype(np.float64)


def check_sum(
    module: ModuleOp,
    arrays: tuple[np.ndarray, ...],
    wanted: np.ndarray,
    terms: int,
    machine: MachineDescription,
    threads: int,
) -> bytes:
    (found,) = run_native(module, arrays, machine, threads)
    allowed = np.finfo(found.dtype).eps * (16 * math.sqrt(terms) + terms / 8)
    # errors grow with partial sums, which are near the root of their number, or near a larger total
    scale = np.maximum(1, np.abs(wanted) / math.sqrt(terms))
    np.testing.assert_allclose(found / scale, wanted / scale, rtol=0, atol=allowed)
    return found.tobytes()


inner_sizes = st.one_of(
    st.integers(1, 300), st.sampled_from([1009, 4099, 20011, 65537, 70001, 100003])
)


@given(
    inner_sizes,
    st.integers(1, 20),
    st.sampled_from(MACHINES),
    st.sampled_from(THREADS),
    st.sampled_from([np.float32, np.float32, np.float64]),
)
@settings(max_examples=15, deadline=None)
def test_one_row_times_few_columns(
    inner: int, columns: int, machine: MachineDescription, threads: int, dtype: type
):
    x, w = fresh(1, inner, dtype=dtype), fresh(inner, columns, dtype=dtype)
    wanted = exact(x, w)
    check_sum(prepared(MatMulOp, x, w), (x, w), wanted, inner, machine, threads)


@given(inner_sizes, st.integers(1, 20), st.sampled_from(MACHINES), st.sampled_from(THREADS))
@settings(max_examples=8, deadline=None)
def test_one_row_of_a_fully_connected_layer(
    inner: int, outputs: int, machine: MachineDescription, threads: int
):
    x, w, b = fresh(1, inner), fresh(outputs, inner), fresh(outputs)
    wanted = x.astype(np.float64) @ w.T + b
    check_sum(prepared(FullyConnectedOp, x, w, b), (x, w, b), wanted, inner, machine, threads)


@given(
    st.integers(1, 70),
    st.integers(1, 150),
    st.integers(1, 3),
    st.sampled_from(MACHINES),
    st.sampled_from([np.float32, np.float64]),
)
@settings(max_examples=15, deadline=None)
def test_rows_times_few_columns(
    rows: int, inner: int, columns: int, machine: MachineDescription, dtype: type
):
    x, w = fresh(rows, inner, dtype=dtype), fresh(inner, columns, dtype=dtype)
    wanted = x.astype(np.float64) @ w
    check_sum(prepared(MatMulOp, x, w), (x, w), wanted, inner, machine, 1)


@pytest.mark.parametrize("machine", MACHINES, ids=["host", "avx2", "sse"])
def test_same_bytes_on_any_number_of_threads(machine: MachineDescription):
    x, w = fresh(1, 200003), fresh(200003, 3)
    module, wanted = prepared(MatMulOp, x, w), x.astype(np.float64) @ w
    found = {check_sum(module, (x, w), wanted, x.size, machine, n) for n in THREADS}
    assert len(found) == 1


REDUCTIONS: list[tuple[type[Node], Callable]] = [
    (ReduceSumOp, np.sum),
    (ReduceMeanOp, np.mean),
    (ReduceMaxOp, np.max),
    (ReduceMinOp, np.min),
]


@pytest.mark.parametrize("operator", [o for o, _ in REDUCTIONS], ids=lambda o: o.name)
@pytest.mark.parametrize(
    ("shape", "axes"),
    [((150001,), (0,)), ((3, 70001), (1,)), ((30011, 5), (0,)), ((40, 2, 3001), (0, 2))],
)
def test_reductions_to_few_results(
    operator: type[Node], shape: tuple[int, ...], axes: tuple[int, ...]
):
    x = fresh(*shape)
    module = prepared(operator, x, axes=axes, keep_dims=False)
    wanted = dict(REDUCTIONS)[operator](x.astype(np.float64), axis=axes)
    number = REDUCTIONS.index((operator, dict(REDUCTIONS)[operator])) + len(shape)
    machine, threads = MACHINES[number % 3], THREADS[number % 4]
    check_sum(module, (x,), wanted, x.size, machine, threads)


@pytest.mark.parametrize("operator", [ReduceSumOp, ReduceMaxOp, ReduceMinOp, ReduceProdOp])
def test_integers_are_exact(operator: type[Node], rng: np.random.Generator):
    for dtype, shape in ((np.int32, (300007,)), (np.int64, (40009, 3)), (np.int8, (500009,))):
        info = np.iinfo(dtype)
        x = rng.integers(info.min, info.max, shape, dtype=dtype)
        x |= 1  # so that products do not become 0
        check_native(prepared(operator, x, axes=(0,), keep_dims=False), [x], threads=3)


def test_a_nan_in_any_part_shows_in_the_maximum():
    x = fresh(400009)
    module = prepared(ReduceMaxOp, x, axes=(0,), keep_dims=False)
    for place in (0, 17, 123456, 400008):
        marked = x.copy()
        marked[place] = np.nan
        assert np.isnan(run_native(module, [marked], threads=2)[0])


def test_rows_of_normalisations_and_softmax():
    x = fresh(2, 200003)
    scale, bias = fresh(200003), fresh(200003)
    norm = prepared(LayerNormOp, x, scale, bias, axis=1, epsilon=1e-5)
    soft = prepared(SoftmaxOp, x, axis=1)
    for threads in (1, 3):
        check_native(norm, [x, scale, bias], threads=threads, tolerance=1e-5)
        check_native(soft, [x], threads=threads, tolerance=1e-6)


def test_parts_of_iterations_that_all_threads_run():
    """Three groups are too few to divide among two threads, which divide the sums of each."""
    x, scale, bias = fresh(3, 2, 40009), fresh(2), fresh(2)
    module = prepared(GroupNormOp, x, scale, bias, groups=1, epsilon=1e-5)
    for threads in (1, 2, 5):
        check_native(module, [x, scale, bias], threads=threads, tolerance=1e-5)


def test_packed_columns_of_one_row():
    x, matrix = fresh(1, 30011), fresh(30011, 75)
    weights = packed(matrix, panel_width(75, 16, 8))
    module = prepared(PackedMatMulOp, x, weights, columns=75)
    wanted = x.astype(np.float64) @ matrix
    for threads in (1, 2, 5):
        check_sum(module, (x, weights), wanted, x.size, MACHINES[0], threads)


def test_products_of_bytes_of_one_row(rng: np.random.Generator):
    if not find_target().describe().byte_dot(True):
        pytest.skip("the target has no products of unsigned bytes (VNNI)")
    x = rng.integers(0, 256, (1, 40012)).astype(np.uint8)
    w = rng.integers(-128, 128, (1, 10003, 16, 4)).astype(np.int8)
    check_native(prepared(DotMatMulOp, x, w, columns=11), [x, w], threads=3)


EPILOGUE = """
func.func @main(%x: tensor<1x90001xf32>, %w: tensor<90001x7xf32>, %r: tensor<1x7xf32>)
    -> tensor<1x7xf32> {
  %p = glow.matmul %x, %w : (tensor<1x90001xf32>, tensor<90001x7xf32>) -> tensor<1x7xf32>
  %s = glow.add %p, %r : (tensor<1x7xf32>, tensor<1x7xf32>) -> tensor<1x7xf32>
  %y = glow.relu %s : (tensor<1x7xf32>) -> tensor<1x7xf32>
  func.return %y : tensor<1x7xf32>
}"""


def test_what_follows_a_sum_runs_once_when_it_is_whole():
    module = parse(EPILOGUE)
    apply(module, "glow-irgen,glow-eliminate-copies,glow-stack-ops,glow-allocate")
    assert not any(op.name == "glow_inst.stacked" for op in module.walk())
    x, w, r = fresh(1, 90001), fresh(90001, 7), 300 * fresh(1, 7)
    wanted = np.maximum(x.astype(np.float64) @ w + r, 0)
    for threads in THREADS:
        check_sum(module, (x, w, r), wanted, x.size, MACHINES[0], threads)


CHAIN = """
func.func @main(%x: tensor<1x50021xf32>, %w: tensor<50021x2xf32>) -> tensor<1x2xf32> {
  %a = glow.matmul %x, %w : (tensor<1x50021xf32>, tensor<50021x2xf32>) -> tensor<1x2xf32>
  %s = glow.softmax %x axis 1 : (tensor<1x50021xf32>) -> tensor<1x50021xf32>
  %b = glow.matmul %s, %w : (tensor<1x50021xf32>, tensor<50021x2xf32>) -> tensor<1x2xf32>
  %y = glow.add %a, %b : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}"""


def test_scratch_of_parts_is_not_written_too_early():
    """Kernels one after the other, which use the same scratch, on more threads than processors."""
    module = apply(parse(CHAIN), PREPARE)
    x, w = fresh(1, 50021), fresh(50021, 2)
    (single,) = run_native(module, [x, w], threads=1)
    for _ in range(3):
        (found,) = run_native(module, [x, w], threads=7)
        assert found.tobytes() == single.tobytes()


# what is cut


def steps_of(results: int, terms: int, outside: int = 1) -> tuple[list[Nest], int]:
    """Returns the nests of a sum, perhaps in a loop, and the bytes of scratch."""
    x, y = (View.dense(Buffer(f32, 0, 1 << 24, parameter=i), (outside, results, terms))
            for i in range(2))  # fmt: skip
    k = Kernel(None, [y], [x])  # pyright: ignore
    o, i, t = Dim("o", outside), Dim("i", results), Dim("t", terms)
    with k.repeat(o):
        k.finish([i], [o, i, 0], (), X, [t], total(Combine.ADD, f32, x[[o, i, t]]))
    (loop,) = k.steps
    assert isinstance(loop, Repeat)
    (nest,) = loop.steps
    assert isinstance(nest, Nest)
    scratch: list[Buffer] = []
    nests = Splitter(k.machine, scratch.append).split(nest, outside)
    return list(nests), sum(-(-4 * b.high // 64) * 64 for b in scratch)


def test_long_sums_to_few_results_are_cut():
    (main, combined), scratch = steps_of(1, 1 << 20)
    assert main.parallel[0].size == combined.reduced[0].size == 32
    assert scratch == 128
    # a rest that fills no part
    rest, main, combined = steps_of(3, 500001)[0]
    assert rest.reduced[0].size + main.parallel[0].size * main.reduced[-1].size == 500001
    assert combined.reduced[0].size == main.parallel[0].size + 1


def test_other_sums_are_not_cut():
    # little work, many results, many iterations of a loop outside
    for results, terms, outside in ((1, 10000, 1), (4000, 512, 1), (1, 100000, 40)):
        nests, scratch = steps_of(results, terms, outside)
        assert len(nests) == 1
        assert scratch == 0
