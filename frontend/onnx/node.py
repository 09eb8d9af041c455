"""The view of an ONNX node that converters get, and the table of converters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx import NodeProto, helper
from onnx.defs import OpSchema
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, SSAValue

from ...errors import ModelError
from ...glow_dialects.extents import Extent
from ...table import Table
from .builder import GraphBuilder, element, known_array, python_number, shape, size
from .known_sizes import is_sizes, sizes_of
from .problems import Computed, NotConstant, Unsupported
from .weights import WeightReader

Results: TypeAlias = "SSAValue | Sequence[SSAValue]"
Converter: TypeAlias = "Callable[[OnnxNode], Results]"
Standard: TypeAlias = Callable[
    [NodeProto, Sequence[SSAValue | None], int], Sequence[SSAValue | None]
]
"""
A function that converts a node of ONNX's default domain, in a version of the opset, with these
inputs.
"""

DECIDING_ELEMENTS = 4096
"""Elements up to which an input of a model may decide shapes: programs are made for its values."""
CONTRIB = "com.microsoft"
"""The domain of onnxruntime's own operators, which its quantizer writes."""
ML = "ai.onnx.ml"
"""The domain of ONNX's operators of classical machine learning."""
ATEN, CAFFE2 = "org.pytorch.aten", "org.pytorch._caffe2"
"""The domains in which PyTorch exports operators of its own, and those of Caffe2."""
GLOW = "ai.glow"
"""The domain of operators that a model states itself."""

EXTENSIONS = (CONTRIB, ATEN, CAFFE2, GLOW)
"""Domains without definitions in ONNX that have converters."""

_CONVERTERS: Table[tuple[str, str, int], Converter] = Table("a converter")
"""Converters by domain, operator, and the opset from which on they are right."""
_NEWEST = onnx.defs.onnx_opset_version()


def converter(*names: str, since: int = 1, domain: str = "") -> Callable[[Converter], Converter]:
    """
    Registers a function as the converter of operators of a domain, as a rule the default
    one, from opset `since` on.

    It gets the node and returns the values of its outputs, fewer if optional ones are missing. It
    raises Unsupported for a node without a counterpart, and ModelError or VerifyException for what
    is invalid.
    """

    return _CONVERTERS.entry(*((domain, name, since) for name in names))


def find_converter(name: str, domain: str, opset: int) -> Converter | None:
    """Returns the converter for an operator in a version of the opset, or None."""
    versions = range(min(opset, _NEWEST), 0, -1)
    found = (_CONVERTERS.get((domain, name, since)) for since in versions)
    return next((converter for converter in found if converter is not None), None)


def supported_operators(domain: str = "") -> list[str]:
    """Returns the operators of a domain that have a converter."""
    return list(dict.fromkeys(name for of, name, _ in _CONVERTERS if of == domain))


@cache
def find_schema(name: str, domain: str, opset: int) -> OpSchema | None:
    """Returns ONNX's own definition of an operator, or None if there is none in this opset."""
    try:
        schema = onnx.defs.get_schema(name, opset, domain)
    except onnx.defs.SchemaError:
        return None
    return None if schema.deprecated else schema


@cache
def onnx_knows(name: str) -> bool:
    """Returns whether any opset of ONNX's default domain has an operator of this name."""
    return onnx.defs.has(name)


