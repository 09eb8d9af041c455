"""
Operators of onnxruntime's domain that ONNX has too, by the same name and with the same meaning.

onnxruntime had them first, or its exporters write them for opsets that are older than ONNX's
definitions. The definitions are those of onnxruntime's ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from onnx import NodeProto, helper

from .node import CONTRIB, find_schema
from .problems import Unsupported


@dataclass(frozen=True)
class Adopted:
    """ONNX's version of an operator."""

    opset: int
    """The opset whose definition states the operator."""
    neutral: Mapping[str, int | float] = field(default_factory=dict)
    """Values that stand for what ONNX's operator does without the attribute, which it may lack."""


ADOPTED: Mapping[str, Adopted] = {
    "CausalConvWithState": Adopted(
        27,
        {
            "ndim": 1,
            "dilation": 1,
            "channels_last": 0,
            "input_channel_offset": 0,
            "input_channels": 0,
            "state_channels_last": -1,
            "state_length": 0,
            "state_update_capacity": 0,
            "state_window": 0,
        },
    ),
    "GatherND": Adopted(12),
    "GridSample": Adopted(16),
    "LinearAttention": Adopted(27, {"scale": 0.0, "state_window": 0}),
    "Pad": Adopted(11),
    "Range": Adopted(11),
    "Trilu": Adopted(14),
}
"""The operators by their names."""


def without_extensions(proto: NodeProto) -> NodeProto:
    """
    Returns a node of `ADOPTED` without neutral attributes; another node as it is. Raises
    Unsupported if an attribute that ONNX's operator lacks is not neutral.
    """
    if proto.domain != CONTRIB or proto.op_type not in ADOPTED:
        return proto
    known = ADOPTED[proto.op_type]
    schema = find_schema(proto.op_type, "", known.opset)
    result = NodeProto()
    result.CopyFrom(proto)
    result.ClearField("attribute")
    for attribute in proto.attribute:
        name, value = attribute.name, helper.get_attribute_value(attribute)
        if name in known.neutral and value == known.neutral[name]:
            continue
        if name in known.neutral and schema is not None and name not in schema.attributes:
            raise Unsupported(f"{name}={value}")
        result.attribute.append(attribute)
    return result
