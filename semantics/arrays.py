"""Element types as numpy dtypes, and constants of the IR as arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    IndexType,
    IntegerType,
    MemRefType,
    TensorType,
    bf16,
    f8E3M4,
    f8E4M3,
    f8E4M3B11FNUZ,
    f8E4M3FN,
    f8E4M3FNUZ,
    f8E5M2,
    f8E5M2FNUZ,
    f8E8M0FNU,
    f16,
    f32,
    f64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from ..glow_dialects.blob import BlobAttr
from ..glow_dialects.dims import is_symbolic
from ..glow_dialects.elements import is_minifloat, is_unsigned, storage_type, tensor_type
from ..glow_dialects.glow.constant import ConstantOp, SplatOp
from ..glow_dialects.integers import unsigned
from ..glow_dialects.python_values import to_python

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

INLINE_ELEMENTS = 16
"""The largest constant that `make_constant` writes into the IR's text."""
LAZY_ELEMENTS = 4096
"""The largest constant that `lazy_constant` computes at once."""

_FLOAT_DTYPES: dict[Attribute, np.dtype] = {
    f16: np.dtype(np.float16),
    bf16: BFLOAT16,
    f32: np.dtype(np.float32),
    f64: np.dtype(np.float64),
    f8E3M4: np.dtype(ml_dtypes.float8_e3m4),
    f8E4M3: np.dtype(ml_dtypes.float8_e4m3),
    f8E4M3B11FNUZ: np.dtype(ml_dtypes.float8_e4m3b11fnuz),
    f8E4M3FN: np.dtype(ml_dtypes.float8_e4m3fn),
    f8E4M3FNUZ: np.dtype(ml_dtypes.float8_e4m3fnuz),
    f8E5M2: np.dtype(ml_dtypes.float8_e5m2),
    f8E5M2FNUZ: np.dtype(ml_dtypes.float8_e5m2fnuz),
    f8E8M0FNU: np.dtype(ml_dtypes.float8_e8m0fnu),
    Float6E2M3FNType(): np.dtype(ml_dtypes.float6_e2m3fn),
    Float6E3M2FNType(): np.dtype(ml_dtypes.float6_e3m2fn),
    Float4E2M1FNType(): np.dtype(ml_dtypes.float4_e2m1fn),
}
MINIFLOATS = tuple(element for element in _FLOAT_DTYPES if is_minifloat(element))
"""All floats of up to 8 bits."""
_FLOAT_TYPES = {dtype: element for element, dtype in _FLOAT_DTYPES.items()}
_NARROW_DTYPES: dict[Attribute, np.dtype] = {
    IntegerType(2): np.dtype(ml_dtypes.int2),
    IntegerType(4): np.dtype(ml_dtypes.int4),
    unsigned(2): np.dtype(ml_dtypes.uint2),
    unsigned(4): np.dtype(ml_dtypes.uint4),
}
_NARROW_TYPES = {dtype: element for element, dtype in _NARROW_DTYPES.items()}


@cache
def numpy_dtype(element: Attribute) -> np.dtype:
    """
    Returns the dtype of one element in memory.

    Floats map to their own dtype (bf16 and minifloats to that of ml_dtypes), i1 to bool, signless
    and signed integers to intN, unsigned ones to uintN (narrower than 8 bits: in one byte), and
    quantized types to the dtype of their storage. Raises VerifyException for every other type.
    """
    stored = storage_type(element)
    if stored in _FLOAT_DTYPES:
        return _FLOAT_DTYPES[stored]
    if isinstance(stored, IndexType):
        return np.dtype(np.int64)
    if isinstance(stored, IntegerType):
        width = stored.width.data
        if width == 1:
            return np.dtype(np.bool_)
        if width < 8 or width in (8, 16, 32, 64):
            kind = "u" if is_unsigned(stored) else "i"
            return np.dtype(f"{kind}{max(width, 8) // 8}")
    raise VerifyException(
        f"expected elements of f16, bf16, f32, f64, floats of up to 8 bits, or integers of up to "
        f"8, of 16, 32 or 64 bits, found {element}"
    )


