"""
The indices of a formula: which names are indices, how many a pack stands for, and their ranges.

The range of an index is, in this order: the bound in `for i < n` or `sum(i < n)`; the size of each
dimension in which it stands by itself; the size of the result's dimension, where that is known; the
largest range with which an affine index such as `i + k` stays within its dimension.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn, TypeAlias

from ..extremes import greatest
from .problem import FormulaError
from .statement import Affine, Loop
from .syntax import Call, ElementAccess, Equation, Expression, Formula, Index, Name, parts_of

Value: TypeAlias = "int | float | tuple[int, ...] | tuple[float, ...]"
UNKNOWN = -1
"""The size of a loop whose range is not known yet."""
_MOST_DIMENSIONS = 16


def equations_of(formula: Formula) -> list[Equation]:
    """Returns all equations: those of intermediate values, then that of the result."""
    return [*formula.definitions, formula.result]


def operand_names(formula: Formula) -> list[str]:
    """Returns the operands of a formula, in the order in which the text first reads them."""
    known = {e.name for e in equations_of(formula)}
    equations = (formula.result, *formula.definitions)
    names = [a.name for e in equations for a in e.accesses if a.name not in known]
    return list(dict.fromkeys(names))


def _unused(equation: Equation) -> list[Name]:
    """Returns the indices whose ranges an equation states, but which it does not have."""
    left = [index.value for index in equation.indices if isinstance(index.value, Name)]
    known = {name.name for name in (*left, *(b.index for b in equation.reduced))}
    return [b.index for b in equation.bounds if b.index.name not in known]


class Indices:
    """The indices of one formula, for operands of certain ranks."""

    def __init__(
        self,
        formula: Formula,
        ranks: Mapping[str, int],
        names: Mapping[str, Value],
        result_rank: int | None,
    ):
        self._formula = formula
        self._names = names
        self.packs: dict[str, int] = {}
        """The number of indices that each pack stands for; `UNKNOWN` at first."""
        self.loops: dict[tuple[str, int | None], Loop] = {}
        self._declare()
        self._measure_packs(ranks, result_rank)
        for name, length in self.packs.items():
            for d in range(length):
                self.loops[name, d] = Loop(f"{name}{d}", UNKNOWN)

    def fail(self, message: str, at: int) -> NoReturn:
        raise FormulaError(message, self._formula.text, at)

    def _declare(self) -> None:
        """Declares the indices: the names on a left side or in a reduction."""
        for equation in equations_of(self._formula):
            for index in _unused(equation):
                self.fail(f"index {index} is in no reduction, and on no left side", index.at)
            for index in equation.declared:
                self._add(index)

    def _add(self, index: Name) -> None:
        is_pack, is_single = index.name in self.packs, (index.name, None) in self.loops
        if (index.is_pack and is_single) or (is_pack and not index.is_pack):
            self.fail(f"expected {index.name} always with '..', or never", index.at)
        if index.is_pack and not is_pack:
            length = self._names.get(f"{index.name}..", UNKNOWN)
            assert isinstance(length, int)
            self.packs[index.name] = length
        elif not index.is_pack and not is_single:
            self.loops[index.name, None] = Loop(index.name, UNKNOWN)

    # packs

    def packs_in(self, e: Expression) -> list[Name]:
        """
        Returns the packs that an index expands, unless they are counted or indices of a read in it.
        """
        if isinstance(e, Name):
            return [e] if e.name in self.packs else []
        if isinstance(e, ElementAccess) or (isinstance(e, Call) and e.function == "count"):
            return []
        return [n for part in parts_of(e) for n in self.packs_in(part)]

    def length(self, index: Index) -> int:
        """Returns the number of dimensions of an index; `UNKNOWN` if that is not known yet."""
        packs = self.packs_in(index.value)
        if not packs:
            dims = self._names.get(index.dims.name) if isinstance(index.dims, Name) else None
            return len(dims) if isinstance(dims, tuple) else 1
        return max(self.packs[p.name] for p in packs)

    def _measure_packs(self, ranks: Mapping[str, int], result_rank: int | None) -> None:
        accesses: list[tuple[tuple[Index, ...], int | None, int]] = []
        for equation in equations_of(self._formula):
            is_result = equation is self._formula.result
            accesses.append((equation.indices, result_rank if is_result else None, equation.at))
            accesses += [(a.indices, ranks.get(a.name), a.at) for a in equation.accesses]
        changed = True
        while changed:
            changed = False
            for indices, rank, at in accesses:
                changed |= self._measure(indices, rank, at)
        for equation in equations_of(self._formula):
            for index in equation.declared:
                if self.packs.get(index.name) == UNKNOWN:
                    self.fail(f"how many indices {index.name}.. stands for is not known", index.at)

    def _measure(self, indices: tuple[Index, ...], rank: int | None, at: int) -> bool:
        """Returns whether an access tells the length of a pack."""
        changed = False
        for index in indices:
            known = self.length(index)
            for pack in self.packs_in(index.value) if known != UNKNOWN else ():
                changed |= self._set_length(pack, known)
            dims = self._names.get(index.dims.name) if isinstance(index.dims, Name) else None
            if known == UNKNOWN and isinstance(dims, tuple):
                for pack in self.packs_in(index.value):
                    changed |= self._set_length(pack, len(dims))
        unknown = [i for i in indices if self.length(i) == UNKNOWN]
        if rank is None or len(unknown) != 1:
            return changed
        rest = rank - sum(self.length(i) for i in indices if i is not unknown[0])
        if rest < 0:
            self.fail(f"expected at most {rank} indices", at)
        for pack in self.packs_in(unknown[0].value):
            changed |= self._set_length(pack, rest)
        return changed

    def _set_length(self, pack: Name, length: int) -> bool:
        known = self.packs[pack.name]
        if known == length:
            return False
        if known != UNKNOWN:
            self.fail(f"expected {length} indices in {pack}, found {known}", pack.at)
        if length > _MOST_DIMENSIONS:
            self.fail(f"expected at most {_MOST_DIMENSIONS} dimensions in {pack}", pack.at)
        self.packs[pack.name] = length
        return True

    # ranges

    def loop(self, name: Name, place: int | None) -> Loop:
        """Returns the loop of an index, or of one of a pack."""
        if name.name not in self.packs:
            return self.loops[name.name, None]
        if place is None:
            self.fail(f"expected one index, found the pack {name.name}..", name.at)
        return self.loops[name.name, place]

    def loops_of(self, name: Name) -> list[Loop]:
        """Returns the loop of an index, or all of a pack."""
        if name.name in self.packs:
            return [self.loops[name.name, d] for d in range(self.packs[name.name])]
        return [self.loops[name.name, None]]


def largest_range(form: Affine, size: int) -> tuple[Loop, int] | None:
    """
    Returns, for an affine index in a dimension of some size, the only loop whose range is unknown,
    and the largest range for which the index stays in bounds; None if there is not exactly one such
    loop.
    """
    unknown = [loop for loop in form.terms if loop.size == UNKNOWN]
    if len(unknown) != 1 or form.terms[unknown[0]] < 1:
        return None
    rest = form.constant + sum(
        greatest(0, c * (loop.size - 1)) for loop, c in form.terms.items() if loop is not unknown[0]
    )
    return unknown[0], greatest(0, (size - 1 - rest) // form.terms[unknown[0]] + 1)
