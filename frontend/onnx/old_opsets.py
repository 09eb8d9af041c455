"""
Models of opsets that the converters of operators do not know any more.

The version converter of the onnx package brings them to the oldest opset that is known. It gets the
graph without weights, and with sizes in place of symbols, which some of its rules need.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from onnx import (
    GraphProto,
    ModelProto,
    TensorProto,
    ValueInfoProto,
    helper,
    shape_inference,
    version_converter,
)

from ...errors import UnsupportedError
from .inputs import input_dims
from .load import OLDEST_OPSET, Model, opset_versions
from .wire import THRESHOLD

_IR_VERSION = 8
"""A version of the IR in which initializers need not be inputs."""


def with_known_opset(model: Model, symbols: Mapping[str, int]) -> Model:
    """
    Returns the model in an opset of at least `OLDEST_OPSET`; itself if it has one. The tensors of
    its weights are the same objects.

    Raises UnsupportedError if the converter fails.
    """
    version = model.opsets.get("")
    if version is None or version >= OLDEST_OPSET:
        return model
    light, heavy = _without_weights(model.proto, symbols)
    try:
        _give_dimensions_to_slopes(light)
        converted = version_converter.convert_version(light, OLDEST_OPSET)
    except Exception as error:  # errors of inference, and assertions of C++, of several types
        reason = str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__
        raise UnsupportedError(
            f"the model uses opset {version}, and onnx's version converter cannot bring it to "
            f"opset {OLDEST_OPSET}: {reason}"
        ) from error
    return replace(
        model, proto=converted, opsets=opset_versions(converted.opset_import), heavy=heavy
    )


def _give_dimensions_to_slopes(model: ModelProto) -> None:
    """
    Converts a PRelu from before opset 7, which has a slope for each channel, dimension 1. Later it
    broadcasts from the last dimension, which the version converter does not see to.
    """
    nodes = [n for n in model.graph.node if n.op_type == "PRelu" and len(n.input) == 2]
    if not nodes:
        return
    known = shape_inference.infer_shapes(model).graph
    values = {v.name: v.type.tensor_type for v in (*known.value_info, *known.input)}
    slopes = {tensor.name: tuple(tensor.dims) for tensor in known.initializer}
    slopes |= {name: tuple(d.dim_value for d in t.shape.dim) for name, t in values.items()}
    for number, node in enumerate(nodes):
        x, slope = node.input
        dims = slopes.get(slope, ())
        if len(dims) != 1 or dims[0] == 1 or x not in values:
            continue
        axes = list(range(1, len(values[x].shape.dim) - 1))
        if axes:
            name = f"{slope}_for_each_channel_{number}"
            place = list(model.graph.node).index(node)
            model.graph.node.insert(
                place, helper.make_node("Unsqueeze", [slope], [name], axes=axes)
            )
            model.graph.node[place + 1].input[1] = name


def _without_weights(
    proto: ModelProto, symbols: Mapping[str, int]
) -> tuple[ModelProto, dict[str, TensorProto]]:
    """Returns a copy in which large initializers have no data, and these initializers by name."""
    light = ModelProto(ir_version=_IR_VERSION, opset_import=proto.opset_import)
    graph, source = light.graph, proto.graph
    graph.name = source.name or "graph"
    graph.node.extend(source.node)
    graph.input.extend(source.input)
    graph.output.extend(source.output)
    _give_sizes(graph, source.input, symbols)
    heavy: dict[str, TensorProto] = {}
    for tensor in source.initializer:
        if tensor.ByteSize() < THRESHOLD:
            graph.initializer.append(tensor)
            continue
        heavy[tensor.name] = tensor
        graph.initializer.add(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
    return light, heavy


def _give_sizes(
    graph: GraphProto, inputs: Iterable[ValueInfoProto], symbols: Mapping[str, int]
) -> None:
    """Sets sizes for the symbols of inputs. Outputs lose their shapes, which follow from these."""
    dims = input_dims(list(inputs))
    for value in graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, dims[value.name], strict=True):
            known = symbols.get(size, 0) if isinstance(size, str) else size
            dim.Clear()
            dim.dim_value = known
    for value in graph.output:
        value.type.tensor_type.ClearField("shape")
