"""
The operations that define buffers: weights, activations, function arguments, and views of them.
"""

from __future__ import annotations

import abc
from collections.abc import Set as AbstractSet

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IntegerAttr,
    MemRefType,
    StringAttr,
    i64,
)
from xdsl.ir import BlockArgument, Operation
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    EffectInstance,
    MemoryAllocEffect,
    MemoryEffect,
    MemoryEffectKind,
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from ...wording import counted
from ..blob import BlobAttr
from ..elements import extent, is_contiguous, lowest_index, num_elements, storage_type, type_bytes

_BYTES = IntegerAttr.constr(i64)

NAME = "glow.name"
QUALIFIER = "glow.qualifier"
STATE = "glow.state"
"""The attribute of an argument that is a state: the number of the result that is its next value."""
RESULT = "glow.result"
"""The attribute of an argument of a program that is a state: the name of that result."""


def argument_attributes(argument: BlockArgument) -> dict[str, object]:
    """Returns the attributes of a function argument; empty if there are none."""
    function = argument.block.parent_op()
    if not isinstance(function, func.FuncOp) or function.arg_attrs is None:
        return {}
    attributes = function.arg_attrs.data[argument.index]
    return dict(attributes.data) if isinstance(attributes, DictionaryAttr) else {}


class QualifiesArguments(abc.ABC):
    """An operation with programs as bodies, whose arguments it qualifies."""

    @abc.abstractmethod
    def argument_qualifier(self, argument: BlockArgument) -> str:
        """Returns `in`, `out` or `inout`."""


def argument_qualifier(argument: BlockArgument) -> str | None:
    """
    Returns how a program uses an argument: `in`, `out`, or, of a body, `inout`; None if nothing
    says so.
    """
    owner = argument.block.parent_op()
    if isinstance(owner, QualifiesArguments):
        return owner.argument_qualifier(argument)
    found = argument_attributes(argument).get(QUALIFIER)
    return found.data if isinstance(found, StringAttr) else None


def is_input(argument: BlockArgument) -> bool:
    """Returns true for an argument of a function or body that may only be read."""
    return argument_qualifier(argument) == "in"


@irdl_op_definition
class WeightOp(IRDLOperation):
    """
    A constant buffer. `offset` is its place, in bytes, in the weight segment of planned memory.

    ```mlir
    %w = glow_inst.weight #glow.blob<"model.onnx", 4096, 37632> : memref<64x3x7x7xf32>
    ```
    """

    name = "glow_inst.weight"

    value = prop_def(DenseIntOrFPElementsAttr | BlobAttr)
    offset = opt_prop_def(_BYTES)
    result = result_def(MemRefType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        wanted = type_bytes(self.result.type)
        if isinstance(self.value, BlobAttr):
            if self.value.data.size != wanted:
                raise VerifyException(
                    f"expected {counted(wanted, 'byte')} for {self.result.type}, "
                    f"found {self.value.data.size}"
                )
            return
        found = self.value.type
        if (
            found.get_shape() != self.result.type.get_shape()
            or storage_type(self.result.type.element_type) != found.element_type
        ):
            raise VerifyException(f"expected a value like {self.result.type}, found {found}")

    @classmethod
    def parse(cls, parser: Parser) -> WeightOp:
        value = parser.parse_attribute()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        properties = {"value": value}
        if "offset" in attributes:
            properties["offset"] = attributes.pop("offset")
        return cls.create(
            result_types=[parser.parse_type()], properties=properties, attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.value)
        offset = {} if self.offset is None else {"offset": self.offset}
        printer.print_op_attributes({**offset, **self.attributes})
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)


@irdl_op_definition
class AllocActivationOp(IRDLOperation):
    """
    Begins the life of a temporary buffer. `offset` is its place, in bytes, in the arena once memory
    is planned. Generates no code.

    ```mlir
    %a = glow_inst.alloc_activation {offset = 1024 : i64} : memref<1x64x56x56xf32>
    ```
    """

    name = "glow_inst.alloc_activation"

    offset = opt_prop_def(_BYTES)
    result = result_def(MemRefType)

    traits = traits_def(MemoryAllocEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict `:` type($result)"

    def verify_(self) -> None:
        if not is_contiguous(self.result.type):
            raise VerifyException(f"expected a dense buffer, found {self.result.type}")


class _FreesBuffer(MemoryEffect):
    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.FREE, op.operands[0])}


@irdl_op_definition
class DeallocActivationOp(IRDLOperation):
    """
    Ends the life of a temporary buffer. Generates no code.

    ```mlir
    glow_inst.dealloc_activation %a : memref<1x64x56x56xf32>
    ```
    """

    name = "glow_inst.dealloc_activation"

    buffer = operand_def(MemRefType)

    traits = traits_def(_FreesBuffer())
    assembly_format = "$buffer attr-dict `:` type($buffer)"

    def verify_(self) -> None:
        if not isinstance(self.buffer.owner, AllocActivationOp):
            raise VerifyException("expected the result of glow_inst.alloc_activation")


@irdl_op_definition
class TensorViewOp(IRDLOperation):
    """
    Another shape, or a part, of a buffer. The strides and offset of the result count from the start
    of the buffer; a stride of 0 repeats. Neither reads nor writes.

    ```mlir
    %v = glow_inst.tensor_view %a : memref<4x8xf32> to memref<4x2xf32, strided<[8, 1], offset: 6>>
    ```
    """

    name = "glow_inst.tensor_view"

    source = operand_def(MemRefType)
    result = result_def(MemRefType)

    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `to` type($result)"

    def verify_(self) -> None:
        if isinstance(self.source.owner, TensorViewOp):
            raise VerifyException("expected a buffer to view, found another view")
        source, result = self.source.type, self.result.type
        assert isinstance(source, MemRefType)
        if source.element_type != result.element_type:
            raise VerifyException(f"expected elements {source.element_type}, found {result}")
        size = num_elements(source.get_shape())
        if lowest_index(result) < 0 or extent(result) > size:
            raise VerifyException(f"expected a view within {size} elements, found {result}")
