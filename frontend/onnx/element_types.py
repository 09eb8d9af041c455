"""Element types of ONNX tensors, and the sizes that a model may have."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from onnx import TensorProto
from xdsl.dialects.builtin import (
    IntegerType,
    Signedness,
    bf16,
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
from .problems import Unsupported


def _unsigned(width: int) -> IntegerType:
    return IntegerType(width, Signedness.UNSIGNED)


ELEMENTS: dict[int, Attribute] = {
    TensorProto.FLOAT: f32,
    TensorProto.FLOAT16: f16,
    TensorProto.BFLOAT16: bf16,
    TensorProto.DOUBLE: f64,
    TensorProto.BOOL: i1,
    TensorProto.INT8: i8,
    TensorProto.INT16: i16,
    TensorProto.INT32: i32,
    TensorProto.INT64: i64,
    TensorProto.UINT8: _unsigned(8),
    TensorProto.UINT16: _unsigned(16),
    TensorProto.UINT32: _unsigned(32),
    TensorProto.UINT64: _unsigned(64),
}
PACKED: dict[int, Attribute] = {
    TensorProto.INT4: IntegerType(4),
    TensorProto.UINT4: _unsigned(4),
}
"""Element types that share bytes in ONNX constants, but not in this compiler."""
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
