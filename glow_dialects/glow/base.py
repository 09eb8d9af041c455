"""The kinds of graph nodes."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from types import ModuleType

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.traits import OpTrait

from ..elements import tensor_type
from ..operator import Call, Node, element_of, expect_same_element, expect_same_shape
from ..scalar import Expr


class AcceptsEpilogue(OpTrait):
    """The operator's instruction can run a stacked chain on each result element."""


class ReadsRowsAnywhere(OpTrait):
    """
    The operator reads operands by rows along the last dimension, and where each row is costs
    nothing. So no copy pays that only changes the order of the other dimensions.
    """


class OnlyMovesData(OpTrait):
    """Views and copies express this operator in a program; it has no instruction of its own."""


class DataParallel(Node, abc.ABC):
    """
    A node that computes each result element from the operand elements at the same place.

    All operands have the same shape (broadcasting is a node of its own) and, inside the body of a
    stacked instruction, the same node works on single elements.
    """

    @classmethod
    @abc.abstractmethod
    def scalar(cls, call: Call) -> Expr:
        """Returns the expression for one element, over `Expr.argument(i)` for each operand."""

    @classmethod
    def depends_on_place(cls, call: Call) -> bool:
        """
        Returns whether elements at different places are computed differently, as with one scale for
        each channel. Then the call has no scalar expression, and has to be lowered.
        """
        return False

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        """
        Returns the element type of the result; by default that of the operands, which must agree.
        """
        return expect_same_element(call)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        shape = expect_same_shape(call)
        element = cls.result_element(call)
        shaped = isinstance(call.operands[0], TensorType)
        for i, operand in enumerate(call.operands):
            if isinstance(operand, TensorType) != shaped:
                raise call.fail(f"expected operand {i} like {call.operands[0]}, found {operand}")
        return (tensor_type(element, shape) if shaped else element,)

    @classmethod
    def on_elements(cls, call: Call) -> Call:
        """Returns the same call on single elements, as in the body of a stacked instruction."""
        return Call(
            cls,
            tuple(element_of(t) for t in call.operands),
            tuple(element_of(t) for t in call.results),
            call.properties,
        )


def short_name(node: Node | type[Node]) -> str:
    """Returns the name of an operator without that of its dialect."""
    return node.name.split(".", 1)[1]


def nodes_of(*modules: ModuleType) -> list[type[Node]]:
    """Returns the concrete nodes that each module defines, in order of definition."""
    return [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Node)
        and value.__module__ == module.__name__
        and "get_irdl_definition" in vars(value)
    ]
