"""Kernels, their memory, and loops around their steps."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from xdsl.dialects.builtin import (
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    UnitAttr,
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
from .affine import Dim, Limit
from .limits import LimitAttr, limit_text, parse_limit
from .memory import buffer_for
from .text import Operand

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
    threads run it together; then nests that are not divided are run by the first. With `rows`, the
    last argument is the number of rows, an i64, which limits of loops refer to.

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
    rows = opt_prop_def(UnitAttr)
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
        if self.rows is not None and not _is_number([a.type for a in self.body.block.args]):
            raise VerifyException("expected the number of rows, an i64, as the last argument")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string("(")
        printer.print_list(self.body.block.args, printer.print_block_argument)
        printer.print_string(")")
        if self.threads is not None:
            printer.print_string(f" threads {self.thread_count}")
        if self.rows is not None:
            printer.print_string(" rows")
        if self.attributes:
            printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> KernelOp:
        name = parser.parse_symbol_name()
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        threads = parser.parse_integer() if parser.parse_optional_keyword("threads") else None
        has_rows = parser.parse_optional_keyword("rows") is not None
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region(arguments)
        complete(body)
        properties: dict[str, Attribute] = {"sym_name": name}
        if has_rows:
            properties["rows"] = UnitAttr()
        if threads is not None:
            properties["threads"] = IntegerAttr(threads, i64)
        return cls.create(
            properties=properties,
            regions=[body],
            attributes=given_attributes(attributes),
        )


def _is_number(types: Sequence[Attribute]) -> bool:
    """Returns whether the last of some types is that of an i64 in memory."""
    last = types[-1] if types else None
    return isinstance(last, MemRefType) and last.element_type == i64 and not last.get_shape()


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


@irdl_op_definition
class RepeatOp(IRDLOperation):
    """
    Runs steps for each value of a loop variable. With `divided n`, threads divide the iterations of
    this and of the loops inside, `n` in all; each then has a copy of the `private` scratch.
    `%b to 8 of rows by 16 opens` is a loop over blocks of 16 rows, of which the last may have
    fewer, and loops inside may be limited to the rest of its block.

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
    limit = opt_prop_def(LimitAttr)
    body = region_def("single_block")

    traits = traits_def(TouchesMemory(), NoTerminator())

    def __init__(self, dim: Dim):
        block = Block(arg_types=[INDEX])
        block.args[0].name_hint = dim.name
        properties: dict[str, Attribute] = {"size": IntegerAttr(dim.size, i64)}
        if dim.limit is not None:
            properties["limit"] = LimitAttr(dim.limit)
        super().__init__(operands=[[]], properties=properties, regions=[Region(block)])

    @property
    def limited(self) -> Limit | None:
        """The limit of the loop, if it has one."""
        return None if self.limit is None else self.limit.data

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
        verify_loop(self.body.block)
        verify_limits(self, [self.limited])
        self.divided_loops

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.variable)
        printer.print_string(f" to {self.count}{limit_text(self.limited)}")
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
        if (limit := parse_limit(parser)) is not None:
            properties["limit"] = LimitAttr(limit)
        if parser.parse_optional_keyword("divided"):
            properties["divided"] = IntegerAttr(parser.parse_integer(), i64)
        operands = Operands(parser)
        if parser.parse_optional_keyword("private"):
            parser.parse_comma_separated_list(parser.Delimiter.PAREN, operands.parse)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region([variable.resolve(INDEX)])
        complete(body)
        return cls.create(
            operands=list(operands.values.values()),
            properties=properties,
            attributes=given_attributes(attributes),
            regions=[body],
        )


class Operands:
    """
    Operands in the order in which they are parsed: each value once, with its buffer or loop
    variable.
    """

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


def given_attributes(attributes: DictionaryAttr | None) -> dict[str, Attribute]:
    return {} if attributes is None else dict(attributes.data)


def complete(body: Region) -> None:
    """Gives a region that is empty in the text a block."""
    if not body.blocks:
        body.add_block(Block())


def print_attributes(op: Operation, printer: Printer) -> None:
    if op.attributes:
        printer.print_op_attributes(op.attributes)


def verify_loop(block: Block) -> None:
    for argument in block.args:
        if argument.type != INDEX:
            raise VerifyException(f"expected loop variables of type index, found {argument.type}")
    _verify_steps(block)


def verify_limits(op: Operation, limits: Sequence[Limit | None]) -> None:
    """Checks that a kernel has what the limits of loops of one of its operations refer to."""
    found = [limit for limit in limits if limit is not None]
    around: list[Operation] = []
    while (parent := (around[-1] if around else op).parent_op()) is not None:
        around.append(parent)
    kernels = [o for o in around if isinstance(o, KernelOp)]
    if found and any(kernel.rows is None for kernel in kernels):
        raise VerifyException("expected a kernel with a number of rows, since a loop has a limit")
    loops = [o.limited for o in around if isinstance(o, RepeatOp)]
    if any(x.of_rest for x in found) and not any(x is not None and x.opens for x in loops):
        raise VerifyException("expected a loop that opens blocks around one limited to their rest")


def _verify_steps(block: Block) -> None:
    for op in block.ops:
        if not op.name.startswith("glow_nest.") or isinstance(op, KernelOp):
            raise VerifyException(f"expected steps of a kernel, found {op.name}")
