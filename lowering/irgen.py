"""
The lowering of the tensor graph to a linear program over buffers.

Every tensor gets a place: a buffer and the view of it that holds the tensor's elements. Nodes are
emitted in the order in which they stand (`glow-schedule-nodes` chooses that order):

- a constant is a weight, one for each distinct value;
- a reshape, a broadcast or a slice is another view of its operand's buffer. Views compose: the
  result always refers to the buffer itself. If strides cannot express the result (a reshape of
  elements that are not dense), the operand is copied into a buffer of its own first;
- a concatenation copies each operand into its part of a new buffer, and a padding copies into the
  inside of a new buffer and fills its border. `glow-eliminate-copies` then lets most operands be
  computed in place;
- every other node becomes the instruction that is derived from it, on newly allocated buffers.

The function's results become arguments marked `glow.qualifier = "out"`, to which a copy at the end
writes. Each allocation is freed right after its last use.

A branch or a loop becomes an instruction whose bodies are programs (`control_programs`).

New rules for nodes that only move data are registered with `@emits`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.passes import ModulePass

from ..glow_dialects.elements import memref_of
from ..glow_dialects.glow.constant import ConstantOp
from ..glow_dialects.glow.shape import BroadcastOp, ConcatOp, PadOp, ReshapeOp, SliceOp
from ..glow_dialects.glow_inst.memory import QUALIFIER
from ..glow_dialects.views import borders, broadcast_view, slice_view
from ..passes.instructions.program import tidy
from ..passes.levels import GRAPH
from ..passes.looked_at import each
from . import control_programs as _control_programs  # noqa: F401  (branches and loops)
from .program_builder import BufferView, Program, emits, failure, memref_for


@emits(ConstantOp)
def _constant(program: Program, node: ConstantOp) -> None:
    result = node.result
    program.set_place(result, program.weight(node.value, memref_for(result), result.name_hint))


@emits(ReshapeOp)
def _reshape(program: Program, node: ReshapeOp) -> None:
    source = program.place(node.input)
    shaped = program.reinterpret(source, memref_for(node.result), node.input.name_hint)
    program.set_place(node.result, shaped)


@emits(BroadcastOp)
def _broadcast(program: Program, node: BroadcastOp) -> None:
    source = program.place(node.input)
    repeated = broadcast_view(source.type, memref_for(node.result).get_shape())
    program.set_place(node.result, BufferView(source.buffer, repeated))


@emits(SliceOp)
def _slice(program: Program, node: SliceOp) -> None:
    source = program.place(node.input)
    call = node.call
    part = slice_view(source.type, call.ints("starts"), call.ints("sizes"), call.ints("strides"))
    program.set_place(node.result, BufferView(source.buffer, part))


@emits(ConcatOp)
def _concat(program: Program, node: ConcatOp) -> None:
    whole = program.allocate(memref_for(node.result), node.result.name_hint)
    program.set_place(node.result, whole)
    axis = node.call.int("axis")
    starts = [0] * whole.type.get_num_dims()
    for tensor in node.inputs:
        source = program.place(tensor)
        sizes = source.type.get_shape()
        part = slice_view(whole.type, starts, sizes, [1] * len(sizes))
        program.copy(BufferView(whole.buffer, part), source)
        starts[axis] += sizes[axis]


@emits(PadOp)
def _pad(program: Program, node: PadOp) -> None:
    whole = program.allocate(memref_for(node.result), node.result.name_hint)
    program.set_place(node.result, whole)
    source = program.place(node.input)
    low, sizes = node.call.ints("low"), source.type.get_shape()
    for starts, extents in borders(low, sizes, whole.type.get_shape()):
        border = slice_view(whole.type, starts, extents, [1] * len(sizes))
        program.fill(BufferView(whole.buffer, border), node.value)
    inside = slice_view(whole.type, low, sizes, [1] * len(sizes))
    program.copy(BufferView(whole.buffer, inside), source)


def _dictionaries(
    attributes: ArrayAttr[DictionaryAttr] | None, count: int
) -> list[dict[str, Attribute]]:
    if attributes is None:
        return [{} for _ in range(count)]
    return [dict(a.data) for a in attributes]


def _signature(graph: func.FuncOp) -> tuple[list[MemRefType], ArrayAttr[DictionaryAttr]]:
    """
    Returns the argument types and attributes of the program: the graph's inputs, then its outputs.
    """
    inputs, outputs = graph.function_type.inputs.data, graph.function_type.outputs.data
    types: list[MemRefType] = []
    for t in (*inputs, *outputs):
        if not isinstance(t, TensorType):
            raise failure(graph, f"expected a function of tensors, found {graph.function_type}")
        if not t.has_static_shape():
            raise failure(graph, f"expected static shapes, found {t}")
        types.append(memref_of(t))
    attributes = [
        DictionaryAttr({**given, QUALIFIER: StringAttr(qualifier)})
        for qualifier, all_given in (
            ("in", _dictionaries(graph.arg_attrs, len(inputs))),
            ("out", _dictionaries(graph.res_attrs, len(outputs))),
        )
        for given in all_given
    ]
    return types, ArrayAttr(attributes)


def generate(graph: func.FuncOp) -> func.FuncOp:
    """
    Returns the instruction program of a function over tensors, under the same name.

    Raises CompileError for an operation that is not a node of the `glow` dialect.
    """
    types, attributes = _signature(graph)
    block = Block(arg_types=types)
    program = Program(block)
    for tensor, argument in zip(graph.body.block.args, block.args, strict=False):
        argument.name_hint = tensor.name_hint
        program.set_place(tensor, BufferView(argument, memref_for(tensor)))
    terminator = program.emit_graph(graph.body.block)
    if not isinstance(terminator, func.ReturnOp):
        raise failure(terminator, "expected the function to end with func.return")
    for tensor, argument in zip(
        terminator.operands, block.args[len(graph.body.block.args) :], strict=True
    ):
        argument.name_hint = tensor.name_hint
        program.copy(BufferView(argument, memref_for(tensor)), program.place(tensor))
    program.emit(func.ReturnOp())
    tidy(block)
    made = func.FuncOp(
        graph.sym_name.data, (types, []), Region(block), graph.sym_visibility, arg_attrs=attributes
    )
    made.attributes |= graph.attributes
    return made


def _is_graph(op: Operation) -> bool:
    """Returns a function with a body that works on tensors."""
    return (
        isinstance(op, func.FuncOp)
        and len(op.body.blocks) == 1
        and any(
            isinstance(t, TensorType)
            for t in (*op.function_type.inputs.data, *op.function_type.outputs.data)
        )
    )


@dataclass(frozen=True)
class IRGenPass(ModulePass):
    """Turns every function over tensors into an instruction program over buffers."""

    name = "glow-irgen"
    level = GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in each(list(op.ops)):
            if isinstance(function, func.FuncOp) and _is_graph(function):
                made = generate(function)
                op.body.block.insert_op_before(made, function)
                function.detach()
                function.erase()
