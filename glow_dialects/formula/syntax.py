"""
The syntax tree of formulas. `str` of a tree is a formula that parses to an equal tree.

Positions, in characters from the start of the text, are not part of equality.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ...lazy import lazy_property

REDUCTIONS = ("sum", "prod", "max", "min")
"""The combinations of reductions."""

_LEVELS = (
    ("or",),
    ("and",),
    ("<", "<=", ">", ">=", "==", "!="),
    ("+", "-"),
    ("*", "/", "//", "%"),
    ("**",),
)
PRECEDENCE = {operator: level for level, operators in enumerate(_LEVELS) for operator in operators}
"""The precedence of operators, from weak to strong."""
_CHOICE, _NOT, _COMPARISON, _TERM, _FACTOR, _POWER, _ATOM = -1, 1.5, 2, 4, 4.5, 5, 6


def _at() -> int:
    return field(default=0, compare=False)  # pyright: ignore


@dataclass(frozen=True)
class Number:
    value: int | float
    at: int = _at()

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class Name:
    """An index, or a number that is known by name."""

    name: str
    is_pack: bool = False
    """Whether it is written with `..`: one index for each of several dimensions."""
    at: int = _at()

    def __str__(self) -> str:
        return f"{self.name}.." if self.is_pack else self.name


@dataclass(frozen=True)
class Index:
    """An index in one place between brackets."""

    value: Expression
    dims: Expression | None = None
    """The dimensions that it indexes, if not the next ones."""

    def __str__(self) -> str:
        return f"{self.value}" if self.dims is None else f"{self.value} at {_bare(self.dims)}"


@dataclass(frozen=True)
class ElementAccess:
    """An element of an operand or of an intermediate value."""

    name: str
    indices: tuple[Index, ...]
    outside: Expression | None = None
    """The value beyond the bounds."""
    at: int = _at()

    def __str__(self) -> str:
        beyond = "" if self.outside is None else f" | outside: {self.outside}"
        return f"{self.name}[{', '.join(map(str, self.indices))}{beyond}]"


@dataclass(frozen=True)
class Call:
    function: str
    arguments: tuple[Expression, ...]
    at: int = _at()

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True)
class Unary:
    operator: str
    """`-` or `not`"""
    operand: Expression
    at: int = _at()

    def __str__(self) -> str:
        if self.operator == "not":
            return f"not {_within(self.operand, _NOT)}"
        return f"-{_within(self.operand, _FACTOR)}"


@dataclass(frozen=True)
class Binary:
    operator: str
    left: Expression
    right: Expression
    at: int = _at()

    def __str__(self) -> str:
        level = PRECEDENCE[self.operator]
        if self.operator == "**":
            return f"{_within(self.left, _ATOM)} ** {_within(self.right, _FACTOR)}"
        # comparisons do not chain
        low = level + 1 if level == _COMPARISON else level
        high = level + 0.5 if self.operator in "+-" else level + 1
        return f"{_within(self.left, low)} {self.operator} {_within(self.right, high)}"


@dataclass(frozen=True)
class Choice:
    """`then if condition else otherwise`"""

    then: Expression
    condition: Expression
    otherwise: Expression
    at: int = _at()

    def __str__(self) -> str:
        return f"{_within(self.then, 0)} if {_within(self.condition, 0)} else {self.otherwise}"


@dataclass(frozen=True)
class Bound:
    """An index and, perhaps, how many values it has."""

    index: Name
    size: Expression | None = None

    def __str__(self) -> str:
        return f"{self.index}" if self.size is None else f"{self.index} < {_within(self.size, 3)}"


@dataclass(frozen=True)
class Limit:
    """A condition on all values of indices: their ranges are the largest for which it holds."""

    left: Expression
    right: Expression
    at: int = _at()

    def __str__(self) -> str:
        return f"{_within(self.left, 3)} < {_within(self.right, 3)}"


@dataclass(frozen=True)
class Reduction:
    """`sum(k, l) body`: the body reaches as far as products do."""

    kind: str
    bounds: tuple[Bound, ...]
    body: Expression
    at: int = _at()

    def __str__(self) -> str:
        body = _within(self.body, _TERM)
        if body.startswith("-"):
            body = f"({body})"
        return f"{self.kind}({', '.join(map(str, self.bounds))}) {body}"


Expression: TypeAlias = Number | Name | ElementAccess | Call | Unary | Binary | Choice | Reduction


def parts_of(e: Expression) -> Sequence[Expression]:
    """Returns the expressions directly inside of one."""
    match e:
        case ElementAccess():
            inside = [i.value for i in e.indices]
            return inside if e.outside is None else [*inside, e.outside]
        case Call():
            return e.arguments
        case Unary():
            return [e.operand]
        case Binary():
            return [e.left, e.right]
        case Choice():
            return [e.then, e.condition, e.otherwise]
        case Reduction():
            return [e.body]
        case Number() | Name():
            return []


def inside(e: Expression) -> Iterator[Expression]:
    """Yields an expression and all inside of it, in the order of the text."""
    yield e
    for part in parts_of(e):
        yield from inside(part)


@dataclass(frozen=True)
class Equation:
    """`name[indices] = value for bounds, limits`"""

    name: str
    indices: tuple[Index, ...]
    value: Expression
    bounds: tuple[Bound, ...] = ()
    limits: tuple[Limit, ...] = ()
    at: int = _at()

    @lazy_property
    def accesses(self) -> list[ElementAccess]:
        """The accesses on the right side."""
        return [e for e in inside(self.value) if isinstance(e, ElementAccess)]

    @lazy_property
    def reduced(self) -> list[Bound]:
        """The bounds of reductions."""
        return [b for e in inside(self.value) if isinstance(e, Reduction) for b in e.bounds]

    @lazy_property
    def all_bounds(self) -> list[Bound]:
        """The bounds of the left side and of reductions."""
        return [*self.bounds, *self.reduced]

    @lazy_property
    def declared(self) -> list[Name]:
        """The indices of the left side and of reductions, wherever they are named."""
        named = [i.value for i in self.indices if isinstance(i.value, Name)]
        return [*named, *(b.index for b in self.all_bounds)]

    def __str__(self) -> str:
        left = f"{self.name}[{', '.join(map(str, self.indices))}]"
        ranges = ", ".join(map(str, (*self.bounds, *self.limits)))
        return f"{left} = {self.value}{f' for {ranges}' if ranges else ''}"


@dataclass(frozen=True)
class Formula:
    """An equation for the result, and equations for the intermediate values that it needs."""

    result: Equation
    definitions: tuple[Equation, ...] = ()
    text: str = field(default="", compare=False)
    """The text that it was parsed from, for messages."""

    def __str__(self) -> str:
        rest = f" where {'; '.join(map(str, self.definitions))}" if self.definitions else ""
        return f"{self.result}{rest}"


def _level(e: Expression) -> float:
    match e:
        case Choice():
            return _CHOICE
        case Binary():
            return PRECEDENCE[e.operator]
        case Unary():
            return _NOT if e.operator == "not" else _FACTOR
        case Reduction():
            # the following text would belong to it
            return _TERM - 0.5
        case _:
            return _ATOM


def _within(e: Expression, level: float) -> str:
    """
    Returns an expression where only those that bind at least so strongly stand without brackets.
    """
    return f"({e})" if _level(e) < level else str(e)


def _bare(e: Expression) -> str:
    return str(e) if isinstance(e, Number | Name) else f"({e})"
