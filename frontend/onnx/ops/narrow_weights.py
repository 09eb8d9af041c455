"""Products with weights of a few bits, and rows of such, as ContribOperators.md defines them."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.elements import is_float
from ....glow_dialects.glow.arithmetic import AddOp
from ....glow_dialects.glow.logic import AndOp, ShiftRightOp
from ....glow_dialects.glow.narrow_weights import BYTE, BlockQuantizedMatMulOp
from ....glow_dialects.glow.shape import GatherOp
from ....semantics.narrow_weights import unpacked
from ..builder import GraphBuilder, element, rank, shape, size
from ..node import CONTRIB, OnnxNode, converter, normal_axis
from ..problems import Unsupported
from ..quantized import Parameters, dequantized
from .indices import expect_along
from .matrix import matrix_product

_INPUT_BITS = {0: 32, 1: 32, 2: 16, 3: 16, 4: 8}
"""The bits of the input that a product keeps by `accuracy_level`: of f32, f16, bf16 and i8."""


@converter("MatMulNBits", domain=CONTRIB)
def matmul(node: OnnxNode) -> SSAValue:
    """Converts a product with a matrix of 2, 4 or 8 bits, in blocks with a scale each."""
    if node.optional(4) is not None:
        raise Unsupported("g_idx, groups of columns in any order")
    if node.attr("weight_prepacked", 0):
        raise Unsupported("weight_prepacked, weights in the layout of a device")
    build, bits = node.build, node.attr("bits", 4)
    if bits not in (2, 4, 8):
        raise Unsupported(f"bits={bits}")
    columns, inner, block = (node.attr(name) for name in ("N", "K", "block_size"))
    if not columns or not inner or not block or block * bits % 8:
        raise ModelError(f"expected N, K and block_size, found {columns}, {inner} and {block}")
    blocks = -(-inner // block)
    weights = shaped(node, 1, [columns, blocks, block * bits // 8])
    scales = shaped(node, 2, [columns, blocks])
    zeros = _zero_points(node, columns, blocks, bits)
    operands = (node.input(0), weights, scales, zeros)
    level = node.attr("accuracy_level", 0)
    if level not in _INPUT_BITS:
        raise ModelError(f"expected accuracy_level to be 0 to 4, found {level}")
    width = _INPUT_BITS[level]
    result = build.op(BlockQuantizedMatMulOp, *operands, bits=bits, input_bits=width)
    bias = node.optional(5)
    return result if bias is None else build.elementwise(AddOp, result, bias)


def shaped(node: OnnxNode, index: int, shape: list[int]) -> SSAValue:
    """Returns an input that has these dimensions, or one for all of them."""
    value = node.input(index)
    if size(value) != np.prod(shape):
        wanted = "x".join(map(str, shape))
        raise ModelError(f"expected input {index} of {wanted} elements, found {value.type}")
    return node.build.reshape(value, shape)


def _zero_points(node: OnnxNode, columns: int, blocks: int, bits: int) -> SSAValue:
    """Returns zero points, which may be packed as the weights are, or one for all."""
    value = node.optional(3)
    if value is None:
        return node.build.splat(2 ** (bits - 1), BYTE, [1, 1])
    if is_float(element(value)):
        return shaped(node, 3, [columns, blocks])
    return node.build.constant(known_zero_points(node, 3, columns, blocks, bits))


def known_zero_points(node: OnnxNode, index: int, rows: int, count: int, bits: int) -> np.ndarray:
    """Returns an input of `count` zero points in each row, packed into bytes, as [rows, count]."""
    packed = node.known(index)
    assert packed is not None
    wide = -(-count * bits // 8)
    if packed.size != rows * wide:
        found = node.input(index).type
        raise ModelError(f"expected zero points of {rows}x{wide} bytes, found {found}")
    return np.ascontiguousarray(unpacked(packed.reshape(rows, wide), bits)[:, :count])


_FP4 = np.array([0, 0.0625, 8, 12, 4, 6, 2, 3]) / 12
_NF4 = """
    -1.0 -0.6961928009986877 -0.5250730514526367 -0.39491748809814453 -0.28444138169288635
    -0.18477343022823334 -0.09105003625154495 0.0 0.07958029955625534 0.16093020141124725
    0.24611230194568634 0.33791524171829224 0.44070982933044434 0.5626170039176941
    0.7229568362236023 1.0
