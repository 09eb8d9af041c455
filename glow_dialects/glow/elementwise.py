"""
The shapes of data-parallel operators: how many operands, and which element types.

A concrete operator adds its name and its scalar expression; see `arithmetic.py`, `activation.py`
and `logic.py`.
"""

from __future__ import annotations

import abc

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute
from xdsl.irdl import operand_def, result_def

from ..elements import is_integer, is_minifloat
from ..operator import Call, expect_float, expect_number, expect_same_element
from ..scalar import Expr
from .base import DataParallel

X, Y, Z = (Expr.argument(i) for i in range(3))


class Unary(DataParallel, abc.ABC):
    """An operator with one operand of numeric elements; the result has its type."""

    input = operand_def()
    result = result_def()

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        expect_number(call)
        return call.element(0)


class FloatUnary(Unary, abc.ABC):
    """An operator with one operand of float elements; the result has its type."""

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        expect_float(call)
        return call.element(0)


class Binary(DataParallel, abc.ABC):
    """Two operands of the same type with numeric elements; the result has their type."""

    lhs = operand_def()
    rhs = operand_def()
    result = result_def()

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        expect_number(call)
        return expect_same_element(call)


class Ternary(DataParallel, abc.ABC):
    """Three operands of the same type with numeric elements; the result has their type."""

    first = operand_def()
    second = operand_def()
    third = operand_def()
    result = result_def()

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        expect_number(call)
        return expect_same_element(call)


class FloatBinary(Binary, abc.ABC):
    """Two operands of the same type with float elements; the result has their type."""

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        expect_float(call)
        return expect_same_element(call)


class Comparison(Binary, abc.ABC):
    """Two operands of the same type, compared into i1."""

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        if is_minifloat(expect_same_element(call)):
            raise call.fail(f"expected floats of 16 bits or more, found {call.operands[0]}")
        return i1


class Logical(Binary, abc.ABC):
    """Two operands of the same type with integer elements, combined bit by bit (i1: as truth)."""

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        element = expect_same_element(call)
        if not is_integer(element):
            raise call.fail(f"expected integer elements, found {call.operands[0]}")
        return element
