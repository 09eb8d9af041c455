"""Branches and loops. What their bodies read is visible in ONNX's subgraphs by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from onnx import GraphProto, TensorProto, ValueInfoProto, helper
from xdsl.ir import Block, SSAValue

from ....glow_dialects.glow.control import IfOp, LoopOp, WithBodies, yielded
from ....glow_dialects.operator import element_of, shape_of
from .writer import Writer, code_of

WriteNodes: TypeAlias = Callable[[Block], None]
"""Writes the nodes of a block."""


def write_control(writer: Writer, op: WithBodies, write_nodes: WriteNodes) -> None:
    """Writes a branch or loop; its results have names afterwards."""
    if isinstance(op, IfOp):
        _write_branch(writer, op, write_nodes)
    else:
        assert isinstance(op, LoopOp)
        _Loop(writer, op).write(write_nodes)


def info(value: SSAValue, name: str) -> ValueInfoProto:
    """Returns the declaration of a value."""
    code = code_of(element_of(value.type))
    return helper.make_tensor_value_info(name, code, list(shape_of(value.type)))


def renamed(writer: Writer, values: Sequence[SSAValue], names: Sequence[str]) -> None:
    """Gives results of a graph the names that its outputs have."""
    for value, name in zip(values, names, strict=True):
        writer.nodes.append(
            helper.make_node("Identity", [writer.name(value)], [name], f"{name}:op")
        )


def _write_branch(writer: Writer, op: IfOp, write_nodes: WriteNodes) -> None:
    graphs: list[GraphProto] = []
    for body in op.bodies():
        for argument, operand in zip(body.args, op.reads, strict=True):
            writer.names[argument] = writer.name(operand)
        results = yielded(body)
        outputs = [writer.fresh("result") for _ in results]
        with writer.subgraph() as nodes:
            write_nodes(body)
            renamed(writer, results, outputs)
        declared = [info(v, name) for v, name in zip(results, outputs, strict=True)]
        graphs.append(helper.make_graph(nodes, "branch", [], declared))
    outputs = [writer.fresh(v.name_hint or "if") for v in op.results]
    condition = writer.name(op.condition)
    then, otherwise = graphs
    node = helper.make_node("If", [condition], outputs, then_branch=then, else_branch=otherwise)
    writer.nodes.append(node)
    writer.names.update(zip(op.results, outputs, strict=True))


class _Loop:
    """A loop, which carries the number of steps and the condition besides its own values."""

    def __init__(self, writer: Writer, op: LoopOp):
        self.writer = writer
        self.op = op
        most = writer.constant(np.array(op.most, np.int64), "most")
        trips = None if op.trips is None else writer.name(op.trips)
        self._most = most if trips is None else writer.emit("Min", trips, most)
        self._trips = most if trips is None else trips
        self._true = writer.constant(np.array(True), "true")
        self._going = self._true if op.going is None else writer.name(op.going)

    def write(self, write_nodes: WriteNodes) -> None:
        writer, op = self.writer, self.op
        body, zero = self._body(write_nodes), writer.constant(np.array(0, np.int64), "zero")
        initial = [zero, self._going, *(writer.name(v) for v in op.carried)]
        outputs = [writer.fresh("steps"), writer.fresh("going")]
        outputs += [writer.fresh(v.name_hint or "loop") for v in op.values[:-1]]
        inputs = [self._most, self._going, *initial]
        writer.nodes.append(helper.make_node("Loop", inputs, outputs, body=body))
        steps, going, *found = outputs
        carried = len(op.carried)
        writer.names.update(zip(op.values[:carried], found[:carried], strict=True))
        for value, rows in zip(op.stacked, found[carried:], strict=True):
            writer.names[value] = self._all_rows(value, rows)
        writer.names[op.count] = self._count(steps, going)

    def _body(self, write_nodes: WriteNodes) -> GraphProto:
        writer, op, body = self.writer, self.op, self.op.body.block
        step, *given = body.args
        carried, reads = given[: len(op.carried)], given[len(op.carried) :]
        for argument, operand in zip(reads, op.reads, strict=True):
            writer.names[argument] = writer.name(operand)
        for argument in (step, *carried):
            writer.names[argument] = writer.fresh(argument.name_hint or "state")
        condition, count, going = (writer.fresh(n) for n in ("condition", "number", "going"))
        results = yielded(body)
        own = results if op.going is None else results[1:]
        with writer.subgraph() as nodes:
            write_nodes(body)
            one = writer.constant(np.array(1, np.int64), "one")
            following = writer.emit("Add", count, one)
            last = self._true if op.going is None else writer.name(results[0])
            goes = [writer.emit("Identity", last) for _ in range(2)]
            outputs = [writer.fresh("next") for _ in own]
            renamed(writer, own, outputs)
        scalar = helper.make_tensor_value_info
        inputs = [
            info(step, writer.name(step)),
            scalar(condition, TensorProto.BOOL, []),
            scalar(count, TensorProto.INT64, []),
            scalar(going, TensorProto.BOOL, []),
            *(info(v, writer.name(v)) for v in carried),
        ]
        declared = [
            scalar(goes[0], TensorProto.BOOL, []),
            scalar(following, TensorProto.INT64, []),
            scalar(goes[1], TensorProto.BOOL, []),
            *(info(v, name) for v, name in zip(own, outputs, strict=True)),
        ]
        return helper.make_graph(nodes, "body", inputs, declared)

    def _all_rows(self, value: SSAValue, rows: str) -> str:
        """Returns a stacked result with zeros behind the rows of the steps that there were."""
        writer, op = self.writer, self.op
        if op.trips is None and op.going is None:
            return rows
        shape = writer.ints(shape_of(value.type))
        zeros = writer.emit("Expand", writer.number(0, value.type), shape)
        more = writer.emit("Concat", rows, zeros, axis=0)
        return writer.emit("Slice", more, *(writer.ints([n]) for n in (0, op.most, 0)))

    def _count(self, steps: str, going: str) -> str:
        """Returns how many steps there were, or one more if the loop would have gone on."""
        writer, op = self.writer, self.op
        if op.trips is not None or op.going is not None:
            more = going
            if op.trips is not None:
                more = writer.emit("And", more, writer.emit("Less", steps, self._trips))
            steps = writer.emit("Add", steps, writer.emit("Cast", more, to=TensorProto.INT64))
        return writer.emit("Cast", steps, to=TensorProto.INT32)
