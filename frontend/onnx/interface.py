"""The inputs and outputs of a model, before its symbols have sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from onnx import ValueInfoProto, shape_inference

from ...semantics.arrays import interface_dtype
from .element_types import ELEMENTS
from .inputs import input_dims, output_dims, real_inputs, symbols_of
from .load import Model


@dataclass(frozen=True)
class Declaration:
    """An input or output as the model declares it."""

    name: str
    shape: Sequence[int | str | None] | None
    """Sizes, symbols, and None for a dimension without a name; None if there is no shape."""
    dtype: np.dtype | None
    """The numpy dtype; None if there is none, or none that is supported."""


def declared_inputs(model: Model) -> list[Declaration]:
    inputs = real_inputs(model.proto.graph)
    dims = input_dims(inputs)
    return [Declaration(i.name, dims[i.name], _dtype(i)) for i in inputs]


def declared_outputs(model: Model) -> list[Declaration]:
    """
    Returns the outputs as the model declares them. Types and ranks that it leaves out are those of
    ONNX's shape inference, as far as it tells; sizes that it leaves out stay unknown.
    """
    outputs = model.proto.graph.output
    declared = [Declaration(o.name, output_dims(o), _dtype(o)) for o in outputs]
    if all(each.shape is not None and each.dtype is not None for each in declared):
        return declared
    inferred = _inferred_outputs(model)
    return [_completed(each, inferred.get(each.name)) for each in declared]


def _completed(declared: Declaration, inferred: ValueInfoProto | None) -> Declaration:
    shape, dtype = declared.shape, declared.dtype
    if inferred is None:
        return declared
    found = output_dims(inferred)
    if shape is None and found is not None:
        shape = [None] * len(found)
    return Declaration(declared.name, shape, _dtype(inferred) if dtype is None else dtype)


def _inferred_outputs(model: Model) -> dict[str, ValueInfoProto]:
    """Returns outputs as shape inference knows them; none if it fails."""
    try:
        graph = shape_inference.infer_shapes(model.proto).graph
    except shape_inference.InferenceError:
        return {}
    return {output.name: output for output in graph.output}


def model_symbols(model: Model) -> list[str]:
    """Returns the symbols of the inputs of a model, in order."""
    return symbols_of(real_inputs(model.proto.graph))


def _dtype(value: ValueInfoProto) -> np.dtype | None:
    element = ELEMENTS.get(value.type.tensor_type.elem_type)
    return None if element is None else interface_dtype(element)
