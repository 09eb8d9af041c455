"""
The emission of branches and loops, whose bodies become programs.

Everything that a body works on is an operand of the instruction. The carried values of a loop have
buffers of their own, in which each step finds what the one before it left there: first copies of
the initial values, at the end of each step copies of the next ones. `glow-eliminate-copies` lets
nodes write the next values in place where the body does not need the old ones any more.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f64, i64
from xdsl.ir import Block, Region, SSAValue

from ..glow_dialects.elements import is_float, storage_type
from ..glow_dialects.glow.control import IfOp, LoopOp, yielded
from ..glow_dialects.glow_inst.control import COUNT, STEP, IfInstruction, LoopInstruction
from ..glow_dialects.glow_inst.stacked import YieldOp
from ..passes.instructions.program import tidy
from .program_builder import Program, emits, memref_for


def _body(arguments: Sequence[SSAValue]) -> Program:
    """Returns an empty program whose arguments have types like those of some tensors."""
    return Program(Block(arg_types=[memref_for(v) for v in arguments]))


def _finished(body: Program) -> Region:
    body.emit(YieldOp())
    tidy(body.block)
    return Region(body.block)


@emits(IfOp)
def _if(program: Program, node: IfOp) -> None:
    condition, ins = program.dense(node.condition), [program.dense(v) for v in node.reads]
    outs = [program.new_place(value).buffer for value in node.values]
    bodies: list[Region] = []
    for graph in node.bodies():
        body = _body([*node.values, *node.reads])
        arguments = body.block.args
        body.emit_graph(graph, arguments[len(outs) :])
        body.write(arguments[: len(outs)], yielded(graph))
        bodies.append(_finished(body))
    program.emit(IfInstruction(condition, outs, ins, bodies))


@emits(LoopOp)
def _loop(program: Program, node: LoopOp) -> None:
    trips, going = ([] if v is None else [v] for v in (node.trips, node.going))
    groups = {
        "trips": [program.dense(v) for v in trips],
        "reads": [program.dense(v) for v in node.reads],
        "while": [program.copied(program.places[v], v.name_hint).buffer for v in going],
    }
    carried = [program.copied(program.places[v], v.name_hint) for v in node.carried]
    stacks = [program.allocate(memref_for(v), v.name_hint) for v in node.stacked]
    if trips or going:
        for value, stack in zip(node.stacked, stacks, strict=True):
            number = is_float(storage_type(memref_for(value).element_type))
            program.fill(stack, FloatAttr(0.0, f64) if number else IntegerAttr(0, i64))
    count, step = (program.allocate(t) for t in (COUNT, STEP))
    for value, place in zip(node.values, [*carried, *stacks, count], strict=True):
        program.places[value] = place
    groups |= {
        "count": [count.buffer],
        "step": [step.buffer],
        "carries": [place.buffer for place in carried],
        "stacks": [place.buffer for place in stacks],
    }
    program.emit(LoopInstruction(node.most, groups, _loop_body(node)))


def _loop_body(node: LoopOp) -> Region:
    """
    Returns the program of a loop's body. Its condition and the rows are written before the carried
    values, which they may be.
    """
    graph = node.body.block
    results = yielded(graph)
    conditions, carried = int(node.going is not None), len(node.carried)
    rows = results[conditions + carried :]
    step, *given = graph.args
    body = _body([step, *results[:conditions], *given[:carried], *rows, *given[carried:]])
    arguments = body.block.args
    first, second = 1 + conditions, 1 + conditions + carried
    third = second + len(rows)
    old = arguments[first:second]
    body.emit_graph(graph, [arguments[0], *old, *arguments[third:]])
    written = [*arguments[1:first], *arguments[second:third]]
    body.write(written, [*results[:conditions], *rows])
    body.write(old, results[conditions : conditions + carried])
    return _finished(body)
