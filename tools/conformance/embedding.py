"""Sums of rows that indices name, and products with weights of a few bits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from xdsl.dialects.builtin import bf16, f16, f32, i32, i64

from ...glow_dialects.glow.embedding import EmbeddingBagOp, FusedEmbeddingBagOp
from ...glow_dialects.glow.narrow_weights import BlockQuantizedMatMulOp
from ...glow_dialects.glow_cpu.narrow_weights import WORD, PackedBlockQuantizedMatMulOp
from ...glow_dialects.integers import u8
from .cases import FLOATS, Case, Draw, Row, cases

# rows, columns, indices, bags
BAGS = ((5, 19, 23, 3), (1, 1, 1, 1), (7, 8, 2, 5))


@cases(EmbeddingBagOp, rows=[Row((e, i, e, i)) for e in FLOATS for i in (i32, i64)])
def embedding_bag(draw: Draw) -> Iterator[Case]:
    """Yields some indices that lie behind the end, where they are clamped."""
    for rows, columns, count, bags in draw.some(BAGS, 1):
        offsets = np.sort(draw.rng.integers(0, count + 1, bags + 1))
        arrays = {1: draw.rng.integers(0, 2 * rows, count), 3: offsets}
        yield draw.case((rows, columns), (count,), (count,), (bags + 1,), arrays=arrays)


@cases(FusedEmbeddingBagOp, rows=[Row((u8, i, f32, i), (f32,)) for i in (i32, i64)])
def fused_embedding_bag(draw: Draw) -> Iterator[Case]:
    for rows, columns, count, bags in draw.some(BAGS, 1):
        half, (bits,) = bool(draw.rng.integers(2)), draw.some((4, 8), 1)
        ends = draw.rng.standard_normal((rows, 2)).astype("<f2" if half else "<f4")
        numbers = draw.rng.integers(0, 256, (rows, columns)).astype(np.uint8)
        data = np.concatenate([numbers, ends.view(np.uint8)], 1)
        offsets = np.sort(draw.rng.integers(0, count + 1, bags + 1))
        arrays = {0: data, 1: draw.rng.integers(0, rows, count), 3: offsets}
        shapes = data.shape, (count,), (count,), (bags + 1,)
        yield draw.case(*shapes, bits=bits, half=half, arrays=arrays)


NARROW = (f32, f16, bf16)
# rows, columns, blocks, bytes of a block
SIZES = (((2, 3), 19, 3, 8), ((1,), 37, 2, 16), ((29,), 9, 1, 4))


@cases(BlockQuantizedMatMulOp, rows=[Row((e, u8, e, u8)) for e in NARROW])
def block_quantized_matmul(draw: Draw) -> Iterator[Case]:
    for rows, columns, blocks, size in draw.some(SIZES, 1):
        (bits,) = draw.some((2, 4, 8), 1)
        inner = blocks * size * 8 // bits - int(draw.rng.integers(3))
        zeros = draw.some(((1, 1), (columns, blocks)), 1)[0]
        shapes = (*rows, inner), (columns, blocks, size), (columns, blocks), zeros
        yield draw.case(
            *shapes,
            bits=bits,
            constants=(1, 2, 3),
            arrays={3: draw.rng.integers(0, 2**bits, zeros)},
        )


@cases(PackedBlockQuantizedMatMulOp, rows=[Row((e, WORD, e, u8)) for e in NARROW])
def packed_block_quantized_matmul(draw: Draw) -> Iterator[Case]:
    for rows, columns, blocks, size in draw.some(SIZES, 1):
        (bits,) = draw.some((2, 4, 8), 1)
        panels, words = -(-columns // 16), size // 4
        zeros = draw.some(((1, 1, 1), (panels, blocks, 16)), 1)[0]
        shape = (panels, blocks, words, 16)
        arrays = {1: draw.rng.integers(0, 1 << 32, shape), 3: draw.rng.integers(0, 2**bits, zeros)}
        yield draw.case(
            (*rows, blocks * words * 32 // bits),
            *(shape, (panels, blocks, 16), zeros),
            columns=columns,
            bits=bits,
            constants=(1, 2, 3),
            arrays=arrays,
        )
