"""The inputs and outputs of a model, before its symbols have sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from onnx import ValueInfoProto

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
    return [Declaration(o.name, output_dims(o), _dtype(o)) for o in model.proto.graph.output]


def model_symbols(model: Model) -> list[str]:
    """Returns the symbols of the inputs of a model, in order."""
    return symbols_of(real_inputs(model.proto.graph))


def _dtype(value: ValueInfoProto) -> np.dtype | None:
    element = ELEMENTS.get(value.type.tensor_type.elem_type)
    return None if element is None else interface_dtype(element)
