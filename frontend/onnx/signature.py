"""Checks a node against ONNX's own definition of its operator."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import AttributeProto, NodeProto
from onnx.defs import OpSchema

from ...errors import ModelError


def check_signature(proto: NodeProto, schema: OpSchema) -> None:
    """
    Raises ModelError if the number of inputs or outputs, the presence of an attribute or its type
    are not as ONNX defines them.
    """
    _check_count(len(proto.input), schema.min_input, schema.max_input, "inputs")
    _check_count(len(proto.output), schema.min_output, schema.max_output, "outputs")
    for i, name in enumerate(proto.input[: len(schema.inputs)]):
        formal = schema.inputs[i]
        if not name and formal.option == OpSchema.FormalParameterOption.Single:
            raise ModelError(f"expected input {formal.name!r}, found none")
    given = {a.name: a for a in proto.attribute}
    for name, formal in schema.attributes.items():
        if name not in given and formal.required:
            raise ModelError(f"expected attribute {name!r}, found none")
    for name, attribute in given.items():
        _check_attribute(attribute, schema)


def check_types(schema: OpSchema, types: Sequence[str | None]) -> None:
    """
    Raises ModelError if ONNX does not define the operator for inputs of these types, such as
    `tensor(float)`. One that is None is left out, or no tensor.
    """
    for i, given in enumerate(types):
        if given is None:
            continue
        formal = schema.inputs[min(i, len(schema.inputs) - 1)]
        if given not in formal.types:
            known = ", ".join(sorted(formal.types))
            raise ModelError(f"expected input {formal.name!r} of type {known}; found {given}")


def _check_count(found: int, low: int, high: int, what: str) -> None:
    if not low <= found <= high:
        wanted = str(low) if low == high else f"{low} to {high}"
        if high > 1_000_000:
            wanted = f"at least {low}"
        raise ModelError(f"expected {wanted} {what}, found {found}")


def _check_attribute(attribute: AttributeProto, schema: OpSchema) -> None:
    if attribute.name not in schema.attributes:
        known = ", ".join(sorted(schema.attributes)) or "none"
        raise ModelError(
            f"expected no attribute {attribute.name!r} in version {schema.since_version} of the "
            f"operator, which has {known}"
        )
    wanted = int(schema.attributes[attribute.name].type.value)  # pyright: ignore
    if attribute.type != wanted:
        types = AttributeProto.AttributeType
        found = types.Name(attribute.type) if attribute.type in types.values() else attribute.type
        raise ModelError(
            f"expected attribute {attribute.name!r} of type {types.Name(wanted)}, found {found}"
        )
