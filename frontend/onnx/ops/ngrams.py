"""Counts of n-grams in sequences of integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.arithmetic import AddOp, MinimumOp, MulOp
from ....glow_dialects.glow.generic import GenericOp
from ....glow_dialects.glow.shape import GatherOp
from ....glow_dialects.operator import with_shape
from ....semantics.arrays import numpy_dtype
from ..builder import GraphBuilder, element, rank, shape
from ..node import OnnxNode, converter
from ..problems import Unsupported


@converter("TfIdfVectorizer")
def count_ngrams(node: OnnxNode) -> SSAValue:
    """
    Returns how often each n-gram of a pool occurs in each row, times a weight. A weight belongs to
    a place of the result, as in onnx's reference evaluator and in onnxruntime.
    """
    if node.has("pool_strings"):
        raise Unsupported("n-grams of strings")
    build, x = node.build, node.input(0)
    rows = build.reshape(x, [1, *shape(x)] if rank(x) == 1 else shape(x))
    if rank(rows) != 2:
        raise ModelError(f"expected one row or several, found {x.type}")
    places = node.ints("ngram_indexes") or []
    grams = _pool(node, places)
    counts = [_counts(build, rows, np.array(list(of)), node.attr("max_skip_count")) for of in grams]
    # the last column is for places without an n-gram
    counts.append(build.splat(0.0, f32, [shape(rows)[0], 1]))
    order = np.full(max(places) + 1, -1)
    for i, place in enumerate(place for of in grams for place in of.values()):
        if order[place] >= 0:
            raise Unsupported(f"two n-grams with the index {place}")
        order[place] = i
    order[order < 0] = sum(map(len, grams))
    found = build.op(GatherOp, build.concat(counts, 1), build.constant(order), axis=1)
    found = _weighted(node, found)
    return build.reshape(found, [shape(found)[1]]) if rank(x) == 1 else found


def _pool(node: OnnxNode, places: Sequence[int]) -> list[Mapping[tuple[int, ...], int]]:
    """Returns the n-grams of each length that is counted, with their places in the result."""
    pool, starts = node.ints("pool_int64s") or [], node.ints("ngram_counts") or []
    found: list[Mapping[tuple[int, ...], int]] = []
    first = 0
    for n, (start, end) in enumerate(pairwise([*starts, len(pool)]), 1):
        if not 0 <= start <= end <= len(pool) or (end - start) % n:
            raise ModelError(f"expected n-grams of {n} numbers at {start} to {end} of the pool")
        grams = [tuple(pool[i : i + n]) for i in range(start, end, n)]
        if first + len(grams) > len(places):
            raise ModelError(f"expected an index for each n-gram, found {len(places)}")
        if grams and node.attr("min_gram_length") <= n <= node.attr("max_gram_length"):
            found.append(dict(zip(grams, places[first:], strict=False)))
        first += len(grams)
    return found


def _counts(build: GraphBuilder, x: SSAValue, grams: np.ndarray, skips: int) -> SSAValue:
    """Returns how often each of some n-grams [G, n] occurs in rows [B, C], as [B, G]."""
    number, n = grams.shape
    rows, length = shape(x)
    pool = build.constant(grams.astype(numpy_dtype(element(x))))
    result = with_shape(f32, [rows, number])
    total = build.splat(0.0, f32, [rows, number])
    for distance in range(1, skips + 2 if n > 1 else 2):
        windows = length - (n - 1) * distance
        if windows <= 0:
            break
        same = " and ".join(f"x[b, i + {k * distance}] == pool[g, {k}]" for k in range(n))
        formula = f"y[b, g] = sum(i < {windows}) (f32(1) if {same} else f32(0))"
        found = build.op(GenericOp, x, pool, formula=formula, result=result)
        total = found if distance == 1 else build.op(AddOp, total, found)
    return total


def _weighted(node: OnnxNode, counts: SSAValue) -> SSAValue:
    build, mode, weights = node.build, node.attr("mode"), node.attr("weights")
    if mode not in ("TF", "IDF", "TFIDF"):
        raise ModelError(f"expected the mode TF, IDF or TFIDF, found {mode!r}")
    if mode == "IDF":
        counts = build.with_number(MinimumOp, counts, 1.0)
    if mode == "TF" or not weights:
        return counts
    columns = shape(counts)[1]
    if len(weights) != columns:
        raise ModelError(f"expected {columns} weights, found {len(weights)}")
    return build.elementwise(MulOp, counts, build.constant(np.array(weights, np.float32)))
