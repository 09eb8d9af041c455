"""
Gives convolutions, and the nodes between them, a layout with blocks of channels.

A vector register holds the channels of one block (16 floats with AVX-512), so convolutions load and
store whole registers for images of any size. Nodes are visited in order. A dense convolution with a
constant filter always works on a blocked input, and so does a depthwise one with a large window.
Pools, other depthwise convolutions, data-parallel nodes, concatenations, reductions over space,
slices and pads do so if their input is blocked already; of several operands, all must be, unless
what uses the result would rather read it blocked. Group normalisation does so if its result is
wanted so: its moments are sums over space, and then few numbers. A convolution to a few channels,
which fill at most half of a block, reads a blocked input where that is faster, and has a plain
result. Whatever else uses a blocked value reads it unpacked. A value is packed or unpacked at most
once, where that is first needed, so that `pack(unpack(x))` never comes about; and what is packed or
unpacked without spatial extent is only reshaped. Filters, biases and other constants are packed at
compile time.

Where the block does not divide the number of channels, the last block has lanes of no channel.
Convolutions write zeros there and multiply by zeros what they read, so it must be finite: a node
that would compute infinities or NaN there works on unpacked tensors.

Padding of a convolution becomes a `glow.pad`; a value that convolutions read with several paddings
gets the largest one.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from ...errors import CompileError
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.machine import machine_of
from ...glow_dialects.glow_cpu.blocked import PackChannelsOp
from ..levels import GRAPH
from ..visited_operation import each
from .layouts import Blocked, Layouts, Plain, block_sizes, demands, rule_of
from .rewriting import tensor_nodes


def assign_layouts(block: Block, layouts: Layouts, most: int) -> None:
    """Rewrites the graph in `block`, around integers to blocks of at most `most` channels."""
    layouts.demand = demands(block, layouts)
    layouts.blocks = block_sizes(block, layouts, most)
    replaced: list[Operation] = []
    for op in each(list(block.ops)):
        layouts.visit(op)
        rule = rule_of(type(op))
        made = _packed_before(layouts, op) if rule is None else rule(layouts, op)
        match made:
            case Blocked():
                layouts.replace(op.results[0], made)
            case Plain(value):
                op.results[0].replace_all_uses_with(value)
            case None:
                for i, operand in enumerate(op.operands):
                    op.operands[i] = layouts.plain(operand)
                continue
        replaced.append(op)
    for op in reversed(replaced):
        op.detach()
        op.erase()
    layouts.merge_borders()


def _packed_before(layouts: Layouts, op: Operation) -> Plain | None:
    """Returns what packs a value again that has such blocks; None for any other operation."""
    known = layouts.blocked(op.operands[0]) if isinstance(op, PackChannelsOp) else None
    if known is None or known.value.type != op.results[0].type:
        return None
    return Plain(known.value)


@dataclass(frozen=True)
class AssignLayoutsPass(ModulePass):
    """Gives convolutions and their surroundings a layout with blocks of channels."""

    name = "glow-assign-layouts"
    level = GRAPH

    block: int | None = None
    """The number of channels of a block. The default suits the vectors of the machine."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.block is not None and self.block < 1:
            raise CompileError(f"expected a block of at least 1 channel, found {self.block}")
        machine = machine_of(op)
        blocks = {node.parent for node in tensor_nodes(op) if isinstance(node, Node)}
        for block in blocks:
            assert block is not None
            assign_layouts(block, Layouts(machine, self.block), machine.integer_block)
