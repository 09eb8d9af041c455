"""Operators that look for elements, or for which indices say what they pick or replace."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType, i1, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ..elements import compute_type, is_byte, is_float, is_unsigned, tensor_type
from ..operator import Call, expect_axis, expect_number, expect_rank, expect_shape
from .base import AcceptsEpilogue, Node
from .structured import Structured

if TYPE_CHECKING:
    from ..formula.indices import Value

REDUCTIONS = ("none", "add", "mul", "max", "min")
"""The combinations of an element and an update in a scatter; `none` replaces the element."""


def expect_indices(call: Call, operand: int) -> None:
    """Raises unless an operand has elements that may be indices."""
    if str(call.element(operand)) not in ("i32", "i64"):
        raise call.fail(f"expected indices of i32 or i64, found {call.operands[operand]}")


@irdl_op_definition
class GatherElementsOp(Structured):
    """
    Takes the elements of each row of `data` along `axis` that the same row of `indices` names;
    negative ones count from the end. An index out of range is clamped, so that no memory outside
    `data` is read.

    ```mlir
    %r = glow.gather_elements %data, %indices axis 1
       : (tensor<2x5xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
    ```
    """

    name = "glow.gather_elements"
    FORMULA: ClassVar[str] = """
        result[a.., j, c..] = data[a.., clamp(
            indices[a.., j, c..] if indices[a.., j, c..] >= 0
            else indices[a.., j, c..] + size(data, axis),
            0, size(data, axis) - 1), c..]
    """

    data = operand_def(TensorType)
    indices = operand_def(TensorType)
    axis = prop_def(IntegerAttr.constr(i64))
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    def numbers(cls, call: Call) -> Mapping[str, Value]:
        axis = expect_axis(call)
        return {"axis": axis, "a..": axis}

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        expect_indices(call, 1)
        axis = expect_axis(call)
        if not call.shape(0)[axis] and 0 not in call.shape(1):
            raise call.fail(
                f"expected data with elements in dimension {axis}, found {call.operands[0]}"
            )
        return super().infer(call)


@irdl_op_definition
class IntLookupTableOp(Structured):
    """
    The element of `mapping` that each byte of `input` names: any function of one byte.

    The bits of a stored number, as an unsigned number, are its place in the table; so the second
    half belongs to the negative numbers of signed elements. The result has the elements of the
    table.

    ```mlir
    %r = glow.int_lookup_table %x, %mapping
       : (tensor<2x5xui8>, tensor<256xui8>) -> tensor<2x5xui8>
    ```
    """

    name = "glow.int_lookup_table"

    input = operand_def(TensorType)
    mapping = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    def formula_of(cls, call: Call) -> str:
        if is_unsigned(call.element(0)):
            return "result[i..] = mapping[input[i..]]"
        return """
            result[i..] = mapping[clamp(
                input[i..] if input[i..] >= 0 else input[i..] + 256, 0, 255)]
        """

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        return call.element(1)

    @classmethod
    def check(cls, call: Call) -> None:
        if not is_byte(call.element(0)):
            raise call.fail(f"expected an input with elements of 8 bits, found {call.operands[0]}")
        expect_shape(call, 1, (256,), "mapping")


class ArgExtreme(Structured, abc.ABC):
    """
    The index along `axis` of an extreme element: of the first NaN, if there is one, else of the
    first extreme one, or with `last` of the last one.
    """

    input = operand_def(TensorType)
    axis = prop_def(IntegerAttr.constr(i64))
    last = prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))
    result = result_def(TensorType)

    COMBINES: ClassVar[str]
    """The word for the extreme in formulas."""

    @classmethod
    def formula_of(cls, call: Call) -> str:
        there = "input[kept.., r at axis]"
        found = f"{there} == best[kept..]"
        if is_float(call.element(0)):
            found += f" or {there} != {there}"
        choice = f"(i32(r) if {found} else i32({-1 if call.get('last') else 'count(r)'}))"
        return (
            f"result[kept..] = i64({'max' if call.get('last') else 'min'}(r) {choice}) "
            f"where best[kept..] = {cls.COMBINES}(r) {there}"
        )

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        return i64

    @classmethod
    def computes(cls, call: Call) -> Attribute:
        return compute_type(call.element(0))

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        expect_number(call)
        shape, axis = call.shape(0), expect_axis(call)
        if not shape[axis]:
            raise call.fail(f"expected elements in dimension {axis}, found {call.operands[0]}")
        return (tensor_type(i64, [*shape[:axis], *shape[axis + 1 :]]),)


@irdl_op_definition
class ArgMaxOp(ArgExtreme):
    """
    The index of the largest element along `axis`; see the common description.

    ```mlir
    %r = glow.arg_max %x axis 1 : (tensor<2x3xf32>) -> tensor<2xi64>
    ```
    """

    name = "glow.arg_max"
    COMBINES: ClassVar[str] = "max"


@irdl_op_definition
class ArgMinOp(ArgExtreme):
    """
    The index of the smallest element along `axis`; see the common description.

    ```mlir
    %r = glow.arg_min %x axis 1 last true : (tensor<2x3xf32>) -> tensor<2xi64>
    ```
    """

    name = "glow.arg_min"
    COMBINES: ClassVar[str] = "min"


@irdl_op_definition
class TopIndicesOp(Structured):
    """
    The indices along `axis` of the `k` largest elements, or with `smallest` of the smallest ones,
    in that order. Of equal elements the first comes first; NaN counts as larger than all numbers.

    ```mlir
    %r = glow.top_indices %x axis 1 k 2 : (tensor<2x5xf32>) -> tensor<2x2xi64>
    ```
    """

    name = "glow.top_indices"

    input = operand_def(TensorType)
    axis = prop_def(IntegerAttr.constr(i64))
    k = prop_def(IntegerAttr.constr(i64))
    smallest = prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))
    result = result_def(TensorType)

    @classmethod
    def formula_of(cls, call: Call) -> str:
        mine, other = "input[a.., i, c..]", "input[a.., j, c..]"
        low, high = (other, mine) if call.get("smallest") else (mine, other)
        before, same = f"{low} < {high}", f"{mine} == {other}"
        if is_float(call.element(0)):
            before = f"{before} or ({low} == {low} and {high} != {high})"
            same = f"{same} or ({mine} != {mine} and {other} != {other})"
        return (
            "result[a.., p, c..] = i64(sum(i) (i32(i) if rank[a.., i, c..] == p else i32(0))) "
            "for p < k where rank[a.., i, c..] = "
            f"sum(j) (1 if {before} or (j < i and ({same})) else 0)"
        )

    @classmethod
    def numbers(cls, call: Call) -> Mapping[str, Value]:
        return {"k": call.int("k"), "a..": expect_axis(call)}

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        return i64

    @classmethod
    def computes(cls, call: Call) -> Attribute:
        return compute_type(call.element(0))

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        expect_number(call)
        shape, axis = list(call.shape(0)), expect_axis(call)
        if not 0 <= call.int("k") <= shape[axis]:
            raise call.fail(f"expected k in 0 to {shape[axis]}, found {call.int('k')}")
        shape[axis] = call.int("k")
        return (tensor_type(i64, shape),)


class Cumulative(Structured, abc.ABC):
    """
    Combines each element along `axis` with those before it; with `exclusive` without itself, with
    `reverse` with those behind it. 16-bit floats accumulate in f32.
    """

    input = operand_def(TensorType)
    axis = prop_def(IntegerAttr.constr(i64))
    exclusive = prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))
    reverse = prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    COMBINES: ClassVar[str]
    """The word for it in formulas."""
    IDENTITY: ClassVar[int]
    """The result of the combination for no elements."""

    @classmethod
    def formula_of(cls, call: Call) -> str:
        first, second = ("i", "j") if call.get("reverse") else ("j", "i")
        condition = f"{first} {'<' if call.get('exclusive') else '<='} {second}"
        term = f"(input[a.., j, c..] if {condition} else {cls.IDENTITY})"
        return f"result[a.., i, c..] = {cls.COMBINES}(j) {term} for i < length"

    @classmethod
    def numbers(cls, call: Call) -> Mapping[str, Value]:
        axis = expect_axis(call)
        return {"length": call.shape(0)[axis], "a..": axis}

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        expect_number(call)
        expect_axis(call)
        return (call.operands[0],)


@irdl_op_definition
class CumSumOp(Cumulative):
    """
    Cumulative sum along `axis`; see the common description.

    ```mlir
    %r = glow.cum_sum %x axis 1 exclusive true : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "glow.cum_sum"
    COMBINES: ClassVar[str] = "sum"
    IDENTITY: ClassVar[int] = 0


@irdl_op_definition
class CumProdOp(Cumulative):
    """
    Cumulative product along `axis`; see the common description.

    ```mlir
    %r = glow.cum_prod %x axis 0 reverse true : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "glow.cum_prod"
    COMBINES: ClassVar[str] = "prod"
    IDENTITY: ClassVar[int] = 1


