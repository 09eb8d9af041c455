"""
Scalar expressions: the computation of a data-parallel operator for one element.

An operator's meaning is written once, as an `Expr` over its operands, with ordinary Python
operators. Everything else folds over that expression with its own algebra: the interpreter with
numpy arrays, the kernel generator with `arith` and `math` operations, node lowering with primitive
graph nodes, differentiation with the rules of calculus.

```python
x = Expr.argument(0)
sigmoid = 1.0 / (1.0 + exp(-x))
```

An expression is a directed acyclic graph: `fold` visits a shared subexpression once. The module
`substitution` composes the expressions of several operators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from ..lazy import lazy_property
from ..wording import counted
from .timings import TIMINGS

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
    """A shift of integers by fewer bits than they have. Signed integers keep their sign."""
    SHIFT_LEFT = "shift_left"
    """The same to the left; bits that leave the integer are lost."""
    CONVERT = "convert"
    """
    Conversion to an element type: that of the operator's result, unless another is named. Integers
    that are too large keep their last bits. `minifloats` has conversions of floats of up to 8 bits.
    """
    BITCAST = "bitcast"
    """The bits of a number as one of a named type of the same width."""
    MULTIPLY_ADD = "multiply_add"
    """`a * b + c`; of floats, rounded once where the machine can."""
    MULTIPLY_ADD_PAIRS = "multiply_add_pairs"
    """
    `c` plus the products of the low and of the high halves of `a` and `b`, integers of 32 bits
    whose halves are signed integers of 16 bits.
    """
    MULTIPLY_ADD_BYTES = "multiply_add_bytes"
    """
    In each half of integers of 32 bits, `c` plus the products of two unsigned bytes of `a` and two
    signed ones of `b`. The sum of both products saturates; that with `c` wraps around.
    """
    MULTIPLY_ADD_QUADS = "multiply_add_quads"
    """
    `c` plus the products of the four unsigned bytes of `a` and the signed ones of `b`, integers of
    32 bits. Sums wrap around.
    """


_UNARY = {
    *(Primitive.NEG, Primitive.ABS, Primitive.SQRT, Primitive.EXP, Primitive.LOG, Primitive.SIN),
    *(Primitive.COS, Primitive.TANH, Primitive.ERF, Primitive.FLOOR, Primitive.CEIL),
    *(Primitive.ROUND_EVEN, Primitive.NOT, Primitive.CONVERT, Primitive.BITCAST),
}
_TERNARY = {
    *(Primitive.SELECT, Primitive.MULTIPLY_ADD),
    *(Primitive.MULTIPLY_ADD_PAIRS, Primitive.MULTIPLY_ADD_BYTES, Primitive.MULTIPLY_ADD_QUADS),
}
ARITY: Mapping[Primitive, int] = {
    p: 1 if p in _UNARY else 3 if p in _TERNARY else 2 for p in Primitive
}
COMPARISONS = (Primitive.EQ, Primitive.LT, Primitive.LE)
"""The primitives that give a condition."""
_TRANSCENDENTAL = {
    *(Primitive.EXP, Primitive.LOG, Primitive.SIN, Primitive.COS, Primitive.TANH),
    *(Primitive.ERF, Primitive.POW),
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
    """The number of the operator's operand that this argument represents."""
    value: Number | None = None
    """The constant's value."""
    target: Attribute | None = None
    """The element type of a conversion, or None for that of the operator's result; that of a
    constant, or None for that of the operation's other operands."""
    number: int = field(default_factory=count().__next__, init=False, repr=False)
    """Grows from one expression to the next, so operands have smaller numbers than operations."""

    @staticmethod
    def argument(index: int) -> Expr:
        return Expr(None, index=index)

    @staticmethod
    def constant(value: Number, element: Attribute | None = None) -> Expr:
        """Returns a number of an element type; by default of that of its neighbouring operands."""
        return Expr(None, value=value, target=element)

    @property
    def is_untyped(self) -> bool:
        """Whether this is a constant that takes the type of its neighbours."""
        return self.value is not None and self.target is None

    @lazy_property
    def types_constants(self) -> bool:
        """Whether constants take the type of the operands beside them."""
        return any(a.is_untyped for a in self.args)

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

    def __abs__(self) -> Expr:
        return apply(Primitive.ABS, self)

    def __and__(self, other: Operand) -> Expr:
        return apply(Primitive.AND, self, other)

    def __or__(self, other: Operand) -> Expr:
        return apply(Primitive.OR, self, other)

    def __xor__(self, other: Operand) -> Expr:
        return apply(Primitive.XOR, self, other)

    def __invert__(self) -> Expr:
        return apply(Primitive.NOT, self)

    def __lshift__(self, bits: Operand) -> Expr:
        return apply(Primitive.SHIFT_LEFT, self, bits)

    def __rshift__(self, bits: Operand) -> Expr:
        return apply(Primitive.SHIFT_RIGHT, self, bits)

    def __lt__(self, other: Operand) -> Expr:
        return apply(Primitive.LT, self, other)

    def __le__(self, other: Operand) -> Expr:
        return apply(Primitive.LE, self, other)

    def __gt__(self, other: Operand) -> Expr:
        return apply(Primitive.LT, other, self)

    def __ge__(self, other: Operand) -> Expr:
        return apply(Primitive.LE, other, self)