"""
_NUMBERS_OF_CODES = (
    np.concatenate([_FP4, -_FP4]).astype(np.float32),
    np.array(_NF4.split(), np.float32),
)
"""The numbers of the 16 codes of FP4 and of NF4 (Dettmers et al. 2023, QLoRA)."""


@converter("MatMulBnb4", domain=CONTRIB)
def product_of_codes(node: OnnxNode) -> SSAValue:
    """
    Converts a product with a matrix [N, K] or, as a rule, its transpose. Each element is one of 16
    numbers times the largest magnitude of its block; the import computes them.
    """
    node.refuse_attribute("training_mode")
    kind, block = node.attr("quant_type"), node.attr("block_size")
    rows, columns = node.attr("N"), node.attr("K")
    if kind not in (0, 1) or not rows or not columns or not block or block < 1:
        raise ModelError(
            f"expected quant_type 0 or 1, N, K and block_size, "
            f"found {kind}, {rows}, {columns} and {block}"
        )
    count = rows * columns
    words, largest = node.known(1), node.known(2)
    assert words is not None
    assert largest is not None
    if words.size != (count + 1) // 2 or largest.size != -(-count // block):
        raise ModelError(
            f"expected {rows}x{columns} codes and magnitudes of blocks of {block}, "
            f"found {node.input(1).type} and {node.input(2).type}"
        )
    words = words.reshape(-1)
    codes = np.stack([words >> 4, words & 15], axis=1).reshape(-1)[:count]
    each = np.repeat(largest.reshape(-1), block)[:count]
    numbers = (_NUMBERS_OF_CODES[kind][codes] * each).astype(largest.dtype)
    matrix = node.build.constant(numbers.reshape(rows, columns))
    if node.attr("transB", 1):
        matrix = node.build.transpose(matrix, [1, 0])
    return matrix_product(node.build, node.input(0), matrix)


@converter("GatherBlockQuantized", domain=CONTRIB)
def gather(node: OnnxNode) -> SSAValue:
    """
    Converts a gather from a table that is quantized in blocks along another dimension. Only what is
    gathered becomes real.
    """
    build, table = node.build, node.input(0)
    axis = normal_axis(node.attr("gather_axis", 0), rank(table))
    blocked = normal_axis(node.attr("quantize_axis", 1), rank(table))
    if axis == blocked:
        raise Unsupported("blocks along the dimension of the indices")
    expect_along(node, 1, shape(table)[axis])
    codes, scales = (_picked(node, i, axis) for i in (0, 2))
    points = None if node.optional(3) is None else _picked(node, 3, axis)
    if element(table) == BYTE:
        bits = node.attr("bits", 4)
        codes = _spread(build, codes, bits)
        if points is None:
            points = build.splat(2 ** (bits - 1), BYTE, shape(scales))
        else:
            points = _spread(build, points, bits)
            points = build.slice(points, [0] * rank(points), shape(scales))
    blocked += rank(codes) - rank(table) if blocked > axis else 0
    block = node.attr("block_size", 128) or shape(codes)[blocked]
    return dequantized(build, codes, Parameters(scales, points, blocked, block))


def _picked(node: OnnxNode, index: int, axis: int) -> SSAValue:
    """Returns the parts of an input that the indices name."""
    return node.build.op(GatherOp, node.input(index), node.input(1), axis=axis)


def _spread(build: GraphBuilder, words: SSAValue, bits: int) -> SSAValue:
    """Returns the numbers of `bits` bits that share bytes along the last dimension."""
    if bits not in (2, 4, 8):
        raise Unsupported(f"bits={bits}")
    *rows, count = shape(words)
    wide = [*rows, count, 8 // bits]
    places = build.constant(np.arange(0, 8, bits, dtype=np.uint8))
    each = build.broadcast(build.reshape(words, [*rows, count, 1]), wide)
    shifted = build.op(ShiftRightOp, each, build.broadcast(places, wide))
    numbers = build.op(AndOp, shifted, build.splat_like(2**bits - 1, shifted))
    return build.reshape(numbers, [*rows, count * (8 // bits)])
