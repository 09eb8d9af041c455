"""
Scalar expressions: what a data-parallel operator computes for one element.

An operator's meaning is written once, as an `Expr` over its operands, with ordinary Python
operators. Everything else folds over that expression with its own algebra: the interpreter
with numpy arrays, the kernel generator with `arith` and `math` operations, node lowering with
primitive graph nodes, differentiation with the rules of calculus.

```python
x = Expr.argument(0)
sigmoid = 1.0 / (1.0 + exp(-x))
```

An expression is a directed acyclic graph: `fold` visits a shared subexpression once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from ..wording import counted

if TYPE_CHECKING:
    from xdsl.ir import Attribute


class Primitive(StrEnum):
    """The operations that an algebra must implement, with their arity in `ARITY`."""

    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
    """Division; integers truncate towards zero."""
    REM = "rem"
    """Remainder with the sign of the dividend (C's `fmod`)."""
    MAXIMUM = "maximum"
    """The larger operand; NaN if either is NaN."""
    MINIMUM = "minimum"
    """The smaller operand; NaN if either is NaN."""
    POW = "pow"
    NEG = "neg"
    ABS = "abs"
    SQRT = "sqrt"
    EXP = "exp"
    LOG = "log"
    SIN = "sin"
    COS = "cos"
    TANH = "tanh"
    ERF = "erf"
    FLOOR = "floor"
    CEIL = "ceil"
    ROUND_EVEN = "round_even"
    """Nearest integer, ties to even."""
    EQ = "eq"
    LT = "lt"
    LE = "le"
    """Comparisons give i1; any comparison with NaN is false."""
    AND = "and"
    OR = "or"
    XOR = "xor"
    """Bitwise on integers, logical on i1."""
    NOT = "not"
    SELECT = "select"
    """`select(condition, then, otherwise)`."""
    SHIFT_RIGHT = "shift_right"
    """Of integers, by fewer bits than they have; signed ones keep their sign."""
    CONVERT = "convert"
    """Conversion to an element type: that of the operator's result, unless another is named."""


_UNARY = {
    *(Primitive.NEG, Primitive.ABS, Primitive.SQRT, Primitive.EXP, Primitive.LOG, Primitive.SIN),
    *(Primitive.COS, Primitive.TANH, Primitive.ERF, Primitive.FLOOR, Primitive.CEIL),
    *(Primitive.ROUND_EVEN, Primitive.NOT, Primitive.CONVERT),
}
ARITY: Mapping[Primitive, int] = {
    p: 1 if p in _UNARY else 3 if p is Primitive.SELECT else 2 for p in Primitive
}

Number: TypeAlias = "int | float"
Operand: TypeAlias = "Expr | int | float"


@dataclass(frozen=True, eq=False)
class Expr:
    """
    A node of an expression: an argument, a constant, or a primitive applied to expressions.

    Identity, not structure, is equality, so a shared node is evaluated once.
    """

    kind: Primitive | None
    args: tuple[Expr, ...] = ()
    index: int | None = None
    """Which operand of the operator this argument stands for."""
    value: Number | None = None
    """The constant's value. Its type is that of the operation's other operands."""
    target: Attribute | None = None
    """The element type of a conversion; None for that of the operator's result."""

    @staticmethod
    def argument(index: int) -> Expr:
        return Expr(None, index=index)

    @staticmethod
    def constant(value: Number) -> Expr:
        return Expr(None, value=value)

    def __add__(self, other: Operand) -> Expr:
        return apply(Primitive.ADD, self, other)

    def __radd__(self, other: Operand) -> Expr:
        return apply(Primitive.ADD, other, self)

    def __sub__(self, other: Operand) -> Expr:
        return apply(Primitive.SUB, self, other)

    def __rsub__(self, other: Operand) -> Expr:
        return apply(Primitive.SUB, other, self)

    def __mul__(self, other: Operand) -> Expr:
        return apply(Primitive.MUL, self, other)

    def __rmul__(self, other: Operand) -> Expr:
        return apply(Primitive.MUL, other, self)

    def __truediv__(self, other: Operand) -> Expr:
        return apply(Primitive.DIV, self, other)

    def __rtruediv__(self, other: Operand) -> Expr:
        return apply(Primitive.DIV, other, self)

    def __neg__(self) -> Expr:
        return apply(Primitive.NEG, self)

    def __lt__(self, other: Operand) -> Expr:
        return apply(Primitive.LT, self, other)

    def __le__(self, other: Operand) -> Expr:
        return apply(Primitive.LE, self, other)

    def __gt__(self, other: Operand) -> Expr:
        return apply(Primitive.LT, other, self)

    def __ge__(self, other: Operand) -> Expr:
        return apply(Primitive.LE, other, self)


def apply(kind: Primitive, *operands: Operand) -> Expr:
    """`kind` applied to expressions or numbers. Raises ValueError on a wrong number of operands."""
    if len(operands) != ARITY[kind]:
        raise ValueError(f"{kind} takes {counted(ARITY[kind], 'operand')}, got {len(operands)}")
    args = tuple(o if isinstance(o, Expr) else Expr.constant(o) for o in operands)
    return Expr(kind, args)


def convert(x: Expr, target: Attribute | None = None) -> Expr:
    """`x` in an element type, as by a C cast; by default in that of the operator's result."""
    return Expr(Primitive.CONVERT, (x,), target=target)


def maximum(a: Operand, b: Operand) -> Expr:
    return apply(Primitive.MAXIMUM, a, b)


def minimum(a: Operand, b: Operand) -> Expr:
    return apply(Primitive.MINIMUM, a, b)


def select(condition: Expr, then: Operand, otherwise: Operand) -> Expr:
    return apply(Primitive.SELECT, condition, then, otherwise)


def exp(x: Operand) -> Expr:
    return apply(Primitive.EXP, x)


def log(x: Operand) -> Expr:
    return apply(Primitive.LOG, x)


def tanh(x: Operand) -> Expr:
    return apply(Primitive.TANH, x)


def erf(x: Operand) -> Expr:
    return apply(Primitive.ERF, x)


T = TypeVar("T")


class Algebra(Protocol[T]):
    """What a consumer of expressions implements: constants and primitives over its own values."""

    def constant(self, value: Number, like: Sequence[T]) -> T:
        """A constant of the type of `like`: the non-constant operands beside it (perhaps none)."""
        ...

    def convert(self, value: T, target: Attribute | None) -> T:
        """A conversion to an element type, or to that of the operator's result."""
        ...

    def apply(self, kind: Primitive, args: Sequence[T]) -> T:
        """Any other primitive."""
        ...


def fold(expr: Expr, arguments: Sequence[T], algebra: Algebra[T]) -> T:
    """Evaluate `expr` bottom-up, with operand `i` bound to `arguments[i]`."""
    done: dict[Expr, T] = {}

    def visit(node: Expr) -> T:
        if node in done:
            return done[node]
        if node.index is not None:
            result = arguments[node.index]
        elif node.kind is None:
            assert node.value is not None
            result = algebra.constant(node.value, ())
        elif node.kind is Primitive.CONVERT:
            (operand,) = operands(node)
            result = algebra.convert(operand, node.target)
        else:
            result = algebra.apply(node.kind, operands(node))
        done[node] = result
        return result

    def operands(node: Expr) -> list[T]:
        # a select's condition does not type its branches
        skip = 1 if node.kind is Primitive.SELECT else 0
        known = [visit(a) if a.value is None else None for a in node.args]
        like = [k for k in known[skip:] if k is not None]
        return [
            k if k is not None else algebra.constant(a.value, like)  # pyright: ignore
            for k, a in zip(known, node.args, strict=True)
        ]

    return visit(expr)
