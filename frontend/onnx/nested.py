"""
Models whose inputs or outputs are sequences or optional values, as models of tensors.

For given lengths and shapes, each element of a sequence is an input `x[0]`, `x[1]` of its own, and
a node makes the sequence of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import onnx
from onnx import GraphProto, NodeProto, TypeProto, ValueInfoProto, helper

from ...semantics.arrays import interface_dtype
from .element_types import ELEMENTS
from .inputs import real_inputs
from .load import Model
from .parts import like

Arrays: TypeAlias = "np.ndarray | Sequence[np.ndarray] | None"
"""A value of an input: a tensor, a sequence, or nothing."""


@dataclass(frozen=True)
class Form:
    """An input or output that may be more or less than a tensor."""

    name: str
    shape: Sequence[int | str | None]
    """Sizes, symbols and None; of elements of sequences, nothing is known."""
    dtype: np.dtype | None
    """That of its elements; None if it is not supported."""
    is_sequence: bool
    is_optional: bool


def forms(values: Sequence[ValueInfoProto]) -> list[Form]:
    """Returns the forms of inputs or outputs."""
    return [_form(value.name, value.type) for value in values]


def _form(name: str, t: TypeProto, is_optional: bool = False) -> Form:
    if t.HasField("optional_type"):
        return _form(name, t.optional_type.elem_type, True)
    is_sequence = t.HasField("sequence_type")
    tensor = (t.sequence_type.elem_type if is_sequence else t).tensor_type
    element = ELEMENTS.get(tensor.elem_type)
    dtype = None if element is None else interface_dtype(element)
    sizes = [d.dim_value if d.HasField("dim_value") else d.dim_param for d in tensor.shape.dim]
    return Form(name, [size or "?" for size in sizes], dtype, is_sequence, is_optional)


def nested_forms(model: Model) -> tuple[list[Form], list[Form]] | None:
    """Returns the forms of inputs and outputs; None if all of them are tensors."""
    graph = model.proto.graph
    found = forms(real_inputs(graph)), forms(graph.output)
    return found if any(f.is_sequence or f.is_optional for part in found for f in part) else None


def flattened(model: Model, values: Mapping[str, Arrays]) -> Model:
    """Returns the model for the lengths and shapes of the values of its inputs."""
    graph, given = model.proto.graph, forms(real_inputs(model.proto.graph))
    flat = GraphProto()
    flat.CopyFrom(graph)
    del flat.input[:], flat.output[:], flat.node[:]
    for form in given:
        value = values[form.name]
        if isinstance(value, np.ndarray):
            flat.input.append(like(form.name, value))
            continue
        parts = [like(part_name(form.name, i), part) for i, part in enumerate(value or ())]
        flat.input.extend(parts)
        flat.node.append(_made(form, None if value is None else [part.name for part in parts]))
    flat.node.extend(graph.node)
    flat.output.extend(ValueInfoProto(name=o.name) for o in graph.output)
    proto = onnx.ModelProto()
    proto.CopyFrom(model.proto)
    proto.graph.CopyFrom(flat)
    return replace(model, proto=proto, flattened=True)


def part_name(name: str, place: int) -> str:
    """Returns the name of an element of a sequence."""
    return f"{name}[{place}]"


def _made(form: Form, parts: Sequence[str] | None) -> NodeProto:
    """Returns the node that makes a sequence, or nothing."""
    if parts is None:
        return helper.make_node("Optional", [], [form.name])
    if parts:
        return helper.make_node("SequenceConstruct", parts, [form.name])
    return helper.make_node("SequenceEmpty", [], [form.name])
