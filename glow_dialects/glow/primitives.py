"""The node of each primitive of scalar expressions."""

from __future__ import annotations

from collections.abc import Mapping

from ..scalar import Primitive
from . import arithmetic, integer_parts, logic
from .activation import ErfOp, TanhOp
from .base import DataParallel

PRIMITIVE_NODES: Mapping[Primitive, type[DataParallel]] = {
    Primitive.ADD: arithmetic.AddOp,
    Primitive.SUB: arithmetic.SubOp,
    Primitive.MUL: arithmetic.MulOp,
    Primitive.DIV: arithmetic.DivOp,
    Primitive.REM: arithmetic.RemOp,
    Primitive.MAXIMUM: arithmetic.MaximumOp,
    Primitive.MINIMUM: arithmetic.MinimumOp,
    Primitive.POW: arithmetic.PowOp,
    Primitive.NEG: arithmetic.NegOp,
    Primitive.ABS: arithmetic.AbsOp,
    Primitive.SQRT: arithmetic.SqrtOp,
    Primitive.EXP: arithmetic.ExpOp,
    Primitive.LOG: arithmetic.LogOp,
    Primitive.SIN: arithmetic.SinOp,
    Primitive.COS: arithmetic.CosOp,
    Primitive.TANH: TanhOp,
    Primitive.ERF: ErfOp,
    Primitive.FLOOR: arithmetic.FloorOp,
    Primitive.CEIL: arithmetic.CeilOp,
    Primitive.ROUND_EVEN: arithmetic.RoundEvenOp,
    Primitive.EQ: logic.EqualOp,
    Primitive.LT: logic.LessOp,
    Primitive.LE: logic.LessEqualOp,
    Primitive.AND: logic.AndOp,
    Primitive.OR: logic.OrOp,
    Primitive.XOR: logic.XorOp,
    Primitive.NOT: logic.NotOp,
    Primitive.SELECT: logic.SelectOp,
    Primitive.SHIFT_RIGHT: logic.ShiftRightOp,
    Primitive.SHIFT_LEFT: logic.ShiftLeftOp,
    Primitive.CONVERT: logic.CastOp,
    Primitive.BITCAST: logic.BitcastOp,
    Primitive.MULTIPLY_ADD: arithmetic.MultiplyAddOp,
    Primitive.MULTIPLY_ADD_PAIRS: integer_parts.MultiplyAddPairsOp,
    Primitive.MULTIPLY_ADD_BYTES: integer_parts.MultiplyAddBytesOp,
    Primitive.MULTIPLY_ADD_QUADS: integer_parts.MultiplyAddQuadsOp,
}
