"""
Undoes `glow-partition`: puts the bodies of partitions where `@main` calls them.

The result is one graph that every backend compiles. Nodes that were repeated in partitions
(constants, `glow.dequantize`) stay repeated; `cse` merges them.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ..levels import GRAPH
from ..visited_operation import each
from .devices import DEVICES, LINKS
from .idle import IDLE
from .partitions import is_partitioned, read_partitions


def inline_partitions(module: ModuleOp) -> None:
    """
    Makes a graph of a partitioned network, in place.

    Raises CompileError if the module is not a partitioned network.
    """
    network = read_partitions(module)
    block = network.main.body.block
    for partition, call in zip(network.partitions, each(list(block.ops)), strict=False):
        body = partition.function.body.block
        local: dict[SSAValue, SSAValue] = dict(zip(body.args, call.operands, strict=True))
        *nodes, last = body.ops
        for node in each(nodes):
            copy = node.clone(local)
            copy.location = node.location
            block.insert_op_before(copy, call)
        for result, value in zip(call.results, last.operands, strict=True):
            result.replace_all_uses_with(local[value])
        call.detach()
        call.erase()
        partition.function.detach()
        partition.function.erase()
    for name in (DEVICES, LINKS, IDLE):
        module.attributes.pop(name, None)


@dataclass(frozen=True)
class InlinePartitionsPass(ModulePass):
    """Makes one graph of the partitions of a network; other modules stay as they are."""

    name = "glow-inline-partitions"
    level = GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if is_partitioned(op):
            inline_partitions(op)
