"""
Kernels as trees of steps, and trees of steps as operations.

Within a kernel, each memref has one `Buffer`, and each loop variable one `Dim`, so that accesses of
different operations can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from .affine import Buffer, Dim
from .attributes import ContentAttr
from .content import Content, Leaf, with_unique_names
from .kernel import INDEX, KernelOp, RepeatOp, ScratchOp
from .memory import buffer_for
from .nest import Nest, Repeat, RepeatListed, Step
from .ops import ListNonzerosOp, NestOp, RepeatListedOp, StepOp, loop_limit, loop_size, step_op
from .text import Operand


def _differs(dim: Dim, value: SSAValue) -> bool:
    """Returns whether a loop variable is not that of the loop around a step."""
    return (dim.size, dim.limit) != (loop_size(value), loop_limit(value))


class KernelSteps:
    """The steps of one kernel."""

    def __init__(self, kernel: KernelOp, operands: Mapping[SSAValue, Operand] | None = None):
        """`operands` maps values to buffers and loop variables, as far as they are known."""
        self.kernel = kernel
        self._stands: dict[SSAValue, Operand] = dict(operands or {})
        self._values: dict[Operand, SSAValue] = {o: v for v, o in self._stands.items()}
        self._contents: dict[Operation, Content] = {}
        self.step_of: dict[Operation, Step] = {}
        """The step of each operation that `tree` has met."""

    # reading

    def content(self, op: StepOp) -> Content:
        """Returns the content of an operation, on the buffers and loop variables of the kernel."""
        if op not in self._contents:
            own = op.contents()
            count = len(own.buffers)
            stands = [
                self._standing(v, o)
                for v, o in zip(op.operands, (*own.buffers, *own.outer), strict=True)
            ]
            self._contents[op] = own.on(stands[:count], stands[count:])  # pyright: ignore
        return self._contents[op]

    def _standing(self, value: SSAValue, own: Operand) -> Operand:
        if value not in self._stands:
            # an algorithm may repeat steps twice with one variable: each loop gets its own
            if isinstance(own, Dim) and (own in self._values or _differs(own, value)):
                own = Dim(own.name, loop_size(value), loop_limit(value))
            elif own in self._values:
                # contents of several operations may share what stands for values
                own = replace(own)
            self.add(own, value)
        return self._stands[value]

    def add(self, operand: Operand, value: SSAValue) -> None:
        """Maps a value to a buffer or a loop variable."""
        self._stands[value] = operand
        self._values[operand] = value

    def nest(self, op: NestOp) -> Nest:
        nest = self.content(op).step
        assert isinstance(nest, Nest)
        return nest

    def buffer(self, value: SSAValue) -> Buffer:
        """Returns the buffer of a memref, a new one if no step that was read accesses it."""
        found = self._stands.get(value)
        if found is None:
            found = buffer_for(value)
            self.add(found, value)
        assert isinstance(found, Buffer)
        return found

    def value(self, buffer: Buffer) -> SSAValue:
        """Returns the memref of a buffer."""
        return self._values[buffer]

    def variable(self, argument: BlockArgument) -> Dim:
        """Returns the loop variable of a repeated step."""
        found = self._stands.get(argument)
        if found is None:
            found = Dim(argument.name_hint or "n", loop_size(argument), loop_limit(argument))
            self.add(found, argument)
        assert isinstance(found, Dim)
        return found

    def scratch(self) -> Iterator[ScratchOp]:
        return (op for op in self.kernel.body.block.ops if isinstance(op, ScratchOp))

    def tree(self, block: Block | None = None) -> list[Step]:
        """Returns all steps of a block, by default of the kernel."""
        found: list[Step] = []
        for op in (block or self.kernel.body.block).ops:
            step: Step
            match op:
                case RepeatOp():
                    step = Repeat(self.variable(op.variable), self.tree(op.body.block))
                case RepeatListedOp():
                    step = self.loop_over_list(op)
                case StepOp():
                    step = self.content(op).step
                case _:
                    continue
            self.step_of[op] = step
            found.append(step)
        return found

    def loop_over_list(self, op: RepeatListedOp) -> RepeatListed:
        step = self.content(op).step
        assert isinstance(step, RepeatListed)
        block = op.body.block
        dims = tuple(self.variable(a) for a in block.args)
        return RepeatListed(dims, step.numbers, step.after, step.part, self.tree(block))

    # writing

    def set_nest(self, op: NestOp, nest: Nest) -> None:
        """Puts another nest into an operation."""
        content = Content.of(nest)
        op.operands = [self._values[o] for o in (*content.buffers, *content.outer)]
        op.content = ContentAttr(content)
        self._contents[op] = content

    def add_scratch(self, buffer: Buffer) -> None:
        """Declares temporary memory, after the existing declarations."""
        scratch = ScratchOp(MemRefType(buffer.element, [buffer.high]))
        scratch.result.name_hint = "scratch"
        block = self.kernel.body.block
        before = [op for op in block.ops if isinstance(op, ScratchOp)]
        point = InsertPoint.after(before[-1]) if before else InsertPoint.at_start(block)
        Rewriter.insert_op(scratch, point)
        self.add(buffer, scratch.result)

    def write(self, steps: Sequence[Step], point: InsertPoint) -> None:
        """Inserts the operations of steps."""
        Rewriter.insert_op([self._op(step) for step in steps], point)

    def _op(self, step: Step) -> Operation:
        if isinstance(step, Repeat):
            loop = RepeatOp(step.dim)
            self.add(step.dim, loop.variable)
            loop.body.block.add_ops([self._op(s) for s in step.steps])
            return loop
        if isinstance(step, RepeatListed):
            block = Block(arg_types=[INDEX] * len(step.dims))
            for dim, argument in zip(step.dims, block.args, strict=True):
                argument.name_hint = dim.name
                self.add(dim, argument)
            block.add_ops([self._op(s) for s in step.steps])
            own = RepeatListed(step.dims, step.numbers, step.after, step.part)
            return self._leaf(RepeatListedOp, own, [Region(block)])
        if isinstance(step, Nest):
            return self._leaf(NestOp, with_unique_names(step)[0])
        return self._leaf(ListNonzerosOp, step)

    def _leaf(self, kind: type[StepOp], step: Leaf, regions: Sequence[Region] = ()) -> StepOp:
        return step_op(kind, step, self._values, {}, {}, regions)
