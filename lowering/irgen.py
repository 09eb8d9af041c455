"""
The lowering of the tensor graph to a linear program over buffers.

Every tensor gets a place: a buffer and the view of it that holds the tensor's elements. Nodes are
emitted in the order in which they stand (`glow-schedule-nodes` chooses that order):

- a constant is a weight, one for each distinct value;
- a reshape, a broadcast or a slice is another view of its operand's buffer. Views compose: the
  result always refers to the buffer itself. If strides cannot express the result (a reshape of
  elements that are not dense), the operand is copied into a buffer of its own first;
- a transpose is a view, too, if it moves whole rows and its users read rows wherever they are;
- a concatenation copies each operand into its part of a new buffer, and a padding copies into the
  inside of a new buffer and fills its border. `glow-eliminate-copies` then lets most operands be
  computed in place;
- every other node becomes the instruction that is derived from it, on newly allocated buffers.

The function's results become arguments marked `glow.qualifier = "out"`, to which a copy at the end
writes. An argument with `glow.state = N` is a state: result N is its value at the next call. It
becomes one argument marked `"inout"`, to which result N is copied after all other results. Each
allocation is freed right after its last use.

A branch or a loop becomes an instruction whose bodies are programs (`control_programs`).

New rules for nodes that only move data are registered with `@emits`.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from xdsl.ir import Block, Region
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ..glow_dialects.elements import memref_of, strides_of
from ..glow_dialects.glow.base import ReadsRowsAnywhere
from ..glow_dialects.glow.constant import ConstantOp
from ..glow_dialects.glow.shape import BroadcastOp, ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from ..glow_dialects.glow_inst.memory import NAME, QUALIFIER, RESULT
from ..glow_dialects.views import borders, broadcast_view, slice_view, transposed_view, view_through
from ..passes.graph.rewriting import attribute_dictionaries, expect_static
from ..passes.graph.states import states_of
from ..passes.instructions.program import tidy
from ..passes.levels import GRAPH
from ..passes.visited_operation import each
from . import control_programs as _control_programs  # noqa: F401  (branches and loops)
from .program_builder import BufferView, Program, emit_instruction, emits, failure, memref_for


@emits(ConstantOp)
def _constant(program: Program, node: ConstantOp) -> None:
    result = node.result
    program.places[result] = program.weight(node.value, memref_for(result), result.name_hint)


@emits(ReshapeOp)
def _reshape(program: Program, node: ReshapeOp) -> None:
    source, shaped = program.places[node.input], memref_for(node.result)
    seen = view_through(source.type, shaped)
    if seen is None:
        source, seen = program.copied(source, node.input.name_hint), shaped
    program.places[node.result] = BufferView(source.buffer, seen)


@emits(BroadcastOp)
def _broadcast(program: Program, node: BroadcastOp) -> None:
    source = program.places[node.input]
    repeated = broadcast_view(source.type, memref_for(node.result).get_shape())
    program.places[node.result] = BufferView(source.buffer, repeated)


@emits(SliceOp)
def _slice(program: Program, node: SliceOp) -> None:
    source = program.places[node.input]
    call = node.call
    part = slice_view(source.type, call.ints("starts"), call.ints("sizes"), call.ints("strides"))
    program.places[node.result] = BufferView(source.buffer, part)


@emits(TransposeOp)
def _transpose(program: Program, node: TransposeOp) -> None:
    source, order = program.places[node.input], node.call.ints("permutation")
    rank, users = len(order), [use.operation for use in node.result.uses]
    moves_rows = rank and order[-1] == rank - 1 and strides_of(source.type)[-1] == 1
    if not moves_rows or not all(user.has_trait(ReadsRowsAnywhere) for user in users):
        emit_instruction(program, node)
        return
    turned = transposed_view(source.type, order)
    program.places[node.result] = BufferView(source.buffer, turned)


@emits(ConcatOp)
def _concat(program: Program, node: ConcatOp) -> None:
    whole = program.new_place(node.result)
    axis = node.call.int("axis")
    starts = [0] * whole.type.get_num_dims()
    for tensor in node.inputs:
        source = program.places[tensor]
        sizes = source.type.get_shape()
        part = slice_view(whole.type, starts, sizes, [1] * len(sizes))
        program.copy(BufferView(whole.buffer, part), source)
        starts[axis] += sizes[axis]


@emits(PadOp)
def _pad(program: Program, node: PadOp) -> None:
    whole = program.new_place(node.result)
    source = program.places[node.input]
    low, sizes = node.call.ints("low"), source.type.get_shape()
    for starts, extents in borders(low, sizes, whole.type.get_shape()):
        border = slice_view(whole.type, starts, extents, [1] * len(sizes))
        program.fill(BufferView(whole.buffer, border), node.value)
    inside = slice_view(whole.type, low, sizes, [1] * len(sizes))
    program.copy(BufferView(whole.buffer, inside), source)


def _signature(
    graph: func.FuncOp, states: Mapping[int, int]
) -> tuple[list[MemRefType], ArrayAttr[DictionaryAttr]]:
    """
    Returns the argument types and attributes of the program: the graph's inputs, then its outputs
    without those of states.
    """
    expect_static(graph)
    inputs, outputs = graph.function_type.inputs.data, graph.function_type.outputs.data
    memrefs = [memref_of(t) for t in (*inputs, *outputs) if isinstance(t, TensorType)]
    if len(memrefs) < len(inputs) + len(outputs):
        raise failure(graph, f"expected a function of tensors, found {graph.function_type}")
    types, results = memrefs[: len(inputs)], memrefs[len(inputs) :]
    given = attribute_dictionaries(graph.arg_attrs, len(inputs))
    promised = attribute_dictionaries(graph.res_attrs, len(outputs))
    attributes: list[DictionaryAttr] = []
    for i, about in enumerate(given):
        qualifier = StringAttr("inout" if i in states else "in")
        if i in states and NAME in promised[states[i]]:
            about = {**about, RESULT: promised[states[i]][NAME]}
        attributes.append(DictionaryAttr({**about, QUALIFIER: qualifier}))
    for o, about in enumerate(promised):
        if o not in states.values():
            types.append(results[o])
            attributes.append(DictionaryAttr({**about, QUALIFIER: StringAttr("out")}))
    return types, ArrayAttr(attributes)


def generate(graph: func.FuncOp) -> func.FuncOp:
    """
    Returns the instruction program of a function over tensors, under the same name.

    Raises CompileError for an operation that is not a node of the `glow` dialect.
    """
    states = states_of(graph)
    types, attributes = _signature(graph, states)
    block, count = Block(arg_types=types), len(graph.body.block.args)
    program = Program(block)
    terminator = program.emit_graph(graph.body.block, block.args[:count])
    if not isinstance(terminator, func.ReturnOp):
        raise failure(terminator, "expected the function to end with func.return")
    results = terminator.operands
    outputs = [tensor for o, tensor in enumerate(results) if o not in states.values()]
    arguments = block.args[count:]
    for argument, tensor in zip(arguments, outputs, strict=True):
        argument.name_hint = tensor.name_hint
    program.write(arguments, outputs)
    program.write([block.args[i] for i in states], [results[o] for o in states.values()])
    program.emit(func.ReturnOp())
    tidy(block)
    made = func.FuncOp(
        graph.sym_name.data, (types, []), Region(block), graph.sym_visibility, arg_attrs=attributes
    )
    made.attributes |= graph.attributes
    return made


def _is_graph(function: func.FuncOp) -> bool:
    """Returns whether a function has a body that works on tensors."""
    types = (*function.function_type.inputs.data, *function.function_type.outputs.data)
    return len(function.body.blocks) == 1 and any(isinstance(t, TensorType) for t in types)


@dataclass(frozen=True)
class IRGenPass(ModulePass):
    """Turns every function over tensors into an instruction program over buffers."""

    name = "glow-irgen"
    level = GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in each(list(op.ops)):
            if isinstance(function, func.FuncOp) and _is_graph(function):
                Rewriter.replace_op(function, generate(function))
