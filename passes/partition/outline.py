"""
Makes a function of each partition, and calls of them in `@main`.

Nodes are cloned, with their names and locations. Constants among them refer to the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, StringAttr, f64, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...glow_dialects.glow.base import Node
from ...wording import free_name
from ..visited_operation import each
from .devices import Device, attributes_of
from .idle import idle_attribute
from .partitions import ACTIVATION_BYTES, BACKEND, COST, DEVICE, WEIGHT_BYTES
from .placement import Problem
from .plans import UnitGroup, activation_bytes, weight_bytes
from .units import UnitGraph

PREFIX = "partition_"


@dataclass
class _Body:
    """The body of a partition that is being made."""

    graph: UnitGraph
    device: Device
    block: Block = field(default_factory=Block)
    local: dict[SSAValue, SSAValue] = field(default_factory=dict)
    """The values that replace values of the whole graph."""
    inputs: list[SSAValue] = field(default_factory=list)
    """The values of the whole graph that the arguments replace."""

    def add(self, node: Operation) -> None:
        """Clones a node, and the repeated ones that it reads."""
        if node.results and node.results[0] in self.local:
            return
        for value in node.operands:
            if value in self.local:
                continue
            if value.owner in self.graph.repeated:
                assert isinstance(value.owner, Node)
                self.add(value.owner)
                continue
            argument = self.block.insert_arg(value.type, len(self.block.args))
            argument.name_hint = value.name_hint
            self.local[value] = argument
            self.inputs.append(value)
        copy = node.clone(self.local)
        copy.location = node.location
        wanted = copy.attributes.get(DEVICE)
        if isinstance(wanted, StringAttr) and not self.device.is_called(wanted.data):
            # the name of the node had another device, which goes before
            copy.attributes[DEVICE] = StringAttr(self.device.name)
        self.block.add_op(copy)


def outline(
    module: ModuleOp, main: func.FuncOp, problem: Problem, groups: Sequence[UnitGroup]
) -> None:
    """Replaces the body of `@main` by calls of one function for each group, in their order."""
    taken = {op.sym_name.data for op in module.ops if isinstance(op, func.FuncOp)}
    block = main.body.block
    *nodes, last = block.ops
    remote: dict[SSAValue, SSAValue] = {a: a for a in block.args}
    for number, group in enumerate(groups):
        name = free_name(f"{PREFIX}{number}", taken)
        taken.add(name)
        function, inputs, outputs = _function(name, problem, group)
        module.body.block.insert_op_before(function, main)
        call = func.CallOp(name, [remote[v] for v in inputs], [v.type for v in outputs])
        for result, value in zip(call.results, outputs, strict=True):
            result.name_hint = value.name_hint
            remote[value] = result
        block.insert_op_before(call, last)
    last.operands = [remote[v] for v in last.operands]
    module.attributes |= attributes_of(problem.configuration)
    module.attributes |= idle_attribute(problem, groups)
    for node in nodes:
        node.detach()
        node.drop_all_references()


def _function(
    name: str, problem: Problem, group: UnitGroup
) -> tuple[func.FuncOp, list[SSAValue], list[SSAValue]]:
    """Returns the function of a group, and the values of the graph that it reads and makes."""
    graph, members = problem.graph, set(group.units)
    body = _Body(graph, problem.devices[group.device])
    outputs: list[SSAValue] = []
    returned = set(graph.returned)
    for unit in group.units:
        for node in each(graph.units[unit].nodes):
            body.add(node)
        for value in graph.units[unit].outputs:
            if value in returned or not members.issuperset(graph.users.get(value, ())):
                outputs.append(value)
    body.block.add_op(func.ReturnOp(*(body.local[v] for v in outputs)))
    types = [v.type for v in body.inputs], [v.type for v in outputs]
    function = func.FuncOp(name, types, Region(body.block), "private")
    function.attributes |= _attributes(problem, group)
    return function, body.inputs, outputs


def _attributes(problem: Problem, group: UnitGroup) -> dict[str, Attribute]:
    device = problem.devices[group.device]
    return {
        DEVICE: StringAttr(device.name),
        BACKEND: StringAttr(device.backend.name),
        COST: FloatAttr(sum(problem.costs[u][group.device] for u in group.units), f64),
        WEIGHT_BYTES: IntegerAttr(weight_bytes(problem, group.units), i64),
        ACTIVATION_BYTES: IntegerAttr(activation_bytes(problem, group.units), i64),
    }
