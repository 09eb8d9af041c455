"""Types and constants as LLVM IR spells them. See https://llvm.org/docs/LangRef.html."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np
from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
)
from xdsl.ir import Attribute

from ...errors import CompileError
from ...glow_dialects.identity_cache import cached_by_identity

_FLOATS: dict[type[Attribute], tuple[str, str, type, type]] = {
    Float16Type: ("half", "H", np.float16, np.float16),
    BFloat16Type: ("bfloat", "R", ml_dtypes.bfloat16, ml_dtypes.bfloat16),
    Float32Type: ("float", "", np.float32, np.float64),
    Float64Type: ("double", "", np.float64, np.float64),
}
"""
LLVM's name of a float type, the prefix of the digits of a number, the type that it is rounded to,
and that of the digits.
"""
_PARAMETER_ATTRIBUTES = {
    *("llvm.noalias", "llvm.readonly", "llvm.writeonly", "llvm.nonnull", "llvm.noundef"),
    *("llvm.align", "llvm.dereferenceable"),
}
"""Attributes of parameters that LLVM IR has, without `llvm.`."""


@cached_by_identity
def type_text(t: Attribute) -> str:
    """Returns a type. Raises CompileError if LLVM IR has none for it."""
    if type(t) in _FLOATS:
        return _FLOATS[type(t)][0]
    if isinstance(t, IntegerType):
        return f"i{t.width.data}"
    if isinstance(t, llvm.LLVMPointerType):
        return "ptr"
    if isinstance(t, llvm.LLVMVoidType):
        return "void"
    if isinstance(t, VectorType):
        return f"<{t.shape.data[0].data} x {type_text(t.element_type)}>"
    if isinstance(t, llvm.LLVMArrayType):
        return f"[{t.size.data} x {type_text(t.type)}]"
    raise CompileError(f"type {t} has no counterpart in LLVM IR")


@cached_by_identity
def suffix(t: Attribute) -> str:
    """
    Returns the suffix of the name of an overloaded intrinsic for a type: `v8f32`, `i64`, `p0`.
    """
    if type(t) in _FLOATS or isinstance(t, IntegerType):
        return str(t)
    if isinstance(t, llvm.LLVMPointerType):
        return "p0"
    if isinstance(t, VectorType):
        return f"v{t.shape.data[0].data}{suffix(t.element_type)}"
    raise CompileError(f"type {t} cannot overload an intrinsic")


def float_text(value: float, t: Attribute) -> str:
    """
    Returns a float by its bits, so that it is exact: 16 hexadecimal digits of a double, also for an
    f32; four digits after H or R for an f16 or a bf16. A number out of range becomes infinity.
    """
    _, prefix, rounded, kind = _FLOATS[type(t)]
    with np.errstate(over="ignore"):
        digits = np.array(rounded(value), kind)
    return f"0x{prefix}{digits.tobytes()[::-1].hex().upper()}"


def scalar_text(value: float, t: Attribute) -> str:
    if not isinstance(t, IntegerType):
        return float_text(value, t)
    if t.width.data == 1:
        return "true" if value else "false"
    return str(int(value))


def constant_text(attr: Attribute, t: Attribute) -> str:
    """
    Returns the value of an `llvm.mlir.constant`, without its type. Raises CompileError if unknown.
    """
    if isinstance(attr, IntegerAttr | FloatAttr):
        return scalar_text(attr.value.data, t)
    if isinstance(attr, DenseIntOrFPElementsAttr) and isinstance(t, VectorType):
        return _vector_text(attr.get_values(), t)
    raise CompileError(f"constant {attr} of type {t} has no counterpart in LLVM IR")


def _vector_text(values: Sequence[float], t: VectorType) -> str:
    element = t.element_type
    name = type_text(element)
    texts = [scalar_text(v, element) for v in values]
    lanes = t.shape.data[0].data
    if len(texts) == 1:
        texts *= lanes
    if lanes > 1 and len(set(texts)) == 1:
        return f"splat ({name} {texts[0]})"
    return "<" + ", ".join(f"{name} {text}" for text in texts) + ">"


def parameter_attributes(attributes: dict[str, Attribute]) -> str:
    """
    Returns the attributes of a parameter; those of other dialects are dropped. Ends with a space.
    """
    words = ""
    for name, value in attributes.items():
        if name.startswith("llvm.") and name not in _PARAMETER_ATTRIBUTES:
            raise CompileError(f"parameter attribute {name} has no counterpart in LLVM IR")
        if name in _PARAMETER_ATTRIBUTES:
            number = f"({value.value.data})" if isinstance(value, IntegerAttr) else ""
            words += f"{name[5:]}{number} "
    return words
