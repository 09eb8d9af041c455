"""Constant operands of products: their stored numbers, made signed and symmetric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import IntAttr, i8
from xdsl.ir import Attribute, SSAValue

from ....glow_dialects.elements import is_unsigned
from ....glow_dialects.glow.constant import ConstantOp
from ....glow_dialects.glow.quantization import DequantizeOp
from ....glow_dialects.operator import element_of, shape_of
from ....glow_dialects.quant import QuantizedType
from ....semantics.arrays import constant_reader, lazy_constant, numpy_dtype
from ..rewriting import Build, defining_op


@dataclass(frozen=True)
class Weights:
    """
    A constant that is dequantized, with outputs along dimension `axis`; one scale for each of them,
    or one for all.
    """

    value: SSAValue
    type: QuantizedType
    axis: int
    read: Callable[[], np.ndarray]

    @staticmethod
    def of(value: SSAValue, axis: int) -> Weights | None:
        node = defining_op(value, DequantizeOp)
        read = None if node is None else constant_reader(node.input)
        if node is None or read is None:
            return None
        q = element_of(node.input.type)
        assert isinstance(q, QuantizedType)
        if isinstance(q.axis, IntAttr) and q.axis.data != axis:
            return None
        return Weights(node.input, q, axis, read)

    @property
    def scales(self) -> np.ndarray:
        """f32, one for each output or a single one."""
        return np.array(self.type.scale_values(), np.float32)

    @property
    def offset(self) -> int:
        """The number that is subtracted from stored numbers to make them signed."""
        return 2 ** (self.type.storage.width.data - 1) if is_unsigned(self.type.storage) else 0

    @property
    def zero_points(self) -> np.ndarray:
        """The zero points of signed stored numbers, i64: one for each output, or a single one."""
        return np.array(self.type.zero_point_values(), np.int64) - self.offset

    @property
    def is_symmetric(self) -> bool:
        return not self.zero_points.any()

    @property
    def bits(self) -> int:
        return self.type.storage.width.data

    def column(self, numbers: np.ndarray) -> np.ndarray:
        """Returns one number for each output (or for all), so that it broadcasts to the weights."""
        shape = [1] * len(shape_of(self.value.type))
        shape[self.axis] = -1
        return numbers.reshape(shape)

    def centred(self) -> np.ndarray:
        """Returns stored numbers minus their zero points, i32."""
        return self.read().astype(np.int32) - self.column(self.zero_points + self.offset)

    def sums(self) -> tuple[np.ndarray, np.ndarray]:
        """
        Returns the sum of the centred numbers of each output, and the sum of their magnitudes, both
        i64.
        """
        centred = self.centred()
        others = tuple(d for d in range(centred.ndim) if d != self.axis)
        return (
            centred.sum(others, dtype=np.int64),
            np.abs(centred).sum(others, dtype=np.int64),
        )

    def constant(self, build: Build, element: Attribute, swap: bool = False) -> SSAValue:
        """
        Returns the centred numbers as i8 or i16, which must hold them; with `swap`, those of a
        matrix that is transposed.
        """
        shape, hint = shape_of(self.value.type), self.value.name_hint or "weights"
        owner = self.value.owner
        plain = element == i8 == self.type.storage and self.is_symmetric
        if plain and not swap and isinstance(owner, ConstantOp):
            t = type(self.value.type)(element, shape)  # pyright: ignore
            return build(ConstantOp, result_types=[t], value=owner.value)
        read, axis = self.read, self.axis
        points = self.column(self.zero_points + self.offset).astype(np.int32)
        dtype = numpy_dtype(element)

        def numbers() -> np.ndarray:
            centred = (read().astype(np.int32) - points).astype(dtype)
            return centred.T if swap else centred

        assert not swap or (len(shape) == 2 and axis in (0, 1))
        return build.add(lazy_constant(shape[::-1] if swap else shape, element, hint, numbers))


def fits(numbers: np.ndarray, element: Attribute) -> bool:
    """Returns whether integers are in the range of an element type."""
    limits = np.iinfo(numpy_dtype(element))
    return not numbers.size or bool(limits.min <= numbers.min() and numbers.max() <= limits.max)
