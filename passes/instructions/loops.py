"""
Data-parallel instructions as computations on one element, joined, and instructions made of them
again.

A `Body` follows, for one element, what a sequence of instructions reads and writes. A later
instruction that reads a view which an earlier one wrote gets the element as a value instead. The
result becomes one `glow_inst.stacked` or the epilogue of an operator instruction.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    f64,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from ...glow_dialects.elements import num_elements
from ...glow_dialects.glow.base import AcceptsEpilogue, DataParallel
from ...glow_dialects.glow.constant import SplatOp
from ...glow_dialects.glow_inst import INSTRUCTIONS
from ...glow_dialects.glow_inst.instruction import (
    Instruction,
    OperatorInstruction,
    Qualifier,
    buffer_of,
)
from ...glow_dialects.glow_inst.memory import WeightOp
from ...glow_dialects.glow_inst.stacked import CopyOp, StackedOp, YieldOp
from ...glow_dialects.operator import Call
from .program import memref, overlap, same_view

SPLAT = INSTRUCTIONS[SplatOp]


def is_loop(op: Operation) -> bool:
    """Returns a copy, a splat, a stack, or the instruction of a data-parallel operator."""
    if isinstance(op, OperatorInstruction):
        operator = op.OPERATOR
        if issubclass(operator, DataParallel):
            return not operator.depends_on_place(_call_on_buffers(op))
        return type(op) is SPLAT
    return isinstance(op, StackedOp | CopyOp)


def _call_on_buffers(op: OperatorInstruction) -> Call:
    """
    Returns the operator's call on the types of buffers, which is quicker to make than that on
    tensors, and has the same elements.
    """
    sources, dests = (tuple(v.type for v in values) for values in (op.sources, op.dests))
    return Call(op.OPERATOR, sources, dests, op.properties)


def accepts_epilogue(op: Operation) -> bool:
    """Returns an operator instruction that can run a body on each element of its one result."""
    return (
        isinstance(op, OperatorInstruction)
        and op.num_results() == 1
        and op.OPERATOR.has_trait(AcceptsEpilogue)
    )


def body_size(op: Instruction) -> int:
    """Returns the number of data-parallel nodes that an instruction runs on each element."""
    if isinstance(op, StackedOp):
        return len(op.body.block.ops) - 1
    if isinstance(op, OperatorInstruction) and op.epilogue is not None:
        return len(op.epilogue.block.ops) - 1
    return int(is_loop(op) and not isinstance(op, CopyOp) and type(op) is not SPLAT)


def _element(view: SSAValue) -> Attribute:
    return memref(view).element_type


def _find(views: Sequence[SSAValue], view: SSAValue) -> int | None:
    return next((i for i, v in enumerate(views) if same_view(v, view)), None)


def _scalar_weight(view: SSAValue) -> FloatAttr | IntegerAttr | None:
    """Returns the one number of a weight of one element that is written in the text."""
    owner = buffer_of(view).owner
    if not isinstance(owner, WeightOp) or not isinstance(owner.value, DenseIntOrFPElementsAttr):
        return None
    if num_elements(owner.result.type.get_shape()) != 1:
        return None
    element = owner.result.type.element_type
    (value,) = owner.value.get_values()
    if isinstance(element, Float32Type | Float64Type) and isinstance(value, float):
        return FloatAttr(value, f64)
    if isinstance(element, IntegerType) and isinstance(value, int) and abs(value) < 2**63:
        return IntegerAttr(value, i64)
    return None


class Body:
    """The computation for one element, instruction after instruction."""

    def __init__(self):
        self.block = Block()
        self.reads: list[SSAValue] = []
        """The views that are read."""
        self.arguments: list[BlockArgument] = []
        """The argument of the block for each view of `reads`."""
        self.writes: list[SSAValue] = []
        self.values: list[SSAValue] = []
        """The element to store in each view of `writes`."""

    def element(self, view: SSAValue) -> SSAValue:
        """
        Returns the current element of a view: as written so far, a constant, or as it is in memory.
        """
        at = _find(self.writes, view)
        if at is not None:
            return self.values[at]
        at = _find(self.reads, view)
        if at is not None:
            return self.arguments[at]
        number = _scalar_weight(view)
        if number is not None:
            return self._splat(number, _element(view))
        self.reads.append(view)
        self.arguments.append(self.block.insert_arg(_element(view), len(self.block.args)))
        return self.arguments[-1]

    def store(self, view: SSAValue, value: SSAValue) -> None:
        at = _find(self.writes, view)
        if at is not None:
            self.values[at] = value
            return
        self.writes.append(view)
        self.values.append(value)

    def forget(self, view: SSAValue) -> None:
        """Does not store a view after all."""
        at = _find(self.writes, view)
        assert at is not None
        del self.writes[at], self.values[at]

    def prune(self) -> None:
        """Drops the nodes whose results are not stored, and the views that only those read."""
        stored = set(self.values)
        for node in reversed(list(self.block.ops)):
            if not any(r.uses or r in stored for r in node.results):
                node.detach()
                node.erase()
        for view, argument in zip(list(self.reads), list(self.arguments), strict=True):
            if not argument.uses and argument not in stored:
                self.reads.remove(view)
                self.arguments.remove(argument)
                self.block.erase_arg(argument)

    def _splat(self, number: Attribute, element: Attribute) -> SSAValue:
        splat = SplatOp.create(result_types=[element], properties={"value": number})
        self.block.add_op(splat)
        return splat.result

    def absorb(self, op: Instruction) -> None:
        """Computes the result of `op`. A stack or epilogue loses its body to this one."""
        match op:
            case StackedOp():
                self._absorb_stack(op)
            case CopyOp():
                self.store(op.dest, self.element(op.source))
            case OperatorInstruction() if type(op) is SPLAT:
                (dest,) = op.dests
                self.store(dest, self._splat(op.properties["value"], _element(dest)))
            case OperatorInstruction() if is_loop(op):
                node = op.OPERATOR.create(
                    operands=[self.element(v) for v in op.sources],
                    result_types=[_element(v) for v in op.dests],
                    properties=op.operator_properties,
                )
                self.block.add_op(node)
                for dest, result in zip(op.dests, node.results, strict=True):
                    self.store(dest, result)
            case _:
                raise AssertionError(f"{op.name} is not data-parallel")

    def _absorb_stack(self, op: StackedOp) -> None:
        elements = [self.element(v) for v in (*op.inouts, *op.ins)]
        results = self._inline(op.body.block, elements)
        for view, value in zip((*op.outs, *op.inouts), results, strict=True):
            self.store(view, value)

    def absorb_epilogue(self, op: OperatorInstruction) -> BlockArgument:
        """
        Computes the epilogue of `op`, and returns the argument for the operator's result, which
        belongs to no view.
        """
        (dest,) = op.dests
        read = [dest, *op.extras] if op.inout is not None else [*op.extras]
        elements = [self.element(v) for v in read]
        result = self.block.insert_arg(op.result_element, len(self.block.args))
        if op.epilogue is None:
            self.store(dest, result)
            return result
        (value,) = self._inline(op.epilogue.block, [result, *elements])
        self.store(dest, value)
        return result

    def _inline(self, block: Block, elements: Sequence[SSAValue]) -> list[SSAValue]:
        """Moves the nodes of a body here; returns the values that it yields."""
        for argument, element in zip(block.args, elements, strict=True):
            argument.replace_all_uses_with(element)
        *nodes, last = block.ops
        for node in nodes:
            node.detach()
            self.block.add_op(node)
        values = list(last.operands)
        last.detach()
        last.erase()
        return values

    def _finish(self, order: Sequence[SSAValue], values: Sequence[SSAValue]) -> Region:
        """Returns the block with these arguments, made to yield these values, as a region."""
        finished = Block(arg_types=[a.type for a in order])
        for old, new in zip(order, finished.args, strict=True):
            old.replace_all_uses_with(new)
        # an argument may itself be yielded
        renamed = dict(zip(order, finished.args, strict=True))
        for op in list(self.block.ops):
            op.detach()
            finished.add_op(op)
        finished.add_op(YieldOp(*(renamed.get(v, v) for v in values)))
        return Region(finished)

    def stacked(self) -> StackedOp:
        """
        Returns the computation as one instruction; views that are read and written are `@inout`.
        """
        arguments = dict(zip(self.reads, self.arguments, strict=True))
        results = dict(zip(self.writes, self.values, strict=True))
        inouts: dict[SSAValue, SSAValue] = {}
        for view in self.writes:
            at = _find(self.reads, view)
            if at is not None:
                inouts[view] = self.reads[at]
        outs = [v for v in self.writes if v not in inouts]
        ins = [v for v in self.reads if v not in inouts.values()]
        order = [arguments[v] for v in (*inouts.values(), *ins)]
        region = self._finish(order, [results[v] for v in (*outs, *inouts)])
        return StackedOp(outs, list(inouts), ins, region)

    def as_epilogue_of(self, op: OperatorInstruction, result: SSAValue) -> OperatorInstruction:
        """
        Returns the instruction `op` with this computation, which writes one view, as its epilogue.
        """
        (dest,) = self.writes
        arguments = dict(zip(self.reads, self.arguments, strict=True))
        at = _find(self.reads, dest)
        old = [] if at is None else [self.reads[at]]
        extras = [v for v in self.reads if v not in old]
        order = [result, *(arguments[v] for v in (*old, *extras))]
        region = self._finish(order, self.values)
        return type(op).on([dest], op.sources, op.operator_properties, extras, region, bool(old))


def conflicting(reads: Sequence[SSAValue], writes: Sequence[SSAValue]) -> bool:
    """
    Returns whether some view of `writes` shares elements with a different view of either list.
    """
    return any(
        overlap(written, other) and not same_view(written, other)
        for written in writes
        for other in (*reads, *writes)
    )


def as_inout(op: Instruction, read: SSAValue, written: SSAValue) -> Instruction:
    """
    Returns the instruction with `read`, one of its `@in` views, and `written`, one of its `@out`
    views, replaced by the one view `read`, which becomes `@inout`. `op` is not in use afterwards.
    """
    body = Body()
    if not is_loop(op):
        assert isinstance(op, OperatorInstruction)
        result = body.absorb_epilogue(op)
        _rename(body.writes, written, read)
        return body.as_epilogue_of(op, result)
    body.absorb(op)
    _rename(body.writes, written, read)
    return body.stacked()


def _rename(views: list[SSAValue], old: SSAValue, new: SSAValue) -> None:
    views[views.index(old)] = new


def read_views(op: Instruction) -> list[SSAValue]:
    """
    Returns the views that an instruction reads element by element, without those of a whole
    operator.
    """
    if isinstance(op, OperatorInstruction) and not is_loop(op):
        return list(op.extras) + (list(op.dests) if op.inout is not None else [])
    return [v for q, v in op.qualified_operands() if q is not Qualifier.OUT]
