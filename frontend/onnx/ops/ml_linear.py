"""Linear models of features."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.arithmetic import AddOp
from ....semantics import numpy_dtype
from ..builder import element, shape
from ..ml.scores import (
    as_f32,
    chosen_label,
    class_labels,
    features_of,
    label_above,
    transformed,
    two_columns,
)
from ..node import ML, OnnxNode, converter
from .matrix import matrix_product


@converter("LinearRegressor", domain=ML)
def regressor(node: OnnxNode) -> SSAValue:
    scores = _scores(node, node.attr("targets", 1))
    return as_f32(node.build, transformed(node.build, scores, node.attr("post_transform")))


@converter("LinearClassifier", domain=ML)
def classifier(node: OnnxNode) -> list[SSAValue]:
    """Returns labels and scores. With one row of coefficients, its score is that of the second."""
    build, transform = node.build, node.attr("post_transform")
    intercepts = node.attr("intercepts") or []
    labels = class_labels(node, "classlabels_ints", len(intercepts))
    columns = max(1, len(intercepts)) if intercepts else len(labels)
    scores = _scores(node, columns)
    if columns > 1:
        label = chosen_label(node, labels, scores)
    elif len(labels) == 2:
        label = label_above(node, labels, scores, 0.0)
        scores = two_columns(build, scores, transform == "NONE")
    else:
        raise ModelError(f"expected coefficients of {len(labels)} classes, found those of one")
    return [label, as_f32(build, transformed(build, scores, transform))]


def _scores(node: OnnxNode, columns: int) -> SSAValue:
    """Returns the products of features and coefficients, with intercepts added."""
    build, x = node.build, features_of(node)
    dtype, features = numpy_dtype(element(x)), shape(x)[1]
    coefficients = np.array(node.attr("coefficients") or [], dtype)
    if coefficients.size != columns * features:
        raise ModelError(
            f"expected {columns * features} coefficients of {columns} scores for {x.type}, "
            f"found {coefficients.size}"
        )
    weights = np.ascontiguousarray(coefficients.reshape(columns, features).T)
    scores = matrix_product(build, x, build.constant(weights))
    intercepts = np.array(node.attr("intercepts") or [0] * columns, dtype)
    if len(intercepts) != columns:
        raise ModelError(f"expected {columns} intercepts, found {len(intercepts)}")
    return build.elementwise(AddOp, scores, build.constant(intercepts.reshape(1, -1)))
