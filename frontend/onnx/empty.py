"""Nodes of which nothing is to be computed, because no result has elements."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from .builder import GraphBuilder, size
from .node import OnnxNode
from .stand_ins import inferred_types


def empty_results(build: GraphBuilder, node: OnnxNode) -> list[SSAValue | None]:
    """
    Returns the results of a node with an empty input, and None for those that it leaves out. The
    list is empty if a result has elements, or if ONNX's shape inference does not tell.
    """
    tensors = [v for v in node.inputs if v is not None and isinstance(v.type, TensorType)]
    if all(size(v) for v in tensors):
        return []
    types = inferred_types(node.proto, node.schema, node.inputs)
    found = [types.get(name) for name in node.proto.output]
    known = [t for t in found if t is not None]
    if len(known) < sum(map(bool, node.proto.output)) or any(0 not in t.get_shape() for t in known):
        return []
    return [t and build.splat(0, t.element_type, t.get_shape()) for t in found]
