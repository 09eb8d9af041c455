"""Models of some nodes of a model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
import onnx
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper
from xdsl.dialects.builtin import TensorType

from .element_types import onnx_code
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


def like(name: str, array: np.ndarray) -> ValueInfoProto:
    """Returns an input of the shape and element type of an array."""
    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
    )


def inputs_used(
    inputs: Mapping[str, TensorType | None], used: Collection[str]
) -> list[ValueInfoProto]:
    """Returns those inputs of a model, by name with their types, that are used and are tensors."""
    return [
        helper.make_tensor_value_info(name, onnx_code(t.element_type), t.get_shape())
        for name, t in inputs.items()
        if name in used and t is not None
    ]
