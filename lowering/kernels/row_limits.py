"""
The dimensions of buffers, and the loops of kernels, that run over the rows of a program.

A program may take the number of its rows as an input (`glow-limit-rows`). Its memory has room for
the largest number m. A buffer has rows at a pitch p if element e is in row `e // p % m`; it may
have several pitches, as scores of attention have. Elements of rows beyond the number are without
meaning. So a loop that reduces over rows must end with them, and other loops should.

The loops over rows of a kernel follow from the pitches of what it reads. The pitches of what it
writes follow from the loops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import SSAValue

from ...glow_dialects.elements import offset_of
from ...glow_dialects.glow_inst.instruction import Instruction, Qualifier, buffer_of
from ...glow_dialects.glow_nest.affine import Access, Buffer, Dim, Limit, View
from ...glow_dialects.glow_nest.limits import limit_text
from ...glow_dialects.glow_nest.nest import Nest, Repeat, Step, mapped, substituted
from ...glow_dialects.row_attributes import COUNT, inputs_with_rows
from .codegen.types import significant_strides
from .registry import Kernel
from .row_places import RowsLost, accessed, row_of
from .threads.overlap import nests_of, reads_of

Pitches = frozenset[int]
NONE: Pitches = frozenset()


@dataclass(frozen=True)
class ParameterRows:
    """The rows of a parameter of a kernel."""

    pitches: Pitches = NONE
    limits: tuple[Limit | None, ...] = ()
    """The limit of each dimension of what is read; empty if there is none."""
    periods: tuple[int, ...] = ()
    """The elements that each of these limits is of, if the dimension repeats them."""
    most: int = 0

    @property
    def text(self) -> str:
        """The text in which kernels on different rows differ; empty for none."""
        if not self.pitches:
            return ""
        limits = [limit_text(limit) for limit in self.limits]
        return f" rows {self.most} at {sorted(self.pitches)} {limits} {self.periods}"


NO_ROWS = ParameterRows()


@dataclass
class ProgramRows:
    """The rows of the buffers of a program, as far as its instructions were visited."""

    count: SSAValue | None = None
    """The input with the number of rows; None if the program does not take it."""
    most: int = 0
    """The largest number of rows."""
    pitches: dict[SSAValue, Pitches] = field(default_factory=dict)
    """The pitches of each buffer that was written."""

    @staticmethod
    def of(main: func.FuncOp) -> ProgramRows:
        """Returns the rows of the inputs of `main`; none if it has no input with their number."""
        attributes = main.arg_attrs.data if main.arg_attrs is not None else ()
        about = zip(main.body.block.args, attributes, strict=False)
        found = next((a for a, facts in about if isinstance(facts.data.get(COUNT), UnitAttr)), None)
        if found is None:
            return ProgramRows()
        sizes, pitches = set[int](), dict[SSAValue, Pitches]()
        for argument, at in inputs_with_rows(main):
            shape, strides = _form(argument)
            pitches[argument] = frozenset(strides[d] for d in at)
            sizes.update(shape[d] for d in at)
        (most,) = sizes
        return ProgramRows(found, most, pitches)

    def of_operand(self, qualifier: Qualifier, value: SSAValue) -> ParameterRows:
        """Returns the rows of an operand of an instruction before it. Raises RowsLost."""
        if qualifier is Qualifier.OUT or self.count is None:
            return NO_ROWS
        pitches = self.pitches.get(buffer_of(value), NONE)
        return ParameterRows(pitches, *self._limits(value), self.most)

    def _limits(self, value: SSAValue) -> tuple[tuple[Limit | None, ...], tuple[int, ...]]:
        """Returns the limits of the dimensions of a value, and their periods. Raises RowsLost."""
        shape, strides = _form(value)
        start = offset_of(value.type)  # pyright: ignore[reportArgumentType]
        limits: list[Limit | None] = [None] * len(shape)
        periods = [0] * len(shape)
        for pitch in self.pitches.get(buffer_of(value), NONE):
            terms = {Dim(str(d), size): s for d, (size, s) in enumerate(zip(shape, strides))}
            place = row_of(terms, start, pitch, self.most)
            if place.first:
                raise RowsLost(f"a part of its rows, from row {place.first} on")
            for dim, limit in place.limits().items():
                limits[int(dim.name)] = limit
            for dim, inner in place.repeated.items():
                periods[int(dim.name)] = inner.size
                limits[int(dim.name)] = inner.limit
        return tuple(limits), tuple(periods)

    def wrote(self, op: Instruction, found: Mapping[int, Pitches]) -> None:
        """Notes the pitches of what an instruction writes, by the number of its operand."""
        for number, (qualifier, value) in enumerate(op.qualified_operands()):
            if qualifier is Qualifier.IN:
                continue
            buffer, pitches = buffer_of(value), found.get(number, NONE)
            if qualifier is not Qualifier.OUT or not _is_whole(value, buffer):
                pitches = _joined(self.pitches.get(buffer, NONE), pitches)
            self.pitches[buffer] = pitches
            self._limits(value)


def _joined(a: Pitches, b: Pitches) -> Pitches:
    """
    Returns the pitches of memory whose parts have pitches `a` and `b`. A part without rows has all
    of its elements, so it is valid for any number of rows. Raises RowsLost.
    """
    if a and b and a != b:
        raise RowsLost("a value whose parts have rows in different places")
    return a or b


def _is_whole(value: SSAValue, buffer: SSAValue) -> bool:
    """Returns whether a view has all elements of a buffer."""
    return prod(_form(value)[0]) == prod(_form(buffer)[0])


def _form(value: SSAValue) -> tuple[Sequence[int], Sequence[int]]:
    """Returns the shape and the strides of a memref."""
    t = value.type
    return t.get_shape(), significant_strides(t)  # pyright: ignore


# kernels


def limited_kernel(
    kernel: Kernel, views: Sequence[View], pitches: Sequence[Pitches], most: int
) -> tuple[Sequence[Step], Mapping[int, Pitches], bool]:
    """
    Returns the steps of a kernel with limits of the loops over rows, the pitches of what it writes,
    by the number of the parameter, and whether a loop has a limit. `pitches` are those of the
    parameters, which have `views`; those of other steps follow. Raises RowsLost.
    """
    offsets = {view.buffer: view.offset for view in views}
    follower = _Follower(
        dict(zip(offsets, pitches, strict=True)), offsets, most, kernel.keeps_limits
    )
    made = [follower.step(step) for step in kernel.steps]
    written: dict[int, Pitches] = {}
    for nest in nests_of(made):
        for write in nest.writes:
            if (number := write.buffer.parameter) is not None:
                written[number] = _joined(written.get(number, NONE), _pitches_of(write))
    return made, written, _is_limited(made)


def _is_limited(steps: Sequence[Step]) -> bool:
    """Returns whether a loop of some steps has a limit."""
    return any(
        step.is_limited
        if isinstance(step, Nest)
        else isinstance(step, Repeat) and (step.dim.limit is not None or _is_limited(step.steps))
        for step in steps
    )


def _pitches_of(access: Access) -> Pitches:
    """Returns the pitches of what is written in limited loops."""
    found = _distances(access)
    if any(pitch.denominator > 1 for pitch in found):
        raise RowsLost("rows that are not apart by the same number of elements")
    return frozenset(map(int, found))


def _distances(access: Access) -> set[Fraction]:
    """Returns how many elements rows are apart along limited loops."""
    return {
        Fraction(stride * dim.limit.factor, dim.limit.granule)
        for dim, stride in access.place.terms.items()
        # the loop around one over the rest has the pitch
        if dim.limit is not None and not dim.limit.of_rest and isinstance(stride, int) and stride
    }


@dataclass
class _Follower:
    """Finds the loops over rows of a kernel."""

    pitches: dict[Buffer, Pitches]
    """Those of parameters, and of scratch as far as it was written."""
    offsets: Mapping[Buffer, int]
    """The place of the first element of each parameter."""
    most: int
    keeps_limits: bool
    changed: dict[Dim, Dim] = field(default_factory=dict)
    """The limited loop variable in the place of each that had no limit."""
    split: dict[Dim, tuple[Dim, Dim]] = field(default_factory=dict)
    """The loops over texts, and over the rows of each, in the place of one over all rows."""

    def step(self, step: Step) -> Step:
        """Returns a step with limits of its loops."""
        match step:
            case Repeat():
                for nest in nests_of([step]):
                    self._find(nest)
                dim = self.changed.get(step.dim, step.dim)
                if dim in self.split:
                    raise RowsLost("rows of several texts that come one after the other")
                return Repeat(dim, [self.step(s) for s in step.steps])
            case Nest():
                self._find(step)
                return self._limited(step)
            case _:
                if any(self.pitches.values()):
                    raise RowsLost("a list of numbers")
                return step

    def _limited(self, nest: Nest) -> Nest:
        made = substituted(nest, dict(self.changed))
        if self.split:
            change = {dim: a * b.size + b for dim, (a, b) in self.split.items()}
            made = mapped(made, lambda place: place.at(change))
            made = replace(
                made, parallel=self._parts(made.parallel), reduced=self._parts(made.reduced)
            )
        if not self.keeps_limits:
            for write in made.writes:
                if write.buffer.parameter is None:
                    former = self.pitches.get(write.buffer, NONE)
                    self.pitches[write.buffer] = _joined(former, _pitches_of(write))
        return made

    def _parts(self, dims: Sequence[Dim]) -> tuple[Dim, ...]:
        return tuple(part for dim in dims for part in self.split.get(dim, (dim,)))

    def _find(self, nest: Nest) -> None:
        """Finds the loops over rows of one nest."""
        for access in reads_of(nest):
            for pitch in self.pitches.get(access.buffer, NONE):
                self._follow(access, pitch, frozenset(nest.reduced))

    def _follow(self, access: Access, pitch: int, reduced: AbstractSet[Dim]) -> None:
        """Limits the loops of an access to what has rows at a pitch."""
        if self.keeps_limits and pitch in _distances(access):
            return
        start = access.place.constant - self.offsets.get(access.buffer, 0)
        row = accessed(access, start, pitch, self.most)
        for dim, factor in row.joined.items():
            self._limit(dim, Limit(factor))
        for dim, inner in row.repeated.items():
            outer = Dim(f"{dim.name}t", dim.size // inner.size)
            found = self.split.setdefault(dim, (outer, inner))[1]
            if dim in self.changed or (found.size, found.limit) != (inner.size, inner.limit):
                raise RowsLost("rows that two values have in different loops")
        for i, (dim, step) in enumerate(row.steps):
            if dim.limit is not None or (
                dim in self.changed and self.changed[dim].limit != Limit()
            ):
                self._expect(dim, i, step, row.first)
            elif i == 0 and row.first == 0 and (step == 1 or dim not in reduced):
                self._limit(dim, Limit(granule=step))
            elif dim in reduced or not self.keeps_limits:
                raise RowsLost("rows that are visited in parts")
        if row.first and not row.steps and not self.keeps_limits:
            raise RowsLost(f"row {row.first} alone")

    def _expect(self, dim: Dim, number: int, step: int, first: int) -> None:
        """Checks the limit that a loop has."""
        limit = self.changed.get(dim, dim).limit
        assert limit is not None
        if limit.factor != 1 or limit.granule != step:
            raise RowsLost("rows that two values have in different loops")
        if number == 0 and not limit.of_rest and limit.start != first:
            raise RowsLost("rows that two values have in different order")

    def _limit(self, dim: Dim, limit: Limit) -> None:
        found = dim
        if dim.limit is None:
            found = self.changed.setdefault(dim, replace(dim, limit=limit))
        if dim in self.split or found.limit != limit:
            raise RowsLost("rows that two values have in different loops")
