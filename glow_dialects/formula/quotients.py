"""
Loops in two parts, where indices are quotients of loop variables.

The groups of a convolution have its output channels `o // size`, and a repeated row is row `i // 2`
of an operand. With two loops in the place of one, over quotients and over rests, such indices are
affine.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..scalar import Primitive
from .statement import (
    Apply,
    Constant,
    IndexOp,
    Loop,
    LoopValue,
    NumberKind,
    Read,
    Stage,
    Term,
    walk,
    with_parts,
)

Halves = Mapping[Loop, tuple[Loop, Loop]]
"""The loops over quotients and over rests that take the place of a loop."""


def split_loops(stage: Stage) -> tuple[Term, Halves]:
    """
    Returns the value of a stage with two loops for each loop, but the last one, of which indices of
    reads are quotients or rests by one number that divides its size. Vectors lie along the last.
    """
    divisors: dict[Loop, set[int]] = {}
    reads = (t for t in walk(stage.value) if isinstance(t, Read))
    for term in (t for read in reads for index in read.indices for t in walk(index)):
        if (found := _quotient(term)) is not None:
            divisors.setdefault(found[0], set()).add(found[1])
    halves: dict[Loop, tuple[Loop, Loop]] = {}
    for loop in stage.loops[:-1]:
        match list(divisors.get(loop, ())):
            case [int(divisor)] if 1 < divisor < loop.size and loop.size % divisor == 0:
                outer = Loop(f"{loop.name}q", loop.size // divisor)
                halves[loop] = outer, Loop(f"{loop.name}r", divisor)
            case _:
                pass
    return (_Split(halves).visit(stage.value) if divisors else stage.value), halves


def _quotient(term: Term) -> tuple[Loop, int] | None:
    """Returns the loop and the divisor of a quotient or rest of a loop variable."""
    match term:
        case Apply(
            kind=IndexOp.FLOOR_DIV | IndexOp.MODULO,
            arguments=(LoopValue(loop=loop), Constant(value=int(divisor))),
        ):
            return loop, divisor
        case _:
            return None


class _Split:
    """A rewriting of terms; terms that are shared stay so."""

    def __init__(self, halves: Halves):
        self._halves = halves
        self._known: dict[Term, Term] = {}

    def visit(self, term: Term) -> Term:
        if term not in self._known:
            self._known[term] = self._visited(term)
        return self._known[term]

    def _visited(self, term: Term) -> Term:
        match term:
            case Apply() if (found := _quotient(term)) is not None:
                return self._part(term, *found)
            case LoopValue():
                return self._whole(term) if term.loop in self._halves else term
            case _:
                return with_parts(term, self.visit)

    def _part(self, term: Apply, loop: Loop, divisor: int) -> Term:
        """Returns a quotient or a rest of a loop variable; one that is always 0 as a constant."""
        is_quotient = term.kind is IndexOp.FLOOR_DIV
        if loop in self._halves:
            outer, inner = self._halves[loop]
            return LoopValue(term.type, term.at, outer if is_quotient else inner)
        if divisor == 1 or divisor >= loop.size:
            is_loop = is_quotient == (divisor == 1)
            return term.arguments[0] if is_loop else Constant(term.type, term.at, 0)
        return term

    def _whole(self, term: LoopValue) -> Term:
        """Returns the value of the loop that is split."""
        outer, inner = (LoopValue(term.type, term.at, loop) for loop in self._halves[term.loop])
        size = Constant(NumberKind.INTEGER, term.at, inner.loop.size)
        scaled = Apply(NumberKind.INTEGER, term.at, Primitive.MUL, (outer, size))
        return Apply(NumberKind.INTEGER, term.at, Primitive.ADD, (scaled, inner))
