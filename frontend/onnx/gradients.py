"""
The operator Gradient (ai.onnx.preview.training), which names the value that it differentiates.

That value becomes the node's last input, so that it is computed before, whatever else needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from onnx import ModelProto, NodeProto

from ...errors import ModelError
from .load import Model

DOMAIN = "ai.onnx.preview.training"


def is_gradient(node: NodeProto) -> bool:
    """Returns whether a node is one of Gradient."""
    return node.op_type == "Gradient" and node.domain == DOMAIN


def names_of(node: NodeProto, attribute: str) -> Sequence[str]:
    """Returns the names in one of `xs`, `zs` and `y` of a node of Gradient. Raises ModelError."""
    found = next((a for a in node.attribute if a.name == attribute), None)
    if found is None:
        if attribute == "zs":
            return ()
        raise ModelError(f"the attribute {attribute!r} is missing")
    return [name.decode("utf-8", "replace") for name in found.strings or [found.s]]


def with_targets(model: Model) -> Model:
    """Returns a model whose nodes of Gradient, outside of bodies, have `y` as their last input."""
    if not any(map(is_gradient, model.proto.graph.node)):
        return model
    proto = ModelProto()
    proto.CopyFrom(model.proto)
    for node in filter(is_gradient, proto.graph.node):
        node.input.extend(names_of(node, "y"))
    return replace(model, proto=proto)
