"""
Operators that are defined by other operators: functions of the model, and those of ONNX itself.

ONNX defines many operators by a function body (onnx.ai/onnx/repo-docs/IR.html, "Functions"), and
some by one that depends on the types of the inputs. An operator without a converter is replaced by
its body. A body that ONNX states for f32, without a conversion of its constants, is meant for the
other float types of the operator too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from onnx import AttributeProto, FunctionProto, NodeProto, TensorProto, TypeProto, numpy_helper
from onnx.defs import OpSchema
from onnx.helper import tensor_dtype_to_np_dtype
from xdsl.ir import SSAValue

from ...errors import ModelError
from .load import opset_versions
from .node import node_label
from .problems import some
from .stand_ins import type_proto

_OTHER_FLOATS = (TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)
_CONVERSIONS = ("Cast", "CastLike")


@dataclass(frozen=True)
class Body:
    """The nodes of one call of a function."""

    inputs: Sequence[str]
    outputs: Sequence[str]
    nodes: Sequence[NodeProto]
    opsets: dict[str, int]
    is_local: bool
    """Whether the model brings the function; else it is ONNX's definition of an operator."""


class Functions:
    """The functions that a model's nodes may call."""

    def __init__(self, functions: Sequence[FunctionProto]):
        self._local: dict[tuple[str, ...], FunctionProto] = {}
        self._active: list[tuple[str, ...]] = []
        for function in functions:
            key = (_domain(function.domain), function.name, function.overload)
            if key in self._local:
                raise ModelError(f"function {function.name!r} is defined twice")
            self._local[key] = function

    def has(self, proto: NodeProto) -> bool:
        """Returns whether the model itself defines the operator of a node."""
        return _key(proto) in self._local

    def body(
        self, proto: NodeProto, schema: OpSchema | None, inputs: Sequence[SSAValue | None]
    ) -> Body | None:
        """
        Returns the nodes in place of `proto`, with its attributes put in; None if it calls no
        function.

        `inputs` are the values of its inputs, on whose types some definitions depend.
        """
        function = self._local.get(_key(proto))
        if function is not None:
            return _specialise(function, proto, None, is_local=True)
        if schema is None:
            return None
        function = _definition(schema, proto, inputs)
        return function and _specialise(function, proto, schema, is_local=False)

    @contextmanager
    def entered(self, proto: NodeProto) -> Iterator[None]:
        """Marks a function as being converted. Raises ModelError if the function calls itself."""
        key = _key(proto)
        if key in self._active:
            chain = [name for _, name, _ in [*self._active, key]]
            raise ModelError(f"{node_label(proto)}: functions call themselves: {some(chain)}")
        self._active.append(key)
        try:
            yield
        finally:
            self._active.pop()


def depends_on_types(schema: OpSchema) -> bool:
    """
    Returns whether ONNX defines the operator by other operators for the given types of inputs.
    """
    return schema.has_context_dependent_function and not schema.has_function  # pyright: ignore


def _domain(name: str) -> str:
    return "" if name == "ai.onnx" else name


def _key(proto: NodeProto) -> tuple[str, ...]:
    return _domain(proto.domain), proto.op_type, proto.overload


def _definition(
    schema: OpSchema, proto: NodeProto, inputs: Sequence[SSAValue | None]
) -> FunctionProto | None:
    if schema.has_function:  # pyright: ignore
        return _with_constants_of_type(schema.function_body, inputs)  # pyright: ignore
    if not depends_on_types(schema):
        return None
    types = [(TypeProto() if v is None else type_proto(v)).SerializeToString() for v in inputs]
    found = schema.get_context_dependent_function(  # pyright: ignore
        proto.SerializeToString(), types
    )
    function = FunctionProto()
    function.ParseFromString(found)
    return function if function.node else None


def _with_constants_of_type(
    function: FunctionProto, inputs: Sequence[SSAValue | None]
) -> FunctionProto:
    """
    Returns a body whose f32 constants have the type of its first input, if that is another float
    and the body converts nothing.
    """
    first = type_proto(inputs[0]).tensor_type.elem_type if inputs and inputs[0] else 0
    if first not in _OTHER_FLOATS or any(n.op_type in _CONVERSIONS for n in function.node):
        return function
    result = FunctionProto()
    result.CopyFrom(function)
    for attribute in (a for n in result.node if n.op_type == "Constant" for a in n.attribute):
        if attribute.name == "value" and attribute.t.data_type == TensorProto.FLOAT:
            number = numpy_helper.to_array(attribute.t).astype(tensor_dtype_to_np_dtype(first))
            attribute.t.CopyFrom(numpy_helper.from_array(number))
    return result


def _specialise(
    function: FunctionProto, proto: NodeProto, schema: OpSchema | None, is_local: bool
) -> Body:
    attributes = {a.name: a for a in function.attribute_proto}
    if schema is not None:
        defaults = {n: a.default_value for n, a in schema.attributes.items()}
        attributes |= {n: a for n, a in defaults.items() if a.type}
    attributes |= {a.name: a for a in proto.attribute}
    present = {n for n, used in zip(function.input, proto.input, strict=False) if used}
    absent = set(function.input) - present
    return Body(
        function.input,
        function.output,
        [_specialised_node(n, attributes, absent) for n in function.node],
        opset_versions(function.opset_import),
        is_local,
    )


def _specialised_node(
    node: NodeProto, attributes: dict[str, AttributeProto], absent: set[str]
) -> NodeProto:
    """
    Returns a node of a body with the caller's attributes, without inputs that the caller leaves
    out.
    """
    if not any(a.ref_attr_name for a in node.attribute) and not absent.intersection(node.input):
        return node
    result = NodeProto()
    result.CopyFrom(node)
    result.ClearField("attribute")
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            result.attribute.append(attribute)
        elif attribute.ref_attr_name in attributes:
            given = AttributeProto()
            given.CopyFrom(attributes[attribute.ref_attr_name])
            given.name = attribute.name
            result.attribute.append(given)
    for i, name in enumerate(node.input):
        result.input[i] = "" if name in absent else name
    return result
