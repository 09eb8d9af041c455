"""
The algorithm of a formula: a nest for each of its stages, and nests for what the stages need.

- Among the reductions of a term that have a value for each point, the largest becomes the
  reduction of the nest; the results of the others go to scratch first.
- Points whose reductions skip the same terms, such as windows over an edge, have nests of their own
  (`formula.segments`). Otherwise, a padded copy of an operand has the values beyond its bounds: of
  the part that a step of the first loops reads, if such a step has many points.
- A factor of a product is copied in the type in which it computes, if all lanes of vectors have the
  same element, or if it is padded anyway: inner loops need no conversions then.
- Indices that are not affine are computed first, into a table of places in the operand, unless
  they are elements that count from either end.
- Values of loop variables come from a list of whole numbers.
- Sums of products of narrow integers that are exact in f32 are computed there, because most
  processors multiply f32 faster than i32.
- Of a large stage, a step of outer loops computes the part that it needs (`formula_parts.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute

from ....glow_dialects.elements import compute_type, is_float, is_unsigned
from ....glow_dialects.formula.quotients import Halves, split_loops
from ....glow_dialects.formula.ranges import interval
from ....glow_dialects.formula.segments import Segment, segments
from ....glow_dialects.formula.statement import (
    Apply,
    Constant,
    Convert,
    Loop,
    LoopValue,
    NumberKind,
    Read,
    Reduce,
    Stage,
    Term,
    affine,
    points,
    walk,
    with_parts,
)
from ....glow_dialects.glow.matrix import FullyConnectedOp
from ....glow_dialects.glow.normalization import LocalResponseNormOp, LogSoftmaxOp
from ....glow_dialects.glow.reduction import ReduceMeanOp
from ....glow_dialects.glow.structured import Structured
from ....glow_dialects.glow_nest.affine import Access, Affine, Dim, Index, Indirect, View
from ....glow_dialects.glow_nest.nest import Combine, Range, Reduction
from ....glow_dialects.scalar import Primitive, convert
from ..registry import Kernel, kernel, total
from .formula_bounds import Bounds, without_bounds
from .formula_parts import Around, Parts, loops_around, padded_copy, part_of_stage, repays_padding
from .formula_terms import (
    Expressions,
    Scope,
    chosen_by_bounds,
    dimension_of,
    element_of_term,
    factors_of,
    index_in_memory,
    index_number,
    index_term,
    outermost_reductions,
    reduction_in,
    settled,
    sum_type,
)
from .lists import whole_numbers


# one nest each, unlike their decompositions
@kernel(FullyConnectedOp, LocalResponseNormOp, LogSoftmaxOp, ReduceMeanOp)
@kernel(Structured)
def formula(k: Kernel) -> None:
    """Computes the result of a formula."""
    operator = k.call.operator
    assert issubclass(operator, Structured)
    *stages, result = operator.statement(k.call).stages
    builder, found = _Builder(k), segments(result)
    parts = Parts.of(k, stages, result) if len(found) == 1 else Parts()
    for stage in stages:
        if stage not in parts.fixed:
            builder.store(stage)
    for segment in found:
        builder.finish(segment, parts)


class _Builder:
    def __init__(self, k: Kernel):
        self._k = k
        self._dims: dict[Loop, Dim] = {}
        self._order: dict[Loop, int] = {}
        """Outer loops before inner ones."""
        self._views: dict[Stage | int, View] = dict(enumerate(k.operands))
        self._copies: dict[object, View] = {}
        self._around = Around()
        self._tables: dict[Read, Access] = {}
        self._numbers: View | None = None
        self._bounds: Bounds | None = None
        """Of the reduction whose terms are read."""

    # stages

    def store(self, stage: Stage) -> None:
        """Computes a stage into scratch."""
        for add in self._stage(stage):
            add()

    def _stage(self, stage: Stage, fixed: Mapping[int, Loop] = {}) -> list[Callable[[], None]]:
        """
        Returns functions that add the nests that compute a stage into scratch, or the part at the
        values of loops for `fixed` dimensions.
        """
        view = self._views[stage] = part_of_stage(self._k, stage, fixed)
        own = {p: fixed[d] for d, p in enumerate(stage.places) if p is not None and d in fixed}
        self._dims.update((loop, self._dim(around)) for loop, around in own.items())
        adds = []
        for segment in segments(stage):
            value = self._prepared(segment.stage.value, segment.stage.loops)
            loops = [loop for loop in segment.stage.loops if loop not in own]
            adds.append(self._nests(value, loops, view, self._place(segment)))
        return adds

    def finish(self, segment: Segment, parts: Parts) -> None:
        """Computes a segment of the last stage into the result, with parts of other stages."""
        stage = segment.stage
        whole, halves = split_loops(stage)
        loops = [part for loop in stage.loops for part in halves.get(loop, (loop,))]
        value = self._prepared(whole, loops)
        place = self._place(segment, halves)
        adds = [add for part, fixed in parts.fixed.items() for add in self._stage(part, fixed)]
        around = Around(parts.loops, adds=adds) if adds else None
        self._nests(value, loops, self._k.result, place, around)()

    def _nests(
        self,
        value: Term,
        loops: Sequence[Loop],
        view: View,
        place: Sequence[Index],
        around: Around | None = None,
    ) -> Callable[[], None]:
        """
        Returns a function that adds the nests that compute a value at the points of loops into a
        view, that of the result or scratch. Tables and copies for them are there already.
        """
        k, outside = self._k, (self._around, self._bounds)
        value, bounds = without_bounds(value, reduction_in(value), loops)
        reduction, around = reduction_in(value), around or Around(loops_around(value, loops))
        self._around, self._bounds = around, bounds
        body = Expressions(value, self._access)
        terms = *self._reduction(reduction), self._range(bounds)
        self._around, self._bounds = outside
        dims = [self._dim(loop) for loop in loops if loop not in around.loops]

        def add() -> None:
            with k.repeat(*map(self._dim, around.loops)):
                for inside in around.adds:
                    inside()
                if view is k.result and k.epilogue.body is not None:
                    k.finish(dims, place, body.accesses, body.expr, *terms)
                elif isinstance(value, Read) and body.accesses[0].element == view.element:
                    k.copy(dims, view[place], body.accesses[0])
                else:
                    k.map(dims, view[place], body.accesses, body.expr, *terms)

        return add

    def _dim(self, loop: Loop) -> Dim:
        return self._dims.setdefault(loop, Dim(loop.name, loop.size))

    def _place(self, segment: Segment, halves: Halves = {}) -> list[Affine]:
        """Returns the place in the whole stage of a point; a loop variable may have halves."""
        starts = zip(segment.stage.places, segment.starts, strict=True)
        return [self._index(loop, halves) + start for loop, start in starts]

    def _index(self, loop: Loop | None, halves: Halves) -> Affine:
        found = Affine()
        for part in () if loop is None else halves.get(loop, (loop,)):
            found = found * part.size + self._dim(part)
        return found

    # terms that one nest can compute

    def _prepared(self, term: Term, loops: Sequence[Loop]) -> Term:
        """
        Returns a term with at most one reduction: the largest of those that have a value for each
        point of the loops. The values of the other reductions are in scratch.
        """
        over = [loop for t in walk(term) if isinstance(t, Reduce) for loop in t.over]
        for loop in (*loops, *over):
            self._order.setdefault(loop, len(self._order))
        wide = {loop for loop in loops if loop.size > 1}
        found = [r for r in outermost_reductions(term) if wide <= r.loops]
        main = max(found, key=lambda r: points(r.over), default=None)
        return self._rewritten(term, main, Scope(frozenset(loops)))

    def _rewritten(self, term: Term, main: Reduce | None, scope: Scope) -> Term:
        """Returns the term without reductions but `main`, at the points of a scope."""
        if term in scope.known:
            return scope.known[term]
        match term:
            case Reduce() if term is main:
                made = replace(term, body=self._rewritten(term.body, None, scope.inside(term)))
            case Reduce() | Convert(operand=Reduce()) if main not in (term, *term.parts):
                made = self._stored(term)
            case Apply() if scope.repeats(term):
                made = self._stored(term)
            case Read():
                made = self._within_bounds(term, main, scope)
            case _:
                made = with_parts(term, lambda part: self._rewritten(part, main, scope))
        scope.known[term] = made
        return made

    def _stored(self, term: Term) -> Read:
        """Returns a term whose values are in scratch, each of them once."""
        loops = tuple(sorted(self._decisive(term), key=lambda loop: self._order[loop]))
        stage = Stage("stored", loops, term)
        self.store(stage)
        places = tuple(LoopValue(NumberKind.INTEGER, term.at, loop) for loop in loops)
        return Read(term.type, term.at, stage, stage.shape, places)

    def _decisive(self, term: Term) -> frozenset[Loop]:
        """Returns the loops on which a value depends; elements may repeat along others."""
        match term:
            case LoopValue():
                return term.loops
            case Reduce():
                return self._decisive(term.body) - frozenset(term.over)
            case Read(outside=None):
                strides = self._views[term.source].strides
                parts = tuple(i for i, s in zip(term.indices, strides, strict=True) if s)
            case _:
                parts = term.parts
        return frozenset().union(*map(self._decisive, parts))

    def _within_bounds(self, term: Read, main: Reduce | None, scope: Scope) -> Term:
        """
        Returns a read within the bounds, with a constant value around a copy that is not much
        larger than the operand or than what is read, or a choice that follows a read within the
        bounds.
        """
        if term.outside is None:
            return replace(term, indices=tuple(map(settled, term.indices)))
        ends = zip(map(interval, term.indices), term.shape, strict=True)
        if all(0 <= low and high < size for (low, high), size in ends):
            return replace(term, outside=None)
        outside = self._rewritten(term.outside, main, scope)
        if not all(term.shape):
            return outside
        if isinstance(outside, Constant) and repays_padding(term):
            return term
        return chosen_by_bounds(term, outside)

    # accesses

    def _access(self, term: LoopValue | Read, copied_as: Attribute | None = None) -> Access:
        """Returns an element, at affine places of a copy as another type if that is given."""
        if isinstance(term, LoopValue):
            return self._whole_numbers(term.loop.size)[[self._dim(term.loop)]]
        view = self._views[term.source]
        computed = [d for d, index in enumerate(term.indices) if affine(index) is None]
        if computed:
            return self._indirect(term, view, computed)
        return self._direct(term, view, copied_as or view.element)

    def _factor(self, term: Read, product: Reduce) -> Access:
        """Returns a factor of the products that a reduction sums."""
        innermost = max(product.loops, key=self._order.__getitem__, default=None)
        is_copied = term.outside is not None or innermost not in term.loops
        stored = self._views[term.source].element
        return self._access(term, compute_type(stored) if is_copied else None)

    def _affine(self, term: Term) -> Affine:
        """Returns an index; 0 for one that is not affine."""
        form = affine(term)
        if form is None:
            return Affine()
        return Affine({self._dim(loop): c for loop, c in form.terms.items()}, form.constant)

    def _direct(self, term: Read, view: View, element: Attribute) -> Access:
        """Returns an element of the array that a term reads, or of a copy of it as another type."""
        low, high, value = [0] * view.rank, [0] * view.rank, 0.0
        if term.outside is not None:
            assert isinstance(term.outside, Constant)
            value = term.outside.value
            for d, index in enumerate(term.indices):
                first, last = interval(index)
                low[d], high[d] = max(0, -int(first)), max(0, int(last) - view.shape[d] + 1)
        places = [self._affine(index) + s for index, s in zip(term.indices, low, strict=True)]
        if term.outside is None and element == view.element:
            return view[places]
        loops = () if term.outside is None else self._around.loops
        fixed = {dimension_of(term, loop): self._dim(loop) for loop in loops}
        key = term.source, tuple(low), tuple(high), value, element, tuple(fixed)
        copies = self._around.copies if fixed else self._copies
        if key not in copies:
            copies[key], add = padded_copy(self._k, view, element, low, high, value, fixed)
            if fixed:
                self._around.adds.append(add)
            else:
                add()
        return copies[key][[p for d, p in enumerate(places) if d not in fixed]]

    def _indirect(self, term: Read, view: View, computed: Sequence[int]) -> Access:
        """Returns an element whose place depends on an index in memory."""
        if term not in self._tables:
            direct = view[[self._affine(index) for index in term.indices]]
            in_operand = self._index_in_operand(term, view, computed)
            first, indirect = in_operand or self._table(term, view, computed)
            self._tables[term] = replace(direct, place=direct.place + first, indirect=indirect)
        return self._tables[term]

    def _index_in_operand(
        self, term: Read, view: View, computed: Sequence[int]
    ) -> tuple[int, Indirect] | None:
        """Returns the same as `_table` if the only computed index is an operand's element."""
        d, *others = computed
        if self._bounds is not None and self._bounds.loop in term.indices[d].loops:
            # a step has one index, which it reads faster than it computes it
            return None
        size = view.shape[d]
        index = None if others else index_in_memory(term.indices[d], size)
        if index is None or self._views[index.source].buffer.parameter is None:
            return None
        access = self._access(index)
        return 0, Indirect(access, size, view.strides[d], is_unsigned(access.element))

    def _table(self, term: Read, view: View, computed: Sequence[int]) -> tuple[int, Indirect]:
        """Returns the least addition to a place, and what comes on top, from a table of these."""
        ends = [view.strides[d] * max(0, view.shape[d] - 1) for d in computed]
        first, last = sum(min(0, end) for end in ends), sum(max(0, end) for end in ends)
        parts = [
            index_term(Primitive.MUL, term.indices[d], index_number(term.at, view.strides[d]))
            for d in computed
        ]
        place = reduce(partial(index_term, Primitive.ADD), [*parts, index_number(term.at, -first)])
        if all(abs(bound) < 2**31 for bound in interval(place)):
            place = Convert(i32, term.at, place)
        return first, Indirect(self._access(self._stored(place)), last - first + 1, 1, True)

    def _whole_numbers(self, count: int) -> View:
        """Returns an array of at least `count` whole numbers from 0."""
        if self._numbers is None or self._numbers.shape[0] < count:
            self._numbers = whole_numbers(self._k, count)
        return self._numbers

    # reductions

    def _range(self, bounds: Bounds | None) -> Range | None:
        if bounds is None:
            return None
        return Range(self._dim(bounds.loop), self._bound(bounds.first), self._bound(bounds.end))

    def _bound(self, term: Term) -> Access:
        """Returns a bound of a loop, in memory, as a signed number."""
        if isinstance(term, Read) and not is_unsigned(self._views[term.source].element):
            return self._access(term)
        return self._access(self._stored(Convert(i64, term.at, term)))

    def _reduction(self, term: Reduce | None) -> tuple[tuple[Dim, ...], Reduction | None]:
        if term is None:
            return (), None
        reduced = tuple(self._dim(loop) for loop in term.over)
        element, combine = sum_type(term), Combine(term.combine.value)
        if combine is Combine.ADD and is_float(element) and (pair := factors_of(term)) is not None:
            factors = tuple(self._factor(factor, term) for factor in pair)
            if self._bounds is not None or not any(f.indirect for f in factors):
                return reduced, total(combine, element, *factors)
        body = Expressions(term.body, self._access)
        reads = tuple(body.accesses) or (self._whole_numbers(1)[[0]],)
        if body.expr.index == 0 and compute_type(reads[0].element) == element:
            return reduced, total(combine, element, *reads)
        # sums of small indices may be large
        each = body.expr if element_of_term(term.body) == element else convert(body.expr, element)
        return reduced, total(combine, element, *reads, value=each)
