"""The steps of kernels as operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import TypeVar

from xdsl.dialects.builtin import (
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    EffectInstance,
    IsolatedFromAbove,
    MemoryEffect,
    MemoryEffectKind,
    NoTerminator,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from ..elements import is_contiguous
from .affine import Dim
from .attributes import ContentAttr, ScheduleAttr, SplitAttr
from .body_text import read_body, write_body
from .content import Content, Leaf, own_loops
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
from .text import Operand, Reader, Writer
from .verification import verify_bounds, verify_nest, verify_schedule

INDEX = IndexType()


class TouchesMemory(MemoryEffect):
    """Reads and writes memory, so that nothing is moved across or removed."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        kinds = (MemoryEffectKind.READ, MemoryEffectKind.WRITE)
        return {EffectInstance(kind) for kind in kinds}


@irdl_op_definition
class KernelOp(IRDLOperation):
    """
    A function over memrefs whose steps are operations of this dialect. `threads` is how many
    threads run it together; then nests that are not divided are run by the first.

    ```mlir
    glow_nest.kernel @k_relu(%y: memref<8x4xf32>, %x: memref<8x4xf32>) {
      glow_nest.nest parallel(i: 32) reads(%x[i]) writes(%y[i]) body {
      ^bb0(%a: f32):
        %0 = glow.relu %a : (f32) -> f32
        glow_nest.yield %0 : f32
      }
    }
    ```
    """

    name = "glow_nest.kernel"

    sym_name = prop_def(StringAttr)
    threads = opt_prop_def(IntegerAttr)
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface(), NoTerminator())

    def __init__(self, name: str, types: Sequence[Attribute]):
        super().__init__(
            properties={"sym_name": StringAttr(name)},
            regions=[Region(Block(arg_types=types))],
        )

    @property
    def thread_count(self) -> int:
        return 1 if self.threads is None else self.threads.value.data

    def verify_(self) -> None:
        for argument in self.body.block.args:
            if not isinstance(argument.type, MemRefType):
                raise VerifyException(f"expected memrefs as arguments, found {argument.type}")
        _verify_steps(self.body.block)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string("(")
        printer.print_list(self.body.block.args, printer.print_block_argument)
        printer.print_string(")")
        if self.threads is not None:
            printer.print_string(f" threads {self.thread_count}")
        if self.attributes:
            printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> KernelOp:
        name = parser.parse_symbol_name()
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        threads = parser.parse_integer() if parser.parse_optional_keyword("threads") else None
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region(arguments)
        _complete(body)
        properties: dict[str, Attribute] = {"sym_name": name}
        if threads is not None:
            properties["threads"] = IntegerAttr(threads, i64)
        return cls.create(
            properties=properties,
            regions=[body],
            attributes=_given(attributes),
        )


@irdl_op_definition
class ScratchOp(IRDLOperation):
    """
    Temporary memory of a kernel.

    ```mlir
    %s = glow_nest.scratch : memref<64x4xf32>
    ```
    """

    name = "glow_nest.scratch"

    result = result_def(MemRefType)

    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, t: MemRefType):
        super().__init__(result_types=[t])

    def verify_(self) -> None:
        if not is_contiguous(self.result.type):
            raise VerifyException(f"expected dense memory, found {self.result.type}")
        if not isinstance(self.parent_op(), KernelOp):
            raise VerifyException("expected scratch of a whole kernel, outside of loops")


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """All threads meet here before any goes on."""

    name = "glow_nest.barrier"

    traits = traits_def(TouchesMemory())
    assembly_format = "attr-dict"


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

    Without a body, what is computed or read is written. A `schedule` says how the nest is computed,
    and `split` which loops of that threads divide.
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
        The schedule with the loops of the nest. Raises VerifyException if it names others.
        """
        if self.schedule is None:
            return None
        own, named = own_loops(nest), loops_of(self.schedule.data)
        if named.issubset(own):
            return self.schedule.data
        known = {d.name: d for d in own}
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
        _print_attributes(self, printer)

    @classmethod
    def parse(cls, parser: Parser) -> NestOp:
        operands = _Operands(parser)
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
        _print_attributes(self, printer)

    @classmethod
    def parse(cls, parser: Parser) -> ListNonzerosOp:
        operands = _Operands(parser)
        step = read_listing(Reader(parser, operands.parse))
        return step_op(cls, step, operands.values, {}, parser.parse_optional_attr_dict())


@irdl_op_definition
class RepeatListedOp(StepOp):
    """
    Runs steps for the numbers of a list, for as many at a time as there are loop variables. With
    `after n`, only for those behind the last complete group of `n`; with `part`, only for that of
    so many equal parts of the list.

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
        _verify_loop(self.body.block)

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
        operands = _Operands(parser)
        names = [v.name.text[1:] for v in variables]
        step = read_repeat_listed(Reader(parser, operands.parse), names)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region([v.resolve(INDEX) for v in variables])
        _complete(body)
        return step_op(cls, step, operands.values, {}, _given(attributes), [body])


