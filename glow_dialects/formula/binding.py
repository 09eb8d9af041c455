"""The checked statement of a formula, made from its syntax tree and the types of its operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NoReturn

from xdsl.ir import Attribute

from ..elements import compute_type, is_float
from ..extents import Extent, bounds
from ..extremes import greatest, least
from ..operator import element_of
from . import typing
from .indices import (
    UNKNOWN,
    Value,
    equations_of,
    largest_range,
)
from .parser import TOO_DEEP
from .problem import FormulaError
from .statement import (
    Affine,
    Constant,
    Loop,
    NumberKind,
    Stage,
    Statement,
    affine,
)
from .syntax import (
    ElementAccess,
    Expression,
    Limit,
    Name,
)
from .values import Values


def bind(
    text: str,
    operands: Mapping[str, Attribute],
    names: Mapping[str, Value],
    shape: Sequence[int] | None = None,
    element: Attribute | None = None,
    computes: Attribute | None = None,
    strict: bool = False,
) -> Statement:
    """
    Returns the statement of a formula.

    - `operands`: types by name, in order.
    - `names`: numbers, and sequences of them for packs, by name; `w..` names the length of a pack.
    - `shape`, `element`: of the result, as far as they are known; what is not known is inferred.
    - `computes`: the element type to which narrower elements are converted when they are read.
    - `strict`: whether the formula may be wrong, and not just its operands; messages say what to
      do about it, and a maximum or minimum over nothing is an error.

    Raises FormulaError, which shows the place in the formula.
    """
    try:
        return _Binder(text, operands, names, shape, computes, strict).statement(element)
    except RecursionError:
        raise FormulaError(TOO_DEEP, text, 0) from None


class _Binder(Values):
    def __init__(
        self,
        text: str,
        operands: Mapping[str, Attribute],
        names: Mapping[str, Value],
        shape: Sequence[int] | None,
        computes: Attribute | None,
        strict: bool,
    ):
        super().__init__(
            text, operands, names, None if shape is None else len(shape), computes, strict
        )
        self.shape = shape
        self.stages: dict[str, Stage] = {}
        self.pending: list[str] = []
        self._expect_names()

    def _expect_names(self) -> None:
        seen: set[str] = set()
        for e in equations_of(self.formula):
            if e.name in self.types or e.name in seen:
                self.fail(f"expected a new name, {e.name} is already defined", e.at)
            seen.add(e.name)

    def statement(self, element: Attribute | None) -> Statement:
        self._infer_ranges()
        result = self.formula.result
        for definition in self.formula.definitions:
            self.stage(definition.name, definition.at)
        last = self.stage(result.name, result.at)
        found = last.value.type
        if element is None:
            element = self._element(found)
        last = self._converted(last, element)
        stages = [s for s in self.stages.values() if s.name != result.name]
        if self.shape is not None and last.shape != tuple(self.shape):
            self.fail(
                f"expected a result of shape {last.shape}, found {tuple(self.shape)}", result.at
            )
        return Statement((*stages, last), tuple(self.types.values()), element, self.text)

    def _element(self, found: NumberKind | Attribute) -> Attribute:
        """
        Returns the element type of a result that is not declared; 16-bit floats stay 16-bit floats.
        """
        if isinstance(found, NumberKind):
            at = self.formula.result.at
            self.fail("the element type of the result is not known: convert it, as with f32", at)
        elements = {element_of(t) for t in self.types.values()}
        floats = {e for e in elements if is_float(e)}
        narrow = floats.pop() if len(floats) == 1 else found
        return narrow if compute_type(narrow) == found else found

    def _converted(self, stage: Stage, element: Attribute) -> Stage:
        try:
            value = typing.adapted(stage.value, compute_type(element))
        except typing.Mismatch as problem:
            self.fail(f"the result has elements of {element}: {problem}", stage.value.at)
        return Stage(stage.name, stage.places, value)

    # ranges

    def _infer_ranges(self) -> None:
        explicit = self._explicit()
        while self._once(explicit):
            pass
        for equation in equations_of(self.formula):
            for index in equation.declared:
                for loop in self.indices.loops_of(index):
                    if loop.size == UNKNOWN:
                        self._fail_unknown(index)
        self._expect_limits()

    def _fail_unknown(self, index: Name) -> NoReturn:
        self.fail(
            f"the range of index {index.name} is not known, because it stands nowhere by itself: "
            f"add 'for {index} < size'",
            index.at,
        )

    def _explicit(self) -> set[Loop]:
        found: set[Loop] = set()
        for equation in equations_of(self.formula):
            for bound in equation.all_bounds:
                if bound.size is None:
                    continue
                for d, loop in enumerate(self.indices.loops_of(bound.index)):
                    size = self._size(bound.size, d)
                    if loop in found and loop.size != size:
                        self.fail(
                            f"index {bound.index} already runs over {loop.size} values; "
                            f"give another name to this one",
                            bound.index.at,
                        )
                    loop.set_size(size)
                    found.add(loop)
        return found

    def _size(self, e: Expression, place: int) -> int:
        size = self._number(e, place)
        if size < 0 or bounds(size)[0] >= 2**31:
            self.fail(f"expected a size from 0, found {size}", e.at)
        return size

    def _number(self, e: Expression, place: int | None) -> int:
        self.place = place
        value = self.value(e)
        self.place = None
        if not isinstance(value, Constant) or not isinstance(value.value, int | Extent):
            self.fail("expected a whole number that is known at compile time", e.at)
        return value.value

    def _once(self, explicit: set[Loop]) -> bool:
        """Returns one rule after the other, until one of them tells a range."""
        rules: list[Callable[[set[Loop]], bool]] = [
            self._bare,
            self._limited,
            self._bare_beyond,
            self._declared,
            self._largest,
        ]
        return any(rule(explicit) for rule in rules)

    def _expanded(self) -> Iterator[tuple[ElementAccess, Expression, int | None, int, int]]:
        """
        Yields each index of each read: access, index, which of a pack, dimension, size (if known).
        """
        for equation in equations_of(self.formula):
            for access in equation.accesses:
                if access.name in self.names:
                    continue
                shape = self.shape_of(access)
                placed = self.placed(access.name, access.indices, len(shape), access.at)
                for dimension, (value, place) in enumerate(placed):
                    yield access, value, place, dimension, shape[dimension]

    def _bare(self, explicit: set[Loop]) -> bool:
        changed = False
        for access, value, place, dimension, size in self._expanded():
            if access.outside is not None or not isinstance(value, Name) or size == UNKNOWN:
                continue
            if not self.is_index(value):
                continue
            loop = self.indices.loop(value, place)
            if loop in explicit or loop.size == size:
                continue
            if loop.size != UNKNOWN:
                self.fail(
                    f"index {value.name} runs over {loop.size} values, but dimension {dimension} "
                    f"of {access.name} has {size}",
                    value.at,
                )
            loop.set_size(size)
            changed = True
        return changed

    def _bare_beyond(self, explicit: set[Loop]) -> bool:
        """Returns the places where an index stands by itself, but may be out of bounds."""
        changed = False
        for access, value, place, _, size in self._expanded():
            if access.outside is None or not isinstance(value, Name) or size == UNKNOWN:
                continue
            if self.is_index(value):
                loop = self.indices.loop(value, place)
                if loop.size == UNKNOWN:
                    loop.set_size(size)
                    changed = True
        return changed

    def _limits(self) -> Iterator[tuple[Limit, Affine, int]]:
        """
        Returns the limited expression, as an affine form of indices, and the number that it is
        below.
        """
        for limit in (limit for e in equations_of(self.formula) for limit in e.limits):
            packs = self.indices.packs_in(limit.left)
            places = range(self.indices.packs[packs[0].name]) if packs else (None,)
            for place in places:
                form = affine(self.index(limit.left, place, check=False))
                if form is None:
                    self.fail("expected a sum of multiples of indices", limit.left.at)
                yield limit, form, self._number(limit.right, place)

    def _limited(self, explicit: set[Loop]) -> bool:
        """Returns a limit tells the range of an index when all other indices in it have ranges."""
        found: dict[Loop, int] = {}
        waiting: set[Loop] = set()
        for _, form, end in self._limits():
            largest = largest_range(form, end)
            if largest is None:
                waiting |= {loop for loop in form.terms if loop.size == UNKNOWN}
            else:
                loop, size = largest
                found[loop] = least(size, found.get(loop, size))
        ready = {loop: size for loop, size in found.items() if loop not in waiting}
        for loop, size in ready.items():
            loop.set_size(size)
        return bool(ready)

    def _expect_limits(self) -> None:
        for limit, form, end in self._limits():
            # an index without values has too large a first one, unless there is no room at all
            sizes = {loop: greatest(loop.size, end > 0) for loop in form.terms}
            if 0 in sizes.values():
                continue
            largest = form.constant + sum(
                greatest(0, c * (sizes[i] - 1)) for i, c in form.terms.items()
            )
            if largest >= end:
                first = [f" for the first {loop.name}" for loop in form.terms if not loop.size]
                self.fail(
                    f"expected {limit.left} below {end}{''.join(first[:1])}, found {largest}",
                    limit.at,
                )

    def _declared(self, explicit: set[Loop]) -> bool:
        if self.shape is None:
            return False
        changed = False
        places = self.places(self.formula.result)
        if len(places) != len(self.shape):
            self.fail(
                f"expected a result of rank {len(places)}, found shape {tuple(self.shape)}",
                self.formula.result.at,
            )
        for loop, size in zip(places, self.shape, strict=True):
            if loop is not None and loop.size == UNKNOWN:
                loop.set_size(size)
                changed = True
        return changed

    def _largest(self, explicit: set[Loop]) -> bool:
        for access, value, place, _, size in self._expanded():
            if access.outside is not None or size == UNKNOWN:
                continue
            try:
                term = self.index(value, place, check=False)
            except FormulaError:
                continue  # the error is reported when the terms are made
            form = affine(term)
            if form is not None and (found := largest_range(form, size)) is not None:
                found[0].set_size(found[1])
                return True
        return False

    def stage(self, name: str, at: int) -> Stage:
        if name in self.stages:
            return self.stages[name]
        if name in self.pending:
            self.fail(f"{name} is defined by itself", at)
        self.pending.append(name)
        saved = self.scope, self.place, self.in_index
        equation = self.equations[name]
        places = self.places(equation)
        self.scope = {p for p in places if p is not None}
        self.place, self.in_index = None, False
        value = self.value(equation.value)
        self.scope, self.place, self.in_index = saved
        self.pending.pop()
        self.stages[name] = Stage(name, tuple(places), value)
        return self.stages[name]
