"""The facts about an instruction that its kernel needs: its parameters, name and algorithm."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, BlockArgument, SSAValue

from ...glow_dialects.elements import offset_of, storage_type, strided_memref
from ...glow_dialects.glow.base import DataParallel
from ...glow_dialects.glow_inst.instruction import (
    Instruction,
    OperatorInstruction,
    Qualifier,
    buffer_of,
)
from ...glow_dialects.glow_inst.stacked import CopyOp, StackedOp
from ...glow_dialects.glow_nest.affine import Buffer, View
from ...glow_dialects.glow_nest.body import Body
from ...glow_dialects.glow_nest.memory import reach
from ...glow_dialects.machine import MachineDescription
from ...glow_dialects.operator import Call, element_of, shape_of, with_shape
from ...glow_dialects.scalar import Expr, bottom_up
from ...passes.instructions.formulas import formula_of
from ...passes.instructions.program import memref
from . import algorithms as _algorithms  # noqa: F401  (fills the registry)
from .codegen.types import significant_strides
from .registry import Epilogue, Kernel, kernel_of, view_dims
from .row_limits import ParameterRows

_HASH_DIGITS = 12
_MOVES = Call(DataParallel, (), (), {})
"""The call of kernels that belong to no operator: copies, and several elementwise operators."""


@dataclass(frozen=True)
class Parameter:
    """A memref parameter of a kernel."""

    element: Attribute
    """The type that memory holds, which also has the signedness."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    qualifier: Qualifier
    rows: ParameterRows

    @staticmethod
    def of(value: SSAValue, qualifier: Qualifier, rows: ParameterRows) -> Parameter:
        """Returns the parameter for an operand; only arguments of `main` keep their offsets."""
        t = memref(value)
        offset = offset_of(t) if isinstance(buffer_of(value), BlockArgument) else 0
        element = storage_type(t.element_type)
        return Parameter(element, t.get_shape(), significant_strides(t), offset, qualifier, rows)

    @property
    def type(self) -> MemRefType:
        return strided_memref(self.element, self.shape, self.strides, self.offset)

    def view(self, number: int) -> View:
        layout = self.shape, self.strides, self.offset
        buffer = Buffer(self.element, *reach(*layout), parameter=number)
        return View(buffer, *layout, self.rows.limits, self.rows.periods)


@dataclass(frozen=True)
class Computation:
    """
    The computation of an instruction on stored numbers. Scales and zero points are numbers in its
    body, so instructions whose quantized types alone differ have the same one.
    """

    op: Instruction
    body: Body | None
    """
    The formula of a data-parallel instruction or of several; else what follows the operator, if
    anything does.
    """

    @staticmethod
    def of(op: Instruction) -> Computation:
        """Returns the computation of an instruction."""
        formula = formula_of(op)
        return Computation(op, None if formula is None else formula.body)

    def kernel_name(
        self, parameters: Sequence[Parameter], machine: MachineDescription, threads: int
    ) -> str:
        """
        Returns the name of the kernel, whose memory `parameters` describe, with a hash of the facts
        that distinguish it from others.
        """
        # all properties count: the offsets of memory planning are not on instructions
        properties = {**self.op.properties, **self.op.attributes}
        listed = ", ".join(f"{name} = {properties[name]}" for name in sorted(properties))
        memory = "; ".join(
            f"{p.qualifier} {p.element} {p.shape} {p.strides} {p.offset}{p.rows.text}"
            for p in parameters
        )
        body = "" if self.body is None else _text(self.body)
        stem = self.op.name.removeprefix("glow_inst.")
        further = [f"threads = {threads}"] if threads > 1 else []
        identity = machine.kernel_identity()
        text = "\n".join((stem, listed, memory, body, identity, *further))
        return f"k_{stem}_{hashlib.sha256(text.encode()).hexdigest()[:_HASH_DIGITS]}"

    def kernel(self, views: Sequence[View], machine: MachineDescription, threads: int) -> Kernel:
        """Returns the nests of the algorithm, for parameters that have these views."""
        match self.op:
            case CopyOp():
                k, dims = Kernel(_MOVES, views[:1], views[1:], machine=machine), view_dims(views[0])
                k.copy(dims, views[0][dims], views[1][dims])
                return k
            case StackedOp() as op:
                return self._elementwise(views, len(op.outs), len(op.inouts), machine)
            case OperatorInstruction() as op if issubclass(op.OPERATOR, DataParallel):
                return self._elementwise(views, 1, 0, machine)
            case OperatorInstruction() as op:
                return self._operator(op, views, machine, threads)
            case op:
                raise ValueError(f"no kernel for {op.name}")

    def _elementwise(
        self, views: Sequence[View], outs: int, inouts: int, machine: MachineDescription
    ) -> Kernel:
        """Returns the nest of a body that writes `outs` views, and reads and writes `inouts`."""
        assert self.body is not None
        k = Kernel(_MOVES, views[: outs + inouts], views[outs:], machine=machine)
        dims = view_dims(views[0])
        writes, reads = ([view[dims] for view in some] for some in (k.results, k.operands))
        k.map_all(dims, writes, reads, self.body.results, in_place=inouts > 0)
        return k

    def _operator(
        self,
        op: OperatorInstruction,
        views: Sequence[View],
        machine: MachineDescription,
        threads: int,
    ) -> Kernel:
        """Returns the nests of an operator, and of what follows it."""
        found = kernel_of(op.OPERATOR)
        if found is None:
            raise ValueError(f"no kernel for {op.name}")
        outs, arguments, epilogue = op.num_results(), len(op.arguments), Epilogue()
        if self.body is not None:
            epilogue = Epilogue(self.body, views[arguments:], op.inout is not None)
        call = _on_stored_numbers(op.call)
        k = Kernel(call, views[:outs], views[outs:arguments], epilogue, machine, threads)
        k.keeps_limits = found.keeps_limits
        found.algorithm(k)
        return k


def _on_stored_numbers(call: Call) -> Call:
    """Returns the call of an operator that only moves or compares quantized numbers."""

    def stored(types: Sequence[Attribute]) -> tuple[Attribute, ...]:
        return tuple(with_shape(storage_type(element_of(t)), shape_of(t)) for t in types)

    return replace(call, operands=stored(call.operands), results=stored(call.results))


def _text(body: Body) -> str:
    """Returns a text that differs for bodies that compute differently."""
    numbers: dict[Expr, int] = {}

    def named(e: Expr) -> str:
        return f"%{numbers[e]}" if e in numbers else f"{e.value!r}"

    lines: list[str] = []
    for e in bottom_up(body.results):
        args = ", ".join(map(named, e.args))
        lines.append(f"{e.kind}({args}) {e.index} {e.value!r} {e.target}")
        numbers[e] = len(numbers)
    results = zip(body.results, body.elements, strict=True)
    return "\n".join([*lines, *(f"{named(r)} {element}" for r, element in results)])
