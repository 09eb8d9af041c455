"""Short names for primitives in the bodies of algorithms."""

from __future__ import annotations

from ....glow_dialects.scalar import Primitive
from ..codegen.algebra import ArithAlgebra, Value


def add(alg: ArithAlgebra, a: Value, b: Value) -> Value:
    return alg.apply(Primitive.ADD, a, b)


def subtract(alg: ArithAlgebra, a: Value, b: Value) -> Value:
    return alg.apply(Primitive.SUB, a, b)


def multiply(alg: ArithAlgebra, a: Value, b: Value) -> Value:
    return alg.apply(Primitive.MUL, a, b)


def divide(alg: ArithAlgebra, a: Value, b: Value) -> Value:
    return alg.apply(Primitive.DIV, a, b)


def exponential(alg: ArithAlgebra, a: Value) -> Value:
    return alg.apply(Primitive.EXP, a)


def maximum(alg: ArithAlgebra, a: Value, b: Value) -> Value:
    return alg.apply(Primitive.MAXIMUM, a, b)


def is_less(alg: ArithAlgebra, a: Value, b: Value) -> Value:
    return alg.apply(Primitive.LT, a, b)


def select(alg: ArithAlgebra, condition: Value, a: Value, b: Value) -> Value:
    return alg.apply(Primitive.SELECT, condition, a, b)


def square_root(alg: ArithAlgebra, a: Value) -> Value:
    return alg.apply(Primitive.SQRT, a)
