"""Models of some nodes of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import onnx
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto

from .load import Model
from .order import used_names


def part_of(
    model: Model,
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    constants: Sequence[TensorProto],
) -> Model:
    """Returns a model of some nodes, whose weights stay where they are."""
    used = {name for node in nodes for name in used_names(node)}
    used.update(o.name for o in outputs)
    heavy = {t.name: t for t in (*model.initializers, *constants) if t.name in used}
    graph = GraphProto(name=model.proto.graph.name)
    graph.node.extend(nodes)
    graph.input.extend(inputs)
    graph.output.extend(outputs)
    graph.initializer.extend(TensorProto(name=name) for name in heavy)
    proto = onnx.ModelProto(ir_version=model.proto.ir_version, graph=graph)
    proto.opset_import.extend(model.proto.opset_import)
    proto.functions.extend(model.proto.functions)
    return replace(model, proto=proto, heavy=heavy)
