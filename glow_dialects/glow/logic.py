"""
Comparison, selection, logic, shifts and conversion of elements.
"""

from __future__ import annotations

import abc

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from ..elements import (
    compute_type,
    element_bytes,
    is_float,
    is_integer,
    is_minifloat,
    is_narrow_storage,
    is_unsigned,
    stored_values,
)
from ..minifloats import ROUNDINGS, converted
from ..operator import Call, element_of
from ..scalar import Expr, Primitive, apply, bitcast, equal, select
from .base import DataParallel
from .elementwise import Binary, Comparison, Logical, X, Y, Z


@irdl_op_definition
class EqualOp(Comparison):
    """
    Compares: true if the operands are equal; false if either is NaN.

    ```mlir
    %r = glow.equal %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    ```
    """

    name = "glow.equal"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return equal(X, Y)


@irdl_op_definition
class LessOp(Comparison):
    """
    Compares: true if the left operand is smaller; false if either is NaN.

    ```mlir
    %r = glow.less %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    ```
    """

    name = "glow.less"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return X < Y


@irdl_op_definition
class LessEqualOp(Comparison):
    """
    Compares: true if the left operand is not larger; false if either is NaN.

    ```mlir
    %r = glow.less_equal %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    ```
    """

    name = "glow.less_equal"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return X <= Y


@irdl_op_definition
class AndOp(Logical):
    """
    Conjunction.

    ```mlir
    %r = glow.and %a, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    ```
    """

    name = "glow.and"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return X & Y


@irdl_op_definition
class OrOp(Logical):
    """
    Disjunction.

    ```mlir
    %r = glow.or %a, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    ```
    """

    name = "glow.or"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return X | Y


@irdl_op_definition
class XorOp(Logical):
    """
    Exclusive disjunction.

    ```mlir
    %r = glow.xor %a, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    ```
    """

    name = "glow.xor"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return X ^ Y


@irdl_op_definition
class NotOp(DataParallel):
    """
    Complement of each bit; of an i1, its negation.

    ```mlir
    %r = glow.not %x : (tensor<4xi1>) -> tensor<4xi1>
    ```
    """

    name = "glow.not"

    input = operand_def()
    result = result_def()

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        if not is_integer(call.element(0)):
            raise call.fail(f"expected integer elements, found {call.operands[0]}")
        return call.element(0)

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        element = call.element(0)
        if is_narrow_storage(element) and is_unsigned(element):
            # the other bits of the byte that holds the number stay 0
            return X ^ Expr.constant(int(stored_values(element)[1]))
        return ~X


class Shift(Binary, abc.ABC):
    """An integer shifted by a number of bits."""

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        if not is_integer(call.element(0)):
            raise call.fail(f"expected integer elements, found {call.operands[0]}")
        return super().result_element(call)


@irdl_op_definition
class ShiftRightOp(Shift):
    """
    An integer shifted right by fewer bits than it has; signed ones keep their sign, so this rounds
    towards negative infinity.

    ```mlir
    %r = glow.shift_right %x, %bits : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    ```
    """

    name = "glow.shift_right"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return X >> Y


@irdl_op_definition
class ShiftLeftOp(Shift):
    """
    An integer shifted left by fewer bits than it has.

    ```mlir
    %r = glow.shift_left %x, %bits : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    ```
    """

    name = "glow.shift_left"

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return X << Y


@irdl_op_definition
class SelectOp(DataParallel):
    """
    The second operand where the first is true, the third elsewhere.

    ```mlir
    %r = glow.select %c, %a, %b : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "glow.select"

    condition = operand_def()
    then = operand_def()
    otherwise = operand_def()
    result = result_def()

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        if call.element(0) != i1:
            raise call.fail(f"expected a condition with elements i1, found {call.operands[0]}")
        if call.element(1) != call.element(2):
            raise call.fail(
                f"expected operand 2 with elements {call.element(1)}, found {call.operands[2]}"
            )
        return call.element(1)

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return select(X, Y, Z)


@irdl_op_definition
class CastOp(DataParallel):
    """
    Conversion to the element type of the result: floats to integers truncate towards zero, numbers
    to i1 test for nonzero.

    A number that is too large for a minifloat becomes the largest one with `saturate`, and infinite
    or NaN without. `rounding` (`up`, `down` or `nearest`) is how a number becomes a power of two,
    which f8E8M0FNU is.

    ```mlir
    %r = glow.cast %x : (tensor<4xf32>) -> tensor<4xf16>
    ```
    """

    name = "glow.cast"

    input = operand_def()
    saturate = prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(1, i1))
    rounding = prop_def(StringAttr, default_value=StringAttr("up"))
    result = result_def()

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        if len(call.results) != 1:
            raise call.fail("expected a result type, which says what to convert to")
        for element in (call.element(0), element_of(call.results[0])):
            if not (is_float(element) or is_integer(element) or is_minifloat(element)):
                raise call.fail(f"expected float or integer elements, found {element}")
        if call.get("rounding") not in ROUNDINGS:
            raise call.fail(f"expected a rounding of {ROUNDINGS}, found {call.get('rounding')!r}")
        return element_of(call.results[0])

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        source, target = call.element(0), element_of(call.results[0])
        if not (is_minifloat(source) or is_minifloat(target)):
            return apply(Primitive.CONVERT, X)
        return converted(X, source, target, call.get("saturate"), call.get("rounding"))


@irdl_op_definition
class BitcastOp(DataParallel):
    """
    The bits of a number as a number of another type that has as many bytes: f32, f64, a float of up
    to 8 bits, or an integer of 8 bits or more.

    ```mlir
    %r = glow.bitcast %x : (tensor<4xf32>) -> tensor<4xui32>
    ```
    """

    name = "glow.bitcast"

    input = operand_def()
    result = result_def()

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        if len(call.results) != 1:
            raise call.fail("expected a result type, which says what to take the bits for")
        source, result = call.element(0), element_of(call.results[0])
        for element in (source, result):
            if compute_type(element) != element or element == i1 or is_narrow_storage(element):
                raise call.fail(
                    "expected floats of 64, 32 or at most 8 bits, or integers of at least 8, "
                    f"found {element}"
                )
        if element_bytes(source) != element_bytes(result):
            raise call.fail(f"expected a result as wide as {source}, found {result}")
        return result

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        return bitcast(X, element_of(call.results[0]))
