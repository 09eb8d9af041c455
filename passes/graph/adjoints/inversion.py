"""
Accesses turned around: the points of loops that read one element of an array.

An access is a map from loops to the indices of an element. Where it is affine, its equations are
solved for as many loops as there are dimensions; the other loops are summed. So the transpose of a
gather is a gather again, without writes that collide (Li et al. 2018, "Differentiable Programming
for Image Processing and Deep Learning in Halide", section 4.1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i1

from ....glow_dialects.formula import typing
from ....glow_dialects.formula.ranges import interval
from ....glow_dialects.formula.statement import (
    Affine,
    Apply,
    Constant,
    IndexOp,
    Loop,
    LoopValue,
    NumberKind,
    Term,
    affine,
)
from ....glow_dialects.scalar import Primitive


@dataclass(frozen=True)
class Inverse:
    """The points that read one element."""

    places: tuple[Loop, ...]
    """A loop for each dimension of the array."""
    solved: Mapping[Loop, Term]
    """The values of loops that follow from the element."""
    rest: tuple[Loop, ...]
    """The loops that any value may have."""
    conditions: tuple[Term, ...]
    """The conditions for points that exist, besides that solved loops are within their ranges."""


def split_loops(indices: Sequence[Term]) -> dict[Loop, int]:
    """
    Returns the loops `i` of which indices use `i // n` and `i % n`, and `n`, which divides their
    sizes. As two loops each, they are affine there.
    """
    found: dict[Loop, int] = {}
    for index in indices:
        for term in _inside(index):
            if isinstance(term, Apply) and isinstance(term.kind, IndexOp):
                loop, divisor = term.arguments
                if isinstance(loop, LoopValue) and isinstance(divisor, Constant):
                    n = int(divisor.value)
                    if loop.loop.size % n == 0 and found.get(loop.loop, n) == n:
                        found[loop.loop] = n
    return found


def _inside(term: Term) -> list[Term]:
    return [term, *(t for part in term.parts for t in _inside(part))]


def integer(value: int) -> Term:
    return Constant(NumberKind.INTEGER, 0, value)


def loop_value(loop: Loop) -> Term:
    return LoopValue(NumberKind.INTEGER, 0, loop)


def within(index: Term, size: int) -> list[Term]:
    """Returns the conditions that an index is in a dimension, without those that always hold."""
    low, high = interval(index)
    conditions: list[Term] = []
    if low < 0:
        conditions.append(typing.compared("<=", integer(0), index, 0))
    if high >= size:
        conditions.append(typing.compared("<", index, integer(size), 0))
    return conditions


def inverted(
    indices: Sequence[Term], shape: Sequence[int], loops: Sequence[Loop]
) -> Inverse | None:
    """Returns the points of `loops` that read an element; None if an index is not affine."""
    solver = _Solver(shape, loops)
    for d, index in enumerate(indices):
        if not solver.add(d, index):
            return None
    return solver.inverse()


class _Solver:
    """Solves equations `index - element = 0`, one for each dimension, for loops."""

    def __init__(self, shape: Sequence[int], loops: Sequence[Loop]):
        self._places = tuple(Loop(f"a{d}", n) for d, n in enumerate(shape))
        self._unsolved = list(loops)
        self._equations: list[Affine] = []
        self._affine: dict[Loop, Affine] = {}
        self._solved: dict[Loop, Term] = {}
        self._conditions: list[Term] = []

    def add(self, d: int, index: Term) -> bool:
        """Adds the equation of a dimension. Returns False if it is not affine."""
        form, place, scale = affine(index), self._places[d], 1
        if form is None and isinstance(index, Apply) and index.kind is IndexOp.FLOOR_DIV:
            # i // n is a where i is n * a + t for a t below n
            divisor = index.arguments[1]
            assert isinstance(divisor, Constant)
            form, scale = affine(index.arguments[0]), int(divisor.value)
        if form is None:
            return False
        terms = {**form.terms, place: -scale}
        if scale > 1:
            rest = Loop(f"t{d}", scale)
            self._unsolved.append(rest)
            terms[rest] = -1
        self._equations.append(Affine(terms, form.constant))
        return True

    def inverse(self) -> Inverse | None:
        while self._equations:
            steps = (self._digits, self._window, self._unit, self._multiple, self._condition)
            if not any(step() for step in steps):
                return None
        solved = {**{x: as_term(f) for x, f in self._affine.items()}, **self._solved}
        return Inverse(self._places, solved, tuple(self._unsolved), tuple(self._conditions))

    def _free(self, equation: Affine) -> list[Loop]:
        return [x for x in equation.terms if x in self._unsolved]

    def _is_alone(self, loop: Loop, equation: Affine) -> bool:
        """Returns whether a loop is in no other equation or solution."""
        others = [e for e in (*self._equations, *self._affine.values()) if e is not equation]
        return not any(loop in e.terms for e in others)

    def _digits(self) -> bool:
        """Solves an equation whose loops are the digits of the element's index."""
        for equation in self._equations:
            free = sorted(self._free(equation), key=lambda x: equation.terms[x])
            places = [x for x in equation.terms if x in self._places]
            if (
                len(free) < 2
                or len(places) != 1
                or equation.constant
                or len(free) + 1 != len(equation.terms)
            ):
                continue
            radix = 1
            for loop in free:
                if equation.terms[loop] != radix or not self._is_alone(loop, equation):
                    break
                radix *= loop.size
            else:
                if equation.terms[places[0]] == -1 and places[0].size == radix:
                    self._solve_digits(equation, free, loop_value(places[0]))
                    return True
        return False

    def _solve_digits(self, equation: Affine, free: Sequence[Loop], index: Term) -> None:
        for number, loop in enumerate(free):
            digit = index
            if equation.terms[loop] > 1:
                digit = typing.arithmetic("//", digit, integer(equation.terms[loop]), 0)
            if number < len(free) - 1:
                digit = typing.arithmetic("%", digit, integer(loop.size), 0)
            self._solved[loop] = digit
            self._unsolved.remove(loop)
        self._equations.remove(equation)

    def _window(self) -> bool:
        """
        Solves an equation for the place of a window and the place in it: `c * w + k = v` where
        `w = v // c - q` and `k = v % c + c * q`, for a loop `q` over the windows that overlap.
        """
        for equation in self._equations:
            free = sorted(self._free(equation), key=lambda x: abs(equation.terms[x]))
            if len(free) != 2 or not all(self._is_alone(x, equation) for x in free):
                continue
            inner, outer = free
            sign, step = equation.terms[inner], equation.terms[outer]
            if abs(sign) == 1 and sign * step > 1:
                rest = {x: -sign * c for x, c in equation.terms.items() if x not in free}
                value = as_term(Affine(rest, -sign * equation.constant))
                self._solve_window(inner, outer, abs(step), value)
                self._equations.remove(equation)
                return True
        return False

    def _solve_window(self, inner: Loop, outer: Loop, step: int, value: Term) -> None:
        divisor = integer(step)
        window = typing.arithmetic("//", value, divisor, 0)
        place = typing.arithmetic("%", value, divisor, 0)
        overlapping = -(-inner.size // step)
        if overlapping > 1:
            other = Loop(f"{outer.name}q", overlapping)
            self._unsolved.append(other)
            window = typing.arithmetic("-", window, loop_value(other), 0)
            skipped = typing.arithmetic("*", loop_value(other), divisor, 0)
            place = typing.arithmetic("+", place, skipped, 0)
        self._solved |= {inner: place, outer: window}
        for loop in (inner, outer):
            self._unsolved.remove(loop)

    def _unit(self) -> bool:
        """Solves an equation for the largest loop of which it has one, not a multiple."""
        for equation in self._equations:
            units = [x for x in self._free(equation) if abs(equation.terms[x]) == 1]
            if units:
                self._eliminate(equation, max(units, key=lambda x: x.size))
                return True
        return False

    def _eliminate(self, equation: Affine, loop: Loop) -> None:
        sign = equation.terms[loop]
        rest = {x: -sign * c for x, c in equation.terms.items() if x is not loop}
        solution = Affine(rest, -sign * equation.constant)
        self._equations = [
            _replaced(e, loop, solution) for e in self._equations if e is not equation
        ]
        self._affine = {x: _replaced(e, loop, solution) for x, e in self._affine.items()}
        self._affine[loop] = solution
        self._unsolved.remove(loop)

    def _multiple(self) -> bool:
        """Solves an equation for a loop of which it has a multiple, where that divides the rest."""
        for equation in self._equations:
            free = [x for x in self._free(equation) if self._is_alone(x, equation)]
            if free:
                loop = max(free, key=lambda x: x.size)
                factor = equation.terms[loop]
                sign = 1 if factor < 0 else -1
                rest = {x: sign * c for x, c in equation.terms.items() if x is not loop}
                whole = as_term(Affine(rest, sign * equation.constant))
                divisor = integer(abs(factor))
                self._solved[loop] = typing.arithmetic("//", whole, divisor, 0)
                remainder = typing.arithmetic("%", whole, divisor, 0)
                self._conditions.append(typing.compared("==", remainder, integer(0), 0))
                self._unsolved.remove(loop)
                self._equations.remove(equation)
                return True
        return False

    def _condition(self) -> bool:
        """Makes a condition of an equation without unsolved loops."""
        for equation in self._equations:
            if not self._free(equation):
                self._equations.remove(equation)
                if equation.terms or equation.constant:
                    same = typing.compared("==", as_term(equation), integer(0), 0)
                    self._conditions.append(same)
                return True
        return False


def _replaced(form: Affine, loop: Loop, by: Affine) -> Affine:
    factor = form.terms.get(loop, 0)
    if not factor:
        return form
    terms = {x: c for x, c in form.terms.items() if x is not loop}
    for x, c in by.terms.items():
        terms[x] = terms.get(x, 0) + factor * c
    return Affine({x: c for x, c in terms.items() if c}, form.constant + factor * by.constant)


def as_term(form: Affine) -> Term:
    """Returns an affine form as a term."""
    total: Term | None = None
    for loop, factor in sorted(form.terms.items(), key=lambda item: -item[1]):
        value = loop_value(loop)
        if abs(factor) != 1:
            value = typing.arithmetic("*", value, integer(abs(factor)), 0)
        if total is None:
            total = value if factor > 0 else typing.negated("-", value, 0)
        else:
            total = typing.arithmetic("+" if factor > 0 else "-", total, value, 0)
    if total is None:
        return integer(form.constant)
    sign = "+" if form.constant > 0 else "-"
    return (
        typing.arithmetic(sign, total, integer(abs(form.constant)), 0) if form.constant else total
    )


def all_of(conditions: Sequence[Term]) -> Term:
    """Returns the condition that all conditions hold."""
    found = conditions[0]
    for condition in conditions[1:]:
        found = Apply(i1, 0, Primitive.AND, (found, condition))
    return found
