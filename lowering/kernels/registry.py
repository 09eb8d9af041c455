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
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute

from ...glow_dialects.glow.base import DataParallel, Node, OnlyMovesData
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


def _every_call(call: Call) -> bool:
    return True


def _everywhere(machine: MachineDescription, call: Call) -> bool:
    return True


@dataclass(frozen=True)
class OperatorKernel:
    """The rule by which calls of an operator become kernels."""

    algorithm: Algorithm
    when: Callable[[Call], bool] = _every_call
    """Which calls the algorithm computes."""
    on: Callable[[MachineDescription, Call], bool] = _everywhere
    """Which machines have the instructions for it."""
    keeps_limits: bool = False
    """Whether it gives the limits of dimensions to all its loops over them, also in scratch."""


KERNELS: Table[type[Node], OperatorKernel] = Table("a kernel", inherited=True)
"""The rule for each operator; that for `Structured` is for operators stated as a formula."""


def kernel(
    *operators: type[Node],
    when: Callable[[Call], bool] = _every_call,
    on: Callable[[MachineDescription, Call], bool] = _everywhere,
    keeps_limits: bool = False,
) -> Callable[[Algorithm], Algorithm]:
    """
    Registers the algorithm of operators, for calls on which `when` holds and machines on
    which `on` holds. It may keep the limits of dimensions in scratch.
    """

    def register(algorithm: Algorithm) -> Algorithm:
        KERNELS.entry(*operators)(OperatorKernel(algorithm, when, on, keeps_limits))
        return algorithm

    return register


def default_kernel(algorithm: Algorithm) -> Algorithm:
    """
    Registers the algorithm of operators that are stated as a formula and have no other
    algorithm.
    """
    return kernel(Structured)(algorithm)  # pyright: ignore[reportArgumentType]


def kernel_of(operator: type[Node]) -> OperatorKernel | None:
    """Returns the rule by which an operator becomes kernels; None if it has none."""
    found = KERNELS.get(operator)
    # decompositions are faster than formulas, and views need no kernel
    is_formula = found is not None and found is KERNELS.get(Structured)
    if is_formula and (is_composite(operator) or operator.has_trait(OnlyMovesData)):
        return None
    return found


def algorithm_of(operator: type[Node]) -> Algorithm | None:
    found = kernel_of(operator)
    return None if found is None else found.algorithm


def implements(call: Call) -> bool:
    """
    Returns whether an operator on these types can become a kernel: data-parallel operators can,
    those with an algorithm, and those that instructions express with views and copies.
    """
    if issubclass(call.operator, DataParallel):
        return not call.operator.depends_on_place(call)
    if call.operator.has_trait(OnlyMovesData):
        return True
    found = kernel_of(call.operator)
    return found is not None and found.when(call)


def runs_on(machine: MachineDescription, call: Call) -> bool:
    """Returns whether a machine has the instructions for a call that `implements` admits."""
    found = kernel_of(call.operator)
    return found is None or found.on(machine, call)


class Epilogue:
    """The operations on each element of the result before it is stored; by default none."""

    def __init__(
        self,
        body: Body | None = None,
        extras: Sequence[View] = (),
        in_place: bool = False,
    ):
        self.body = body
        self.extras = extras
        """Further operands, of the result's shape."""
        self.in_place = in_place
        """Whether the body also takes the result's old element, after the new one."""


