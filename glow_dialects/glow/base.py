"""The base classes of graph nodes: declared once, with shape inference, syntax and purity."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from types import ModuleType
from typing import Self

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, ParsePropInAttrDict, traits_def
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import HasCanonicalizationPatternsTrait, OpTrait, Pure
from xdsl.utils.exceptions import VerifyException

from ..operator import (
    Call,
    Python,
    element_of,
    expect_same_element,
    expect_same_shape,
    to_attribute,
)
from ..scalar import Expr


class AcceptsEpilogue(OpTrait):
    """The operator's instruction can run a stacked chain on each result element."""


class OnlyMovesData(OpTrait):
    """Views and copies express this operator in a program; it has no instruction of its own."""


class Canonicalizes(HasCanonicalizationPatternsTrait):
    """Lets xDSL's `canonicalize` find the rules of a node; they are loaded when needed."""

    def get_patterns(self, op: type[Operation]) -> tuple[RewritePattern, ...]:
        from ...passes.graph.canonicalization import patterns_of

        return patterns_of(op)

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return ()


class Node(IRDLOperation, abc.ABC):
    """
    A node of the tensor graph: pure, statically shaped, with inferred result types.

    A subclass declares operands, results and properties, and implements `infer`.
    """

    traits = traits_def(Pure(), Canonicalizes())
    irdl_options = (ParsePropInAttrDict(),)

    assembly_format = "operands attr-dict `:` functional-type(operands, results)"

    @classmethod
    @abc.abstractmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        """
        The result types that follow from operand types and properties.

        Raises VerifyException, saying what was expected and what was found. An operator whose
        result type is a parameter (a reshape, say) checks `call.results` and returns them.
        """

    @property
    def call(self) -> Call:
        return Call(
            type(self),
            tuple(o.type for o in self.operands),
            tuple(r.type for r in self.results),
            self.properties,
        )

    def verify_(self) -> None:
        for i, (want, have) in enumerate(
            zip(self.infer(self.call), (r.type for r in self.results), strict=True)
        ):
            if want != have:
                raise VerifyException(f"expected result {i} of type {want}, found {have}")

    @classmethod
    def of(
        cls,
        *operands: SSAValue,
        result_types: Sequence[Attribute] | None = None,
        **properties: Python,
    ) -> Self:
        """
        Build a node from values and Python properties: `SoftmaxOp.of(x, axis=1)`.

        Result types are inferred unless given. Omitted properties take their defaults.
        Raises VerifyException if the operands do not fit.
        """
        attributes = {name: to_attribute(value) for name, value in properties.items()}
        for name, definition in cls.get_irdl_definition().properties.items():
            if name not in attributes and (default := definition.default_value) is not None:
                attributes[name] = default
        declared = tuple(result_types or ())
        call = Call(cls, tuple(o.type for o in operands), declared, attributes)
        return cls.create(
            operands=operands, result_types=list(cls.infer(call)), properties=attributes
        )


def short_name(node: Node | type[Node]) -> str:
    """The name of an operator without that of its dialect."""
    return node.name.split(".", 1)[1]


def nodes_of(*modules: ModuleType) -> list[type[Node]]:
    """The concrete nodes that each module defines, in order of definition."""
    return [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Node)
        and value.__module__ == module.__name__
        and "get_irdl_definition" in vars(value)
    ]


class DataParallel(Node, abc.ABC):
    """
    A node that computes each result element from the operand elements at the same place.

    All operands have the same shape (broadcasting is a node of its own) and, inside the body of a
    stacked instruction, the same node works on single elements.
    """

    @classmethod
    @abc.abstractmethod
    def scalar(cls, call: Call) -> Expr:
        """What is computed for one element, over `Expr.argument(i)` for each operand."""

    @classmethod
    def depends_on_place(cls, call: Call) -> bool:
        """
        Whether elements at different places are computed differently, as with one scale for each
        channel. Then the call has no scalar expression, and has to be lowered.
        """
        return False

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        """The element type of the result; by default that of the operands, which must agree."""
        return expect_same_element(call)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        shape = expect_same_shape(call)
        element = cls.result_element(call)
        shaped = isinstance(call.operands[0], TensorType)
        for i, operand in enumerate(call.operands):
            if isinstance(operand, TensorType) != shaped:
                raise call.fail(f"expected operand {i} like {call.operands[0]}, found {operand}")
        return (TensorType(element, shape) if shaped else element,)

    @classmethod
    def on_elements(cls, call: Call) -> Call:
        """The same call on single elements, as in the body of a stacked instruction."""
        return Call(
            cls,
            tuple(element_of(t) for t in call.operands),
            tuple(element_of(t) for t in call.results),
            call.properties,
        )
