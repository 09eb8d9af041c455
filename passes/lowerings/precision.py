"""Decompositions on 16-bit floats compute in f32 and round once, as the operators do."""

from __future__ import annotations

from xdsl.ir import Attribute, SSAValue

from ...glow_dialects.elements import compute_type
from ...glow_dialects.glow.logic import CastOp
from ...glow_dialects.operator import element_of, shape_of, with_shape
from ..rewriting import Build


def cast(build: Build, value: SSAValue, element: Attribute) -> SSAValue:
    """`value` with elements of another type; `value` itself if it has them."""
    if element_of(value.type) == element:
        return value
    shaped = element_of(value.type) != value.type
    return build(
        CastOp,
        value,
        result_types=[with_shape(element, shape_of(value.type)) if shaped else element],
    )


def widen(build: Build, value: SSAValue) -> SSAValue:
    """`value` in the type in which it computes: f32 for 16-bit floats."""
    return cast(build, value, compute_type(element_of(value.type)))
