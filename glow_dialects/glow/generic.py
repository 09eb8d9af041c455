"""An operator that a network states itself, as a formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import DictionaryAttr, StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)

from ...wording import counted
from ..operator import Call, element_of, shape_of, text_of, to_python, with_shape
from .base import AcceptsEpilogue
from .structured import Structured

if TYPE_CHECKING:
    from ..formula.indices import Value
    from ..formula.statement import Statement


@irdl_op_definition
class GenericOp(Structured):
    """
    The result of a formula in index notation on the inputs (docs/formulas.md). The names of inputs
    are those that the formula reads, in the order in which they first appear in it. `constants` are
    numbers, and lists of them, that it names. 16-bit floats compute in f32.

    ```mlir
    %r = glow.generic %x, %w formula "y[b, i] = sum(k) x[b, k] * w[i, k]"
       : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
    ```
    """

    name = "glow.generic"

    inputs = var_operand_def(TensorType)
    DECLARES_RESULT: ClassVar[bool] = True

    formula = prop_def(StringAttr)
    constants = opt_prop_def(DictionaryAttr)
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    def formula_of(cls, call: Call) -> str:
        text = text_of(call.properties["formula"])
        if text is None:
            raise call.fail("expected a formula as text")
        return text

    @classmethod
    def numbers(cls, call: Call) -> Mapping[str, Value]:
        constants = call.properties.get("constants")
        if not isinstance(constants, DictionaryAttr):
            return {}
        found: dict[str, Value] = {}
        for name, attribute in constants.data.items():
            value = to_python(attribute)
            if not isinstance(value, bool | int | float | tuple):
                raise call.fail(f"expected constant {name} to be a number, found {attribute}")
            found[name] = int(value) if isinstance(value, bool) else value
        return found

    @classmethod
    def bound(cls, call: Call) -> Statement:
        (declared,) = call.results or (None,)
        shape = None if declared is None else shape_of(declared)
        return cls._bound(call, shape, None if declared is None else element_of(declared))

    @classmethod
    def result_type(
        cls,
        operands: Sequence[Attribute],
        properties: Mapping[str, Attribute],
        shape: Sequence[int] | None = None,
        element: Attribute | None = None,
    ) -> TensorType:
        """
        Returns the type of the result, of which the shape or the element type is known, or neither.
        Raises FormulaError if it does not follow, or the formula is wrong.
        """
        found = cls._bound(Call(cls, tuple(operands), (), properties), shape, element)
        return with_shape(found.element, found.result.shape)

    @classmethod
    def _bound(
        cls, call: Call, shape: Sequence[int] | None, element: Attribute | None
    ) -> Statement:
        # the dialect needs formulas only for operators that have one: see `structured.bound`
        from ..formula.binding import bind
        from ..formula.indices import operand_names
        from ..formula.parser import parse

        text, numbers = cls.formula_of(call), cls.numbers(call)
        names = [n for n in operand_names(parse(text)) if n not in numbers]
        if len(names) != len(call.operands):
            raise call.fail(
                f"expected {counted(len(names), 'operand')} for {', '.join(names) or 'no names'} "
                f"of the formula, found {len(call.operands)}"
            )
        operands = dict(zip(names, call.operands, strict=True))
        return bind(text, operands, numbers, shape=shape, element=element, strict=True)
