"""Element types of ONNX tensors, and the sizes that a model may have."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from onnx import TensorProto
from xdsl.dialects.builtin import (
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    IntegerType,
    bf16,
    f8E4M3FN,
    f8E4M3FNUZ,
    f8E5M2,
    f8E5M2FNUZ,
    f8E8M0FNU,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute

from ...errors import ModelError
from ...glow_dialects.elements import is_minifloat, is_narrow_storage
from ...glow_dialects.integers import unsigned
from .problems import Unsupported

_ELEMENTS: dict[str, Attribute] = {
    "FLOAT": f32,
    "FLOAT16": f16,
    "BFLOAT16": bf16,
    "DOUBLE": f64,
    "BOOL": i1,
    "INT8": i8,
    "INT16": i16,
    "INT32": i32,
    "INT64": i64,
    "UINT8": unsigned(8),
    "UINT16": unsigned(16),
    "UINT32": unsigned(32),
    "UINT64": unsigned(64),
    "INT2": IntegerType(2),
    "INT4": IntegerType(4),
    "UINT2": unsigned(2),
    "UINT4": unsigned(4),
    "FLOAT4E2M1": Float4E2M1FNType(),
    "FLOAT6E2M3": Float6E2M3FNType(),
    "FLOAT6E3M2": Float6E3M2FNType(),
    "FLOAT8E4M3FN": f8E4M3FN,
    "FLOAT8E4M3FNUZ": f8E4M3FNUZ,
    "FLOAT8E5M2": f8E5M2,
    "FLOAT8E5M2FNUZ": f8E5M2FNUZ,
    "FLOAT8E8M0": f8E8M0FNU,
}
ELEMENTS = {
    code: _ELEMENTS[name] for name, code in TensorProto.DataType.items() if name in _ELEMENTS
}
"""The element types of ONNX that the installed onnx package knows, by number."""
_CODES = {element: code for code, element in ELEMENTS.items()}


def type_name(data_type: int) -> str:
    """Returns the name of an ONNX element type, as in `FLOAT8E5M2`."""
    names = TensorProto.DataType
    return names.Name(data_type) if data_type in names.values() else str(data_type)


def element_of_onnx(data_type: int, what: str) -> Attribute:
    """
    Returns the element type for an ONNX one. Raises Unsupported, naming `what`, if there is none.
    """
    if data_type not in ELEMENTS:
        raise Unsupported(f"{what} has elements of type {type_name(data_type)}")
    return ELEMENTS[data_type]


def shared_bits(element: Attribute) -> int:
    """
    Returns the bits of an element if elements share bytes in ONNX's constants, and 0 otherwise. In
    this compiler each has a byte.
    """
    if is_minifloat(element) or is_narrow_storage(element):
        bits = element.bitwidth  # pyright: ignore[reportAttributeAccessIssue]
        return bits if bits < 8 else 0
    return 0


def onnx_code(element: Attribute) -> int:
    """Returns the ONNX number of an element type."""
    return _CODES[element]


def check_shape(shape: Sequence[int], what: str, max_elements: int) -> None:
    """Raises ModelError if a dimension is negative or the tensor is larger than the limit."""
    if any(d < 0 for d in shape):
        raise ModelError(f"{what}: expected dimensions of at least 0, found {list(shape)}")
    if prod(shape) > max_elements:
        raise ModelError(
            f"{what}: a tensor of shape {list(shape)} has {prod(shape)} elements, more than the "
            f"limit of {max_elements}; max_elements={prod(shape)} raises it"
        )
