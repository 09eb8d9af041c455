"""Terms of the expressions of a formula, with names looked up, and types and bounds checked."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from math import isfinite, prod
from typing import NoReturn

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute

from ...wording import counted
from ..elements import compute_type, element_bytes, is_float, is_integer
from ..operator import element_of, shape_of
from ..scalar import Primitive
from . import typing
from .indices import UNKNOWN, Indices, Value, equations_of
from .parser import parse
from .problem import FormulaError
from .ranges import interval
from .statement import Constant, Convert, Loop, LoopValue, NumberKind, Read, Reduce, Stage, Term
from .syntax import (
    Binary,
    Call,
    Choice,
    ElementAccess,
    Equation,
    Expression,
    Index,
    Name,
    Number,
    Reduction,
    Unary,
)

_COMBINES = {
    "sum": Primitive.ADD,
    "prod": Primitive.MUL,
    "max": Primitive.MAXIMUM,
    "min": Primitive.MINIMUM,
}
_BINARY_FUNCTIONS = ("max", "min")


class Values(abc.ABC):
    """Makes terms of the expressions of one formula, for operands of certain types."""

    def __init__(
        self,
        text: str,
        operands: Mapping[str, Attribute],
        names: Mapping[str, Value],
        rank: int | None,
        computes: Attribute | None,
        strict: bool,
    ):
        self.text = text
        self.formula = parse(text)
        self.types = operands
        self.numbers = {name: number for number, name in enumerate(operands)}
        self.names = names
        self.computes = computes
        self.strict = strict
        ranks = {name: len(shape_of(t)) for name, t in operands.items()}
        self.indices = Indices(self.formula, ranks, names, rank)
        self.equations = {e.name: e for e in equations_of(self.formula)}
        self._placed: dict[int, list[tuple[Expression, int | None]]] = {}
        """By the identity of the indices, which the formula keeps alive."""
        self.scope: set[Loop] = set()
        self.place: int | None = None
        """Which index of packs is meant, inside of an index."""
        self.in_index = False

    def fail(self, message: str, at: int) -> NoReturn:
        raise FormulaError(message, self.text, at)

    @abc.abstractmethod
    def stage(self, name: str, at: int) -> Stage:
        """Returns the stage of an equation."""

    def is_index(self, name: Name) -> bool:
        return name.name in self.indices.packs or (name.name, None) in self.indices.loops

    def shape_of(self, e: ElementAccess) -> tuple[int, ...]:
        if e.name in self.types:
            return shape_of(self.types[e.name])
        if e.name not in self.equations:
            self.fail(f"{e.name} is neither an operand nor defined", e.at)
        places = self.places(self.equations[e.name])
        return tuple(1 if loop is None else loop.size for loop in places)

    def places(self, equation: Equation) -> list[Loop | None]:
        found: list[Loop | None] = []
        for value, place in self.placed(equation.name, equation.indices, None, equation.at):
            if isinstance(value, Name):
                loop = self.indices.loop(value, place)
                if loop in found:
                    self.fail(f"expected index {value.name} only once", value.at)
                found.append(loop)
            elif isinstance(value, Number) and value.value == 0:
                found.append(None)
            else:
                self.fail("expected an index, or 0 for a dimension of size 1", value.at)
        return found

    # values

    def value(self, e: Expression) -> Term:
        try:
            return self._value(e)
        except typing.Mismatch as problem:
            self.fail(str(problem), e.at)

    def _value(self, e: Expression) -> Term:
        match e:
            case Number():
                return typing.constant(e.value, e.at)
            case Name():
                return self._named(e)
            case ElementAccess():
                return self._read(e)
            case Call():
                return self._call(e)
            case Unary():
                return typing.negated(e.operator, self.value(e.operand), e.at)
            case Binary():
                return self._binary(e)
            case Choice():
                parts = [self.value(p) for p in (e.condition, e.then, e.otherwise)]
                return typing.chosen(parts[0], parts[1], parts[2], e.at)
            case Reduction():
                return self._reduction(e)

    def _binary(self, e: Binary) -> Term:
        a, b = self.value(e.left), self.value(e.right)
        if e.operator in ("and", "or"):
            return typing.combined_conditions(e.operator, a, b, e.at)
        if e.operator in ("<", "<=", ">", ">=", "==", "!="):
            if NumberKind.INTEGER in (a.type, b.type):
                a, b = _exact(e.left, a), _exact(e.right, b)
            return typing.compared(e.operator, a, b, e.at)
        return typing.arithmetic(e.operator, a, b, e.at)

    def _named(self, e: Name) -> Term:
        if self.is_index(e):
            loop = self.indices.loop(e, self.place)
            if loop not in self.scope:
                self.fail(
                    f"index {e.name} is neither an index of the left side nor reduced here", e.at
                )
            return LoopValue(NumberKind.INTEGER, e.at, loop)
        if e.name not in self.names:
            if e.name in self.types or e.name in self.equations:
                self.fail(f"expected indices in brackets after {e.name}", e.at)
            self.fail(f"{e.name} is neither an index nor a known number", e.at)
        value = self.names[e.name]
        if isinstance(value, tuple):
            if self.place is None:
                self.fail(f"expected one number, found those of {e.name}", e.at)
            if self.place >= len(value):
                self.fail(f"expected {self.place + 1} numbers in {e.name}", e.at)
            value = value[self.place]
        return typing.constant(value, e.at)

    def _reduction(self, e: Reduction) -> Term:
        over: list[Loop] = []
        for bound in e.bounds:
            loops = self.indices.loops_of(bound.index)
            if any(loop in self.scope or loop in over for loop in loops):
                self.fail(f"index {bound.index} is already in use here", bound.index.at)
            over += loops
        saved = set(self.scope)
        self.scope |= set(over)
        body = self.value(e.body)
        self.scope = saved
        if body.type == i1:
            self.fail(f"{e.kind} of conditions: choose numbers, as with (1 if ... else 0)", e.at)
        if self.strict and e.kind in ("max", "min") and not prod(loop.size for loop in over):
            self.fail(f"the {e.kind} over nothing has no value", e.at)
        return Reduce(body.type, e.at, _COMBINES[e.kind], tuple(over), body)

    def _call(self, e: Call) -> Term:
        if e.function == "size":
            return self._dimension(e)
        if e.function == "count":
            return self._count(e)
        if e.function == "all":
            return self._all(e)
        arguments = [self.value(a) for a in e.arguments]
        if e.function in typing.CONVERSIONS and len(arguments) == 1:
            arguments = [_as_stored(e.arguments[0], arguments[0])]
        if e.function in _BINARY_FUNCTIONS and len(arguments) == 2:
            return typing.arithmetic(e.function, arguments[0], arguments[1], e.at)
        if e.function == "clamp" and len(arguments) == 3:
            high = typing.arithmetic("min", arguments[0], arguments[2], e.at)
            return typing.arithmetic("max", high, arguments[1], e.at)
        known = {*typing.CONVERSIONS, *typing.FLOAT_FUNCTIONS, *typing.ROUNDINGS, "abs"}
        if e.function not in known:
            if e.function in (*_BINARY_FUNCTIONS, "clamp"):
                count = 3 if e.function == "clamp" else 2
                self.fail(f"expected {count} values for {e.function}, found {len(arguments)}", e.at)
            names = ", ".join(sorted({*known, *_BINARY_FUNCTIONS, "clamp", "size", "count", "all"}))
            self.fail(f"unknown function {e.function}; there are {names}", e.at)
        if len(arguments) != 1:
            self.fail(f"expected one value for {e.function}, found {len(arguments)}", e.at)
        return typing.function(e.function, arguments[0], e.at)

    def _dimension(self, e: Call) -> Term:
        """Returns `size(x, 1)`"""
        operand = e.arguments[0] if len(e.arguments) == 2 else None
        if not isinstance(operand, Name) or operand.name not in self.types:
            self.fail("expected the name of an operand and the number of a dimension", e.at)
        dimension, shape = self.value(e.arguments[1]), shape_of(self.types[operand.name])
        if not isinstance(dimension, Constant) or dimension.value not in range(len(shape)):
            self.fail(f"expected a dimension from 0 to {len(shape) - 1} of {operand.name}", e.at)
        return typing.constant(shape[int(dimension.value)], e.at)

    def _all(self, e: Call) -> Term:
        """Returns `all(w.. < sizes)`: whether a condition holds for all indices of a pack."""
        packs = self.indices.packs_in(e)
        lengths = {self.indices.packs[p.name] for p in packs}
        if len(e.arguments) != 1 or len(lengths) != 1:
            self.fail("expected a condition on a pack of indices", e.at)
        saved, found = self.place, None
        for place in range(lengths.pop()):
            self.place = place
            condition = self.value(e.arguments[0])
            found = (
                condition
                if found is None
                else typing.combined_conditions("and", found, condition, e.at)
            )
        self.place = saved
        return typing.true(e.at) if found is None else found

    def _count(self, e: Call) -> Term:
        """Returns `count(i, k..)`: the number of combinations of values of indices."""
        total = 1
        for argument in e.arguments:
            if not isinstance(argument, Name) or not self.is_index(argument):
                self.fail("expected indices", argument.at)
            for loop in self.indices.loops_of(argument):
                if loop.size == UNKNOWN:
                    self.fail(f"the range of index {argument.name} is not known here", e.at)
                total *= loop.size
        return typing.constant(total, e.at)

    # reads

    def placed(
        self, name: str, indices: Sequence[Index], rank: int | None, at: int
    ) -> list[tuple[Expression, int | None]]:
        """Returns the index of each dimension, with its place in a pack."""
        if id(indices) not in self._placed:
            self._placed[id(indices)] = self._place(name, indices, rank, at)
        return self._placed[id(indices)]

    def _place(
        self, name: str, indices: Sequence[Index], rank: int | None, at: int
    ) -> list[tuple[Expression, int | None]]:
        entries: list[tuple[Index, list[tuple[Expression, int | None]]]] = []
        for index in indices:
            packs = self.indices.packs_in(index.value)
            lengths = {self.indices.packs[p.name] for p in packs}
            if len(lengths) > 1:
                self.fail("expected packs of one length", packs[0].at)
            places: list[int | None] = list(range(lengths.pop())) if lengths else [None]
            if not packs and index.dims is not None:
                places *= len(self._dims(index.dims))
            entries.append((index, [(index.value, p) for p in places]))
        total = sum(len(found) for _, found in entries)
        self._expect_rank(name, rank, total, at)
        slots: list[tuple[Expression, int | None] | None] = [None] * total
        for index, found in entries:
            if index.dims is not None:
                dims = self._dims(index.dims)
                if len(dims) != len(found):
                    self.fail(f"expected {len(found)} dimensions, found {dims}", index.dims.at)
                for d, entry in zip(dims, found, strict=True):
                    if not 0 <= d < total or slots[d] is not None:
                        self.fail(
                            f"expected different dimensions from 0 to {total - 1}, "
                            f"found {list(dims)}",
                            index.dims.at,
                        )
                    slots[d] = entry
        rest = iter([entry for index, found in entries if index.dims is None for entry in found])
        return [next(rest) if slot is None else slot for slot in slots]

    def _expect_rank(self, name: str, rank: int | None, indices: int, at: int) -> None:
        if rank is None or indices == rank:
            return
        if self.strict:
            self.fail(f"expected {rank} indices of {name}, found {indices}", at)
        self.fail(f"expected {name} of rank {indices}, found rank {rank}", at)

    def _dims(self, e: Expression) -> tuple[int, ...]:
        named = self.names.get(e.name) if isinstance(e, Name) else None
        if isinstance(named, tuple):
            return tuple(int(v) for v in named)
        value = self.value(e)
        if not isinstance(value, Constant) or not isinstance(value.value, int):
            self.fail("expected the number of a dimension", e.at)
        return (value.value,)

    def index(self, e: Expression, place: int | None, check: bool = True) -> Term:
        """Returns an index as an integer term."""
        saved = self.place, self.in_index, self.scope
        self.place, self.in_index = place, True
        if not check:
            self.scope = set(self.indices.loops.values())
        term = self.value(e)
        self.place, self.in_index, self.scope = saved
        if term.type is not NumberKind.INTEGER:
            self.fail(
                f"expected an index, found {typing.described(term.type)}; round it, as with "
                "floor(...)",
                term.at,
            )
        return term

    def _read(self, e: ElementAccess) -> Term:
        if e.name in self.names:
            return self._number_at(e)
        shape = self.shape_of(e)
        if e.name in self.types:
            source: int | Stage = self.numbers[e.name]
            t = compute_type(element_of(self.types[e.name]))
        else:
            source = self.stage(e.name, e.at)
            t = source.value.type
        placed = self.placed(e.name, e.indices, len(shape), e.at)
        indices = tuple(self.index(value, place) for value, place in placed)
        outside = None if e.outside is None else typing.adapted(self.value(e.outside), t)
        term = Read(t, e.at, source, shape, indices, outside)
        if outside is None:
            self._expect_inside(e, term)
        if self.in_index:
            return self._as_index(term)
        wider = isinstance(t, Attribute) and t not in (self.computes, i1)
        return Convert(self.computes, e.at, term) if wider and self.computes else term

    def _as_index(self, term: Read) -> Term:
        if term.type is NumberKind.INTEGER:
            return term
        if isinstance(term.type, NumberKind) or is_float(term.type) or term.type == i1:
            self.fail(f"expected whole numbers as indices, found {term.type}", term.at)
        return Convert(NumberKind.INTEGER, term.at, term)

    def _number_at(self, e: ElementAccess) -> Term:
        """Returns `strides[0]`"""
        values = self.names[e.name]
        index = self.value(e.indices[0].value) if len(e.indices) == 1 else None
        number = index.value if isinstance(index, Constant) else None
        if not isinstance(values, tuple) or number not in range(len(values)):
            self.fail(f"expected a number from a list: {e.name} is {values}", e.at)
        return typing.constant(values[int(number)], e.at)  # pyright: ignore

    def _expect_inside(self, e: ElementAccess, term: Read) -> None:
        for dimension, (index, size) in enumerate(zip(term.indices, term.shape, strict=True)):
            if any(loop.size == 0 for loop in index.loops):
                continue
            low, high = interval(index)
            if low < 0 or high >= size:
                known = isfinite(low) and isfinite(high) and high - low < 2**31
                goes = f"goes from {low} to {high}" if known else "may be any number"
                remedy = "; clamp it, or say '| outside: 0'" if self.strict else ""
                self.fail(
                    f"the index of dimension {dimension} of {e.name}, which has "
                    f"{counted(size, 'element')}, {goes}{remedy}",
                    index.at,
                )


def _as_stored(e: Expression, value: Term) -> Term:
    """Returns an element that is read, without the conversion to the type in which it computes."""
    if (
        isinstance(e, ElementAccess)
        and isinstance(value, Convert)
        and isinstance(value.type, Attribute)
    ):
        return value.operand if isinstance(value.operand, Read) else value
    return value


def _exact(e: Expression, value: Term) -> Term:
    """Returns an element that is read; as stored, if a conversion might change a whole number."""
    stored = _as_stored(e, value)
    if isinstance(stored.type, NumberKind) or isinstance(value.type, NumberKind):
        return value
    width, own = element_bytes(value.type), element_bytes(stored.type)
    is_lossy = own > width or (own == width and is_float(value.type))
    return stored if is_integer(stored.type) and is_lossy else value
