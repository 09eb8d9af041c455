"""Every operator with a kernel agrees with the interpreter, at odd shapes, on several machines."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import ml_dtypes
import numpy as np
import pytest
from glow.glow_dialects.glow import NODES, DataParallel, Node
from glow.glow_dialects.glow.constant import SplatOp
from glow.glow_dialects.glow.convolution import ConvolutionOp
from glow.glow_dialects.glow.integer_parts import (
    MultiplyAddBytesOp,
    MultiplyAddPairsOp,
    MultiplyAddQuadsOp,
)
from glow.glow_dialects.glow.logic import (
    BitcastOp,
    CastOp,
    SelectOp,
    ShiftLeftOp,
    ShiftRightOp,
)
from glow.glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from glow.glow_dialects.glow.normalization import (
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
from glow.glow_dialects.glow.shape import GatherOp, TransposeOp
from glow.glow_dialects.machine import MachineDescription
from glow.glow_dialects.operator import Call, with_shape
from glow.glow_dialects.python_values import Python
from glow.glow_dialects.quant import QuantizedType
from glow.lowering.kernels.claims import kernel_claims
from glow.semantics import element_type, numpy_dtype
from glow.tests.support.operator_kernels import check, one_node, random
from glow.tests.support.seeds import numbered
from xdsl.dialects.builtin import (
    IntegerType,
    Signedness,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

# convolution: input, filter, strides, pads, dilations, group
CONVOLUTIONS = [
    ((1, 3, 13, 17), (8, 3, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 1),
    ((2, 5, 9, 11), (7, 5, 3, 3), (2, 2), (1, 0, 0, 2), (1, 1), 1),
    ((1, 16, 7, 7), (24, 16, 1, 1), (1, 1), (0, 0, 0, 0), (1, 1), 1),
    ((2, 12, 9, 9), (5, 12, 1, 1), (2, 2), (0, 0, 0, 0), (1, 1), 1),
    ((1, 4, 20, 33), (4, 4, 7, 7), (2, 3), (3, 3, 3, 3), (1, 1), 1),
    ((1, 8, 15, 15), (8, 1, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 8),
    ((2, 6, 14, 31), (12, 1, 3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 6),
    ((1, 8, 10, 12), (6, 4, 3, 3), (1, 2), (2, 2, 2, 2), (2, 2), 2),
    # so large that groups are copied one after the other
    ((2, 90, 19, 27), (90, 1, 3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 90),
    ((1, 64, 24, 31), (96, 2, 3, 3), (1, 2), (1, 1, 1, 1), (1, 1), 32),
    ((1, 9, 6, 6), (15, 3, 5, 5), (1, 1), (2, 2, 2, 2), (1, 1), 3),
    ((1, 2, 5, 5), (3, 2, 5, 5), (1, 1), (0, 0, 0, 0), (1, 1), 1),
    ((1, 33, 1, 1), (17, 33, 1, 1), (1, 1), (0, 0, 0, 0), (1, 1), 1),
    ((1, 3, 4, 4), (2, 3, 2, 2), (5, 5), (1, 1, 1, 1), (1, 1), 1),
    ((1, 3, 9, 9), (2, 3, 1, 1), (3, 3), (1, 1, 1, 1), (1, 1), 1),
    ((1, 3, 9, 9), (2, 3, 3, 3), (1, 1), (0, 4, 0, 4), (3, 3), 1),
    ((3, 4, 21), (5, 4, 3), (1,), (1, 1), (1,), 1),
    ((2, 4, 40), (6, 2, 4), (3,), (0, 5), (2,), 2),
    ((1, 3, 5, 6, 7), (4, 3, 2, 3, 3), (1, 1, 1), (0, 1, 1, 1, 1, 1), (1, 1, 1), 1),
    ((2, 2, 6, 5, 9), (2, 1, 3, 2, 3), (2, 1, 2), (1, 0, 1, 1, 0, 1), (1, 2, 1), 2),
]


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float16], ids=["f32", "f16"])
def test_convolution(case: tuple, dtype: type):
    x, w, strides, pads, dilations, group = case
    arrays = (random(1, *x, dtype=dtype), random(2, *w, dtype=dtype), random(3, w[0], dtype=dtype))
    check(
        ConvolutionOp,
        *arrays,
        strides=strides,
        pads=pads,
        dilations=dilations,
        group=group,
        tolerance=2e-5,
    )


@pytest.mark.parametrize("dtype", [np.float64, ml_dtypes.bfloat16], ids=["f64", "bf16"])
def test_convolution_of_other_floats(dtype: type):
    arrays = [random(i, *s, dtype=dtype) for i, s in enumerate([(1, 3, 8, 9), (4, 3, 3, 3), (4,)])]
    geometry = {"strides": [1, 2], "pads": [1, 1, 1, 1], "dilations": [1, 1]}
    check(ConvolutionOp, *arrays, **geometry)  # pyright: ignore


# matrix product: batch, rows, inner, columns
PRODUCTS = [
    ((), 1, 1, 1),
    ((), 1, 100, 37),
    ((), 5, 17, 19),
    ((), 33, 64, 50),
    ((), 20, 300, 9),
    ((3,), 4, 7, 16),
    ((2, 3), 17, 5, 3),
]


@pytest.mark.parametrize("case", PRODUCTS, ids=str)
@pytest.mark.parametrize("transposed", list(itertools.product([False, True], repeat=2)), ids=str)
def test_matmul(case: tuple, transposed: tuple[bool, bool]):
    batch, m, k, n = case
    a = random(1, *batch, *((k, m) if transposed[0] else (m, k)))
    b = random(2, *batch, *((n, k) if transposed[1] else (k, n)))
    check(MatMulOp, a, b, transpose_lhs=transposed[0], transpose_rhs=transposed[1], tolerance=2e-5)


@pytest.mark.parametrize("dtype", [np.float16, np.int32, np.int8, np.float64], ids=str)
def test_matmul_of_other_types(dtype: type):
    check(MatMulOp, random(1, 5, 21, dtype=dtype), random(2, 21, 18, dtype=dtype))


@pytest.mark.parametrize("shape", [(1, 64, 10), (1, 5, 3), (7, 33, 21), (2, 1, 1)], ids=str)
def test_fully_connected(shape: tuple[int, int, int]):
    m, k, n = shape
    check(FullyConnectedOp, random(1, m, k), random(2, n, k), random(3, n), tolerance=2e-5)


# pooling: input, kernel, strides, pads, dilations, ceil_mode
POOLS = [
    ((1, 3, 13, 13), (3, 3), (2, 2), (0, 0, 0, 0), (1, 1), False),
    ((2, 5, 8, 8), (2, 2), (2, 2), (0, 0, 0, 0), (1, 1), False),
    ((1, 4, 11, 15), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), True),
    ((1, 2, 12, 12), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), False),
    ((2, 3, 7, 9), (7, 9), (1, 1), (0, 0, 0, 0), (1, 1), False),
    ((1, 2, 14, 14), (3, 2), (3, 5), (0, 1, 1, 0), (2, 3), True),
    ((2, 3, 30), (4,), (3,), (1, 2), (1,), False),
    ((1, 2, 5, 6, 7), (2, 2, 2), (1, 2, 2), (0, 1, 0, 1, 0, 1), (1, 1, 1), False),
]


@pytest.mark.parametrize("case", POOLS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint8], ids=str)
def test_max_pool(case: tuple, dtype: type):
    shape, kernel, strides, pads, dilations, ceil_mode = case
    check(
        MaxPoolOp,
        random(4, *shape, dtype=dtype),
        kernel=kernel,
        strides=strides,
        pads=pads,
        dilations=dilations,
        ceil_mode=ceil_mode,
    )


@pytest.mark.parametrize("case", POOLS, ids=str)
@pytest.mark.parametrize("count_include_pad", [False, True])
def test_avg_pool(case: tuple, count_include_pad: bool):
    shape, kernel, strides, pads, dilations, ceil_mode = case
    check(
        AvgPoolOp,
        random(5, *shape),
        kernel=kernel,
        strides=strides,
        pads=pads,
        dilations=dilations,
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
    )


REDUCTIONS = (ReduceSumOp, ReduceMeanOp, ReduceMaxOp, ReduceMinOp, ReduceProdOp)
AXES = [
    ((37,), (0,)),
    ((5, 40), (1,)),
    ((40, 5), (0,)),
    ((3, 4, 5), (0, 2)),
    ((2, 3, 17), (0, 1, 2)),
]


@pytest.mark.parametrize("operator", REDUCTIONS)
@pytest.mark.parametrize(("shape", "axes"), AXES, ids=str)
def test_reduction(operator: type[Node], shape: tuple, axes: tuple):
    check(operator, random(6, *shape), axes=axes, keep_dims=bool(len(shape) % 2))


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int64, np.float16], ids=str)
@pytest.mark.parametrize("operator", [ReduceSumOp, ReduceMaxOp, ReduceMinOp, ReduceProdOp])
def test_reduction_of_other_types(operator: type[Node], dtype: type):
    check(operator, random(7, 3, 50, dtype=dtype), axes=[1], keep_dims=False)


def test_reduction_over_nothing():
    check(ReduceSumOp, random(8, 3, 0), axes=[1], keep_dims=False)
    check(ReduceMaxOp, random(8, 3, 0), axes=[1], keep_dims=True)
    check(ReduceSumOp, random(8, 0, 5), axes=[1], keep_dims=False)


@pytest.mark.parametrize("operator", [SoftmaxOp, LogSoftmaxOp])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((1, 1000), 1), ((7, 13), 1), ((3, 5, 6), 1), ((9,), 0), ((4, 1), 1)],
    ids=str,
)
def test_softmax(operator: type[Node], shape: tuple, axis: int):
    check(operator, 10 * random(9, *shape), axis=axis)
    check(operator, random(9, *shape, dtype=np.float16), axis=axis)


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("beta", [0.75, 0.5, 1.0, 0.6])
def test_local_response_norm(size: int, beta: float):
    properties = {"size": size, "alpha": 0.3, "beta": beta, "k": 1.5}
    check(LocalResponseNormOp, random(10, 2, 7, 5, 3), **properties)  # pyright: ignore


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint8, np.bool_, np.int64], ids=str)
@pytest.mark.parametrize("permutation", list(itertools.permutations(range(3))), ids=str)
def test_transpose(permutation: tuple[int, ...], dtype: type):
    check(TransposeOp, random(11, 5, 19, 34, dtype=dtype), permutation=permutation)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint8, np.int64], ids=str)
@pytest.mark.parametrize("fields", [2, 3, 4, 5])
@pytest.mark.parametrize("rest", [(2, 19), (7, 11), (1, 64)], ids=str)
def test_transpose_into_records(rest: tuple[int, int], fields: int, dtype: type):
    check(TransposeOp, random(11, fields, *rest, dtype=dtype), permutation=(1, 2, 0))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.int32, np.int64], ids=str)
def test_gather(axis: int, dtype: type):
    data = random(12, 5, 6, 37)
    # beyond both ends: clamped
    indices = numbered(13).integers(-60, 60, (3, 4)).astype(dtype)
    check(GatherOp, data, indices, axis=axis)
    check(GatherOp, data.astype(np.float16), indices[0, 0], axis=axis)


@pytest.mark.parametrize("element", [f32, f16, bf16, f64, i32, i1, i64], ids=str)
def test_splat(element: Attribute):
    value = 1 if element in (i32, i1, i64) else 1.5
    check(SplatOp, types=[], result_types=[with_shape(element, (5, 7))], value=value)


QUANTIZED = [
    QuantizedType(i8, f32, 0.05, 3),
    QuantizedType(IntegerType(8, Signedness.UNSIGNED), f32, 0.25, 128),
    QuantizedType(i32, f32, 1e-8, 0),
]


@pytest.mark.parametrize("quantized", QUANTIZED, ids=str)
def test_quantize(quantized: QuantizedType):
    x = 4 * random(14, 5, 3, 7)
    x[0, :, 0] = [np.nan, np.inf, -np.inf]
    check(QuantizeOp, x, result_types=[with_shape(quantized, x.shape)])


@pytest.mark.parametrize("quantized", QUANTIZED, ids=str)
def test_dequantize(quantized: QuantizedType):
    stored = numpy_dtype(quantized)
    q = numbered(15).integers(0, 128, (5, 3, 7)).astype(stored)
    types, result = [with_shape(quantized, q.shape)], [with_shape(f32, q.shape)]
    check(DequantizeOp, q, types=types, result_types=result)


# data-parallel operators

OPERATORS = [
    n for n in NODES if issubclass(n, DataParallel) and n not in (BitcastOp, CastOp, SelectOp)
]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 1e-30, 88.0, -100.0, 3e38, np.inf, -np.inf, np.nan]


def _arity(operator: type[Node]) -> int:
    return len(operator.get_irdl_definition().operands)


def _accepts(operator: type[Node], dtype: type) -> bool:
    types = [with_shape(element_type(np.dtype(dtype)), (1,))] * _arity(operator)
    try:
        one_node(operator, types)
    except VerifyException:
        return False
    return True


DTYPES = (np.float32, np.float16, np.float64, np.int32, np.uint8, np.int8, np.bool_)


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda o: o.name)
def test_data_parallel(operator: type[Node]):
    for dtype in filter(lambda d: _accepts(operator, d), DTYPES):
        for count in (1, 5, 83):
            arrays = [random(20 + i, count, dtype=dtype) for i in range(_arity(operator))]
            if operator in (ShiftLeftOp, ShiftRightOp):
                arrays[1] = np.abs(arrays[1]) % (8 * arrays[1].itemsize)
            check(operator, *arrays, tolerance=1e-4)


@pytest.mark.parametrize("operator", [MultiplyAddPairsOp, MultiplyAddBytesOp, MultiplyAddQuadsOp])
def test_products_of_the_parts_of_integers(operator: type[Node], rng: np.random.Generator):
    """Compares whole vectors, and single numbers, which have no instruction."""
    for count in (1, 83):
        check(operator, *rng.integers(-(2**31), 2**31, (3, count)).astype(np.int32), tolerance=0)


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda o: o.name)
@np.errstate(all="ignore")
def test_data_parallel_on_special_numbers(operator: type[Node]):
    if not _accepts(operator, np.float32):
        pytest.skip("not on floats")
    n = len(SPECIAL)
    values = np.array(SPECIAL, np.float32)
    first = np.repeat(values, n)[:, None]
    arrays = [first, np.tile(values, n)[:, None], first][: _arity(operator)]
    check(operator, *arrays, tolerance=1e-4)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_select(dtype: type):
    arrays = [random(i, 7, 9, dtype=dtype) for i in range(2)]
    check(SelectOp, random(3, 7, 9, dtype=np.bool_), *arrays)


@pytest.mark.parametrize("source", DTYPES, ids=lambda d: np.dtype(d).name)
def test_cast(source: type):
    for target in (f32, f16, bf16, f64, i1, i8, i32, i64, element_type(np.dtype(np.uint8))):
        x = 10 * random(30, 45).astype(source)
        check(CastOp, np.abs(x), result_types=[with_shape(target, x.shape)])


def test_bitcast():
    x = 10 * random(30, 45)
    for target in (np.uint32, np.int32, np.float32):
        check(BitcastOp, x, result_types=[with_shape(element_type(np.dtype(target)), x.shape)])


def test_division_by_zero_of_integers_is_zero():
    from glow.glow_dialects.glow.arithmetic import DivOp, RemOp

    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        dtype = np.dtype(name)
        info = np.iinfo(dtype)
        numbers = [info.min, info.max, 7, 0, 5, 1]
        a = np.array(numbers * 3, dtype)
        b = np.array([0] * 6 + [-1 if info.min else info.max] * 6 + [3] * 6, dtype)
        with np.errstate(all="ignore"):
            check(DivOp, a, b)
            check(RemOp, a, b)


def test_claims():
    def is_claimed(call: Call) -> bool:
        return any(c.covers(call) for c in kernel_claims(MachineDescription()))

    x = with_shape(f32, (1, 4))
    quantized = with_shape(QuantizedType(i8, f32, [0.5] * 5000, axis=1), (1, 5000))
    assert is_claimed(one_call(SoftmaxOp, [x], axis=1))
    assert is_claimed(
        one_call(DequantizeOp, [with_shape(QUANTIZED[0], (4,))], [with_shape(f32, (4,))])
    )
    result = [with_shape(f32, (1, 5000))]
    assert not is_claimed(one_call(DequantizeOp, [quantized], result))


def one_call(
    operator: type[Node],
    types: Sequence[Attribute],
    result_types: Sequence[Attribute] | None = None,
    **properties: Python,
):
    module = one_node(operator, types, result_types, **properties)
    (main,) = module.ops
    return next(op.call for op in main.body.block.ops if isinstance(op, Node))  # pyright: ignore
