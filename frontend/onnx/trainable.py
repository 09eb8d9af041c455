"""The initializers that training can change, as a model declares them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto

from ...glow_dialects.elements import is_float
from ...semantics.arrays import constant_of
from .builder import element, shape
from .importer import MAX_ELEMENTS
from .load import Model
from .order import subgraphs_of
from .weights import WeightReader


def float_initializers(model: Model) -> tuple[dict[str, np.ndarray], set[str]]:
    """
    Returns the initializers of floats that have a dimension and that a node reads, by name, and the
    names of those that are more than means and variances of batch normalisations. It needs no sizes
    of symbols. Raises ModelError and Unsupported for a bad initializer.
    """
    read: set[str] = set()
    more = {o.name for o in model.proto.graph.output}
    for node in _nodes(model.proto.graph):
        read.update(node.input)
        more.update(node.input[:3] if node.op_type == "BatchNormalization" else node.input)
    weights, found = WeightReader(model, MAX_ELEMENTS), dict[str, np.ndarray]()
    for tensor in _initializers(model):
        if tensor.name in read and tensor.dims:
            value = weights.constant(tensor, f"initializer {tensor.name!r}").result
            array = constant_of(value)
            if array is not None and is_float(element(value)) and shape(value):
                found[tensor.name] = array
    return found, more & set(found)


def _nodes(graph: GraphProto) -> Iterator[NodeProto]:
    for node in graph.node:
        yield node
        for body in subgraphs_of(node):
            yield from _nodes(body)


def _initializers(model: Model) -> Iterator[TensorProto]:
    yield from model.initializers
    for node in _nodes(model.proto.graph):
        for body in subgraphs_of(node):
            yield from body.initializer
