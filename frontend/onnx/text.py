"""
Names in a model must be text.

The protobuf library hands out strings that are not valid UTF-8 as bytes, which nobody expects.
This finds them once, so that the rest need not care.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

from ...errors import ModelError


def check_text(model: ModelProto, name: str) -> None:
    """Raises ModelError if a name that the importer uses is not valid UTF-8."""
    for text in _names(model):
        if isinstance(text, bytes):
            raise ModelError(f"{name}: is not a valid ONNX model: {text!r} is not UTF-8 text")


def _names(model: ModelProto) -> Iterator[str]:
    for opset in model.opset_import:
        yield opset.domain
    yield from _of_graph(model.graph)
    for function in model.functions:
        yield from (function.name, function.domain, function.overload)
        yield from (*function.input, *function.output, *function.attribute)
        yield from (a.name for a in function.attribute_proto)
        yield from (o.domain for o in function.opset_import)
        yield from _of_nodes(function.node)


def _of_graph(graph: GraphProto) -> Iterator[str]:
    yield graph.name
    yield from _of_nodes(graph.node)
    for tensor in graph.initializer:
        yield from _of_tensor(tensor)
    for value in (*graph.input, *graph.output, *graph.value_info):
        yield from _of_value(value)


def _of_nodes(nodes: Iterable[NodeProto]) -> Iterator[str]:
    for node in nodes:
        yield from (node.op_type, node.domain, node.name, node.overload)
        yield from node.input
        yield from node.output
        for attribute in node.attribute:
            yield from (attribute.name, attribute.ref_attr_name)
            if attribute.HasField("t"):
                yield from _of_tensor(attribute.t)


def _of_tensor(tensor: TensorProto) -> Iterator[str]:
    yield tensor.name
    for entry in tensor.external_data:
        yield from (entry.key, entry.value)


def _of_value(value: ValueInfoProto) -> Iterator[str]:
    yield value.name
    yield from (dim.dim_param for dim in value.type.tensor_type.shape.dim)