@irdl_op_definition
class ScatterOp(Node):
    """
    The rows of `data`, of which those that `indices` name are combined with the rows of `updates`,
    from the first update to the last. Negative indices count from the end; one out of range is
    clamped, so that no memory outside the result is written.

    ```mlir
    %r = glow.scatter %data, %indices, %updates reduction "add"
       : (tensor<5x4xf32>, tensor<3xi64>, tensor<3x4xf32>) -> tensor<5x4xf32>
    ```
    """

    name = "glow.scatter"

    data = operand_def(TensorType)
    indices = operand_def(TensorType)
    updates = operand_def(TensorType)
    reduction = prop_def(StringAttr, default_value=StringAttr("none"))
    result = result_def(TensorType)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        expect_indices(call, 1)
        expect_rank(call, 1, 1, "indices")
        data, updates = call.shape(0), call.shape(2)
        if len(data) != 2 or not data[0]:
            raise call.fail(f"expected data with rows, found {call.operands[0]}")
        if updates != (*call.shape(1), *data[1:]) or call.element(2) != call.element(0):
            raise call.fail(
                f"expected as updates a row of {call.operands[0]} for each of "
                f"{call.operands[1]}, found {call.operands[2]}"
            )
        if call.get("reduction") not in REDUCTIONS:
            raise call.fail(
                f"expected as reduction one of {', '.join(REDUCTIONS)}, "
                f"found {call.get('reduction')!r}"
            )
        return (call.operands[0],)
