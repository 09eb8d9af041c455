"""
Operators of one's own, stated as formulas, for graphs that are built in Python.

```python
linear = glow.define("linear", "y[b, i] = sum(k) x[b, k] * w[i, k]")
y = linear(x, w).result             # a node of a graph
linear(numpy_x, numpy_w)            # what it computes
```
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from .errors import GlowError
from .glow_dialects.formula.indices import operand_names
from .glow_dialects.formula.parser import parse
from .glow_dialects.formula.problem import FormulaError
from .glow_dialects.formula.syntax import Formula
from .glow_dialects.glow.generic import GenericOp
from .glow_dialects.operator import Call, to_attribute, with_shape
from .lazy import lazy_property

if TYPE_CHECKING:
    import numpy as np
    from onnx import NodeProto
    from xdsl.dialects.builtin import TensorType

Constant: TypeAlias = "int | float | Sequence[int] | Sequence[float]"
RESERVED = ("formula", "element", "shape")
"""Names that mean something else in ONNX models."""


def define(
    name: str,
    formula: str,
    *,
    element: Attribute | None = None,
    shape: Sequence[int] | None = None,
    constants: dict[str, Constant] | None = None,
) -> Operator:
    """
    Returns an operator that a formula states: see docs/formulas.md.

    - `name`: of its nodes and results, for those who read the graph.
    - `formula`: such as `"y[b, i] = sum(k) x[b, k] * w[i, k]"`. It takes as many operands as it
      reads names, in the order in which they first appear.
    - `element`, `shape`: of the result, where they do not follow from operands and formula.
    - `constants`: numbers, and lists of them, that the formula names.

    Raises GlowError for a text that is no formula; the message shows the place. What depends on the
    types of operands is checked when the operator is used.
    """
    return Operator(name, formula, element, shape, constants or {})


class Operator:
    """The result of `define`: call it with values of a graph, or with arrays."""

    def __init__(
        self,
        name: str,
        formula: str,
        element: Attribute | None,
        shape: Sequence[int] | None,
        constants: dict[str, Constant],
    ):
        if not name.isidentifier():
            raise GlowError(f"expected a name of letters, digits and _, found {name!r}")
        if wrong := [c for c in constants if c in RESERVED or not c.isidentifier()]:
            raise GlowError(f"expected other names of constants than {', '.join(wrong)}")
        self.name = name
        self.formula = formula
        self.element = element
        self.shape = shape
        self.constants = constants
        try:
            self._parsed: Formula = parse(formula)
        except FormulaError as problem:
            raise GlowError(f"{name}: {problem}") from None

    def __repr__(self) -> str:
        return f"<operator {self.name}({', '.join(self.operands)}): {self._parsed}>"

    @lazy_property
    def operands(self) -> tuple[str, ...]:
        """The names of the operands, in order."""
        return tuple(n for n in operand_names(self._parsed) if n not in self.constants)

    @lazy_property
    def _properties(self) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {"formula": to_attribute(self.formula)}
        if self.constants:
            numbers = {name: to_attribute(value) for name, value in self.constants.items()}
            found["constants"] = DictionaryAttr(numbers)
        return found

    def result_type(self, *operands: Attribute) -> TensorType:
        """
        Returns the type of the result for tensor types of operands. Raises GlowError if they do not
        fit.
        """
        try:
            return GenericOp.result_type(operands, self._properties, self.shape, self.element)
        except VerifyException as problem:
            raise GlowError(f"{self.name}: {problem}") from None

    @overload
    def __call__(self, *operands: SSAValue) -> GenericOp: ...

    @overload
    def __call__(self, *operands: np.ndarray) -> np.ndarray: ...

    def __call__(self, *operands: Any) -> GenericOp | np.ndarray:
        """
        Returns a node on values of a graph, or the result of the formula for arrays, computed in
        numpy. Raises GlowError for operands that do not fit.
        """
        if not operands or isinstance(operands[0], SSAValue):
            result = self.result_type(*(o.type for o in operands))
            node = GenericOp.create(
                operands=operands, result_types=[result], properties=dict(self._properties)
            )
            node.result.name_hint = self.name
            return node
        return self._evaluated(operands)

    def _evaluated(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        # those who only build graphs need no numpy
        from .semantics import element_type, evaluate

        types = tuple(with_shape(element_type(a.dtype), a.shape) for a in arrays)
        call = Call(GenericOp, types, (self.result_type(*types),), self._properties)
        return evaluate(call, arrays)[0]

    def graph(self, *operands: TensorType) -> ModuleOp:
        """Returns a network of this operator alone, for `glow.compile`."""
        block = Block(arg_types=operands)
        for value, name in zip(block.args, self.operands, strict=False):
            value.name_hint = name
        node = self(*block.args)
        block.add_ops([node, func.ReturnOp(node.result)])

        def named(names: Sequence[str]) -> ArrayAttr[DictionaryAttr]:
            return ArrayAttr([DictionaryAttr({"glow.name": to_attribute(n)}) for n in names])

        function = func.FuncOp(
            "main",
            FunctionType.from_lists(list(operands), [node.result.type]),
            Region(block),
            arg_attrs=named(self.operands),
            res_attrs=named([self._parsed.result.name]),
        )
        return ModuleOp([function])

    def onnx_node(self, inputs: Sequence[str], output: str) -> NodeProto:
        """
        Returns a node for ONNX models, of the domain `ai.glow` (import its version 1), from which
        `glow.compile` makes this operator.
        """
        # onnx takes long to load, and only this needs it
        from onnx import helper

        from .frontend.onnx.element_types import onnx_code
        from .frontend.onnx.node import GLOW

        given: dict[str, Any] = {"formula": self.formula, **self.constants}
        if self.element is not None:
            given["element"] = onnx_code(self.element)
        if self.shape is not None:
            given["shape"] = list(self.shape)
        return helper.make_node("Generic", list(inputs), [output], self.name, domain=GLOW, **given)
