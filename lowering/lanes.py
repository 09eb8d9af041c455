"""
Arithmetic on a float or on all lanes of a vector of floats, emitted as operations.

A function written with `Lanes` works for scalars and for vectors of any length. Operations are
created without checks and with cached types, since kernels hold thousands of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    VectorType,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ..glow_dialects import glow_vec

Number = int | float
_EXACT: dict[str, Attribute] = {"fastmath": arith.FastMathFlagsAttr("none")}
_COMPARE_FLOATS = {"oeq": 1, "olt": 4, "ole": 5, "une": 13}
_COMPARE_INTS = {"eq": 0, "ne": 1}


@cache
def _like(element: Attribute, lanes: int | None) -> Attribute:
    return element if lanes is None else VectorType(element, [lanes])


@cache
def _number(value: Attribute, lanes: int | None) -> Attribute:
    if lanes is None:
        return value
    assert isinstance(value, FloatAttr | IntegerAttr)
    return DenseIntOrFPElementsAttr.from_list(
        VectorType(value.type, [lanes]),  # pyright: ignore
        [value.value.data],  # pyright: ignore
    )


class Constants:
    """Constants of one function, each made once; `operations` belong at the function's start."""

    def __init__(self):
        self.operations: list[Operation] = []
        self._made: dict[tuple[Attribute, int | None], SSAValue] = {}

    def get(self, value: FloatAttr | IntegerAttr, lanes: int | None) -> SSAValue:
        key = (value, lanes)
        if key not in self._made:
            op = arith.ConstantOp.create(
                result_types=[_like(value.type, lanes)],
                properties={"value": _number(value, lanes)},
            )
            self.operations.append(op)
            self._made[key] = op.results[0]
        return self._made[key]


class Lanes:
    """
    Emits arithmetic on values of one type: f32 or f64 (`element`), `lanes` of them, or a scalar if
    None.

    Integers beside them have the same number of bits, and masks are i1. `emit` takes each new
    operation. Without `has_fma`, the machine has no fused multiply-add, and LLVM would call a
    function of the C library for each lane.
    """

    def __init__(
        self,
        element: Attribute,
        lanes: int | None,
        constants: Constants,
        emit: Callable[[Operation], object],
        has_fma: bool = True,
    ):
        self.wide = isinstance(element, Float64Type)
        self.lanes = lanes
        self.floats = _like(element, lanes)
        self.ints = _like(i64 if self.wide else i32, lanes)
        self.masks = _like(i1, lanes)
        self.constants = constants
        self.emit = emit
        self.has_fma = has_fma

    def widened(self) -> Lanes:
        """Returns the same lanes in f64."""
        return Lanes(f64, self.lanes, self.constants, self.emit, self.has_fma)

    def op(
        self,
        kind: type[Operation],
        result: Attribute,
        *operands: SSAValue,
        properties: dict[str, Attribute] | None = None,
    ) -> SSAValue:
        new = kind.create(
            operands=operands, result_types=(result,), properties=dict(properties or {})
        )
        self.emit(new)
        return new.results[0]

    # floats

    def number(self, value: float) -> SSAValue:
        """Returns a float constant, rounded to the element type."""
        return self.constants.get(FloatAttr(value, f64 if self.wide else f32), self.lanes)

    def _float(self, kind: type[Operation], *operands: SSAValue) -> SSAValue:
        return self.op(kind, self.floats, *operands, properties=_EXACT)

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._float(arith.AddfOp, a, b)

    def sub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._float(arith.SubfOp, a, b)

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._float(arith.MulfOp, a, b)

    def div(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._float(arith.DivfOp, a, b)

    def fma(self, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
        """
        Returns `a * b + c`, rounded once. Without FMA, f32 go through f64, in which the product is
        exact and the sum is right to 2**-53; f64 are rounded twice.
        """
        if self.has_fma:
            return self._float(math.FmaOp, a, b, c)
        if self.wide:
            return self.add(self.mul(a, b), c)
        d = self.widened()
        return self.narrow(d.fma(self.widen(a), self.widen(b), self.widen(c)))

    def abs(self, a: SSAValue) -> SSAValue:
        return self._float(math.AbsFOp, a)

    def round_even(self, a: SSAValue) -> SSAValue:
        return self._float(math.RoundEvenOp, a)

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
        """Emits a comparison of floats (`oeq`, `olt`, `ole`, `une`) or integers (`eq`, `ne`)."""
        if self.lanes is not None:
            kind = glow_vec.PredicateAttr(glow_vec.Predicate(predicate))
            return self.op(glow_vec.CmpOp, self.masks, a, b, properties={"predicate": kind})
        if predicate in _COMPARE_INTS:
            number = IntegerAttr(_COMPARE_INTS[predicate], i64)
            return self.op(arith.CmpiOp, self.masks, a, b, properties={"predicate": number})
        number = IntegerAttr(_COMPARE_FLOATS[predicate], i64)
        exact = {"predicate": number, **_EXACT}
        return self.op(arith.CmpfOp, self.masks, a, b, properties=exact)

    def select(self, mask: SSAValue, then: SSAValue, otherwise: SSAValue) -> SSAValue:
        kind = arith.SelectOp if self.lanes is None else glow_vec.SelectOp
        return self.op(kind, then.type, mask, then, otherwise)

    def both(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Returns the conjunction of two masks."""
        return self.op(arith.AndIOp, self.masks, a, b)

    # integers as wide as the floats

    def integer(self, value: int) -> SSAValue:
        return self.constants.get(IntegerAttr(value, i64 if self.wide else i32), self.lanes)

    def int_op(self, kind: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        """Returns a binary operation of `arith` on integers that takes no flags."""
        return self.op(kind, self.ints, a, b)

    def int_add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.op(arith.AddiOp, self.ints, a, b, properties=_WRAPS)

    def int_sub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.op(arith.SubiOp, self.ints, a, b, properties=_WRAPS)

    def shift_left(self, a: SSAValue, bits: int) -> SSAValue:
        return self.op(arith.ShLIOp, self.ints, a, self.integer(bits), properties=_WRAPS)

    def bits(self, a: SSAValue) -> SSAValue:
        """Returns the representation of floats as integers."""
        return self.op(arith.BitcastOp, self.ints, a)

    def from_bits(self, a: SSAValue) -> SSAValue:
        return self.op(arith.BitcastOp, self.floats, a)

    def to_float(self, a: SSAValue) -> SSAValue:
        """Returns signed integers as floats."""
        if self.lanes is None:
            return self.op(arith.SIToFPOp, self.floats, a)
        kind = glow_vec.CastKindAttr(glow_vec.CastKind.SITOFP)
        return self.op(glow_vec.CastOp, self.floats, a, properties={"kind": kind})

    # between f32 and f64

    def widen(self, a: SSAValue) -> SSAValue:
        return self.op(arith.ExtFOp, _like(f64, self.lanes), a)

    def narrow(self, a: SSAValue) -> SSAValue:
        return self.op(arith.TruncFOp, _like(f32, self.lanes), a)


_WRAPS: dict[str, Attribute] = {
    "overflowFlags": arith.IntegerOverflowAttr("none"),
}
