"""Discrete Fourier transforms, as products with constant matrices."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.arithmetic import MulOp
from ....glow_dialects.glow.convolution import ConvolutionOp
from ....glow_dialects.glow.matrix import MatMulOp
from ....semantics.arrays import numpy_dtype
from ..builder import element, rank, shape, size
from ..node import OnnxNode, converter, normal_axis


@converter("DFT")
def transform_by_attribute(node: OnnxNode) -> SSAValue:
    return _transformed(node, node.attr("axis"))


@converter("DFT", since=20)
def transform(node: OnnxNode) -> SSAValue:
    axis = -2 if node.optional(2) is None else int(node.known_number(2))
    return _transformed(node, axis)


def _transformed(node: OnnxNode, axis: int) -> SSAValue:
    """
    Returns rows of `axis` and of the last dimension, which has real and imaginary parts, times a
    matrix. It takes the time of that product, which for long rows is more than that of a fast
    transform.
    """
    build, x = node.build, node.input(0)
    axis, last = normal_axis(axis, rank(x)), rank(x) - 1
    parts = shape(x)[last]
    if axis == last or parts not in (1, 2):
        raise ModelError(f"expected real or complex rows along axis {axis}, found {x.type}")
    inverse, onesided = bool(node.attr("inverse")), bool(node.attr("onesided"))
    if onesided and parts == 2 and not inverse:
        raise ModelError(f"expected real numbers for a one-sided transform, found {x.type}")
    length = shape(x)[axis]
    if node.optional(1) is not None:
        length = int(node.known_number(1))
    elif inverse and onesided:
        length = 2 * (length - 1)
    if length < 1:
        raise ModelError(f"expected a transform of at least 1 number, found {length}")
    given = min(shape(x)[axis], length // 2 + 1 if inverse and onesided else length)
    matrix = _matrix(length, given, parts, inverse, onesided)
    order = [d for d in range(last) if d != axis]
    sizes = [given if d == axis else s for d, s in enumerate(shape(x))]
    rows = build.transpose(build.slice(x, [0] * rank(x), sizes), [*order, axis, last])
    flat = build.reshape(rows, [size(rows) // (given * parts), given * parts])
    weights = build.constant(matrix.astype(numpy_dtype(element(x))))
    found = build.op(MatMulOp, flat, weights)
    out = 1 if inverse and onesided else 2
    spread = build.reshape(found, [*(shape(x)[d] for d in order), matrix.shape[1] // out, out])
    back = [*range(axis), last - 1, *range(axis, last - 1), last]
    return build.transpose(spread, back)


@converter("STFT")
def short_time_transform(node: OnnxNode) -> SSAValue:
    """
    Returns transforms of frames, as a convolution whose filters are the rows of the matrix times
    the window.
    """
    build, x, window = node.build, node.input(0), node.optional(2)
    step, given = int(node.known_number(1)), node.known_number(3)
    if rank(x) not in (2, 3) or (rank(x) == 3 and shape(x)[2] not in (1, 2)) or step < 1:
        raise ModelError(f"expected real or complex signals and a step, found {x.type} and {step}")
    batch, total = shape(x)[:2]
    length = (total if window is None else shape(window)[0]) if given is None else int(given)
    if not 1 <= length <= total or (window is not None and shape(window) != (length,)):
        raise ModelError(
            f"expected frames of 1 to {total} elements, like the window; found {length}"
        )
    parts = 1 if rank(x) == 2 else shape(x)[2]
    matrix = _matrix(length, length, parts, False, bool(node.attr("onesided")))
    numbers = matrix.astype(numpy_dtype(element(x)))
    weights = build.transpose(
        build.reshape(build.constant(numbers), [length, parts, matrix.shape[1]]), [2, 1, 0]
    )
    if window is not None:
        weights = build.elementwise(MulOp, weights, build.cast(window, element(x)))
    signal = build.transpose(build.reshape(x, [batch, total, parts]), [0, 2, 1])
    bias = build.splat(0, element(x), [matrix.shape[1]])
    found = build.op(ConvolutionOp, signal, weights, bias, strides=[step])
    frames = shape(found)[2]
    return build.reshape(
        build.transpose(found, [0, 2, 1]), [batch, frames, matrix.shape[1] // 2, 2]
    )


def _matrix(length: int, given: int, parts: int, inverse: bool, onesided: bool) -> np.ndarray:
    """
    Returns the factors between `given` numbers of so many parts and all results, or with `onesided`
    only those that the others mirror; an inverse transform from these gives real numbers.
    """
    count = length // 2 + 1 if onesided and not inverse else length
    n, k = np.arange(given)[:, None], np.arange(count)[None, :]
    angle = (2 if inverse else -2) * np.pi * (n * k % length) / length
    scale = 1 / length if inverse else 1
    real, imaginary = scale * np.cos(angle), scale * np.sin(angle)
    if inverse and onesided:
        # each number but those without a mirror image stands for two
        mirrored = np.where((n != 0) & (2 * n != length), 2, 1)
        pairs = np.stack([mirrored * real, -mirrored * imaginary])
        return pairs[:parts].transpose(1, 0, 2).reshape(given * parts, count)
    whole = np.stack([np.stack([real, imaginary], -1), np.stack([-imaginary, real], -1)])
    return whole[:parts].transpose(1, 0, 2, 3).reshape(given * parts, count * 2)
