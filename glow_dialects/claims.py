"""
The operators that a backend can compute, as a table of claims.

A claim names an operator and the element types that the backend takes for it. Types are listed by
operand and result, so that a product of bytes with sums in 32 bits is one row:

```python
CLAIMS = (
    *claims(AddOp, MaximumOp, elements=same_type(f32, i32)),
    *claims(ConvolutionOp, elements=[Elements((i8, i8, i32), (i32,))], when=is_two_dimensional),
    *claims(DequantizeOp, elements=[Elements((Quantized(i8, Schema.SYMMETRIC),), (f32,))]),
)
```

Quantized graphs have float operators between `glow.dequantize` of their operands and
`glow.quantize` of their results. A claim of such an operator on quantized elements means that the
backend turns the three together into integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import frexp
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute

from ..errors import GlowError
from .elements import is_float, is_unsigned
from .glow.base import Node
from .integers import short_name
from .operator import Call, element_of
from .quant import QuantizedType


class Schema(StrEnum):
    """The scales and zero points that quantized types may have."""

    ASYMMETRIC = "asymmetric"
    """Any scale and zero point."""
    SYMMETRIC = "symmetric"
    """The zero point is 0, and the storage is signed."""
    SYMMETRIC_UINT8 = "symmetric_uint8"
    """
    Symmetric, or for numbers that are not negative: the zero point is the smallest stored number.
    """
    POWER_OF_TWO = "power_of_two"
    """Symmetric, and scales are powers of two, so that shifts convert between them."""

    def admits(self, element: QuantizedType) -> bool:
        """Returns whether all scales and zero points of a type follow the schema."""
        if self is Schema.ASYMMETRIC:
            return True
        signed = not is_unsigned(element.storage)
        symmetric = signed and not any(element.zero_point_values())
        if self is Schema.SYMMETRIC_UINT8:
            lowest = element.storage_min.data
            return symmetric or all(z == lowest for z in element.zero_point_values())
        if self is Schema.POWER_OF_TWO:
            # the mantissa that frexp gives is at least 1/2, and 1/2 for powers of two only
            return symmetric and all(frexp(s)[0] == 0.5 for s in element.scale_values())
        return symmetric


@dataclass(frozen=True)
class Quantized:
    """All quantized element types of a storage type whose scales follow a schema."""

    storage: IntegerType
    schema: Schema = Schema.ASYMMETRIC
    per_axis: bool = False
    """Whether that includes types with a scale for each index of a dimension."""

    def admits(self, element: Attribute) -> bool:
        return (
            isinstance(element, QuantizedType)
            and element.storage == self.storage
            and (self.per_axis or not element.is_per_axis)
            and self.schema.admits(element)
        )

    def __str__(self) -> str:
        axis = ", per axis" if self.per_axis else ""
        return f"quantized<{_name(self.storage)}, {self.schema}{axis}>"


Pattern: TypeAlias = "Attribute | Quantized"
"""One element type, or a set of quantized ones."""


@dataclass(frozen=True)
class Elements:
    """
    The element types of operands and results, in order. The last of each also holds for all further
    ones, so `Elements((f32,), (f32,))` admits any operator that works on f32 only.
    """

    operands: tuple[Pattern, ...]
    """The types of operands: at least one, even for operators without operands."""
    results: tuple[Pattern, ...]
    """The types of results: at least one."""

    def __post_init__(self) -> None:
        for side in (self.operands, self.results):
            is_tuple = isinstance(side, tuple) and len(side) > 0
            if not is_tuple or not all(isinstance(e, Attribute | Quantized) for e in side):
                raise GlowError(
                    "expected Elements with a tuple of types for operands, and one for results, "
                    f"each at least one element type or Quantized(...), found {side}"
                )

    def admits(self, call: Call) -> bool:
        """
        Returns whether the element types of a call are these. Results without an entry fit. In a
        call with quantized operands, floats in place of other quantized ones fit: a bias or a
        result that is not quantized yet.
        """
        converted = any(isinstance(element_of(t), QuantizedType) for t in call.operands)
        sides = ((self.operands, call.operands), (self.results, call.results))
        return all(
            _admits(pattern, element)
            or (converted and isinstance(pattern, Quantized) and is_float(element))
            for patterns, types in sides
            for pattern, element in _pairs(patterns, types)
        )

    def __str__(self) -> str:
        if self.operands == self.results and len(self.operands) == 1:
            return _name(self.operands[0])
        operands, results = (", ".join(map(_name, side)) for side in (self.operands, self.results))
        return f"({operands}) -> {results}"


def _name(pattern: Pattern) -> str:
    return short_name(pattern) if isinstance(pattern, IntegerType) else str(pattern)


def _pairs(
    patterns: Sequence[Pattern], types: Sequence[Attribute]
) -> list[tuple[Pattern, Attribute]]:
    """Returns each type with its pattern; there must be one if there is a type."""
    last = len(patterns) - 1
    return [(patterns[min(i, last)], element_of(t)) for i, t in enumerate(types)]


def _admits(pattern: Pattern, element: Attribute) -> bool:
    return pattern.admits(element) if isinstance(pattern, Quantized) else pattern == element


def same_type(*elements: Pattern) -> tuple[Elements, ...]:
    """
    Returns elements in which all operands and results have the same type: one alternative for each
    given type.
    """
    return tuple(Elements((e,), (e,)) for e in elements)


def anything(call: Call) -> bool:
    """Returns true: there is no condition."""
    return True


@dataclass(frozen=True)
class Claim:
    """A statement that a backend computes an operator itself."""

    operator: type[Node]
    elements: tuple[Elements, ...] | None = None
    """
    The element types; None for all that the operator admits. It then also covers the operator
    between conversions: an operator on real numbers also takes dequantized ones.
    """
    when: Callable[[Call], bool] = anything
    """A further condition on a call, for example on its shapes and properties."""

    def __post_init__(self) -> None:
        if not isinstance(self.operator, type) or not issubclass(self.operator, Node):
            raise GlowError(f"expected a claim of an operator's class, found {self.operator!r}")
        if self.elements is None:
            return
        if not isinstance(self.elements, tuple):
            raise self._wrong(self.elements)
        for each in self.elements:
            if not isinstance(each, Elements):
                raise self._wrong(each)

    def _wrong(self, found: object) -> GlowError:
        return GlowError(
            f"expected the elements of a claim of {self.operator.name} to be alternatives, such as "
            f"same_type(f32) or [Elements((i8, i8, i32), (i32,))], found {found}"
        )

    def covers(self, call: Call) -> bool:
        """Returns whether a claim covers a call, which its operator admits."""
        if call.operator is not self.operator:
            return False
        fits = self.elements is None or any(e.admits(call) for e in self.elements)
        return fits and self.when(call)


def claims(
    *operators: type[Node],
    elements: Iterable[Elements] | None = None,
    when: Callable[[Call], bool] = anything,
) -> list[Claim]:
    """
    Returns the same claim of several operators. Raises GlowError for what are no operators or
    elements.
    """
    types = tuple(elements) if isinstance(elements, Iterable) else elements
    return [Claim(operator, types, when) for operator in operators]
