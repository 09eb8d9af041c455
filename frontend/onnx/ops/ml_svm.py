"""Support vector machines, as libsvm computes them (Chang and Lin 2011)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.activation import ClipOp, SigmoidOp, TanhOp
from ....glow_dialects.glow.arithmetic import (
    AbsOp,
    AddOp,
    DivOp,
    ExpOp,
    MulOp,
    NegOp,
    PowOp,
    SubOp,
)
from ....glow_dialects.glow.logic import LessOp, SelectOp
from ....glow_dialects.glow.reduction import ReduceMaxOp, ReduceSumOp
from ....semantics import numpy_dtype
from ..builder import GraphBuilder, element, shape
from ..ml.scores import as_f32, chosen_label, class_labels, features_of, transformed, two_columns
from ..node import ML, OnnxNode, converter
from ..problems import Unsupported
from .distances import squared_distances
from .matrix import matrix_product

_ROUNDS = 6
"""Rounds of the coupling of probabilities; it ends after 2 to 4 of them."""
_LARGEST_DEGREE = 8
"""Polynomials up to this degree are products."""


@converter("SVMRegressor", domain=ML)
def regressor(node: OnnxNode) -> SSAValue:
    build, x = node.build, features_of(node)
    coefficients = _numbers(node, "coefficients", x)
    count = node.attr("n_supports", 0)
    terms = _kernel(node, x, _vectors(node, x, count)) if count else x
    rho = _numbers(node, "rho", x)[:1]
    scores = _weighted(build, terms, coefficients.reshape(-1, 1), rho)
    if node.attr("one_class", 0):
        zero, one = build.splat_like(0, scores), build.splat_like(1, scores)
        inside = build.op(LessOp, zero, scores)
        return as_f32(build, build.op(SelectOp, inside, one, build.op(NegOp, one)))
    return as_f32(build, transformed(build, scores, node.attr("post_transform")))


@converter("SVMClassifier", domain=ML)
def classifier(node: OnnxNode) -> list[SSAValue]:
    """
    Returns labels and scores. With support vectors each pair of classes has a score and votes for
    one of them; without, each class has a score.
    """
    build, x = node.build, features_of(node)
    coefficients, rho = _numbers(node, "coefficients", x), _numbers(node, "rho", x)
    sizes, transform = node.ints("vectors_per_class") or [], node.attr("post_transform")
    labels = class_labels(node, "classlabels_ints", len(sizes))
    if not sum(sizes):
        weights = coefficients.reshape(len(labels), -1).T
        scores = _weighted(build, x, weights, rho[:1])
        return [chosen_label(node, labels, scores), _written(build, scores, transform)]
    if len(sizes) != len(labels):
        raise ModelError(f"expected vectors_per_class for {len(labels)} labels, found {sizes}")
    terms = _kernel(node, x, _vectors(node, x, sum(sizes)))
    scores = _weighted(build, terms, _pairwise(coefficients, sizes), rho)
    votes = _votes(build, scores, len(sizes))
    label = chosen_label(node, labels, votes)
    if node.attr("prob_a"):
        a, b = (_numbers(node, name, x).reshape(1, -1) for name in ("prob_a", "prob_b"))
        scaled = build.elementwise(MulOp, scores, build.constant(a))
        chances = build.elementwise(AddOp, scaled, build.constant(b))
        scores = _coupled(build, build.op(SigmoidOp, build.op(NegOp, chances)), len(sizes))
    return [label, _written(build, scores, transform)]


def _written(build: GraphBuilder, scores: SSAValue, transform: str) -> SSAValue:
    if shape(scores)[1] == 1:
        scores = two_columns(build, scores, False)
    return as_f32(build, transformed(build, scores, transform))


def _numbers(node: OnnxNode, name: str, x: SSAValue) -> np.ndarray:
    return np.array(node.attr(name) or [], numpy_dtype(element(x)))


def _vectors(node: OnnxNode, x: SSAValue, count: int) -> np.ndarray:
    found = _numbers(node, "support_vectors", x)
    if found.size != count * shape(x)[1]:
        raise ModelError(
            f"expected {count} support_vectors of {shape(x)[1]} features, "
            f"found {found.size} numbers"
        )
    return found.reshape(count, -1)


def _weighted(
    build: GraphBuilder, terms: SSAValue, weights: np.ndarray, rho: np.ndarray
) -> SSAValue:
    if weights.shape[0] != shape(terms)[1] or len(rho) not in (1, weights.shape[1]):
        raise ModelError(
            f"expected coefficients for {shape(terms)[1]} terms and as many rho as scores, "
            f"found {weights.shape} and {len(rho)}"
        )
    scores = matrix_product(build, terms, build.constant(np.ascontiguousarray(weights)))
    return build.elementwise(AddOp, scores, build.constant(rho.reshape(1, -1)))


def _kernel(node: OnnxNode, x: SSAValue, vectors: np.ndarray) -> SSAValue:
    """Returns the kernel of each row of features and each support vector."""
    build, kind = node.build, node.attr("kernel_type", "LINEAR")
    gamma, offset, degree = (*(node.attr("kernel_params") or []), 0.0, 0.0, 0.0)[:3]
    if kind == "RBF":
        squared = squared_distances(build, x, build.constant(vectors))
        return build.op(ExpOp, build.with_number(MulOp, squared, -gamma))
    products = matrix_product(build, x, build.constant(np.ascontiguousarray(vectors.T)))
    if kind == "LINEAR":
        return products
    inner = build.with_number(AddOp, build.with_number(MulOp, products, gamma), offset)
    if kind == "SIGMOID":
        return build.op(TanhOp, inner)
    if kind != "POLY":
        raise Unsupported(f"kernel_type {kind!r}")
    if degree in range(1, _LARGEST_DEGREE + 1):
        multiply = lambda a, b: build.op(MulOp, a, b)  # noqa: E731
        return build.reduce_pairwise(multiply, [inner] * int(degree))
    return build.with_number(PowOp, inner, degree)


def _pairwise(coefficients: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """
    Returns the weights of all vectors for each pair of classes. A vector has a coefficient for each
    other class.
    """
    table = coefficients.reshape(len(sizes) - 1, -1)
    ends = np.cumsum(sizes)
    parts = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    pairs = list(combinations(range(len(sizes)), 2))
    weights = np.zeros((sum(sizes), len(pairs)), table.dtype)
    for p, (i, j) in enumerate(pairs):
        weights[parts[i], p] = table[j - 1, parts[i]]
        weights[parts[j], p] = table[i, parts[j]]
    return weights


def _votes(build: GraphBuilder, scores: SSAValue, classes: int) -> SSAValue:
    """Returns how many pairs vote for each class: the first of a pair if its score is positive."""
    dtype = numpy_dtype(element(scores))
    pairs = list(combinations(range(classes), 2))
    table, against = np.zeros((len(pairs), classes), dtype), np.zeros((1, classes), dtype)
    for p, (i, j) in enumerate(pairs):
        table[p, i], table[p, j] = 1, -1
        against[0, j] += 1
    positive = build.op(LessOp, build.splat_like(0, scores), scores)
    won = build.cast(positive, element(scores))
    votes = matrix_product(build, won, build.constant(table))
    return build.elementwise(AddOp, votes, build.constant(against))


def _coupled(build: GraphBuilder, chances: SSAValue, classes: int) -> SSAValue:
    """
    Returns probabilities of classes from those of pairs (Wu, Lin and Weng 2004, algorithm 2), in
    rounds that end where the error is small.
    """
    rows = shape(chances)[0]
    clipped = build.op(ClipOp, chances, min=1e-7, max=1 - 1e-7)
    q = _coupling(build, clipped, classes)
    chosen = build.splat(1 / classes, element(chances), (rows, classes))
    for _ in range(_ROUNDS):
        spread = build.broadcast(build.reshape(chosen, [rows, 1, classes]), shape(q))
        qp = build.op(ReduceSumOp, build.op(MulOp, q, spread), axes=[2], keep_dims=False)
        pqp = build.op(ReduceSumOp, build.op(MulOp, qp, chosen), axes=[1], keep_dims=True)
        error = build.op(AbsOp, build.elementwise(SubOp, qp, pqp))
        largest = build.op(ReduceMaxOp, error, axes=[1], keep_dims=True)
        ends = build.op(LessOp, largest, build.splat_like(0.005 / classes, largest))
        better = _round(build, q, chosen, qp, pqp)
        chosen = build.op(SelectOp, build.broadcast(ends, shape(chosen)), chosen, better)
    return chosen


def _round(build: GraphBuilder, q: SSAValue, p: SSAValue, qp: SSAValue, pqp: SSAValue) -> SSAValue:
    """Changes one probability after the other."""
    rows, classes = shape(p)
    for t in range(classes):
        row = build.reshape(build.slice(q, [0, t, 0], [rows, 1, classes]), [rows, classes])
        diagonal = build.slice(row, [0, t], [rows, 1])
        mine = build.slice(qp, [0, t], [rows, 1])
        change = build.op(DivOp, build.op(SubOp, pqp, mine), diagonal)
        grown = build.with_number(AddOp, change, 1)
        here = build.constant((np.arange(classes) == t).astype(numpy_dtype(element(p)))[None])
        moved = build.op(AddOp, p, build.elementwise(MulOp, change, here))
        p = build.elementwise(DivOp, moved, grown)
        twice = build.with_number(MulOp, mine, 2)
        slope = build.op(AddOp, build.op(MulOp, change, diagonal), twice)
        total = build.op(AddOp, pqp, build.op(MulOp, change, slope))
        pqp = build.op(DivOp, total, build.op(MulOp, grown, grown))
        qp = build.elementwise(
            DivOp, build.op(AddOp, qp, build.elementwise(MulOp, change, row)), grown
        )
    return p


def _coupling(build: GraphBuilder, chances: SSAValue, classes: int) -> SSAValue:
    """Returns the matrix whose quadratic form the probabilities make smallest, for each row."""
    rows = shape(chances)[0]
    pairs = list(combinations(range(classes), 2))
    first = [build.slice(chances, [0, p], [rows, 1]) for p in range(len(pairs))]
    r: dict[tuple[int, int], SSAValue] = {}
    for (i, j), chance in zip(pairs, first, strict=True):
        r[i, j] = chance
        r[j, i] = build.with_number(AddOp, build.op(NegOp, chance), 1)
    columns = []
    for i in range(classes):
        for j in range(classes):
            if i != j:
                columns.append(build.op(NegOp, build.op(MulOp, r[j, i], r[i, j])))
                continue
            squares = [build.op(MulOp, r[k, i], r[k, i]) for k in range(classes) if k != i]
            columns.append(build.reduce_pairwise(lambda a, b: build.op(AddOp, a, b), squares))
    return build.reshape(build.concat(columns, 1), [rows, classes, classes])