def largest_finite(element: Attribute) -> float:
    """Returns the largest finite number of a float element type."""
    return float(ml_dtypes.finfo(numpy_dtype(element)).max)


@cache
def interface_dtype(element: Attribute) -> np.dtype:
    """
    Returns the dtype of inputs and outputs: that in memory, but the dtypes of ml_dtypes for
    integers of 2 and 4 bits, as in the onnx package.
    """
    return _NARROW_DTYPES[element] if element in _NARROW_DTYPES else numpy_dtype(element)


def element_type(dtype: np.dtype | type) -> Attribute:
    """
    Returns the element type of a dtype: uint8 gives ui8, int64 gives i64, bool gives i1, int4 of
    ml_dtypes gives i4.

    Raises VerifyException for dtypes without an element type, such as strings and complex numbers.
    """
    dtype = np.dtype(dtype)
    for known in (_FLOAT_TYPES, _NARROW_TYPES):
        if dtype in known:
            return known[dtype]
    if dtype.kind == "b":
        return IntegerType(1)
    if dtype.kind in "iu":
        width = dtype.itemsize * 8
        return unsigned(width) if dtype.kind == "u" else IntegerType(width)
    raise VerifyException(f"expected a dtype of floats, integers or truth values, found {dtype}")


def constant_array(value: Attribute, type: TensorType | MemRefType) -> np.ndarray:
    """
    Returns the elements of a dense or blob attribute as a read-only array of the shape and dtype of
    `type`.

    Nothing is copied, except truth values that are written in the IR's text. Raises ValueError or
    OSError if the bytes of a blob cannot be read, and VerifyException for another attribute.
    """
    dtype = numpy_dtype(type.element_type)
    if isinstance(value, BlobAttr):
        flat = np.frombuffer(value.data.read(), np.uint8).view(dtype)
    elif isinstance(value, DenseIntOrFPElementsAttr):
        flat = np.frombuffer(value.data.data, np.uint8)
        # the attribute stores true as -1, memory as 1
        flat = flat != 0 if dtype == np.bool_ else flat.view(dtype)
    else:
        raise VerifyException(f"expected a dense or blob attribute, found {value}")
    array = flat.reshape(type.get_shape())
    array.flags.writeable = False
    return array


def make_constant(
    array: np.ndarray, hint: str = "constant", element: Attribute | None = None
) -> ConstantOp:
    """
    Returns a `glow.constant` with the elements of `array`.

    Up to 16 elements, none of them NaN, become part of the IR's text. More are kept in memory,
    without a copy if the array is C-contiguous (so it must not be changed afterwards), and referred
    to by a name made from `hint`. `element` is the element type if it does not follow from the
    dtype: a quantized type or a narrow integer with that storage.
    """
    element = element_type(array.dtype) if element is None else element
    if numpy_dtype(element) != array.dtype:
        raise VerifyException(
            f"expected an array of {numpy_dtype(element)} for {element}, found {array.dtype}"
        )
    result = tensor_type(element, array.shape)
    dense = np.ascontiguousarray(array).reshape(array.shape)
    if array.size <= INLINE_ELEMENTS and _survives_text(dense):
        stored = tensor_type(storage_type(element), array.shape)
        data = (dense.view(np.uint8) * 255 if dense.dtype == np.bool_ else dense).tobytes()
        value: Attribute = DenseIntOrFPElementsAttr(stored, BytesAttr(data))  # pyright: ignore
    else:
        raw = dense.reshape(-1).view(np.uint8)
        value = BlobAttr.in_memory(hint, raw.size, lambda: raw.data.toreadonly())
    return ConstantOp.create(result_types=[result], properties={"value": value})


