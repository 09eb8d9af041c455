"""
Arithmetic on a float or on all lanes of a vector of floats, emitted as operations.

A function written with `Lanes` works for scalars and for vectors of any length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, f32, f64, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from .kernels.codegen.emit import Emitter
from .kernels.codegen.types import vector_type


@dataclass(frozen=True)
class Lanes:
    """
    Emits arithmetic on values of one type: f32 or f64 (`element`), `lanes` of them.

    Integers beside them have the same number of bits, and masks are i1. Without `has_fma`, the
    machine has no fused multiply-add, and LLVM would call a function of the C library for each
    lane.
    """

    emitter: Emitter
    element: AnyFloat
    lanes: int
    has_fma: bool = True

    @property
    def floats(self) -> Attribute:
        return vector_type(self.element, self.lanes)

    @property
    def ints(self) -> Attribute:
        return vector_type(i64 if self.element == f64 else i32, self.lanes)

    def widened(self) -> Lanes:
        """Returns the same lanes in f64."""
        return replace(self, element=f64)

    # floats

    def number(self, value: float) -> SSAValue:
        """Returns a float constant, rounded to the element type."""
        return self.emitter.constant(self.floats, float(value))

    def float_op(self, kind: type[Operation], *operands: SSAValue) -> SSAValue:
        return self.emitter.op(kind, operands, self.floats)

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.float_op(arith.AddfOp, a, b)

    def sub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.float_op(arith.SubfOp, a, b)

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.float_op(arith.MulfOp, a, b)

    def div(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.float_op(arith.DivfOp, a, b)

    def fma(self, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
        """
        Returns `a * b + c`, rounded once. Without FMA, f32 go through f64, in which the product is
        exact and the sum is right to 2**-53; f64 are rounded twice.
        """
        if self.has_fma:
            return self.float_op(math.FmaOp, a, b, c)
        if self.element == f64:
            return self.add(self.mul(a, b), c)
        d = self.widened()
        return self.narrow(d.fma(self.widen(a), self.widen(b), self.widen(c)))

    def abs(self, a: SSAValue) -> SSAValue:
        return self.float_op(math.AbsFOp, a)

    def round_even(self, a: SSAValue) -> SSAValue:
        return self.float_op(math.RoundEvenOp, a)

    def polynomial(self, x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
        """Returns `c[0] + c[1] * x + c[2] * x**2 + ...` by Horner's rule."""
        *rest, result = [self.number(c) for c in coefficients]
        for c in reversed(rest):
            if self.has_fma:
                result = self.fma(result, x, c)
            else:
                result = self.add(self.mul(result, x), c)
        return result

    def at_most(self, a: SSAValue, bound: float) -> SSAValue:
        """Returns the smaller of the two; NaN stays NaN. One `min` instruction on x86."""
        b = self.number(bound)
        return self.select(self.compare("olt", b, a), b, a)

    def at_least(self, a: SSAValue, bound: float) -> SSAValue:
        """Returns the larger of the two; NaN stays NaN."""
        b = self.number(bound)
        return self.select(self.compare("olt", a, b), b, a)

    # masks

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.emitter.compare(predicate, a, b)

    def select(self, mask: SSAValue, then: SSAValue, otherwise: SSAValue) -> SSAValue:
        return self.emitter.select(mask, then, otherwise)

    def both(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Returns the conjunction of two masks."""
        return self.int_op(arith.AndIOp, a, b)

    # integers as wide as the floats

    def integer(self, value: int) -> SSAValue:
        return self.emitter.constant(self.ints, value)

    def int_op(self, kind: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        """Returns a binary operation of `arith` on integers, which wrap around."""
        return self.emitter.binary(kind, a, b)

    def int_add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.int_op(arith.AddiOp, a, b)

    def int_sub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.int_op(arith.SubiOp, a, b)

    def shift_left(self, a: SSAValue, bits: int) -> SSAValue:
        return self.int_op(arith.ShLIOp, a, self.integer(bits))

    def bits(self, a: SSAValue) -> SSAValue:
        """Returns the representation of floats as integers."""
        return self.emitter.op(arith.BitcastOp, (a,), self.ints)

    def from_bits(self, a: SSAValue) -> SSAValue:
        return self.emitter.op(arith.BitcastOp, (a,), self.floats)

    # between f32 and f64

    def widen(self, a: SSAValue) -> SSAValue:
        return self.emitter.cast("extf", a, f64)

    def narrow(self, a: SSAValue) -> SSAValue:
        return self.emitter.cast("truncf", a, f32)
