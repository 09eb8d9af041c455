"""
The registry of kernel algorithms, and the interface that an algorithm uses.

```python
@kernel(TransposeOp)
def transpose(k: Kernel) -> None:
    ...
```

An algorithm looks at `k.call`, `k.operands` and `k.result`, and adds nests. It never says how they
are scheduled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from math import prod

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute

from ...glow_dialects.elements import element_bytes
from ...glow_dialects.glow.base import Node, OnlyMovesData
from ...glow_dialects.glow.elementwise import X
from ...glow_dialects.glow.structured import Structured
from ...glow_dialects.glow_nest.affine import Access, Buffer, Dim, Index, View
from ...glow_dialects.glow_nest.body import Body
from ...glow_dialects.glow_nest.nest import (
    Combine,
    Listing,
    Nest,
    NumberList,
    Range,
    Reduction,
    Repeat,
    RepeatListed,
    Step,
)
from ...glow_dialects.machine import MachineDescription
from ...glow_dialects.operator import Call, element_of
from ...glow_dialects.scalar import Expr, arguments, convert
from ...passes.graph.lower_nodes import is_composite
from ...table import Table

Algorithm = Callable[["Kernel"], None]


@dataclass(frozen=True)
class OperatorKernel:
    """The rule by which calls of an operator become kernels."""

    algorithm: Algorithm
    on: Callable[[MachineDescription, Call], bool]
    """Which machines have the instructions for a call."""
    keeps_limits: bool
    """Whether it gives the limits of dimensions to all its loops over them, also in scratch."""


KERNELS: Table[type[Node | Structured], OperatorKernel] = Table("a kernel", inherited=True)
"""The rule for each operator; that for `Structured` is for operators stated as a formula."""


def kernel(
    *operators: type[Node | Structured],
    on: Callable[[MachineDescription, Call], bool] = lambda machine, call: True,
    keeps_limits: bool = False,
) -> Callable[[Algorithm], Algorithm]:
    """
    Registers the algorithm of operators, for machines on which `on` holds. It may keep the limits
    of dimensions in scratch.
    """

    def register(algorithm: Algorithm) -> Algorithm:
        KERNELS.entry(*operators)(OperatorKernel(algorithm, on, keeps_limits))
        return algorithm

    return register


def kernel_of(operator: type[Node]) -> OperatorKernel | None:
    """Returns the rule by which an operator becomes kernels; None if it has none."""
    found = KERNELS.get(operator)
    # decompositions are faster than formulas, and views need no kernel
    is_formula = found is not None and found is KERNELS.get(Structured)
    if is_formula and (is_composite(operator) or operator.has_trait(OnlyMovesData)):
        return None
    return found


@dataclass(frozen=True)
class Epilogue:
    """The operations on each element of the result before it is stored; by default none."""

    body: Body | None = None
    extras: Sequence[View] = ()
    """Further operands, of the result's shape."""
    in_place: bool = False
    """Whether the body also takes the result's old element, after the new one."""


