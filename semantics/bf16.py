"""Products of bf16 operands that accumulate in f32, and how their weights are stored."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import f32

from ..glow_dialects.glow.bf16 import PAIR, Bf16ConvolutionOp, Bf16MatMulOp
from ..glow_dialects.glow.blocked import BlockedConvolutionOp
from ..glow_dialects.operator import Call, with_shape
from .registry import evaluate, meaning, wide


def pair_rows(w: np.ndarray, axis: int) -> np.ndarray:
    """In bf16, pairs of neighbours along `axis` last: [.., K, ..] becomes [.., K / 2, .., 2]."""
    split = w.reshape(*w.shape[:axis], w.shape[axis] // PAIR, PAIR, *w.shape[axis + 1 :])
    return np.ascontiguousarray(np.moveaxis(split, axis + 1, -1)).astype(ml_dtypes.bfloat16)


def _single_rows(w: np.ndarray, axis: int) -> np.ndarray:
    """The inverse of `pair_rows`, in f32."""
    split = np.moveaxis(wide(w), -1, axis + 1)
    return split.reshape(*w.shape[:axis], -1, *w.shape[axis + 1 : -1])


@meaning(Bf16ConvolutionOp)
def convolution(call: Call, x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    plain = [wide(x), _single_rows(w, w.ndim - 3), b]
    types = tuple(with_shape(f32, a.shape) for a in plain)
    same = replace(call, operator=BlockedConvolutionOp, operands=types)
    return evaluate(same, plain)[0]


@meaning(Bf16MatMulOp)
def matmul(call: Call, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    panels = _single_rows(w, 1)
    matrix = panels.transpose(1, 0, 2).reshape(panels.shape[1], -1)
    return np.matmul(wide(x), matrix)