def arguments(count: int) -> tuple[Expr, ...]:
    """Returns the first `count` operands."""
    return tuple(map(Expr.argument, range(count)))


def apply(kind: Primitive, *operands: Operand) -> Expr:
    """
    Returns `kind` applied to expressions or numbers. Raises ValueError on a wrong number of
    operands.
    """
    if len(operands) != ARITY[kind]:
        raise ValueError(f"{kind} takes {counted(ARITY[kind], 'operand')}, got {len(operands)}")
    args = tuple(o if isinstance(o, Expr) else Expr.constant(o) for o in operands)
    return Expr(kind, args)


def equal(a: Expr, b: Operand) -> Expr:
    """Returns whether elements are equal; Python's `==` compares expressions."""
    return apply(Primitive.EQ, a, b)


def convert(x: Expr, target: Attribute | None = None) -> Expr:
    """
    Returns `x` in an element type, as by a C cast; by default in that of the operator's result.
    """
    return Expr(Primitive.CONVERT, (x,), target=target)


def bitcast(x: Expr, target: Attribute) -> Expr:
    """Returns the bits of `x` as a number of type `target`, which has equally many."""
    return Expr(Primitive.BITCAST, (x,), target=target)


def multiply_add(a: Operand, b: Operand, c: Operand) -> Expr:
    """Returns `a * b + c`, of floats rounded once where the machine can."""
    return apply(Primitive.MULTIPLY_ADD, a, b, c)


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


def sqrt(x: Operand) -> Expr:
    return apply(Primitive.SQRT, x)


def tanh(x: Operand) -> Expr:
    return apply(Primitive.TANH, x)


def erf(x: Operand) -> Expr:
    return apply(Primitive.ERF, x)


T = TypeVar("T")


class Algebra(Protocol[T]):
    """
    The interface that a consumer of expressions implements: constants and primitives over its own
    values.
    """

    def constant(self, value: Number, like: Sequence[T], element: Attribute | None) -> T:
        """
        Returns a constant of type `element`, or else of the type of `like`: the operands beside it
        that have a type (perhaps none).
        """
        ...

    def convert(self, value: T, target: Attribute | None) -> T:
        """Returns a conversion to an element type, or to that of the operator's result."""
        ...

    def bitcast(self, value: T, target: Attribute) -> T:
        """Returns the bits of a value as one of another type."""
        ...

    def apply(self, kind: Primitive, args: Sequence[T]) -> T:
        """Computes any other primitive."""
        ...


def fold(expr: Expr, arguments: Sequence[T], algebra: Algebra[T]) -> T:
    """Evaluates `expr` bottom-up, with operand `i` bound to `arguments[i]`."""
    return fold_in_order(bottom_up([expr]), arguments, algebra)[expr]


def fold_in_order(
    order: Sequence[Expr], arguments: Sequence[T], algebra: Algebra[T]
) -> Mapping[Expr, T]:
    """
    Returns the values of expressions, evaluated in this order, in which operands come first. A
    constant without a type is evaluated for each operation that it is an operand of.
    """
    done: dict[Expr, T] = {}
    for node in order:
        kind = node.kind
        if node.index is not None:
            done[node] = arguments[node.index]
        elif kind is None:
            assert node.value is not None
            done[node] = algebra.constant(node.value, (), node.target)
        elif kind is Primitive.CONVERT:
            done[node] = algebra.convert(_operands(node, done, algebra)[0], node.target)
        elif kind is Primitive.BITCAST:
            assert node.target is not None
            done[node] = algebra.bitcast(_operands(node, done, algebra)[0], node.target)
        else:
            done[node] = algebra.apply(kind, _operands(node, done, algebra))
    return done


def _operands(node: Expr, done: Mapping[Expr, T], algebra: Algebra[T]) -> list[T]:
    if not node.types_constants:
        return [done[a] for a in node.args]
    # a select's condition does not type its branches
    skip = 1 if node.kind is Primitive.SELECT else 0
    like = [done[a] for a in node.args[skip:] if not a.is_untyped]
    return [
        algebra.constant(a.value, like, None) if a.value is not None and a.is_untyped else done[a]
        for a in node.args
    ]


def in_order_of_creation(results: Sequence[Expr]) -> tuple[Expr, ...]:
    """Returns all that `results` depend on, as `fold_in_order` takes it."""
    return tuple(sorted(bottom_up(results), key=lambda e: e.number))


def bottom_up(results: Sequence[Expr]) -> list[Expr]:
    """
    Returns all that `results` depend on, operands first, without constants that operations type.
    """
    found: dict[Expr, None] = {}
    pending = list(reversed(results))
    while pending:
        node = pending[-1]
        missing = (a for a in node.args if not a.is_untyped and a not in found)
        operand = None if node in found else next(missing, None)
        if operand is not None:
            pending.append(operand)
            continue
        found[pending.pop()] = None
    return list(found)


def weight_of(result: Expr) -> int:
    """Returns about how many operations an expression becomes."""
    return weight(in_order_of_creation([result]))


def weight(order: Sequence[Expr]) -> int:
    """Returns about how many operations expressions become, without those that they depend on."""
    kinds = [node.kind for node in order if node.kind is not None]
    return sum(TIMINGS.elementary_operations if kind in _TRANSCENDENTAL else 1 for kind in kinds)
