"""The numpy meaning of operators against onnxruntime, on random shapes and parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from glow.glow_dialects.glow.convolution import ConvolutionOp, window_extent
from glow.glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from glow.glow_dialects.glow.normalization import (
    BatchNormOp,
    LocalResponseNormOp,
    LogSoftmaxOp,
    SoftmaxOp,
)
from glow.glow_dialects.glow.pooling import AvgPoolOp, MaxPoolOp
from glow.glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from glow.glow_dialects.glow.reduction import (
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceProdOp,
    ReduceSumOp,
)
from glow.glow_dialects.glow.shape import (
    BroadcastOp,
    ConcatOp,
    GatherOp,
    PadOp,
    SliceOp,
    TransposeOp,
)
from glow.glow_dialects.operator import with_shape
from glow.glow_dialects.quant import QuantizedType
from glow.semantics import element_type, evaluate
from glow.tests.support.oracle import close, run_node, run_onnx
from xdsl.dialects import test
from xdsl.dialects.builtin import IntegerType, Signedness, f32, i8

Rng = np.random.Generator

ROUNDS = 8
"""Random cases of each test."""


def ints(rng: Rng, low: int, high: int, count: int) -> list[int]:
    """Returns `count` integers from `low` to `high`, both included."""
    return [int(v) for v in rng.integers(low, high + 1, count)]


def normal(rng: Rng, *shape: int, dtype: type = np.float32) -> np.ndarray:
    return rng.standard_normal(shape).astype(dtype)


def shape(rng: Rng, low: int = 1, high: int = 4) -> list[int]:
    return ints(rng, 1, 6, int(rng.integers(low, high + 1)))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_convolution(rng: Rng, rank: int):
    for _ in range(ROUNDS):
        group, per_group, outputs = ints(rng, 1, 3, 3)
        kernel, strides, dilations = (ints(rng, 1, 3, rank) for _ in range(3))
        pads = ints(rng, 0, 2, 2 * rank)
        sizes = [
            (k - 1) * d + e
            for k, d, e in zip(kernel, dilations, ints(rng, 1, 6, rank), strict=True)
        ]
        x = normal(rng, int(rng.integers(1, 3)), group * per_group, *sizes)
        w = normal(rng, group * outputs, per_group, *kernel)
        b = normal(rng, group * outputs)
        same: dict[str, Any] = dict(strides=strides, dilations=dilations, pads=pads, group=group)
        close(run_node(ConvolutionOp, x, w, b, **same), run_onnx("Conv", x, w, b, **same))


def test_convolution_of_f16_accumulates_in_f32(rng: Rng):
    x, w = normal(rng, 1, 64, 9, 9, dtype=np.float16), normal(rng, 8, 64, 3, 3, dtype=np.float16)
    b = normal(rng, 8, dtype=np.float16)
    same: dict[str, Any] = dict(strides=[1, 1], dilations=[1, 1], pads=[0] * 4)
    found = run_node(ConvolutionOp, x, w, b, **same)
    wide = run_node(ConvolutionOp, *(a.astype(np.float32) for a in (x, w, b)), **same)
    np.testing.assert_array_equal(found, wide.astype(np.float16))


def _pool(rng: Rng, rank: int) -> tuple[list[int], dict[str, Any]]:
    """Returns sizes of the spatial dimensions, and the parameters of a pool that fits."""
    kernel = ints(rng, 1, 4, rank)
    dilations = ints(rng, 1, 2, rank)
    pads = [int(rng.integers(0, k)) for k in (*kernel, *kernel)]
    sizes = [
        (k - 1) * d + 1 + e
        for k, d, e in zip(kernel, dilations, ints(rng, 0, 7, rank), strict=True)
    ]
    return sizes, dict(kernel=kernel, strides=ints(rng, 1, 3, rank), pads=pads, dilations=dilations)


def _onnx_pool(pool: dict[str, Any]) -> dict[str, Any]:
    return {("kernel_shape" if name == "kernel" else name): v for name, v in pool.items()}


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_max_pool(rng: Rng, rank: int, ceil_mode: bool):
    for _ in range(ROUNDS):
        sizes, pool = _pool(rng, rank)
        x = normal(rng, 2, 3, *sizes)
        found = run_node(MaxPoolOp, x, **pool, ceil_mode=ceil_mode)
        expected = run_onnx("MaxPool", x, **_onnx_pool(pool), ceil_mode=int(ceil_mode))
        np.testing.assert_array_equal(found, expected)


def test_max_pool_of_integers(rng: Rng):
    for dtype in (np.int8, np.uint8):
        sizes, pool = _pool(rng, 2)
        x = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (2, 3, *sizes)).astype(dtype)
        found = run_node(MaxPoolOp, x, **pool)
        np.testing.assert_array_equal(found, run_onnx("MaxPool", x, **_onnx_pool(pool)))


@pytest.mark.parametrize("count_include_pad", [False, True])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_avg_pool(rng: Rng, rank: int, ceil_mode: bool, count_include_pad: bool):
    for _ in range(ROUNDS):
        sizes, pool = _pool(rng, rank)
        x = normal(rng, 2, 3, *sizes)
        flags: dict[str, Any] = dict(ceil_mode=ceil_mode, count_include_pad=count_include_pad)
        found = run_node(AvgPoolOp, x, **pool, **flags)
        numbers: dict[str, Any] = {name: int(v) for name, v in flags.items()}
        close(found, run_onnx("AveragePool", x, **_onnx_pool(pool), **numbers))


def test_matmul(rng: Rng):
    for _ in range(ROUNDS):
        batch, (m, k, n) = shape(rng, 0, 2), ints(rng, 1, 9, 3)
        a, b = normal(rng, *batch, m, k), normal(rng, *batch, k, n)
        expected = run_onnx("MatMul", a, b)
        close(run_node(MatMulOp, a, b), expected)
        left, right = a.swapaxes(-1, -2).copy(), b.swapaxes(-1, -2).copy()
        close(run_node(MatMulOp, left, b, transpose_lhs=True), expected)
        close(run_node(MatMulOp, a, right, transpose_rhs=True), expected)
        close(run_node(MatMulOp, left, right, transpose_lhs=True, transpose_rhs=True), expected)


def test_matmul_of_integers_wraps_around(rng: Rng):
    a, b = (rng.integers(-(2**31), 2**31, (3, 3)).astype(np.int32) for _ in range(2))
    exact = a.astype(object) @ b.astype(object)
    wrapped = np.array([(int(v) + 2**31) % 2**32 - 2**31 for v in exact.flat], np.int32)
    np.testing.assert_array_equal(run_node(MatMulOp, a, b), wrapped.reshape(3, 3))


def test_fully_connected(rng: Rng):
    for _ in range(ROUNDS):
        m, k, n = ints(rng, 1, 9, 3)
        x, w, b = normal(rng, m, k), normal(rng, n, k), normal(rng, n)
        close(run_node(FullyConnectedOp, x, w, b), run_onnx("Gemm", x, w, b, transB=1))


def test_batch_norm(rng: Rng):
    for _ in range(ROUNDS):
        x = normal(rng, 2, *shape(rng))
        scale, bias, mean = (normal(rng, x.shape[1]) for _ in range(3))
        arrays = (x, scale, bias, mean, rng.random(x.shape[1]).astype(np.float32))
        epsilon = float(rng.random())
        expected = run_onnx("BatchNormalization", *arrays, epsilon=epsilon)
        close(run_node(BatchNormOp, *arrays, epsilon=epsilon), expected)


def test_local_response_norm(rng: Rng):
    for size in (1, 3, 5, 7):
        x = normal(rng, 2, int(rng.integers(1, 9)), 3, 4)
        alpha, beta, k = (float(v) for v in rng.random(3) + 0.1)
        same: dict[str, Any] = dict(size=size, alpha=alpha, beta=beta, bias=k)
        expected = run_onnx("LRN", x, **same)
        close(run_node(LocalResponseNormOp, x, size=size, alpha=alpha, beta=beta, k=k), expected)


def test_local_response_norm_of_even_size(rng: Rng):
    x = normal(rng, 2, 5, 3)
    found = run_node(LocalResponseNormOp, x, size=4, alpha=0.5, beta=0.75, k=1.0)
    sums = [sum(x[:, j] ** 2 for j in range(max(0, c - 1), min(5, c + 3))) for c in range(5)]
    close(found, x / (1 + 0.125 * np.stack(sums, 1)) ** np.float32(0.75))


def test_softmax(rng: Rng):
    for _ in range(ROUNDS):
        x = 10 * normal(rng, *shape(rng))
        axis = int(rng.integers(x.ndim))
        close(run_node(SoftmaxOp, x, axis=axis), run_onnx("Softmax", x, axis=axis))
        close(run_node(LogSoftmaxOp, x, axis=axis), run_onnx("LogSoftmax", x, axis=axis))


REDUCTIONS = {
    "ReduceSum": ReduceSumOp,
    "ReduceMean": ReduceMeanOp,
    "ReduceMax": ReduceMaxOp,
    "ReduceMin": ReduceMinOp,
    "ReduceProd": ReduceProdOp,
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction(rng: Rng, name: str):
    for _ in range(ROUNDS):
        x = normal(rng, *shape(rng))
        count = int(rng.integers(1, x.ndim + 1))
        axes = sorted(int(a) for a in rng.permutation(x.ndim)[:count])
        keep = bool(rng.integers(2))
        found = run_node(REDUCTIONS[name], x, axes=axes, keep_dims=keep)
        expected = run_onnx(name, x, np.array(axes, np.int64), keepdims=int(keep))
        close(found, expected)


def test_slice(rng: Rng):
    for _ in range(3 * ROUNDS):
        x = normal(rng, *shape(rng))
        steps = [int(rng.choice([-3, -2, -1, 1, 2, 3])) for _ in x.shape]
        starts = [int(rng.integers(s)) for s in x.shape]
        room = [(s - a if t > 0 else a + 1) for s, a, t in zip(x.shape, starts, steps, strict=True)]
        most = [-(-r // abs(t)) for r, t in zip(room, steps, strict=True)]
        sizes = [int(rng.integers(0, m + 1)) for m in most]
        found = run_node(SliceOp, x, starts=starts, sizes=sizes, strides=steps)
        places = [a + t * np.arange(n) for a, t, n in zip(starts, steps, sizes, strict=True)]
        np.testing.assert_array_equal(found, x[np.ix_(*places)])


def test_gather(rng: Rng):
    for dtype in (np.int32, np.int64):
        x = normal(rng, *shape(rng))
        axis = int(rng.integers(x.ndim))
        size = x.shape[axis]
        indices = rng.integers(-size, size, shape(rng, 0, 2)).astype(dtype)
        found = run_node(GatherOp, x, indices, axis=axis)
        np.testing.assert_array_equal(found, run_onnx("Gather", x, indices, axis=axis))


def test_gather_clamps():
    x = np.array([1.0, 2.0, 3.0], np.float32)
    found = run_node(GatherOp, x, np.array([7, -9, 2**62, -(2**62)], np.int64), axis=0)
    np.testing.assert_array_equal(found, np.array([3, 1, 3, 1], np.float32))


def test_pad_and_transpose_and_concat(rng: Rng):
    for _ in range(ROUNDS):
        x = normal(rng, *shape(rng))
        low, high = ints(rng, 0, 3, x.ndim), ints(rng, 0, 3, x.ndim)
        padded = run_onnx("Pad", x, np.array([*low, *high], np.int64), np.array(2.5, np.float32))
        np.testing.assert_array_equal(run_node(PadOp, x, low=low, high=high, value=2.5), padded)
        order = [int(p) for p in rng.permutation(x.ndim)]
        turned = run_onnx("Transpose", x, perm=order)
        np.testing.assert_array_equal(run_node(TransposeOp, x, permutation=order), turned)
        axis = int(rng.integers(x.ndim))
        joined = run_onnx("Concat", x, x[::1], axis=axis)
        np.testing.assert_array_equal(run_node(ConcatOp, x, x, axis=axis), joined)


def test_broadcast(rng: Rng):
    x = normal(rng, 3, 1, 2)
    types = [with_shape(f32, (4, 3, 5, 2))]
    expected = run_onnx("Expand", x, np.array([4, 3, 5, 2], np.int64))
    np.testing.assert_array_equal(run_node(BroadcastOp, x, result_types=types), expected)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_quantize_and_dequantize(rng: Rng, dtype: type, axis: int | None):
    x = 20 * normal(rng, 3, 5, 2)
    count = 1 if axis is None else x.shape[axis]
    scale = (rng.random(count) + 0.05).astype(np.float32)
    zero = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, count).astype(dtype)
    storage = IntegerType(8, Signedness.UNSIGNED) if dtype == np.uint8 else i8
    quantized = QuantizedType(storage, f32, [float(s) for s in scale], [int(z) for z in zero], axis)
    attributes: dict[str, Any] = {} if axis is None else {"axis": axis}
    if axis is None:
        scale, zero = scale[0], zero[0]
    found = run_node(QuantizeOp, x, result_types=[with_shape(quantized, x.shape)])
    expected = run_onnx("QuantizeLinear", x, np.array(scale), np.array(zero), **attributes)
    np.testing.assert_array_equal(found, expected)
    (source,) = test.TestOp.create(result_types=[with_shape(quantized, x.shape)]).results
    (back,) = evaluate(DequantizeOp.of(source).call, [found])
    close(back, run_onnx("DequantizeLinear", found, np.array(scale), np.array(zero), **attributes))


def test_quantize_saturates_at_the_integer_range_and_takes_nan():
    quantized = QuantizedType(i8, f32, 0.5, 3, storage_bounds=(-100, 100))
    x = np.array([1e9, -1e9, np.inf, -np.inf, np.nan, 0.25, 0.75], np.float32)
    found = run_node(QuantizeOp, x, result_types=[with_shape(quantized, x.shape)])
    assert found.tolist() == [100, -100, 100, -100, -100, 3, 5]
    assert element_type(found.dtype) == i8


def test_windows_that_do_not_fit():
    assert window_extent(3, 0, 0, 5, 1, 1) == 0
