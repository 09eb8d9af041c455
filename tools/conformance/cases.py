"""
Cases of operators, and the table of what generates them.

```python
@cases(TransposeOp)
def transpose(draw: Draw) -> Iterator[Case]:
    for shape, permutation in TRANSPOSES:
        yield draw.case(shape, permutation=permutation)
```

A generator yields calls at odd shapes for the element types that `draw` was made for, which come
from a claim, or from the `rows` that `cases` is given. What the operator does not admit raises
VerifyException and is no case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import (
    IntegerType,
    TensorType,
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

from ...glow_dialects.claims import Quantized, Schema
from ...glow_dialects.elements import is_float, storage_type
from ...glow_dialects.glow.base import Node
from ...glow_dialects.integers import integer_range, u8
from ...glow_dialects.operator import Call, element_of, with_shape
from ...glow_dialects.python_values import Python, to_attribute
from ...glow_dialects.quant import QuantizedType
from ...semantics import numpy_dtype
from ...table import Table

FLOATS: tuple[Attribute, ...] = (f32, f16, bf16, f64)
INTEGERS: tuple[Attribute, ...] = (i8, u8, i16, i32, i64)
ELEMENTS: tuple[Attribute, ...] = (*FLOATS, *INTEGERS, i1)


@dataclass(frozen=True)
class Row:
    """Element types of operands and results, in order; the last stands for all further ones."""

    operands: tuple[Attribute, ...]
    results: tuple[Attribute, ...] = ()
    """Empty if they follow from the operands."""

    def operand(self, index: int) -> Attribute:
        return self.operands[min(index, len(self.operands) - 1)]

    def result(self) -> Attribute:
        return (self.results or self.operands)[0]

    def __str__(self) -> str:
        operands, results = (", ".join(map(short, side)) for side in (self.operands, self.results))
        return f"({operands}) -> {results}" if results else f"({operands})"


def short(element: Attribute) -> str:
    """
    Returns an element type in a few letters: `ui8` for unsigned bytes, `q8` for quantized ones.
    """
    if not isinstance(element, QuantizedType):
        return str(element)
    axis = " per axis" if element.is_per_axis else ""
    return f"quantized {element.storage}{axis}"


UNIFORM = tuple(Row((element,)) for element in ELEMENTS)


@dataclass(frozen=True)
class Case:
    """A call of an operator on arrays."""

    call: Call
    """The call on tensors, with its results."""
    arrays: tuple[np.ndarray, ...]
    constants: frozenset[int] = frozenset()
    """Operands that are known at compile time, as weights are."""
    real: Call | None = None
    """The float call, if it stands between conversions; `call` then has the quantized types."""

    def __str__(self) -> str:
        operands, results = (
            ", ".join(map(str, t)) for t in (self.call.operands, self.call.results)
        )
        properties = ", ".join(f"{k} = {v}" for k, v in self.call.properties.items())
        return f"{self.call.operator.name} {{{properties}}} : ({operands}) -> ({results})"


Values: TypeAlias = "Callable[[np.ndarray], np.ndarray]"
"""Moves random numbers to where an operator is defined."""


class Draw:
    """An operator, element types and random numbers to make cases of."""

    def __init__(self, operator: type[Node], row: Row, rng: np.random.Generator):
        self.operator = operator
        self.row = row
        self.rng = rng

    def some(self, options: Sequence, count: int) -> list:
        """Returns `count` of the options in their order, or all if there are fewer."""
        chosen = self.rng.permutation(len(options))[:count]
        return [options[i] for i in sorted(chosen)]

    def array(self, shape: Sequence[int], element: Attribute) -> np.ndarray:
        """
        Returns random elements: normal floats, integers of up to 16 bits and stored ones from their
        whole range, and smaller ones of wider types.
        """
        dtype, stored = numpy_dtype(element), storage_type(element)
        if is_float(stored):
            return np.clip(self.rng.standard_normal(shape), -3, 3).astype(dtype)
        assert isinstance(stored, IntegerType)
        if stored.width.data == 1:
            return self.rng.integers(0, 2, shape).astype(dtype)
        low, high = integer_range(stored)
        if isinstance(element, QuantizedType):
            low, high = element.storage_min.data, element.storage_max.data
        low, high = max(low, -(1 << 15)), min(high, (1 << 16) - 1)
        return self.rng.integers(low, high + 1, shape).astype(dtype)

    def case(
        self,
        *shapes: Sequence[int],
        result: Sequence[int] | None = None,
        arrays: Mapping[int, np.ndarray] | None = None,
        values: Values | None = None,
        constants: Iterable[int] = (),
        **properties: Python,
    ) -> Case:
        """
        Returns a call on operands of these shapes, which `values` or, for single operands, `arrays`
        change.

        `result` is the shape of a result that does not follow from the operands. Raises
        VerifyException for what the operator does not admit.
        """
        types: list[TensorType] = [
            with_shape(self.row.operand(i), shape) for i, shape in enumerate(shapes)
        ]
        declared = () if result is None else (with_shape(self.row.result(), result),)
        attributes = {name: to_attribute(value) for name, value in properties.items()}
        for name, definition in self.operator.get_irdl_definition().properties.items():
            if name not in attributes and (default := definition.default_value) is not None:
                attributes[name] = default
        call = Call(self.operator, tuple(types), declared, attributes)
        full = Call(self.operator, tuple(types), self._results(call), attributes)
        drawn = [self.array(t.get_shape(), t.element_type) for t in types]
        if values is not None:
            drawn = [values(a).astype(a.dtype) for a in drawn]
        for i, array in (arrays or {}).items():
            drawn[i] = array.astype(drawn[i].dtype)
        return Case(full, tuple(drawn), frozenset(constants))

    def _results(self, call: Call) -> tuple[Attribute, ...]:
        inferred = tuple(self.operator.infer(call))
        for wanted, t in zip(self.row.results, inferred, strict=False):
            if element_of(t) != wanted:
                raise call.fail(f"expected a result of {wanted}, found {t}")
        return inferred


Generator: TypeAlias = "Callable[[Draw], Iterator[Case]]"


@dataclass(frozen=True)
class Family:
    """The generator of the cases of an operator, and the element types to try by default."""

    generate: Generator
    rows: tuple[Row, ...]


_FAMILIES: Table[type, Family] = Table("a generator of cases", inherited=True)


def cases(
    *operators: type[Node], rows: Iterable[Row] = UNIFORM
) -> Callable[[Generator], Generator]:
    """
    Registers the generator of operators, or of all operators that derive from them. `rows`
    are the element types to try if a claim does not list them.
    """

    def register(generate: Generator) -> Generator:
        _FAMILIES.entry(*operators)(Family(generate, tuple(rows)))
        return generate

    return register


def family_of(operator: type[Node]) -> Family | None:
    """Returns the family of the nearest base class that has one."""
    return _FAMILIES.get(operator)


EXAMPLES: Mapping[Schema, tuple[float, int]] = {
    Schema.ASYMMETRIC: (0.043, 3),
    Schema.SYMMETRIC: (0.043, 0),
    Schema.SYMMETRIC_UINT8: (0.043, 0),
    Schema.POWER_OF_TWO: (2.0**-5, 0),
}
"""A scale and a zero point of each schema, for 8 bits."""


def example_of(pattern: Attribute | Quantized) -> Attribute:
    """Returns an element type that a pattern of a claim admits; quantized ones reach to about 5."""
    if not isinstance(pattern, Quantized):
        return pattern
    scale, zero_point = EXAMPLES[pattern.schema]
    scale *= 2.0 ** (8 - pattern.storage.width.data)
    return QuantizedType(pattern.storage, f32, scale, zero_point)
