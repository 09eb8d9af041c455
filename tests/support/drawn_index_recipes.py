"""Recipes for operators that read at places, for recurrent layers, and for tables of rows."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from glow.glow_dialects.elements import compute_type, element_bytes, is_narrow_storage
from glow.glow_dialects.glow import embedding, indexing, recurrent, resampling, selection, trees
from glow.glow_dialects.glow.narrow_weights import BYTE, BlockQuantizedMatMulOp
from glow.glow_dialects.glow.shape import GatherOp
from glow.glow_dialects.operator import Node, element_of, shape_of
from glow.tests.support.drawn_graph import (
    ELEMENTS,
    FLOATS,
    INDICES,
    INTEGERS,
    DrawnGraph,
    Refused,
)
from glow.tests.support.drawn_nodes import recipe, sized
from xdsl.dialects.builtin import f16, f32, f64, i1, i64
from xdsl.ir import SSAValue


def indices(g: DrawnGraph, dims, size: int, negative: bool = False) -> SSAValue:
    """Returns indices into a dimension of a size. Raises Refused if it has no elements."""
    if not size:
        raise Refused("nothing to index")
    return g.operand(g.element(INDICES), dims, -size if negative else 0, size - 1)


@recipe(GatherOp)
def gather(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some(ELEMENTS, range(1, 5))
    dims = shape_of(x.type)
    axis = g.int(0, len(dims) - 1)
    return operator.of(x, indices(g, g.shape(g.int(0, 2)), dims[axis], True), axis=axis)


@recipe(indexing.GatherElementsOp)
def gather_elements(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some(ELEMENTS, range(1, 5))
    dims = shape_of(x.type)
    axis = g.int(0, len(dims) - 1)
    rows = [*dims[:axis], g.int(1, 9), *dims[axis + 1 :]]
    return operator.of(x, indices(g, rows, dims[axis], True), axis=axis)


@recipe(indexing.IntLookupTableOp)
def int_lookup_table(g: DrawnGraph, operator: type[Node]) -> Node:
    bytes_alone = tuple(t for t in INTEGERS if element_bytes(t) == 1 and not is_narrow_storage(t))
    x = g.some(bytes_alone, range(1, 5))
    return operator.of(x, g.operand(g.element(ELEMENTS), (256,)))


@recipe(indexing.TopIndicesOp)
def top_indices(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some((*FLOATS, *INTEGERS), range(1, 5))
    dims = shape_of(x.type)
    axis = g.int(0, len(dims) - 1)
    return operator.of(x, axis=axis, k=g.int(0, dims[axis]), smallest=g.flip())


@recipe(indexing.ScatterOp)
def scatter(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some((*FLOATS, *INTEGERS), (2,))
    (rows, width), element = sized(x)
    count, reduction = g.int(0, 9), g.pick(indexing.REDUCTIONS)
    updates = g.operand(element, [count, width])
    return operator.of(x, indices(g, [count], rows, True), updates, reduction=reduction)


@recipe(resampling.ResampleOp)
def resample(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some(FLOATS, range(1, 5))
    dims, element = sized(x)
    axis, places = g.int(0, len(dims) - 1), [g.pick((9, 1, 4, 17)), g.int(1, 4)]
    weights = g.operand(compute_type(element), places)
    return operator.of(x, indices(g, places, dims[axis]), weights, axis=axis)


@recipe(resampling.SampleOp)
def sample(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some(FLOATS, (3,))
    (count, _, size), element = sized(x)
    places = [g.int(1, 4), g.pick((5, 1, 17)), g.int(1, 4)]
    kind = g.element(INDICES)
    if not count or not size:
        raise Refused("no images")
    images = g.operand(kind, places[:1], 0, count - 1)
    at, weights = g.operand(kind, places, 0, size - 1), g.operand(compute_type(element), places)
    return operator.of(x, images, at, weights, largest=g.flip())


@recipe(recurrent.Recurrent)
def recurrent_layer(g: DrawnGraph, operator: type[Node]) -> Node:
    assert issubclass(operator, recurrent.Recurrent)
    steps, batch, hidden = g.int(1, 5), g.int(1, 5), g.pick((3, 1, 8, 17))
    width, element = operator.gates() * hidden, g.element(FLOATS)
    operands = [
        g.operand(element, [steps, batch, width], -2, 2),
        g.operand(element, [hidden, width], -0.5, 0.5),
        g.operand(element, [operator.STATES, batch, hidden], -1, 1),
    ]
    if operator.ROWS:
        operands.append(g.operand(element, [operator.ROWS, hidden], -1, 1))
    if g.flip():
        operands.append(g.operand(i1, [steps, batch]))
    names = ("Tanh", "Sigmoid", "Relu", "Softsign", "Elu(0.5)", "HardSigmoid(0.2,0.5)")
    functions = " ".join(g.pick(names) for _ in range(operator.ACTIVATIONS))
    flags: dict[str, Any] = {
        name: g.flip()
        for name in ("input_forget", "reset_after", "reverse", "keeps")
        if name in operator.get_irdl_definition().properties
    }
    return operator.of(*operands, activations=functions, clip=g.pick((0.0, 1.5)), **flags)


def bags(g: DrawnGraph, rows: int, element) -> list[SSAValue]:
    """Returns indices of rows, their weights, and the offsets of bags of them."""
    used, count = g.int(0, 9), g.int(1, 5)
    kind = g.element(INDICES)
    if not rows:
        raise Refused("no rows")
    ascending = np.sort(g.rng.integers(0, used + 1, count + 1))
    given = g.constant(ascending.astype(np.int64 if kind == i64 else np.int32))
    return [g.operand(kind, [used], 0, rows - 1), g.operand(element, [used]), given]


@recipe(embedding.EmbeddingBagOp)
def embedding_bag(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some(FLOATS, (2,))
    return operator.of(x, *bags(g, shape_of(x.type)[0], element_of(x.type)))


@recipe(embedding.FusedEmbeddingBagOp)
def fused_embedding_bag(g: DrawnGraph, operator: type[Node]) -> Node:
    rows, width, half, bits = g.int(1, 9), g.int(1, 19), g.flip(), g.pick((8, 4))
    scales = g.rng.uniform(-1, 1, (rows, 2)).astype(np.float16 if half else np.float32)
    numbers = g.rng.integers(0, 256, (rows, width), np.uint8)
    array = np.concatenate([numbers, scales.view(np.uint8)], axis=1)
    x = g.constant(array)
    return operator.of(x, *bags(g, rows, f32), bits=bits, half=half)


@recipe(BlockQuantizedMatMulOp)
def block_quantized_matmul(g: DrawnGraph, operator: type[Node]) -> Node:
    x = g.some((f32, f16), range(1, 4))
    dims, element = sized(x)
    bits, size, columns = g.pick((4, 8, 2)), g.pick((8, 4, 16)), g.pick((5, 1, 8, 17))
    if not prod(dims):
        raise Refused("no rows")
    blocks = -(-dims[-1] // (size * 8 // bits))
    points = [columns, blocks] if g.flip() else [1, 1]
    return operator.of(
        x,
        g.operand(BYTE, [columns, blocks, size], 0, 255),
        g.operand(element, [columns, blocks], 0.02, 0.2),
        g.operand(BYTE, points, 0, 2**bits - 1),
        bits=bits,
    )


@recipe(selection.NonzeroPlacesOp)
def nonzero_places(g: DrawnGraph, operator: type[Node]) -> Node:
    return operator.of(g.some((i1, *INTEGERS), (1,)))


@recipe(selection.NonMaxSuppressionOp)
def non_max_suppression(g: DrawnGraph, operator: type[Node]) -> Node:
    images, classes, count = g.int(1, 3), g.int(1, 3), g.pick((7, 1, 17))
    boxes = g.operand(f32, [images, count, 4], 0, 1)
    scores = g.operand(f32, [images, classes, count], 0, 1)
    limits = [g.operand(f32, [1], 0.1, 0.6) for _ in range(2)]
    return operator.of(boxes, scores, *limits, most=g.int(0, count), center=g.flip())


@recipe(trees.TreeEnsembleOp)
def tree_ensemble(g: DrawnGraph, operator: type[Node]) -> Node:
    """Returns trees of one decision each: a root and two leaves that are their own children."""
    element = g.pick((f32, f64))
    whole = np.int32 if element == f32 else np.int64
    real = np.float32 if element == f32 else np.float64
    count, features, width = g.pick((3, 1, 16, 21)), g.int(1, 5), g.int(1, 3)
    x = g.operand(element, [g.pick((7, 1, 17)), features])
    nodes = np.zeros((3 * count, trees.NODE), whole)
    for tree in range(count):
        first = 3 * tree * trees.NODE
        bits = g.rng.uniform(-2, 2, 1).astype(real).view(whole)[0]
        children = first + trees.NODE
        nodes[3 * tree] = (g.rng.integers(0, features), bits, children, 0)
        never = np.array([np.nan], real).view(whole)[0]
        for leaf in range(2):
            at = children + leaf * trees.NODE
            nodes[3 * tree + 1 + leaf] = (0, never, at, 2 * tree + leaf)
    roots = np.stack([np.arange(count) * 3 * trees.NODE, g.rng.permutation(count)], axis=1)
    given = [g.constant(nodes.reshape(-1)), g.constant(roots.astype(whole))]
    leaves = g.operand(element, [2 * count, width])
    combine = g.pick(trees.TreeEnsembleOp.COMBINES)
    return operator.of(x, *given, leaves, walks=[count, g.int(1, 2)], combine=combine)
