"""Constants: small ones in the text, large ones by reference."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    TensorType,
)
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike

from ..blob import BlobAttr
from ..elements import (
    is_float,
    is_integer,
    is_minifloat,
    storage_type,
    type_bytes,
)
from ..operator import Call, element_of
from .base import Node, OnlyMovesData


@irdl_op_definition
class ConstantOp(Node):
    """
    A tensor known at compile time: row-major, little-endian, i1 as one byte.

    ```mlir
    %a = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %w = glow.constant #glow.blob<"model.onnx", 4096, 37632> : tensor<64x3x7x7xf32>
    ```
    """

    name = "glow.constant"

    value = prop_def(DenseIntOrFPElementsAttr | BlobAttr)
    result = result_def(TensorType)

    traits = traits_def(ConstantLike(), OnlyMovesData())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        value = call.properties["value"]
        if isinstance(value, DenseIntOrFPElementsAttr):
            # a quantized constant is stored as dense elements of its storage type
            declared = call.results[0] if call.results else value.type
            if (
                isinstance(declared, TensorType)
                and isinstance(value.type, TensorType)
                and declared.get_shape() == value.type.get_shape()
                and storage_type(declared.element_type) == value.type.element_type
            ):
                return (declared,)
            return (value.type,)
        (declared,) = call.results
        if not isinstance(declared, TensorType):
            raise call.fail(f"expected a tensor type, found {declared}")
        if type_bytes(declared) != value.data.size:  # pyright: ignore
            raise call.fail(
                f"expected {type_bytes(declared)} bytes for {declared}, found {value.data.size}"  # pyright: ignore
            )
        return (declared,)

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        start = parser.pos
        value = parser.parse_attribute()
        attributes = parser.parse_optional_attr_dict()
        if isinstance(value, BlobAttr) or parser.parse_optional_punctuation(":"):
            if isinstance(value, BlobAttr):
                parser.parse_punctuation(":")
            result = parser.parse_type()
        else:
            if not isinstance(value, DenseIntOrFPElementsAttr):
                parser.raise_error(f"expected dense elements, found {value}", start)
            result = value.type
        return cls.create(result_types=[result], properties={"value": value}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.value)
        printer.print_op_attributes(self.attributes)
        if isinstance(self.value, BlobAttr) or self.value.type != self.result.type:
            printer.print_string(" : ")
            printer.print_attribute(self.result.type)


@irdl_op_definition
class SplatOp(Node):
    """
    A tensor with the same value everywhere; a single number in the body of a stacked instruction.

    ```mlir
    %r = glow.splat value 0.0 : tensor<4x4xf32>
    ```
    """

    name = "glow.splat"

    value = prop_def(FloatAttr | IntegerAttr)
    result = result_def()

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        element = storage_type(element_of(call.results[0]))
        if not (is_float(element) or is_integer(element) or is_minifloat(element)):
            raise call.fail(f"expected float or integer elements, found {call.results[0]}")
        return call.results
