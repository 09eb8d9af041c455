"""ONNX models with random changes, most of which make them invalid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

T = TypeVar("T")

_INTEGERS = (-(2**62), -(2**31), -5, -1, 0, 1, 2, 3, 7, 100, 2**31, 2**62)
_FLOATS = (float("nan"), float("inf"), -1.0, 0.0, 1e38)
_TEXTS = (b"", b"xyz", b"SAME_UPPER", b"\xff\xfe")
_OPERATORS = ("Add", "Conv", "Gather", "If", "Loop", "MatMul", "Reshape", "Slice", "Unknown")
_OPSETS = (1, 5, 7, 9, 11, 13, 15, 18, 21, 99)
_LISTS = {
    AttributeProto.INTS: ("ints", _INTEGERS),
    AttributeProto.FLOATS: ("floats", _FLOATS),
    AttributeProto.STRINGS: ("strings", _TEXTS),
}
_SINGLE = {
    AttributeProto.INT: ("i", _INTEGERS),
    AttributeProto.FLOAT: ("f", _FLOATS),
    AttributeProto.STRING: ("s", _TEXTS),
}


def changed(model: ModelProto, rng: np.random.Generator) -> ModelProto:
    """Returns a copy of a model with one to three changes."""
    result = ModelProto()
    result.CopyFrom(model)
    for _ in range(rng.integers(1, 4)):
        _CHANGES[rng.integers(len(_CHANGES))](result, rng)
    return result


def _chosen(rng: np.random.Generator, among: Sequence[T]) -> T:
    return among[int(rng.integers(len(among)))]


def _node(model: ModelProto, rng: np.random.Generator) -> NodeProto:
    return _chosen(rng, model.graph.node)


def _input(model: ModelProto, rng: np.random.Generator) -> ValueInfoProto | None:
    inputs = [i for i in model.graph.input if i.type.HasField("tensor_type")]
    return _chosen(rng, inputs) if inputs else None


def _attribute(model: ModelProto, rng: np.random.Generator) -> None:
    node = _node(model, rng)
    if not node.attribute:
        return
    attribute = _chosen(rng, node.attribute)
    if attribute.type in _SINGLE:
        field, values = _SINGLE[attribute.type]
        setattr(attribute, field, _chosen(rng, values))
    elif attribute.type in _LISTS:
        field, values = _LISTS[attribute.type]
        numbers = getattr(attribute, field)
        match rng.integers(3):
            case 0:
                numbers.append(_chosen(rng, values))
            case 1:
                del numbers[-1:]
            case _ if numbers:
                numbers[rng.integers(len(numbers))] = _chosen(rng, values)
    else:
        node.attribute.remove(attribute)


def _missing_attribute(model: ModelProto, rng: np.random.Generator) -> None:
    node = _node(model, rng)
    if node.attribute:
        node.attribute.remove(_chosen(rng, node.attribute))


def _dimensions(model: ModelProto, rng: np.random.Generator) -> None:
    declared = _input(model, rng)
    if declared is None:
        return
    dims = declared.type.tensor_type.shape.dim
    match rng.integers(3):
        case 0:
            dims.add().dim_value = int(rng.integers(1, 4))
        case 1:
            del dims[-1:]
        case _ if dims:
            dims[rng.integers(len(dims))].dim_value = _chosen(rng, (-1, 0, 1, 2, 3, 5, 7))


def _elements(model: ModelProto, rng: np.random.Generator) -> None:
    declared = _input(model, rng)
    if declared is not None:
        types = [*TensorProto.DataType.values(), 99]
        declared.type.tensor_type.elem_type = _chosen(rng, types)


def _operands(model: ModelProto, rng: np.random.Generator) -> None:
    node = _node(model, rng)
    if not node.input:
        return
    place = rng.integers(len(node.input))
    match rng.integers(4):
        case 0:
            node.input[place] = ""
        case 1:
            del node.input[place]
        case 2:
            node.input[place] = _chosen(rng, list(node.input))
        case _:
            node.input.append(_chosen(rng, list(node.input)))


def _results(model: ModelProto, rng: np.random.Generator) -> None:
    node = _node(model, rng)
    if rng.integers(2):
        node.output.append("one_more")
    else:
        node.output[0] += "_renamed"


def _operator(model: ModelProto, rng: np.random.Generator) -> None:
    _node(model, rng).op_type = _chosen(rng, _OPERATORS)


def _opset(model: ModelProto, rng: np.random.Generator) -> None:
    model.opset_import[0].version = _chosen(rng, _OPSETS)


_CHANGES: tuple[Callable[[ModelProto, np.random.Generator], None], ...] = (
    _attribute,
    _attribute,
    _attribute,
    _missing_attribute,
    _dimensions,
    _elements,
    _operands,
    _results,
    _operator,
    _opset,
)
