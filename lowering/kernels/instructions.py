"""The facts about an instruction that its kernel needs: its parameters, signature and algorithm."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...glow_dialects.elements import offset_of, strided_memref
from ...glow_dialects.glow.base import DataParallel
from ...glow_dialects.glow_inst.instruction import Instruction, OperatorInstruction, Qualifier
from ...glow_dialects.glow_inst.stacked import CopyOp, StackedOp
from ...glow_dialects.glow_nest.affine import Buffer, View
from ...glow_dialects.glow_nest.body_text import body_of
from ...glow_dialects.glow_nest.memory import reach
from ...glow_dialects.machine import MachineDescription
from ...glow_dialects.operator import Call
from .algorithms.elementwise import copy, data_parallel, elementwise
from .codegen.types import significant_strides
from .registry import Epilogue, Kernel, algorithm_of, kernel_of
from .row_limits import NO_ROWS, ParameterRows

_HASH_DIGITS = 12
_MOVES = Call(DataParallel, (), (), {})
"""The call of kernels that belong to no operator: copies, and several elementwise operators."""


@dataclass(frozen=True)
class Parameter:
    """A memref parameter of a kernel."""

    element: Attribute
    """The instruction's element type, which also has the signedness and the quantization."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    qualifier: Qualifier
    rows: ParameterRows = NO_ROWS

    @staticmethod
    def of(t: Attribute, qualifier: Qualifier, keep_offset: bool) -> Parameter:
        assert isinstance(t, MemRefType)
        offset = offset_of(t) if keep_offset else 0
        return Parameter(t.element_type, t.get_shape(), significant_strides(t), offset, qualifier)

    def typed(self, element: Attribute) -> MemRefType:
        """Returns its type with elements of `element`."""
        return strided_memref(element, self.shape, self.strides, self.offset)

    def view(self, number: int) -> View:
        buffer = Buffer(
            self.element, *reach(self.shape, self.strides, self.offset), parameter=number
        )
        return View(
            buffer, self.shape, self.strides, self.offset, self.rows.limits, self.rows.periods
        )


@dataclass(frozen=True)
class Signature:
    """The facts that distinguish a kernel from others; equal text means an equal kernel."""

    stem: str
    text: str

    @property
    def name(self) -> str:
        digest = hashlib.sha256(self.text.encode()).hexdigest()
        return f"k_{self.stem}_{digest[:_HASH_DIGITS]}"


def signature_of(
    op: Instruction,
    parameters: Sequence[Parameter],
    machine: MachineDescription,
    threads: int = 1,
) -> Signature:
    # all properties count: the offsets of memory planning are not on instructions
    listed = _properties(op)
    memory = "; ".join(
        f"{p.qualifier} {p.element} {p.shape} {p.strides} {p.offset}{p.rows.text}"
        for p in parameters
    )
    bodies = "; ".join(_block_text(r.block) for r in op.regions if r.blocks)
    stem = op.name.removeprefix("glow_inst.")
    further = [f"threads = {threads}"] if threads > 1 else []
    identity = machine.kernel_identity()
    return Signature(stem, "\n".join((stem, listed, memory, bodies, identity, *further)))


def _properties(op: Operation) -> str:
    properties = {**op.properties, **op.attributes}
    return ", ".join(f"{name} = {properties[name]}" for name in sorted(properties))


def _block_text(block: Block) -> str:
    """Returns a body with numbered values, so that names do not matter."""
    numbers: dict[SSAValue, int] = {}
    for argument in block.args:
        numbers[argument] = len(numbers)
    lines = [", ".join(str(a.type) for a in block.args)]
    for op in block.ops:
        operands = ", ".join(str(numbers[o]) for o in op.operands)
        for result in op.results:
            numbers[result] = len(numbers)
        types = ", ".join(str(r.type) for r in op.results)
        lines.append(f"{op.name}({operands}) {{{_properties(op)}}} {types}")
    return "\n".join(lines)


def keeps_limits(op: Instruction) -> bool:
    """Returns whether the algorithm of an instruction gives limits to its loops over scratch."""
    if not isinstance(op, OperatorInstruction) or issubclass(op.OPERATOR, DataParallel):
        return False
    found = kernel_of(op.OPERATOR)
    return found is not None and found.keeps_limits


def describe(
    op: Instruction, views: Sequence[View], machine: MachineDescription, threads: int = 1
) -> Kernel:
    """Returns the nests of the algorithm of an instruction whose parameters have these views."""
    match op:
        case CopyOp():
            k = Kernel(_MOVES, views[:1], views[1:], machine=machine)
            copy(k)
        case StackedOp():
            outs, inouts = len(op.outs), len(op.inouts)
            written, read = views[: outs + inouts], views[outs:]
            k = Kernel(_MOVES, written, read, machine=machine)
            elementwise(k, body_of(op.body.block), written, read, inouts > 0)
        case OperatorInstruction():
            is_elementwise = issubclass(op.OPERATOR, DataParallel)
            algorithm = data_parallel if is_elementwise else algorithm_of(op.OPERATOR)
            if algorithm is None:
                raise ValueError(f"no kernel for {op.name}")
            outs, arguments, epilogue = op.num_results(), len(op.arguments), None
            if op.epilogue is not None:
                body = body_of(op.epilogue.block)
                epilogue = Epilogue(body, views[arguments:], op.inout is not None)
            k = Kernel(op.call, views[:outs], views[outs:arguments], epilogue, machine, threads)
            algorithm(k)
        case _:
            raise ValueError(f"no kernel for {op.name}")
    return k
