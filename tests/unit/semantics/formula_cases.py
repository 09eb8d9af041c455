"""Calls of operators that are stated as a formula."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from glow.glow_dialects.glow.attention import AttentionOp, MaskedAttentionOp
from glow.glow_dialects.glow.convolution import ConvolutionOp
from glow.glow_dialects.glow.embedding import EmbeddingBagOp
from glow.glow_dialects.glow.indexing import (
    ArgMaxOp,
    ArgMinOp,
    CumProdOp,
    CumSumOp,
    GatherElementsOp,
    IntLookupTableOp,
    TopIndicesOp,
)
from glow.glow_dialects.glow.matrix import DeterminantOp, FullyConnectedOp, MatMulOp
from glow.glow_dialects.glow.narrow_weights import BlockQuantizedMatMulOp
from glow.glow_dialects.glow.normalization import (
    BatchNormOp,
    GroupNormOp,
    LayerNormOp,
    LocalResponseNormOp,
    LogSoftmaxOp,
    RmsNormOp,
    SoftmaxOp,
)
from glow.glow_dialects.glow.padding import FoldOp
from glow.glow_dialects.glow.pooling import AvgPoolOp, LpPoolOp, MaxPoolOp, MaxPoolPlacesOp
from glow.glow_dialects.glow.reduction import (
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceProdOp,
    ReduceSumOp,
)
from glow.glow_dialects.glow.resampling import ResampleOp, SampleOp
from glow.glow_dialects.glow.shape import BroadcastOp, GatherOp, PadOp, SliceOp, TransposeOp
from glow.glow_dialects.glow.structured import Structured
from glow.glow_dialects.glow.transposed import TransposedConvolutionOp
from glow.glow_dialects.glow_cpu.blocked import (
    BlockedAvgPoolOp,
    BlockedConvolutionOp,
    BlockedDepthwiseConvolutionOp,
    BlockedMaxPoolOp,
    LaneSumConvolutionOp,
)
from glow.glow_dialects.glow_cpu.dot import DotMatMulOp
from glow.glow_dialects.glow_cpu.narrow_weights import PackedBlockQuantizedMatMulOp
from glow.glow_dialects.glow_cpu.packed import PackedMatMulOp
from glow.glow_dialects.glow_cpu.rounded import RoundedMatMulOp
from glow.glow_dialects.operator import Call, to_attribute, with_shape
from glow.semantics import element_type
from numpy.random import Generator

F32, F16, BF16, F64 = np.float32, np.float16, ml_dtypes.bfloat16, np.float64
I8, I32, I64, U8, U32 = np.int8, np.int32, np.int64, np.uint8, np.uint32
Case = tuple[type[Structured], list[tuple[tuple[int, ...], Any]], dict[str, Any]]


def floats(*shapes: tuple[int, ...], dtype: Any = F32) -> list[tuple[tuple[int, ...], Any]]:
    return [(shape, dtype) for shape in shapes]


def windows(n: int, stride: int, pads: tuple[int, ...], dilation: int = 1) -> dict[str, Any]:
    return {"strides": (stride,) * n, "pads": pads, "dilations": (dilation,) * n}


CASES: list[Case] = [
    (MatMulOp, floats((2, 3, 5, 7), (2, 3, 7, 4)), {}),
    (MatMulOp, floats((5, 3), (2, 5), dtype=F16), {"transpose_lhs": True, "transpose_rhs": True}),
    (MatMulOp, floats((3, 0), (0, 2)), {}),
    (MatMulOp, [((3, 9), I8), ((9, 5), U8)], {}),
    (FullyConnectedOp, floats((3, 7), (5, 7), (5,)), {}),
    (FullyConnectedOp, [((3, 70), I8), ((5, 70), I8), ((5,), I32)], {}),
    (PackedMatMulOp, floats((2, 3, 5), (3, 5, 4)), {"columns": 11}),
    (
        BlockQuantizedMatMulOp,
        [((3, 40), F32), ((5, 3, 8), U8), ((5, 3), F32), ((5, 3), U8)],
        {"bits": 4},
    ),
    (
        PackedBlockQuantizedMatMulOp,
        [((3, 32), F32), ((2, 2, 2, 4), U32), ((2, 2, 4), F32), ((2, 2, 4), U8)],
        {"bits": 4, "columns": 7},
    ),
    (
        EmbeddingBagOp,
        [((7, 3), F32), ((5,), I64), ((5,), F32), ((4,), I64)],
        {},
    ),
    (ConvolutionOp, floats((2, 3, 7), (4, 3, 3), (4,)), windows(1, 2, (1, 0))),
    (ConvolutionOp, floats((1, 6, 7, 5), (4, 3, 3, 2), (4,)), windows(2, 1, (1, 0, 2, 1), 2)),
    (ConvolutionOp, floats((2, 4, 5, 5), (8, 1, 3, 3), (8,)), windows(2, 2, (1,) * 4)),
    (ConvolutionOp, floats((1, 2, 4, 3, 5), (3, 2, 2, 3, 1), (3,)), windows(3, 1, (0, 1, 0) * 2)),
    (ConvolutionOp, [((1, 3, 5, 5), U8), ((2, 3, 3, 3), I8), ((2,), I32)], windows(2, 1, (1,) * 4)),
    (TransposedConvolutionOp, floats((2, 3, 5), (3, 4, 3), (4,)), windows(1, 2, (1, 0))),
    (TransposedConvolutionOp, floats((1, 4, 3, 4), (4, 3, 3, 2), (6,)),
     windows(2, 3, (2, 0, 1, 1), 2)),
    (MaxPoolOp, floats((2, 3, 7), dtype=F16), windows(1, 2, (1, 1)) | {"kernel": (3,)}),
    (MaxPoolOp, [((1, 2, 7, 5), I8)],
     windows(2, 2, (1, 0, 0, 1)) | {"kernel": (3, 2), "ceil_mode": True}),
    (BlockedConvolutionOp, floats((2, 2, 7, 5, 3), (3, 2, 3, 2, 3, 4), (3, 4)),
     {"strides": (2, 1), "dilations": (1, 2)}),
    (BlockedConvolutionOp, floats((1, 6, 5, 3), (4, 3, 3, 3, 2), (4, 2)),
     {"strides": (1,), "dilations": (1,), "group": 2}),
    (BlockedConvolutionOp, floats((1, 3, 7, 5), (2, 3, 3, 1, 4), (2, 4)),
     {"strides": (1, 2), "dilations": (2, 1)}),
    (LaneSumConvolutionOp, floats((2, 2, 7, 5, 3), (3, 2, 3, 2, 3), (3,)),
     {"strides": (2, 1), "dilations": (1, 2)}),
    (BlockedDepthwiseConvolutionOp, [((1, 3, 7, 2), U8), ((3, 4, 2), I8), ((3, 2), I32)],
     {"strides": (2,), "dilations": (1,)}),
    (BlockedMaxPoolOp, floats((1, 2, 7, 5, 4)), windows(2, 2, (1, 0, 0, 1)) | {"kernel": (3, 2)}),
    (BlockedAvgPoolOp, floats((1, 2, 7, 5, 4)), windows(2, 2, (1, 1, 1, 1)) | {"kernel": (3, 2)}),
    (AvgPoolOp, floats((1, 2, 7, 6)), windows(2, 2, (1, 1, 0, 1)) | {"kernel": (3, 2)}),
    (AvgPoolOp, floats((1, 2, 7, 6)),
     windows(2, 2, (1, 1, 1, 1))
     | {"kernel": (3, 3), "ceil_mode": True, "count_include_pad": True}),
    (LpPoolOp, floats((1, 2, 7, 6)), windows(2, 2, (1, 1, 0, 1)) | {"kernel": (3, 2), "p": 3}),
    (MaxPoolPlacesOp, floats((1, 2, 7, 6), (1, 2, 4, 3)),
     windows(2, 2, (1, 0, 1, 0)) | {"kernel": (3, 2)}),
    (ResampleOp, [((3, 5, 2), F16), ((7, 3), I32), ((7, 3), F32)], {"axis": 1}),
    (SampleOp, [((2, 3, 7), F32), ((4,), I64), ((4, 5, 2), I64), ((4, 5, 2), F32)], {}),
    (FoldOp, floats((1, 3, 2, 2, 3, 2)),
     {"image": (4, 5), "strides": (1, 2), "low": (0, 1), "dilations": (1, 2)}),
    (DeterminantOp, floats((3, 2, 4, 4)), {}),
    *[
        (operator, [((3, 5, 4, 2), dtype)], {"axes": (1, 3), "keep_dims": keep})
        for operator, dtype, keep in [
            (ReduceSumOp, F32, False), (ReduceSumOp, I32, True), (ReduceMeanOp, BF16, True),
            (ReduceMeanOp, F64, False), (ReduceMaxOp, F32, False), (ReduceMaxOp, I8, True),
            (ReduceMinOp, U8, False), (ReduceProdOp, F32, True),
        ]
    ],
    (ReduceMaxOp, floats((3, 0)), {"axes": (1,)}),
    (BroadcastOp, floats((3, 1, 5)), {"to": (2, 3, 4, 5)}),
    (BroadcastOp, floats(()), {"to": (2, 1)}),
    (TransposeOp, [((2, 3, 4, 5), I8)], {"permutation": (2, 0, 3, 1)}),
    (SliceOp, floats((7, 5, 4)), {"starts": (6, 0, 1), "sizes": (3, 5, 2), "strides": (-2, 1, 2)}),
    (PadOp, floats((3, 4)), {"low": (1, 0), "high": (0, 3), "value": 2.5}),
    (PadOp, [((3,), I8)], {"low": (2,), "high": (1,), "value": -3.0}),
    (GatherOp, [((3, 5, 2), F32), ((4, 2), I64)], {"axis": 1}),
    (GatherOp, [((7, 2), F16), ((), I32)], {"axis": 0}),
    (GatherOp, [((0, 2), F32), ((0,), I64)], {"axis": 0}),
    (IntLookupTableOp, [((3, 5, 2), U8), ((256,), F32)], {}),
    (IntLookupTableOp, [((37,), I8), ((256,), U8)], {}),
    (GatherElementsOp, [((3, 5, 2), F32), ((3, 4, 2), I64)], {"axis": 1}),
    (ArgMaxOp, floats((3, 5, 2)), {"axis": 1}),
    (ArgMinOp, [((3, 5), I8)], {"axis": 0, "last": True}),
    (TopIndicesOp, floats((3, 7, 2)), {"axis": 1, "k": 3}),
    (CumSumOp, floats((3, 7, 2), dtype=F16), {"axis": 1, "exclusive": True}),
    (CumProdOp, [((3, 4), I32)], {"axis": 0, "reverse": True}),
    (SoftmaxOp, floats((3, 5, 2)), {"axis": 1}),
    (SoftmaxOp, floats((7,), dtype=F16), {"axis": 0}),
    (LogSoftmaxOp, floats((3, 5)), {"axis": 1}),
    (BatchNormOp, floats((2, 3, 4, 5), (3,), (3,), (3,), (3,)), {}),
    (LocalResponseNormOp, floats((2, 7, 3)), {"size": 4, "alpha": 0.5}),
    (LayerNormOp, floats((2, 3, 5, 4), (5, 4), (5, 4)), {"axis": 2}),
    (RmsNormOp, floats((3, 17), (17,), dtype=F16), {"axis": 1}),
    (AttentionOp, floats((2, 5, 3, 4), (2, 7, 3, 4), (2, 7, 3, 2)), {"scale": 0.5}),
    (MaskedAttentionOp, floats((1, 5, 3, 4), (1, 7, 3, 4), (1, 7, 3, 2), (1, 3, 5, 7)), {}),
    (AttentionOp, floats((2, 5, 6, 4), (2, 7, 2, 4), (2, 7, 2, 3)), {"scale": 0.5, "safe": True}),
    (DotMatMulOp, [((3, 5, 8), U8), ((3, 2, 4, 4), I8)], {"columns": 11}),
    (DotMatMulOp, floats((5, 6), (2, 3, 8, 2), dtype=BF16), {"columns": 13}),
    (RoundedMatMulOp, floats((2, 3, 7, 5), (2, 3, 7, 4)), {"transpose_lhs": True}),
    (RoundedMatMulOp, floats((5, 7), (4, 7)), {"transpose_rhs": True}),
    (GroupNormOp, floats((2, 6, 5, 3), (6,), (6,)), {"groups": 3}),
]  # fmt: skip


def call_of(case: Case) -> Call:
    operator, operands, given = case
    given = dict(given)
    types = tuple(with_shape(element_type(np.dtype(t)), shape) for shape, t in operands)
    results = ()
    if "to" in given:
        results = (with_shape(element_type(np.dtype(operands[0][1])), given.pop("to")),)
    if operator is TransposedConvolutionOp:
        given["output_padding"] = tuple(range(len(operands[0][0]) - 2))
        given["group"] = operands[2][0][0] // operands[1][0][1]
    if operator is ConvolutionOp:
        given["group"] = operands[0][0][1] // operands[1][0][1]
    properties = {name: to_attribute(value) for name, value in given.items()}
    for name, definition in operator.get_irdl_definition().properties.items():
        if name not in properties and definition.default_value is not None:
            properties[name] = definition.default_value
    call = Call(operator, types, results, properties)
    return Call(operator, types, tuple(operator.infer(call)), properties)


def array(shape: tuple[int, ...], dtype: Any, rng: Generator) -> np.ndarray:
    t = np.dtype(dtype)
    if t == U32:
        return rng.integers(0, 2**32, shape).astype(t)
    if t.kind in "iu":
        return rng.integers(-9 if t.kind == "i" else 0, 9, shape).astype(t)
    return (rng.random(shape) + 0.25).astype(t)