class Kernel:
    """The interface of an algorithm: the operator's call, its views, and the nests so far."""

    def __init__(
        self,
        call: Call,
        results: Sequence[View],
        operands: Sequence[View],
        epilogue: Epilogue | None = None,
        machine: MachineDescription | None = None,
        threads: int = 1,
    ):
        self.machine = machine or MachineDescription()
        """The machine that the code is for; it decides how work is cut into pieces."""
        self.threads = threads
        """The number of threads that run the kernel together."""
        self.call = call
        self.results = results
        self.operands = operands
        self.steps: list[Step] = []
        self.scratch_buffers: list[Buffer] = []
        self.epilogue = epilogue or Epilogue()
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

    @property
    def stores_as_is(self) -> bool:
        """Whether results are stored without an epilogue."""
        return self.epilogue.body is None

    def scratch(self, shape: Sequence[int], element: Attribute) -> View:
        """Returns a dense temporary array."""
        elements = prod(shape)
        buffer = Buffer(element, 0, max(1, elements))
        self.scratch_buffers.append(buffer)
        return View.dense(buffer, shape)

    @contextmanager
    def repeat(self, dim: Dim) -> Iterator[None]:
        """Runs the nests that are added inside once for each value of `dim`."""
        with self._inside(Repeat(dim)):
            yield

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
    def _inside(self, loop: Repeat | RepeatListed) -> Iterator[None]:
        outside = self._current
        outside.append(loop)
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
    ) -> None:
        """
        Computes `write = value(operands)` at each point; with a reduction,
        `write = value(reduction, operands)`.
        """
        body = Body((value,), (write.element,))
        self.nest(Nest(tuple(dims), (write,), body, tuple(operands), reduction, tuple(reduced)))

    def map_all(
        self,
        dims: Sequence[Dim],
        writes: Sequence[Access],
        operands: Sequence[Access],
        values: Sequence[Expr],
        in_place: bool = False,
    ) -> None:
        """
        Computes `writes[i] = values[i](operands)` at each point; `in_place`, operands may be what
        is written.
        """
        body = Body(tuple(values), tuple(w.element for w in writes))
        self.nest(Nest(tuple(dims), tuple(writes), body, tuple(operands), in_place=in_place))

    def update(
        self, dims: Sequence[Dim], at: Access, operands: Sequence[Access], value: Expr
    ) -> None:
        """Computes `at = value(at, operands)` at each point."""
        self.map_all(dims, (at,), (at, *operands), (value,), in_place=True)

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

    def reduce(
        self,
        dims: Sequence[Dim],
        reduced: Sequence[Dim],
        reduction: Reduction | None,
        place: Sequence[Index],
        operands: Sequence[Access] = (),
        value: Expr = X,
        range: Range | None = None,
    ) -> None:
        """
        Computes `result[place] = epilogue(value(reduction, operands))` at each point; without a
        reduction, `epilogue(value(operands))`. With a range, a reduction has the terms in it alone.
        """
        self.finish_tile(dims, [place], operands, [value], reduced, reduction, range)

    def finish(
        self,
        dims: Sequence[Dim],
        place: Sequence[Index],
        operands: Sequence[Access],
        value: Expr = X,
    ) -> None:
        """
        Computes `result[place] = epilogue(value(operands))` at each point; the value is by default
        the operand.
        """
        self.finish_tile(dims, [place], operands, [value])

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
        own = len(operands) + (0 if reduction is None else reduction.values)
        views = [result, *epilogue.extras] if epilogue.in_place else epilogue.extras
        extras = [view[place] for place in places for view in views]
        written = values
        if epilogue.body is not None:
            written = []
            given = arguments(own + len(extras))[own:]
            for i, value in enumerate(values):
                at = i * len(views)
                written += epilogue.body.applied([value, *given[at : at + len(views)]])
        writes = tuple(result[place] for place in places)
        body = Body(tuple(written), (result.element,) * len(places))
        reads = (*operands, *extras)
        whole = Nest(tuple(dims), writes, body, reads, reduction, tuple(reduced), range=range)
        self.nest(replace(whole, in_place=epilogue.in_place))


def view_dims(view: View, prefix: str = "d") -> tuple[Dim, ...]:
    """Returns a loop variable for each dimension of a view."""
    return tuple(view.dim(f"{prefix}{i}", i) for i in range(view.rank))


def total(combine: Combine, element: Attribute, *reads: Access) -> Reduction:
    """Returns a reduction of one read, or of the product of two."""
    return Reduction(combine, element, reads)