def lazy_constant(
    shape: Sequence[int],
    element: Attribute,
    hint: str,
    compute: Callable[[], np.ndarray],
    write: Callable[[np.ndarray], None] | None = None,
) -> ConstantOp:
    """
    Returns a `glow.constant` of the elements that `compute` returns: exactly `shape` and the dtype
    of `element`, in any memory layout, the same at each call.

    Weights that a pass makes from other weights are made this way. More than `LAZY_ELEMENTS`
    elements are computed each time that their bytes are read and never kept, so that a chain of
    passes (fold, transform, pack) costs no memory until the program's weights are filled in, and
    then only that of one weight. `compute` gets its operands from `constant_reader`; it must not
    hold arrays or operations. For very large weights, `write` puts the elements into an array of
    `shape` that is given, so that they need no memory beside it.
    """
    if prod(shape) <= LAZY_ELEMENTS:
        return make_constant(compute(), hint, element)
    dtype = numpy_dtype(element)
    size = prod(shape) * dtype.itemsize

    def read() -> memoryview:
        array = compute()
        if array.shape != tuple(shape) or array.dtype != dtype:
            raise ValueError(f"expected {dtype}{list(shape)}, found {array.dtype}{array.shape}")
        return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data.toreadonly()

    def write_bytes(target: memoryview) -> None:
        assert write is not None
        write(np.frombuffer(target, dtype).reshape(shape))

    into = None if write is None else write_bytes
    value = BlobAttr.in_memory(hint, size, read, computes=True, write=into)
    result = tensor_type(element, shape)
    return ConstantOp.create(result_types=[result], properties={"value": value})


def constant_reader(value: SSAValue) -> Callable[[], np.ndarray] | None:
    """
    Returns a function that returns the elements of a value made by `glow.constant` or `glow.splat`,
    also when its operation is gone; None for other values, and those whose size depends on symbols.
    Nothing is read before it is called.
    """
    if is_symbolic(value.type):
        return None
    match value.owner:
        case ConstantOp() as op:
            constant, t = op.value, op.result.type
            return lambda: constant_array(constant, t)
        case SplatOp() as op:
            array = splat_array(op)
            return lambda: array
        case _:
            return None


def _survives_text(array: np.ndarray) -> bool:
    """Returns whether xDSL reads the elements back as it prints them in a dense attribute."""
    if array.dtype.kind in "biu":
        return True
    wide = array.astype(np.float64)
    if np.isnan(wide).any():
        return False
    # zeros of both signs are equal, and printed as one number
    return bool(wide.any()) or len(set(np.signbit(wide).flat)) < 2


def splat_array(op: SplatOp) -> np.ndarray:
    """Returns the tensor that a `glow.splat` makes, as a read-only view of one element."""
    result = op.result.type
    assert isinstance(result, TensorType)
    return np.broadcast_to(
        number(to_python(op.value), numpy_dtype(result.element_type)), result.get_shape()
    )


def number(value: bool | float, dtype: np.dtype) -> np.ndarray:
    """
    Returns a 0-dimensional array of a number; to integers it truncates towards zero and saturates.
    """
    if dtype.kind not in "iu":
        return np.array(value).astype(dtype)
    limits = np.iinfo(dtype)
    if value != value:
        return np.zeros((), dtype)
    return np.array(int(max(limits.min, min(limits.max, value))), dtype)


def constant_of(value: SSAValue) -> np.ndarray | None:
    """
    Returns the elements of a value made by `glow.constant` or `glow.splat` as a read-only array;
    None for other values, and those whose size depends on symbols.

    The array of a splat is a broadcast view of one element.
    """
    if is_symbolic(value.type):
        return None
    match value.owner:
        case ConstantOp() as op:
            return constant_array(op.value, op.result.type)
        case SplatOp() as op if isinstance(op.result.type, TensorType):
            return splat_array(op)
        case _:
            return None


def lowest(dtype: np.dtype) -> float:
    """Returns the identity of the maximum."""
    return float("-inf") if dtype.kind not in "iu" else int(np.iinfo(dtype).min)


def highest(dtype: np.dtype) -> float:
    """Returns the identity of the minimum."""
    return float("inf") if dtype.kind not in "iu" else int(np.iinfo(dtype).max)