@irdl_op_definition
class RepeatOp(IRDLOperation):
    """
    Runs steps for each value of a loop variable. With `divided n`, threads divide the iterations of
    this and of the loops inside, `n` in all; each then has a copy of the `private` scratch.

    ```mlir
    glow_nest.repeat %n to 8 divided 1 private(%s) {
      glow_nest.nest parallel(i: 16) reads(%x[16 * %n + i]) writes(%s[i])
    }
    ```
    """

    name = "glow_nest.repeat"

    private = var_operand_def(MemRefType)
    size = prop_def(IntegerAttr)
    divided = opt_prop_def(IntegerAttr)
    body = region_def("single_block")

    traits = traits_def(TouchesMemory(), NoTerminator())

    def __init__(self, dim: Dim):
        block = Block(arg_types=[INDEX])
        block.args[0].name_hint = dim.name
        super().__init__(
            operands=[[]],
            properties={"size": IntegerAttr(dim.size, i64)},
            regions=[Region(block)],
        )

    @property
    def count(self) -> int:
        return self.size.value.data

    @property
    def variable(self) -> BlockArgument:
        return self.body.block.args[0]

    @property
    def divided_loops(self) -> Sequence[RepeatOp]:
        """This loop and those inside whose iterations are divided together; none if none are."""
        loops: list[RepeatOp] = []
        count = 0 if self.divided is None else self.divided.value.data
        op: Operation | None = self
        while len(loops) < count:
            if not isinstance(op, RepeatOp):
                raise VerifyException(f"expected {count} perfectly nested loops to divide")
            loops.append(op)
            op = op.body.block.first_op
            if len(loops) < count and op is not None and op.next_op is not None:
                raise VerifyException(f"expected {count} perfectly nested loops to divide")
        return loops

    def verify_(self) -> None:
        if len(self.body.block.args) != 1:
            raise VerifyException(f"expected 1 loop variable, found {len(self.body.block.args)}")
        if self.count < 0:
            raise VerifyException(f"expected a size of at least 0, found {self.count}")
        for value in self.private:
            if not isinstance(value.owner, ScratchOp):
                raise VerifyException("expected private memory to be scratch")
        _verify_loop(self.body.block)
        self.divided_loops

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.variable)
        printer.print_string(f" to {self.count}")
        if self.divided is not None:
            printer.print_string(f" divided {self.divided.value.data}")
        if self.private:
            printer.print_string(" private(")
            printer.print_list(self.private, printer.print_ssa_value)
            printer.print_string(")")
        if self.attributes:
            printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> RepeatOp:
        variable = parser.parse_argument(expect_type=False)
        parser.parse_keyword("to")
        properties: dict[str, Attribute] = {"size": IntegerAttr(parser.parse_integer(), i64)}
        if parser.parse_optional_keyword("divided"):
            properties["divided"] = IntegerAttr(parser.parse_integer(), i64)
        operands = _Operands(parser)
        if parser.parse_optional_keyword("private"):
            parser.parse_comma_separated_list(parser.Delimiter.PAREN, operands.parse)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region([variable.resolve(INDEX)])
        _complete(body)
        return cls.create(
            operands=list(operands.values.values()),
            properties=properties,
            attributes=_given(attributes),
            regions=[body],
        )


_Op = TypeVar("_Op", bound=StepOp)


class _Operands:
    """Operands as they are parsed: each value once, and what stands for it."""

    def __init__(self, parser: Parser):
        self._parser = parser
        self._stands: dict[SSAValue, Operand] = {}
        self.values: dict[Operand, SSAValue] = {}

    def parse(self) -> Operand | None:
        parser = self._parser
        position = parser.pos
        unresolved = parser.parse_optional_unresolved_operand()
        if unresolved is None:
            return None
        found = parser.ssa_values.get(unresolved.operand_name)
        if found is None:
            parser.raise_error(
                f"expected a value that is defined before, found %{unresolved.operand_name}",
                position,
                parser.pos,
            )
        value = found[unresolved.index]
        if value not in self._stands:
            if isinstance(value.type, MemRefType):
                operand: Operand = buffer_for(value)
            elif value.type == INDEX:
                operand = Dim(value.name_hint or "outer", 0)
            else:
                parser.raise_error(
                    f"expected a memref or a loop variable, found {value.type}",
                    position,
                    parser.pos,
                )
            self._stands[value] = operand
            self.values[operand] = value
        return self._stands[value]


def loop_size(value: SSAValue) -> int:
    """How many values a loop variable has."""
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
    """The operation of a step; `values` are what buffers and outer loop variables stand for."""
    content = Content.of(step)
    return kind.create(
        operands=[values[o] for o in (*content.buffers, *content.outer)],
        properties={"content": ContentAttr(content), **properties},
        attributes=dict(attributes),
        regions=list(regions),
    )


def _given(attributes: DictionaryAttr | None) -> dict[str, Attribute]:
    return {} if attributes is None else dict(attributes.data)


def _complete(body: Region) -> None:
    """A region that is empty in the text has a block as well."""
    if not body.blocks:
        body.add_block(Block())


def _print_attributes(op: Operation, printer: Printer) -> None:
    if op.attributes:
        printer.print_op_attributes(op.attributes)


def _verify_loop(block: Block) -> None:
    for argument in block.args:
        if argument.type != INDEX:
            raise VerifyException(f"expected loop variables of type index, found {argument.type}")
    _verify_steps(block)


def _verify_steps(block: Block) -> None:
    for op in block.ops:
        if not isinstance(op, StepOp | RepeatOp | ScratchOp | BarrierOp):
            raise VerifyException(f"expected steps of a kernel, found {op.name}")
