"""Products of groups of narrow operands, and how their weights are stored."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
from xdsl.ir import Attribute

from ..glow_dialects.glow.convolution import ConvolutionOp
from ..glow_dialects.glow.matrix import MatMulOp
from ..glow_dialects.glow_cpu.dot import DotConvolutionOp, DotMatMulOp
from ..glow_dialects.glow_cpu.rounded import RoundedMatMulOp
from ..glow_dialects.operator import Call, element_of, shape_of, with_shape
from ..glow_dialects.python_values import to_attribute
from .blocked import pack_channels, unpack_channels
from .registry import evaluate, meaning, wide


def group_rows(w: np.ndarray, axis: int, terms: int) -> np.ndarray:
    """
    Returns groups of `terms` neighbours along `axis` last: [.., K, ..] becomes [.., ceil(K / t),
    .., t]. Missing ones are zero.
    """
    missing = -w.shape[axis] % terms
    if missing:
        w = np.pad(w, [(0, missing if d == axis else 0) for d in range(w.ndim)])
    split = w.reshape(*w.shape[:axis], w.shape[axis] // terms, terms, *w.shape[axis + 1 :])
    return np.ascontiguousarray(np.moveaxis(split, axis + 1, -1))


def pair_rows(w: np.ndarray, axis: int) -> np.ndarray:
    """
    Returns the weights in bf16, with pairs of neighbours along `axis` in a last dimension: [.., K,
    ..] becomes [.., K / 2, .., 2].
    """
    return group_rows(w, axis, 2).astype(ml_dtypes.bfloat16)


def dot_filter(w: np.ndarray, block: int, panel: int, terms: int) -> np.ndarray:
    """
    Returns the filter [O, C, *kernel] of a convolution as [ceil(O / p), ceil(C / b), *kernel, g, p,
    t], for a blocked input; a single block has only the groups that it takes.
    """
    lanes = min(block, -(-w.shape[1] // terms) * terms)
    blocks = pack_channels(pack_channels(w, lanes, axis=1), panel, axis=0)
    return group_rows(blocks, blocks.ndim - 2, terms)


def _single_rows(w: np.ndarray, axis: int) -> np.ndarray:
    """Returns the inverse of `group_rows`."""
    split = np.moveaxis(w, -1, axis + 1)
    return split.reshape(*w.shape[:axis], -1, *w.shape[axis + 1 : -1])


@meaning(DotConvolutionOp)
def convolution(call: Call, x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    rows = np.moveaxis(_single_rows(w, w.ndim - 3), -2, 2)  # [O / p, C / b, lanes, *kernel, p]
    lanes = rows.shape[2]
    plain = np.moveaxis(rows.reshape(rows.shape[0], -1, *rows.shape[3:]), -1, 1)
    plain = plain.reshape(-1, *plain.shape[2:])
    used = unpack_channels(x[..., :lanes], x.shape[1] * lanes)
    batch, blocks, *counts, block = shape_of(call.results[0])
    bias, element = b.reshape(-1), element_of(call.results[0])
    whole = np.empty((batch, blocks * block, *counts), b.dtype)
    outputs = len(plain)
    whole[:, outputs:] = bias[outputs:].reshape(-1, *[1] * len(counts))
    operands = _operands(call, element, used, plain, bias[:outputs])
    properties = {
        "strides": call.properties["strides"],
        "dilations": call.properties["dilations"],
        "pads": to_attribute([0] * (2 * len(counts))),
        "group": call.properties["group"],
    }
    types = tuple(with_shape(t, a.shape) for a, t in operands)
    result = (with_shape(element, whole[:, :outputs].shape),)
    dense = Call(ConvolutionOp, types, result, properties)
    (whole[:, :outputs],) = evaluate(dense, [a for a, _ in operands])
    return pack_channels(whole, block)


def _operands(
    call: Call, element: Attribute, *arrays: np.ndarray
) -> list[tuple[np.ndarray, Attribute]]:
    """
    Returns operands of the operator on plain tensors, which takes bf16 as f32, and their elements.
    """
    if arrays[0].dtype == ml_dtypes.bfloat16:
        return [(wide(a), element) for a in arrays]
    return [(a, call.element(i)) for i, a in enumerate(arrays)]


@meaning(DotMatMulOp)
def matmul(call: Call, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    panels = _single_rows(w, 1)
    matrix = panels.transpose(1, 0, 2).reshape(panels.shape[1], -1)[:, : call.int("columns")]
    element = element_of(call.results[0])
    flat = x.reshape(-1, x.shape[-1])
    operands = _operands(call, element, flat, matrix)
    no = to_attribute(False)
    product = replace(
        call,
        operator=MatMulOp,
        operands=tuple(with_shape(t, a.shape) for a, t in operands),
        results=(with_shape(element, (len(flat), matrix.shape[1])),),
        properties={"transpose_lhs": no, "transpose_rhs": no},
    )
    (result,) = evaluate(product, [a for a, _ in operands])
    return result.reshape(*x.shape[:-1], -1)


@meaning(RoundedMatMulOp)
def rounded_matmul(call: Call, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    product = replace(call, operator=MatMulOp)
    (result,) = evaluate(product, [wide(a.astype(ml_dtypes.bfloat16)) for a in (x, w)])
    return result
