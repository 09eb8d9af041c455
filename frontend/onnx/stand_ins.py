"""
ONNX's own shape inference of a node: the types of values whose nodes cannot be converted, and
whether inputs fit each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx
from onnx import NodeProto, TypeProto, ValueInfoProto, helper, numpy_helper
from onnx.defs import OpSchema
from xdsl.dialects.builtin import TensorType, TupleType, f32
from xdsl.ir import SSAValue

from ...errors import ModelError
from ...semantics.arrays import interface_dtype
from .builder import element, known_array, shape, size
from .element_types import ELEMENTS, onnx_code

_SMALL = 1024


def type_proto(value: SSAValue) -> TypeProto:
    """Returns the ONNX type of a value; of a sequence, that of its first element."""
    if isinstance(value.type, TupleType):
        first = value.type.types.data[0] if len(value.type.types) else TensorType(f32, [])
        assert isinstance(first, TensorType)
        tensor = helper.make_tensor_type_proto(onnx_code(first.element_type), None)
        return helper.make_sequence_type_proto(tensor)
    return onnx.helper.make_tensor_type_proto(onnx_code(element(value)), shape(value))


def inferred_types(
    proto: NodeProto, schema: OpSchema | None, inputs: Sequence[SSAValue | None]
) -> Mapping[str, TensorType]:
    """
    Returns the types of a node's outputs by name, as far as they follow from its inputs.

    Asks only about single nodes all of whose inputs are known: the inference of whole graphs
    crashes (in onnx 1.23) if an operator follows on a value of unknown type.
    """
    try:
        return static_types(_inferred(proto, schema, inputs))
    except Exception:  # it may fail in any way on an odd node, and is only a help
        return {}


def check_shapes(
    proto: NodeProto, schema: OpSchema | None, inputs: Sequence[SSAValue | None]
) -> None:
    """
    Checks the shapes of a node's inputs by the operator's definition. Raises ModelError.

    The body that defines an operator by others does not state what its inputs have in common: it
    broadcasts, or takes parts of those that are too large.
    """
    try:
        _inferred(proto, schema, inputs)
    except Exception as problem:  # another failure is one of the inference, not of the node
        _, mark, found = str(problem).partition("[ShapeInferenceError]")
        if mark:
            types = ", ".join(str(v.type) for v in inputs if v is not None)
            message = found.strip().rstrip(".")
            raise ModelError(
                f"expected inputs whose shapes fit, found {types}: {message}"
            ) from problem


def _inferred(
    proto: NodeProto, schema: OpSchema | None, inputs: Sequence[SSAValue | None]
) -> Mapping[str, TypeProto]:
    """Returns ONNX's types of a node's outputs; none if inputs are unknown. Raises any error."""
    named = dict(zip(proto.input, inputs, strict=False))
    named.pop("", None)
    values = {n: v for n, v in named.items() if v is not None}
    if schema is None or schema.domain or len(values) < len(named):
        return {}
    small = {n: known_array(v) for n, v in values.items() if size(v) <= _SMALL}
    data = {
        n: numpy_helper.from_array(a.astype(interface_dtype(element(values[n]))))
        for n, a in small.items()
        if a is not None
    }
    types = {n: type_proto(v) for n, v in values.items()}
    return onnx.shape_inference.infer_node_outputs(schema, proto, types, data)


def declared_types(values: Sequence[ValueInfoProto]) -> Mapping[str, TensorType]:
    """Returns the static types that a model itself declares for its values, by name."""
    return static_types({v.name: v.type for v in values})


def static_types(types: Mapping[str, TypeProto]) -> Mapping[str, TensorType]:
    """Returns the members of `types` that have a counterpart, as tensor types."""
    found = {name: _static_type(t) for name, t in types.items()}
    return {name: t for name, t in found.items() if t is not None}


def _static_type(proto: TypeProto) -> TensorType | None:
    tensor = proto.tensor_type
    if tensor.elem_type not in ELEMENTS or not tensor.HasField("shape"):
        return None
    sizes = [d.dim_value for d in tensor.shape.dim if d.HasField("dim_value")]
    if len(sizes) < len(tensor.shape.dim) or min(sizes, default=0) < 0:
        return None
    return TensorType(ELEMENTS[tensor.elem_type], sizes)
