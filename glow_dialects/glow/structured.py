"""The base class of operators that are stated as a formula."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from xdsl.ir import Attribute

from ..elements import compute_type
from ..operator import Call, element_of, shape_of, with_shape
from .base import Node

if TYPE_CHECKING:
    from ..formula.indices import Value
    from ..formula.statement import Statement

_KEPT = 512
"""How many statements are kept: a network has far fewer different calls."""


class Structured(Node, abc.ABC):
    """
    A node whose result one formula gives, in which operands and properties have their names.

    From the formula follow the shape of the result, its meaning in numpy, a kernel, and how much
    work it is. A class may bring a better one of each.
    """

    FORMULA: ClassVar[str]

    @classmethod
    def formula_of(cls, call: Call) -> str:
        """The formula, for operators of which it depends on properties."""
        return cls.FORMULA

    @classmethod
    def numbers(cls, call: Call) -> Mapping[str, Value]:
        """
        What else the formula names: by default the properties that are numbers or sequences of
        them. `w..` is the length of a pack.
        """
        found: dict[str, Value] = {}
        for name in call.properties:
            value = call.get(name)
            if isinstance(value, bool | int | float | tuple):
                found[name] = int(value) if isinstance(value, bool) else value
        return found

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        """The element type of the result; by default that of the first operand."""
        return call.element(0)

    @classmethod
    def computes(cls, call: Call) -> Attribute:
        """The type in which elements are computed; by default that of the result's elements."""
        results = call.results
        return compute_type(element_of(results[0]) if results else cls.result_element(call))

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        found = cls.statement(call)
        return (with_shape(found.element, found.result.shape),)

    @classmethod
    def result_shape(cls, call: Call) -> tuple[int, ...]:
        """The shape of the result, for operators whose formula does not tell."""
        return shape_of((call.results or cls.infer(call))[0])

    @classmethod
    def statement(cls, call: Call) -> Statement:
        """What the formula says for a call. Raises FormulaError, which shows the place in it."""
        properties = tuple(sorted(call.properties.items(), key=lambda item: item[0]))
        return _statement(cls, call.operands, call.results, properties)

    @classmethod
    def bound(cls, call: Call) -> Statement:
        """The statement of a call, made anew; `statement` keeps those of the last calls."""
        # tools that need dialects only start faster without formulas
        from ..formula.binding import bind

        results = call.results
        element = element_of(results[0]) if results else cls.result_element(call)
        names = [name for name, _ in cls.get_irdl_definition().operands]
        return bind(
            cls.formula_of(call),
            dict(zip(names, call.operands, strict=True)),
            cls.numbers(call),
            element=element,
            computes=cls.computes(call),
        )


@lru_cache(_KEPT)
def _statement(
    operator: type[Structured],
    operands: tuple[Attribute, ...],
    results: tuple[Attribute, ...],
    properties: tuple[tuple[str, Attribute], ...],
) -> Statement:
    return operator.bound(Call(operator, operands, results, dict(properties)))
