"""The steps of kernels as operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeVar

from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    NoTerminator,
)
from xdsl.utils.exceptions import VerifyException

from .affine import Dim, Limit
from .attributes import ContentAttr, ScheduleAttr, SplitAttr
from .body_text import read_body, write_body
from .content import Content, Leaf, outer_loops, own_loops
from .kernel import (
    INDEX,
    KernelOp,
    Operands,
    RepeatOp,
    ScratchOp,
    TouchesMemory,
    complete,
    given_attributes,
    print_attributes,
    verify_limits,
    verify_loop,
)
from .memory import buffer_for
from .nest import Listing, Nest, RepeatListed
from .nest_text import (
    read_listing,
    read_nest,
    read_repeat_listed,
    write_listing,
    write_nest,
    write_repeat_listed,
)
from .schedule import Schedule
from .schedule_text import loops_of, read_schedule, with_loops, write_schedule
from .schedule_verification import verify_schedule
from .text import Operand, Reader, Writer
from .verification import verify_bounds, verify_nest


class StepOp(IRDLOperation):
    """An operation with content, whose operands are buffers and then outer loop variables."""

    traits = traits_def(TouchesMemory())

    def contents(self) -> Content:
        content = self.properties["content"]
        assert isinstance(content, ContentAttr)
        return content.data

    @property
    def names(self) -> Mapping[Operand, SSAValue]:
        content = self.contents()
        return dict(zip((*content.buffers, *content.outer), self.operands, strict=True))

    def verify_(self) -> None:
        content = self.contents()
        wanted = len(content.buffers) + len(content.outer)
        if len(self.operands) != wanted:
            raise VerifyException(f"expected {wanted} operands, found {len(self.operands)}")
        for value in self.operands[: len(content.buffers)]:
            owner = value.owner.parent_op() if isinstance(value, BlockArgument) else value.owner
            if not isinstance(owner, KernelOp | ScratchOp):
                raise VerifyException("expected buffers to be arguments of the kernel, or scratch")
        count = len(content.buffers)
        buffers = [buffer_for(v) for v in self.operands[:count]]
        outer = [Dim(d.name, loop_size(v)) for d, v in zip(content.outer, self.operands[count:])]
        names = [f"%{v.name_hint or i}" for i, v in enumerate(self.operands[:count])]
        verify_bounds(content.on(buffers, outer), names)


@irdl_op_definition
class NestOp(StepOp):
    """
    A perfect loop nest. At each point of the parallel loops it may reduce: combine a value for each
    point of the reduction loops. Then its body computes, from the result of the reduction and what
    the nest reads, the elements that it writes.

    ```mlir
    glow_nest.nest parallel(i: 16, j: 8) reduce(k: 32) add f32 of(%x[32 * i + k], %w[8 * k + j])
      reads(%b[j]) writes(%y[8 * i + j]) body {
    ^bb0(%sum: f32, %bias: f32):
      %0 = glow.add %sum, %bias : (f32, f32) -> f32
      glow_nest.yield %0 : f32
    }
    ```

    Without a body, what is computed or read is written. A loop may have fewer values than its size:
    `i: 16 of rows` has one for each row, and `i: 64 of 4 * rows from 8` four for each, without the
    first 8. A `schedule` says how the nest is computed, and `split` which loops of that threads
    divide.
    """

    name = "glow_nest.nest"

    arguments = var_operand_def()
    content = prop_def(ContentAttr)
    schedule = opt_prop_def(ScheduleAttr)
    split = opt_prop_def(SplitAttr)

    @property
    def nest(self) -> Nest:
        nest = self.content.data.step
        assert isinstance(nest, Nest)
        return nest

    def bound_schedule(self, nest: Nest) -> Schedule | None:
        """
        Returns the schedule with the loops of the nest, and those around it. Raises VerifyException
        if it names others.
        """
        if self.schedule is None:
            return None
        own, named = own_loops(nest), loops_of(self.schedule.data)
        if named.issubset(own):
            return self.schedule.data
        outer = outer_loops(nest)
        if named.issubset(own + outer):
            return self.schedule.data
        stands = dict(zip(outer_loops(self.nest), outer, strict=True))
        if named.issubset((*own, *stands)):
            return with_loops(self.schedule.data, stands)
        known = {d.name: d for d in (*outer, *own)}
        unknown = sorted(d.name for d in named if d.name not in known)
        if unknown:
            raise VerifyException(
                f"expected a schedule with loops of the nest ({', '.join(known)}), "
                f"found {', '.join(unknown)}"
            )
        return with_loops(self.schedule.data, {d: known[d.name] for d in named})

    def verify_(self) -> None:
        super().verify_()
        verify_nest(self.nest)
        verify_limits(self, [d.limit for d in own_loops(self.nest)])
        schedule = self.bound_schedule(self.nest)
        if schedule is not None:
            verify_schedule(self.nest, schedule)

    def print(self, printer: Printer) -> None:
        nest = self.nest
        writer = Writer(printer, self.names, own_loops(nest))
        write_nest(writer, nest, partial(write_body, printer))
        if self.schedule is not None:
            writer.put(" schedule")
            schedule = self.bound_schedule(nest)
            assert schedule is not None
            write_schedule(writer, schedule)
        if self.split is not None:
            writer.put(" split")
            self.split.print_parameter(printer)
        print_attributes(self, printer)

    @classmethod
    def parse(cls, parser: Parser) -> NestOp:
        operands = Operands(parser)
        reader = Reader(parser, operands.parse)
        nest = read_nest(reader, partial(read_body, parser))
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("schedule"):
            properties["schedule"] = ScheduleAttr(read_schedule(reader))
        if parser.parse_optional_keyword("split"):
            properties["split"] = SplitAttr(SplitAttr.parse_parameter(parser))
        attributes = parser.parse_optional_attr_dict()
        return step_op(cls, nest, operands.values, properties, attributes)


@irdl_op_definition
class ListNonzerosOp(StepOp):
    """
    Lists for which values of a loop an element is not zero (NaN is not): first the numbers in
    ascending order, and how many there are.

    ```mlir
    glow_nest.list_nonzeros t: 100 in %numbers[t] count %count[0] of %x[t]
    ```
    """

    name = "glow_nest.list_nonzeros"

    arguments = var_operand_def()
    content = prop_def(ContentAttr)

    def print(self, printer: Printer) -> None:
        step = self.content.data.step
        assert isinstance(step, Listing)
        write_listing(Writer(printer, self.names, own_loops(step)), step)
        print_attributes(self, printer)

    @classmethod
    def parse(cls, parser: Parser) -> ListNonzerosOp:
        operands = Operands(parser)
        step = read_listing(Reader(parser, operands.parse))
        return step_op(cls, step, operands.values, {}, parser.parse_optional_attr_dict())


@irdl_op_definition
class RepeatListedOp(StepOp):
    """
    Runs steps for the numbers of a list, as many at a time as there are loop variables. With
    `after n`, the steps run only for the numbers after the last complete group of `n`; with `part`,
    only for one of several equal parts of the list.

    ```mlir
    glow_nest.repeat_listed %a, %b t: 100 in %numbers[t] count %count[0] {
      glow_nest.nest parallel(j: 8) reads(%s[j], %w[8 * %a + j]) writes(%s[j]) in_place body {...}
    }
    ```
    """

    name = "glow_nest.repeat_listed"

    arguments = var_operand_def()
    content = prop_def(ContentAttr)
    body = region_def("single_block")

    traits = traits_def(TouchesMemory(), NoTerminator())

    @property
    def step(self) -> RepeatListed:
        step = self.content.data.step
        assert isinstance(step, RepeatListed)
        return step

    def verify_(self) -> None:
        super().verify_()
        if len(self.body.block.args) != len(self.step.dims):
            raise VerifyException(
                f"expected {len(self.step.dims)} loop variables, found {len(self.body.block.args)}"
            )
        verify_loop(self.body.block)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.body.block.args, printer.print_ssa_value)
        write_repeat_listed(Writer(printer, self.names, own_loops(self.step)), self.step)
        if self.attributes:
            printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> RepeatListedOp:
        variables = [parser.parse_argument(expect_type=False)]
        while parser.parse_optional_punctuation(","):
            variables.append(parser.parse_argument(expect_type=False))
        operands = Operands(parser)
        names = [v.name.text[1:] for v in variables]
        step = read_repeat_listed(Reader(parser, operands.parse), names)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region([v.resolve(INDEX) for v in variables])
        complete(body)
        return step_op(cls, step, operands.values, {}, given_attributes(attributes), [body])


_Op = TypeVar("_Op", bound=StepOp)


def loop_limit(value: SSAValue) -> Limit | None:
    """Returns the limit of a loop variable."""
    loop = value.owner.parent_op() if isinstance(value.owner, Block) else None
    return loop.limited if isinstance(loop, RepeatOp) else None


def loop_size(value: SSAValue) -> int:
    """Returns how many values a loop variable has."""
    loop = value.owner.parent_op() if isinstance(value.owner, Block) else None
    if isinstance(loop, RepeatListedOp):
        return loop.step.numbers.dim.size
    return loop.count if isinstance(loop, RepeatOp) else 0


def step_op(
    kind: type[_Op],
    step: Leaf,
    values: Mapping[Operand, SSAValue],
    properties: Mapping[str, Attribute],
    attributes: Mapping[str, Attribute],
    regions: Sequence[Region] = (),
) -> _Op:
    """
    Returns the operation of a step; `values` are the operands for its buffers and outer loop
    variables.
    """
    content = Content.of(step)
    return kind.create(
        operands=[values[o] for o in (*content.buffers, *content.outer)],
        properties={"content": ContentAttr(content), **properties},
        attributes=dict(attributes),
        regions=list(regions),
    )