@dataclass(eq=False)
class Kernel:
    """The interface of an algorithm: the operator's call, its views, and the nests so far."""

    call: Call
    results: Sequence[View]
    operands: Sequence[View]
    epilogue: Epilogue = field(default_factory=Epilogue)
    machine: MachineDescription = field(default_factory=MachineDescription)
    """The machine that the code is for; it decides how work is cut into pieces."""
    threads: int = 1
    """The number of threads that run the kernel together."""
    keeps_limits: bool = False
    """Whether the algorithm gives limits to its loops over scratch."""
    steps: list[Step] = field(default_factory=list)
    scratch_buffers: list[Buffer] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._current = self.steps

    @property
    def result(self) -> View:
        (result,) = self.results
        return result

    @property
    def element(self) -> Attribute:
        """The element type of the operator's own result; an epilogue may store another."""
        return element_of(self.call.results[0])

    @property
    def elementwise_views(self) -> Sequence[View]:
        """
        The views of the result, and of the epilogue's operands at the place of each of its
        elements.
        """
        return [self.result, *self.epilogue.extras]

    def lanes(self, element: Attribute) -> int:
        """Returns how many elements a vector has."""
        return self.machine.lanes(8 * element_bytes(element))

    def scratch(self, shape: Sequence[int], element: Attribute) -> View:
        """Returns a dense temporary array."""
        buffer = Buffer(element, 0, max(1, prod(shape)))
        self.scratch_buffers.append(buffer)
        return View.dense(buffer, shape)

    def repeat(self, *dims: Dim) -> AbstractContextManager[None]:
        """Runs the nests that are added inside once for each value of each of `dims`."""
        return self._inside(*map(Repeat, dims))

    def list_nonzeros(self, dim: Dim, source: Access, numbers: View | None = None) -> NumberList:
        """
        Returns a list of the values of `dim` for which `source` is not zero; in `numbers` (i32), if
        that is given.
        """
        numbers = numbers or self.scratch((dim.size,), i32)
        count = self.scratch((), i32)
        made = NumberList(dim, numbers[[dim]], count[()])
        self._current.append(Listing(made, source))
        return made

    @contextmanager
    def repeat_listed(
        self, numbers: NumberList, together: int, after: int = 0, part: Dim | None = None
    ) -> Iterator[Sequence[Dim]]:
        """
        Runs the nests that are added inside for each `together` numbers of a list. With `after`,
        they run only for the numbers after the last complete group. With `part`, they run only for
        that one of several equal parts of the list. Yields their loop variables.
        """
        dims = tuple(Dim(f"n{i}", numbers.dim.size) for i in range(together))
        with self._inside(RepeatListed(dims, numbers, after, part)):
            yield dims

    @contextmanager
    def _inside(self, *loops: Repeat | RepeatListed) -> Iterator[None]:
        outside = self._current
        for loop in loops:
            self._current.append(loop)
            self._current = loop.steps
        yield
        self._current = outside

    def nest(self, nest: Nest) -> None:
        self._current.append(nest)

    def map(
        self,
        dims: Sequence[Dim],
        write: Access,
        operands: Sequence[Access],
        value: Expr,
        reduced: Sequence[Dim] = (),
        reduction: Reduction | None = None,
        range: Range | None = None,
    ) -> None:
        """
        Computes `write = value(operands)` at each point; with a reduction,
        `write = value(reduction, operands)`.
        """
        self.map_all(dims, (write,), operands, (value,), reduced, reduction, range)

    def map_all(
        self,
        dims: Sequence[Dim],
        writes: Sequence[Access],
        operands: Sequence[Access],
        values: Sequence[Expr],
        reduced: Sequence[Dim] = (),
        reduction: Reduction | None = None,
        range: Range | None = None,
        in_place: bool = False,
    ) -> None:
        """
        Computes `writes[i] = values[i](reduction, operands)` at each point; `in_place`, operands
        may be what is written. With a range, a reduction has the terms in it alone.
        """
        body = Body(tuple(values), tuple(w.element for w in writes))
        reads, terms = tuple(operands), tuple(reduced)
        self.nest(Nest(tuple(dims), tuple(writes), body, reads, reduction, terms, in_place, range))

    def update(
        self,
        dims: Sequence[Dim],
        at: Access,
        operands: Sequence[Access],
        value: Expr,
        reduced: Sequence[Dim] = (),
        reduction: Reduction | None = None,
    ) -> None:
        """
        Computes `at = value(at, operands)` at each point; with a reduction,
        `at = value(reduction, at, operands)`.
        """
        reads = (at, *operands)
        self.map_all(dims, (at,), reads, (value,), reduced, reduction, in_place=True)

    def copy(self, dims: Sequence[Dim], write: Access, read: Access) -> None:
        """Computes `write = read` at each point, and converts if the element types differ."""
        element = write.element
        if read.element == element:
            self.nest(Nest(tuple(dims), (write,), Body.passing(element), (read,), raw=True))
        else:
            self.map(dims, write, (read,), convert(X, element))

    def copied(self, view: View, element: Attribute) -> View:
        """Returns a dense copy in temporary memory, converted to an element type."""
        copied, dims = self.scratch(view.shape, element), view_dims(view)
        self.copy(dims, copied[dims], view[dims])
        return replace(copied, limits=view.limits, periods=view.periods)

    def fill(self, view: View, value: float) -> None:
        """Sets every element."""
        dims = view_dims(view)
        self.map(dims, view[dims], (), Expr.constant(value, view.element))

    def finish(
        self,
        dims: Sequence[Dim],
        place: Sequence[Index],
        operands: Sequence[Access],
        value: Expr = X,
        reduced: Sequence[Dim] = (),
        reduction: Reduction | None = None,
        range: Range | None = None,
    ) -> None:
        """
        Computes `result[place] = epilogue(value(operands))` at each point; with a reduction,
        `epilogue(value(reduction, operands))`. The value is by default the first of these.
        """
        self.finish_tile(dims, [place], operands, [value], reduced, reduction, range)

    def finish_tile(
        self,
        dims: Sequence[Dim],
        places: Sequence[Sequence[Index]],
        operands: Sequence[Access],
        values: Sequence[Expr],
        reduced: Sequence[Dim] = (),
        reduction: Reduction | None = None,
        range: Range | None = None,
    ) -> None:
        """
        Computes `result[places[i]] = epilogue(values[i](reduction, operands))` for several places
        at once.
        """
        epilogue, result = self.epilogue, self.result
        results = 0 if reduction is None else reduction.values
        views = [result, *epilogue.extras] if epilogue.in_place else epilogue.extras
        reads = [*operands, *(view[place] for place in places for view in views)]
        writes = [result[place] for place in places]
        if epilogue.body is not None:
            given = islice(arguments(results + len(reads)), results + len(operands), None)
            apply = epilogue.body.applied
            values = [v for value in values for v in apply([value, *islice(given, len(views))])]
        self.map_all(
            dims, writes, reads, values, reduced, reduction, range, in_place=epilogue.in_place
        )


def view_dims(view: View, prefix: str = "d") -> tuple[Dim, ...]:
    """Returns a loop variable for each dimension of a view."""
    return tuple(view.dim(f"{prefix}{i}", i) for i in range(view.rank))


def total(
    combine: Combine, element: Attribute, *reads: Access, value: Expr | None = None
) -> Reduction:
    """Returns a reduction of one read, of the product of two, or of a value of some."""
    each = None if value is None else Body((value,), (element,))
    return Reduction(combine, element, reads, each)
