"""
Changes of element types in decompositions. 16-bit floats compute in f32 and round once, as the
operators do; quantized numbers compute on their storage.
"""

from __future__ import annotations

from xdsl.ir import Attribute, SSAValue

from ....glow_dialects.elements import compute_type, storage_type
from ....glow_dialects.glow.base import Node
from ....glow_dialects.glow.logic import CastOp
from ....glow_dialects.glow.quantization import StorageCastOp
from ....glow_dialects.operator import element_of, shape_of, with_shape
from ..rewriting import Build


def cast(build: Build, value: SSAValue, element: Attribute) -> SSAValue:
    """Returns `value` with elements of another type; `value` itself if it has them."""
    return _as(build, CastOp, value, element)


def stored(build: Build, value: SSAValue) -> SSAValue:
    """Returns the stored numbers of a quantized value; other values as they are."""
    return _as(build, StorageCastOp, value, storage_type(element_of(value.type)))


def convert(build: Build, value: SSAValue, element: Attribute) -> SSAValue:
    """
    Returns `value`, which is not quantized, as by `cast`; as stored number of a quantized
    `element`.
    """
    return _as(build, StorageCastOp, cast(build, value, storage_type(element)), element)


def _as(build: Build, operator: type[Node], value: SSAValue, element: Attribute) -> SSAValue:
    if element_of(value.type) == element:
        return value
    shaped = element_of(value.type) != value.type
    result = with_shape(element, shape_of(value.type)) if shaped else element
    return build(operator, value, result_types=[result])


def widen(build: Build, value: SSAValue) -> SSAValue:
    """Returns `value` in the type in which it computes: f32 for 16-bit floats."""
    return cast(build, value, compute_type(element_of(value.type)))
