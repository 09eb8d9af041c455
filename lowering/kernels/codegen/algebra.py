"""
Scalar expressions as `arith` and `math` operations on scalars or vectors.

A value carries the element type that the graph gave it, because registers are signless: i8 and ui8
compare and convert differently. 16-bit floats are f32 in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import IntegerType, f32, i1, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ....glow_dialects.elements import is_minifloat, is_narrow_storage, is_unsigned, storage_type
from ....glow_dialects.glow_nest.body import Body
from ....glow_dialects.glow_nest.nest import Combine
from ....glow_dialects.glow_vec import DOT_RULES, DotKind, DotKindAttr, DotOp, RemOp, dot_kind
from ....glow_dialects.machine import MachineDescription
from ....glow_dialects.minifloats import code_of
from ....glow_dialects.scalar import (
    COMPARISONS,
    Number,
    Primitive,
    fold_in_order,
)
from ...llvm.types import element_of
from .emit import Emitter
from .integer_parts import INTEGER_PARTS
from .types import (
    NO_SIGNED_ZEROS,
    bits,
    computes_in_float,
    lanes_of,
    memory_type,
    value_type,
    vector_type,
)


class Value(NamedTuple):
    """A scalar or vector in registers that stands for elements of type `element`."""

    ssa: SSAValue
    element: Attribute

    @property
    def is_unsigned(self) -> bool:
        """Whether the bits are a number that is not negative, which registers do not tell."""
        return is_unsigned(self.element)


class ArithAlgebra:
    """Emits the operations of expressions on values of `lanes` lanes."""

    def __init__(
        self, emitter: Emitter, machine: MachineDescription, lanes: int, raw: bool = False
    ):
        """`raw` elements, on which nothing is computed, stay as memory holds them."""
        self.emitter = emitter
        self.machine = machine
        self.lanes = lanes
        self._raw = raw

    def number(self, value: Number, element: Attribute) -> Value:
        t = value_type(element)
        if is_minifloat(element):
            value = code_of(value, element)
        return Value(self.emitter.constant(vector_type(t, self.lanes), _wrapped(value, t)), element)

    def evaluate(self, body: Body, arguments: Sequence[Value]) -> list[Value]:
        """Returns the results of a body."""
        known = fold_in_order(body.order, arguments, self)
        return [known[r] for r in body.results]

    def constant(self, value: Number, like: Sequence[Value], element: Attribute | None) -> Value:
        """Returns a number of type `element`, by default the type of `like`."""
        if element is None and not like:
            raise ValueError(f"expected the constant {value} of a body to have a type, found none")
        return self.number(value, element or like[0].element)

    def apply(self, kind: Primitive, args: Sequence[Value]) -> Value:
        """Returns a primitive other than a conversion."""
        if kind is Primitive.MULTIPLY_ADD:
            return self.multiply_add(*args)
        if kind in INTEGER_PARTS:
            return self._multiply_add_parts(kind, args)
        if kind is Primitive.SELECT:
            return Value(self.emitter.select(*(a.ssa for a in args)), args[1].element)
        if kind in COMPARISONS:
            return self._compare(kind, *args)
        integer = _UNSIGNED if args[0].is_unsigned else _SIGNED
        is_float = computes_in_float(args[0].element)
        operation = (_FLOAT if is_float else integer).get(kind)
        if operation is None:
            raise ValueError(f"{kind} is not defined on {'floats' if is_float else 'integers'}")
        return Value(operation(self.emitter, *(a.ssa for a in args)), args[0].element)

    def combine(self, kind: Combine, a: Value, b: Value) -> Value:
        if kind is Combine.LARGEST_NUMBER:
            return self.apply(Primitive.SELECT, (self.apply(Primitive.LT, (a, b)), b, a))
        return self.apply(Primitive(kind.value), (a, b))

    def multiply_add(self, a: Value, b: Value, acc: Value) -> Value:
        """
        Returns `a * b + acc`, rounded once for floats if the machine has a fused multiply-add.
        """
        if not (computes_in_float(a.element) and self.machine.has_fma):
            return self.apply(Primitive.ADD, (acc, self.apply(Primitive.MUL, (a, b))))
        operands = (a.ssa, b.ssa, acc.ssa)
        kind = vector.FMAOp if lanes_of(a.ssa) > 1 else math.FmaOp
        return Value(self.emitter.op(kind, operands, acc.ssa.type), acc.element)

    def _multiply_add_parts(self, primitive: Primitive, args: Sequence[Value]) -> Value:
        """Returns the sum of products of the parts of integers of 32 bits."""
        e, kind = self.emitter, _DOTS.get(primitive, self.machine.byte_dot(unsigned=True))
        if kind is None:
            return self.evaluate(INTEGER_PARTS[primitive], args)[0]
        rule = DOT_RULES[kind]
        count = self.lanes * 32 // bits(rule.sum)
        if count not in rule.lanes:
            return self.evaluate(INTEGER_PARTS[primitive], args)[0]
        a, b, acc = (v.ssa for v in args)
        factors = [e.bitcast(v, rule.element, rule.terms * count) for v in (a, b)]
        total = e.bitcast(acc, rule.sum, count)
        ssa = e.op(DotOp, (total, *factors), total.type, {"kind": DotKindAttr(kind)})
        return Value(e.bitcast(ssa, i32, self.lanes), args[2].element)

    def dot(self, a: Value, b: Value, acc: Value, terms: int) -> Value:
        """Returns `acc` plus, in each lane, the products of `terms` neighbours of `a` and `b`."""
        kind = dot_kind(self.machine, a.element, b.element, terms)
        if kind is None or self.machine.lanes(32) != self.lanes:
            raise ValueError(
                f"this machine has no instruction for sums of {terms} products of "
                f"{a.element} and {b.element}"
            )
        element = DOT_RULES[kind].element
        factors = [self._resized(v, element) for v in (a, b)]
        operands = (acc.ssa, *factors)
        ssa = self.emitter.op(DotOp, operands, acc.ssa.type, {"kind": DotKindAttr(kind)})
        return Value(ssa, acc.element)

    def convert(self, value: Value, target: Attribute | None) -> Value:
        """Returns a C cast; to i1, whether the value is not 0. Rounds to `target` exactly once."""
        if target is None:
            raise ValueError("expected a conversion in a body to name its target, found none")
        if computes_in_float(value.element):
            ssa = self._from_float(value, target)
        elif computes_in_float(target):
            kind = "uitofp" if value.is_unsigned else "sitofp"
            rounded = self.emitter.cast(kind, value.ssa, memory_type(target))
            ssa = self._float_resized(rounded, value_type(target))
        elif target == i1:
            zero, is_i1 = self.number(0, value.element), value_type(value.element) == i1
            ssa = value.ssa if is_i1 else self.emitter.compare("ne", value.ssa, zero.ssa)
        else:
            ssa = self._resized(value, value_type(target))
        return self._wrapped(Value(ssa, target), value.element)

    def _wrapped(self, value: Value, source: Attribute) -> Value:
        """
        Returns an integer narrower than a byte without the bits that do not fit, if it may have
        any.
        """
        stored = storage_type(value.element)
        if not is_narrow_storage(stored) or storage_type(source) == stored:
            return value
        unused = self.number(8 - stored.bitwidth, stored)  # pyright: ignore
        shifted = self.apply(Primitive.SHIFT_LEFT, (value, unused))
        return self.apply(Primitive.SHIFT_RIGHT, (shifted, unused))

    def bitcast(self, value: Value, target: Attribute) -> Value:
        """Returns the bits of a value as one of another type of the same width."""
        e, ssa, t = self.emitter, value.ssa, value_type(target)
        if value_type(value.element) != t:
            ssa = e.cast("bitcast", ssa, t) if self.lanes == 1 else e.bitcast(ssa, t, self.lanes)
        return Value(ssa, target)

    def _from_float(self, value: Value, element: Attribute) -> SSAValue:
        target = value_type(element)
        if computes_in_float(element):
            # to the precision of the element, and back to the type that it computes in
            return self._float_resized(self._float_resized(value.ssa, memory_type(element)), target)
        if element == i1:
            return self.emitter.compare("une", value.ssa, self.number(0.0, value.element).ssa)
        # through i32 or i64, as C compilers do, so that small types wrap around
        wide = bits(target) + is_unsigned(element)
        kind = "fptoui" if wide > 64 else "fptosi"
        between = IntegerType(32 if wide <= 32 else 64)
        rounding, source = value.ssa.owner, value.ssa
        if isinstance(rounding, math.RoundEvenOp) and wide <= 32 and lanes_of(source) > 1:
            if element_of(source.type) == f32:
                kind, source = "lrint", rounding.operand
        return self._resized(Value(self.emitter.cast(kind, source, between), between), target)

    def _float_resized(self, ssa: SSAValue, to: Attribute) -> SSAValue:
        source = bits(element_of(ssa.type))
        if source == bits(to):
            return ssa
        return self.emitter.cast("extf" if source < bits(to) else "truncf", ssa, to)

    def _resized(self, value: Value, to: Attribute) -> SSAValue:
        source = bits(element_of(value.ssa.type))
        if source == bits(to):
            return value.ssa
        wider = "extui" if value.is_unsigned else "extsi"
        return self.emitter.cast("trunci" if source > bits(to) else wider, value.ssa, to)

    # between memory and registers

    def from_memory(self, ssa: SSAValue, element: Attribute) -> Value:
        """Returns a loaded scalar or vector as a value."""
        if self._raw:
            return Value(ssa, element)
        if storage_type(element) == i1:
            ssa = self.emitter.compare("ne", ssa, self.emitter.constant(ssa.type, 0))
        elif computes_in_float(element):
            ssa = self._float_resized(ssa, value_type(element))
        return Value(ssa, element)

    def to_memory(self, value: Value, element: Attribute) -> SSAValue:
        """Returns a value as what memory holds for an element of type `element`."""
        if self._raw:
            return value.ssa
        if storage_type(element) == i1:
            return self.emitter.cast("extui", value.ssa, memory_type(element))
        if computes_in_float(element):
            return self._float_resized(value.ssa, memory_type(element))
        return value.ssa

    # primitives

    def _compare(self, kind: Primitive, a: Value, b: Value) -> Value:
        predicate = kind.value
        if computes_in_float(a.element):
            predicate = "o" + predicate
        elif kind is not Primitive.EQ:
            predicate = ("u" if a.is_unsigned else "s") + predicate
        return Value(self.emitter.compare(predicate, a.ssa, b.ssa), i1)


_DOTS = {
    Primitive.MULTIPLY_ADD_PAIRS: DotKind.MADD,
    Primitive.MULTIPLY_ADD_BYTES: DotKind.MADDUBS,
}
"""The instructions that all processors have."""
ScalarOperation = Callable[..., SSAValue]


def _one(kind: type[Operation], **properties: Attribute) -> ScalarOperation:
    """Returns what emits one operation, whose result has the type of its operands."""
    return lambda e, *args: e.op(kind, args, args[0].type, properties)


def _divide_signed(kind: type[Operation], e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """Divides without traps: division by 0 gives 0, and the smallest number by -1 wraps around."""
    zero, one = e.constant(a.type, 0), e.constant(a.type, 1)
    by_zero = e.compare("eq", b, zero)
    by_minus_one = e.compare("eq", b, e.constant(a.type, -1))
    special = e.binary(arith.OrIOp, by_zero, by_minus_one)
    result = e.binary(kind, a, e.select(special, one, b))
    negated = e.binary(arith.SubiOp, zero, a) if kind is arith.DivSIOp else zero
    return e.select(by_zero, zero, e.select(by_minus_one, negated, result))


def _divide_unsigned(kind: type[Operation], e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """Divides without traps: division by 0 gives 0."""
    zero, one = e.constant(a.type, 0), e.constant(a.type, 1)
    by_zero = e.compare("eq", b, zero)
    return e.select(by_zero, zero, e.binary(kind, a, e.select(by_zero, one, b)))


def _negate(e: Emitter, a: SSAValue) -> SSAValue:
    return e.binary(arith.SubiOp, e.constant(a.type, 0), a)


def _absolute(e: Emitter, a: SSAValue) -> SSAValue:
    return e.binary(arith.MaxSIOp, a, _negate(e, a))


def _complement(e: Emitter, a: SSAValue) -> SSAValue:
    ones = 1 if element_of(a.type) == i1 else -1
    return e.binary(arith.XOrIOp, a, e.constant(a.type, ones))


def _same(e: Emitter, a: SSAValue) -> SSAValue:
    return a


_FLOAT: dict[Primitive, ScalarOperation] = {
    Primitive.ADD: _one(arith.AddfOp),
    Primitive.SUB: _one(arith.SubfOp),
    Primitive.MUL: _one(arith.MulfOp),
    Primitive.DIV: _one(arith.DivfOp),
    Primitive.REM: _one(RemOp),
    Primitive.MAXIMUM: _one(arith.MaximumfOp, fastmath=NO_SIGNED_ZEROS),
    Primitive.MINIMUM: _one(arith.MinimumfOp, fastmath=NO_SIGNED_ZEROS),
    Primitive.NEG: _one(arith.NegfOp),
    Primitive.ABS: _one(math.AbsFOp),
    Primitive.SQRT: _one(math.SqrtOp),
    Primitive.EXP: _one(math.ExpOp),
    Primitive.LOG: _one(math.LogOp),
    Primitive.SIN: _one(math.SinOp),
    Primitive.COS: _one(math.CosOp),
    Primitive.TANH: _one(math.TanhOp),
    Primitive.ERF: _one(math.ErfOp),
    Primitive.POW: _one(math.PowFOp),
    Primitive.FLOOR: _one(math.FloorOp),
    Primitive.CEIL: _one(math.CeilOp),
    Primitive.ROUND_EVEN: _one(math.RoundEvenOp),
}
_INTEGER: dict[Primitive, ScalarOperation] = {
    Primitive.ADD: _one(arith.AddiOp),
    Primitive.SUB: _one(arith.SubiOp),
    Primitive.MUL: _one(arith.MuliOp),
    Primitive.AND: _one(arith.AndIOp),
    Primitive.OR: _one(arith.OrIOp),
    Primitive.XOR: _one(arith.XOrIOp),
    Primitive.SHIFT_LEFT: _one(arith.ShLIOp),
    Primitive.NEG: _negate,
    Primitive.NOT: _complement,
    **dict.fromkeys((Primitive.FLOOR, Primitive.CEIL, Primitive.ROUND_EVEN), _same),
}
_SIGNED: dict[Primitive, ScalarOperation] = {
    **_INTEGER,
    Primitive.MAXIMUM: _one(arith.MaxSIOp),
    Primitive.MINIMUM: _one(arith.MinSIOp),
    Primitive.SHIFT_RIGHT: _one(arith.ShRSIOp),
    Primitive.DIV: partial(_divide_signed, arith.DivSIOp),
    Primitive.REM: partial(_divide_signed, arith.RemSIOp),
    Primitive.ABS: _absolute,
}
_UNSIGNED: dict[Primitive, ScalarOperation] = {
    **_INTEGER,
    Primitive.MAXIMUM: _one(arith.MaxUIOp),
    Primitive.MINIMUM: _one(arith.MinUIOp),
    Primitive.SHIFT_RIGHT: _one(arith.ShRUIOp),
    Primitive.DIV: partial(_divide_unsigned, arith.DivUIOp),
    Primitive.REM: partial(_divide_unsigned, arith.RemUIOp),
    Primitive.ABS: _same,
}


def _wrapped(value: Number, t: Attribute) -> Number:
    """Returns a number as a constant of type `t` holds it: a float, or an integer in range."""
    if not isinstance(t, IntegerType):
        return float(value)
    width = t.width.data
    if width == 1:
        return int(value != 0)
    half = 1 << (width - 1)
    return (int(value) + half) % (1 << width) - half