class OnnxNode:
    """A node during its conversion: its inputs, its attributes, and the place of the result."""

    def __init__(
        self,
        proto: NodeProto,
        schema: OpSchema | None,
        opset: int,
        inputs: Sequence[SSAValue | None],
        build: GraphBuilder,
        weights: WeightReader,
    ):
        self.proto = proto
        self.opset = opset
        self.inputs = list(inputs)
        self.build = build
        self.weights = weights
        self.schema = schema
        self.standard: Standard | None = None
        """The function for operators of ONNX that are a part of this one."""
        self._attributes = {a.name: a for a in proto.attribute}

    @property
    def name(self) -> str:
        return node_label(self.proto)

    # inputs

    @property
    def values(self) -> list[SSAValue]:
        """All inputs of an operator that takes any number of them."""
        return [self.input(i) for i in range(len(self.inputs))]

    def values_from(self, first: int) -> list[SSAValue]:
        """Returns all inputs from one on."""
        return [self.input(i) for i in range(first, len(self.inputs))]

    def optional(self, index: int) -> SSAValue | None:
        """Returns an input, or None if it is absent."""
        return self.inputs[index] if index < len(self.inputs) else None

    def input(self, index: int) -> SSAValue:
        value = self.optional(index)
        if value is None:
            raise ModelError(f"input {index} ({self.input_name(index)}) is missing")
        return value

    def input_name(self, index: int) -> str:
        """Returns the name that ONNX's definition gives to an input."""
        formal = self.schema.inputs if self.schema is not None else ()
        return formal[min(index, len(formal) - 1)].name if formal else f"#{index}"

    def known(self, index: int) -> np.ndarray | None:
        """Returns the elements of an input that is constant; None if it is absent."""
        value = self.optional(index)
        if value is None:
            return None
        array = known_array(value)
        if array is None:
            raise not_constant(f"input {self.input_name(index)!r}", value, self.build)
        return array

    def known_ints(self, index: int) -> list[int] | None:
        """Returns the elements of a constant integer input as a list; None if it is absent."""
        value = self.optional(index)
        array = sizes_of(value) if value is not None and is_sizes(value) else self.known(index)
        if array is None:
            return None
        if array.ndim > 1 or array.dtype.kind not in "iuO":
            raise ModelError(
                f"expected input {self.input_name(index)!r} to be a list of integers, "
                f"found {self.input(index).type}"
            )
        return [v if isinstance(v, Extent) else int(v) for v in array.reshape(-1)]  # pyright: ignore

    def known_size(self, index: int) -> Any:
        """
        Returns the only element of a constant input as `known_number`, or as a size that depends on
        symbols.
        """
        value = self.input(index)
        if not is_sizes(value) or size(value) != 1:
            return self.known_number(index)
        found = sizes_of(value)
        return None if found is None else found.reshape(-1)[0]

    def known_number(self, index: int) -> Any:
        """Returns the only element of a constant input as a Python number; None if it is absent."""
        array = self.known(index)
        if array is None:
            return None
        if array.size != 1:
            raise ModelError(
                f"expected one element in input {self.input_name(index)!r}, "
                f"found {self.input(index).type}"
            )
        return python_number(array)

    # attributes

    def has(self, name: str) -> bool:
        return name in self._attributes

    def attr(self, name: str, default: Any = None) -> Any:
        """
        Returns an attribute; else the default of ONNX's definition; else `default`. Strings are
        str.
        """
        found = self._attributes.get(name) or self._schema_default(name)
        if found is None:
            return default
        if found.type == onnx.AttributeProto.STRING:
            return _text(found.s)
        if found.type == onnx.AttributeProto.STRINGS:
            return [_text(each) for each in found.strings]
        return helper.get_attribute_value(found)

    def _schema_default(self, name: str) -> onnx.AttributeProto | None:
        if self.schema is None or name not in self.schema.attributes:
            return None
        default = self.schema.attributes[name].default_value
        return default if default.type else None

    def ints(self, name: str, default: Sequence[int] | None = None) -> list[int] | None:
        value = self.attr(name, default)
        return None if value is None else [int(v) for v in value]

    # functions for many converters

    def axis(self, rank: int, name: str = "axis", default: int | None = None) -> int:
        """Returns an attribute that names a dimension, counted from the front."""
        return normal_axis(self.attr(name, default), rank)

    def output_used(self, index: int) -> bool:
        return index < len(self.proto.output) and bool(self.proto.output[index])

    def refuse_attribute(self, *names: str) -> None:
        """Raises Unsupported if one of these attributes is not zero."""
        for name in names:
            if self.attr(name, 0):
                raise Unsupported(f"{name}={self.attr(name)}")

    def refuse_input(self, **indices: int) -> None:
        """Raises Unsupported if one of these optional inputs, which have names, is given."""
        for name, index in indices.items():
            if self.optional(index) is not None:
                raise Unsupported(f"input {name}")

    def refuse_output(self, *indices: int) -> None:
        """Raises Unsupported if one of these optional outputs is wanted."""
        for index in indices:
            if self.output_used(index):
                outputs = self.schema.outputs if self.schema is not None else ()
                name = outputs[index].name if index < len(outputs) else index
                raise Unsupported(f"output {name!r} is used")


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def normal_axis(axis: int, rank: int) -> int:
    """Returns `axis` counted from the front. Raises ModelError if it is out of range."""
    if not -rank <= axis < rank:
        raise ModelError(f"expected an axis in {-rank} to {rank - 1}, found {axis}")
    return axis % rank


def normal_axes(axes: Sequence[int], rank: int) -> list[int]:
    """Returns `axes` counted from the front and ascending. Raises ModelError on duplicates."""
    found = sorted(normal_axis(a, rank) for a in axes)
    if len(set(found)) != len(found):
        raise ModelError(f"expected different axes, found {list(axes)}")
    return found


def not_constant(what: str, value: SSAValue, build: GraphBuilder) -> Unsupported:
    """
    Returns the error about a value that is not known: NotConstant if small inputs of the graph
    decide it, Computed if it is a small one that the graph computes.
    """
    message = f"{what} is not a constant"
    met, pending = {value}, [value]
    while pending:
        owner = pending.pop().owner
        new = [] if isinstance(owner, Block) else [o for o in owner.operands if o not in met]
        met.update(new)
        pending += new
    inputs = [v for v in met if isinstance(v.owner, Block)]
    if any(v.owner is not build.graph for v in inputs) or not isinstance(value.type, TensorType):
        return Unsupported(message)
    # what follows from constants, and is not folded, is computed
    if inputs and all(size(v) <= DECIDING_ELEMENTS and v is not build.random for v in inputs):
        return NotConstant(message, inputs)
    is_computed = value not in inputs and size(value) <= DECIDING_ELEMENTS
    return Computed(message) if is_computed else Unsupported(message)


def node_label(proto: NodeProto) -> str:
    """Returns `Conv 'conv1'`, or by its first output if the node has no name."""
    operator = f"{proto.domain}.{proto.op_type}" if proto.domain else proto.op_type
    if proto.name:
        return f"{operator} {proto.name!r}"
    return f"{operator} with output {next((o for o in proto.output if o), '')!r}"


__all__ = [
    "ATEN",
    "CAFFE2",
    "CONTRIB",
    "EXTENSIONS",
    "GLOW",
    "ML",
    "Converter",
    "OnnxNode",
    "converter",
    "element",
    "find_converter",
    "find_schema",
    "node_label",
    "normal_axes",
    "normal_axis",
    "not_constant",
    "onnx_knows",
    "shape",
]
