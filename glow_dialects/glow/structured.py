"""The base class of operators that are stated as a formula."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ..elements import compute_type
from ..operator import (
    Call,
    element_of,
    expect_at_least,
    expect_length,
    expect_rank,
    with_shape,
)
from ..size_decisions import Decisions, decisions_in_use
from ..syntax import PerDimension
from .base import Node

if TYPE_CHECKING:
    from ..formula.indices import Value
    from ..formula.statement import Statement

_KEPT = 512
"""The number of statements that are kept: a network has far fewer different calls."""
_RESULTS_KEPT = 4096
_ANY_RANK = range(17)


class Structured(Node, abc.ABC):
    """
    A node whose result one formula gives, in which operands and properties have their names.

    From the formula follow the shape of the result and what is wrong with shapes of operands, its
    meaning in numpy, a kernel, and how much work it is. A class may bring a better one of each.
    """

    FORMULA: ClassVar[str]
    RANKS: ClassVar[range] = _ANY_RANK
    """The ranks that the first operand may have."""
    DECLARES_RESULT: ClassVar[bool] = False
    """Whether the type of the result is a parameter, which the formula looks at."""

    @classmethod
    def formula_of(cls, call: Call) -> str:
        """Returns the formula, for operators whose formula depends on properties."""
        return cls.FORMULA

    @classmethod
    def numbers(cls, call: Call) -> Mapping[str, Value]:
        """
        Returns the other names in the formula, by default the properties that are numbers or
        sequences of them. `w..` is the length of a pack.
        """
        found: dict[str, Value] = {}
        for name in call.properties:
            value = call.get(name)
            if isinstance(value, bool | int | float | tuple):
                found[name] = int(value) if isinstance(value, bool) else value
        return found

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        """Returns the element type of the result; by default that of the first operand."""
        return call.element(0)

    @classmethod
    def result_rank(cls, call: Call) -> int:
        """
        Returns the rank of the result, as far as the lengths of properties follow from it; by
        default that of the first operand.
        """
        return len(call.shape(0))

    @classmethod
    def computes(cls, call: Call) -> Attribute:
        """Returns the type in which elements are computed; by default that of the result."""
        results = call.results
        return compute_type(element_of(results[0]) if results else cls.result_element(call))

    @classmethod
    def check(cls, call: Call) -> None:
        """
        Raises VerifyException for what the formula would accept, but the operator does not: other
        element types, or numbers of groups. By default nothing.
        """

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        results = call.results if cls.DECLARES_RESULT else ()
        properties = _sorted(call.properties)
        return (_result(cls, call.operands, results, properties, decisions_in_use()),)

    @classmethod
    def statement(cls, call: Call) -> Statement:
        """
        Returns the statement of the formula for a call. Raises FormulaError, which shows the place
        in it.
        """
        properties = _sorted(call.properties)
        return _statement(cls, call.operands, call.results, properties, decisions_in_use())

    @classmethod
    def bound(cls, call: Call) -> Statement:
        """Computes the statement of a call; `statement` keeps those of the last calls."""
        # tools that need dialects only start faster without formulas
        from ..formula.binding import bind

        # estimates ask about operands of other types than the operator would take
        element = element_of(call.results[0]) if call.results else cls.result_element(call)
        names = [name for name, _ in cls.get_irdl_definition().operands]
        return bind(
            cls.formula_of(call),
            dict(zip(names, call.operands, strict=True)),
            cls.numbers(call),
            element=element,
            computes=cls.computes(call),
        )


_Properties = tuple[tuple[str, Attribute], ...]


def _sorted(properties: Mapping[str, Attribute]) -> _Properties:
    return tuple(sorted(properties.items(), key=lambda item: item[0]))


@lru_cache(_KEPT)
def _statement(
    operator: type[Structured],
    operands: tuple[Attribute, ...],
    results: tuple[Attribute, ...],
    properties: _Properties,
    decisions: Decisions | None,
) -> Statement:
    # what is found with some decisions holds for them only, which the key of the cache says
    return operator.bound(Call(operator, operands, results, dict(properties)))


@lru_cache(_RESULTS_KEPT)
def _result(
    operator: type[Structured],
    operands: tuple[Attribute, ...],
    results: tuple[Attribute, ...],
    properties: _Properties,
    decisions: Decisions | None,
) -> TensorType:
    # see `bound`
    from ..formula.problem import FormulaError

    call = Call(operator, operands, results, dict(properties))
    _check_properties(call)
    operator.check(call)
    try:
        found = operator.statement(call)
    except FormulaError as problem:
        raise problem.about(_described(call)) from None
    return with_shape(found.element, found.result.shape)


def _check_properties(call: Call) -> None:
    """Checks the rank of the first operand, and the lists of numbers that properties are."""
    operator = call.operator
    assert issubclass(operator, Structured)
    definition = operator.get_irdl_definition()
    if operator.RANKS is not _ANY_RANK:
        expect_rank(call, 0, operator.RANKS, definition.operands[0][0])
    for name, found in definition.properties.items():
        constraint = found.constr
        if isinstance(constraint, PerDimension):
            expect_length(call, name, constraint.length(operator.result_rank(call)))
            if constraint.least is not None:
                expect_at_least(call, name, constraint.least)


def _described(call: Call) -> str:
    """Returns `input tensor<3x4xf32>, weights tensor<5x4xf32>`"""
    names = [name for name, _ in call.operator.get_irdl_definition().operands]
    if len(names) != len(call.operands):
        return ", ".join(map(str, call.operands))
    return ", ".join(f"{n} {t}" for n, t in zip(names, call.operands, strict=True))
