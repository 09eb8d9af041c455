"""
Decides where every buffer lies.

Activations share one arena: the life of each, from its allocation to its deallocation, is known, so
`memory_planner` gives it an offset such that no two buffers that are alive at once overlap. Weights
lie one after the other in a segment of their own, in the order in which they stand; equal weights
share a place. Both are written into the IR as `offset`, in bytes, multiples of the alignment.

The function receives the attributes `glow.arena_size`, `glow.arena_lower_bound` (the maximum over
time of the bytes alive: no plan can need less) and `glow.weights_size`, in bytes. Running the pass
again plans afresh.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Attribute, Block
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ...glow_dialects.elements import type_bytes
from ...glow_dialects.glow_inst.memory import AllocActivationOp, DeallocActivationOp, WeightOp
from ...glow_dialects.plan_attributes import ARENA_LOWER_BOUND, ARENA_SIZE, WEIGHTS_SIZE
from ..levels import PROGRAM
from ..visited_operation import each
from .memory_planner import Lifetime, align, lower_bound, plan_arena
from .program import in_order, memref, programs


def lifetimes_of(block: Block) -> tuple[list[AllocActivationOp], list[Lifetime]]:
    """
    Returns the allocations of a program, and their lives as positions in it. Bodies stand behind
    their branch or loop, one after the other, so that buffers of both branches share memory. A
    buffer never freed lives on.
    """
    allocations: list[AllocActivationOp] = []
    starts: list[int] = []
    ends: dict[AllocActivationOp, int] = {}
    position = 0
    for position, op in enumerate(each(in_order(block))):
        if isinstance(op, AllocActivationOp):
            allocations.append(op)
            starts.append(position)
        elif isinstance(op, DeallocActivationOp) and isinstance(op.buffer.owner, AllocActivationOp):
            ends[op.buffer.owner] = position
    return allocations, [
        Lifetime(start, ends.get(op, position), type_bytes(memref(op.result)))
        for op, start in zip(allocations, starts, strict=True)
    ]


def place_weights(weights: Sequence[WeightOp], alignment: int) -> tuple[list[int], int]:
    """
    Returns an offset for each weight, equal ones at the same place, and the size of the segment.
    """
    places: dict[Attribute, int] = {}
    end = 0
    for op in each(weights):
        if op.value not in places:
            places[op.value] = align(end, alignment)
            end = places[op.value] + type_bytes(op.result.type)
    return [places[op.value] for op in weights], end


def allocate(function: func.FuncOp, alignment: int = 64) -> None:
    """
    Writes offsets into a program and the sizes of its segments into the function's attributes.
    """
    block = function.body.block
    allocations, lifetimes = lifetimes_of(block)
    plan = plan_arena(lifetimes, alignment)
    for op, offset in zip(allocations, plan.offsets, strict=True):
        op.offset = IntegerAttr(offset, i64)
    weights = [op for op in in_order(block) if isinstance(op, WeightOp)]
    offsets, weights_size = place_weights(weights, alignment)
    for op, offset in zip(weights, offsets, strict=True):
        op.offset = IntegerAttr(offset, i64)
    function.attributes[ARENA_SIZE] = IntegerAttr(plan.size, i64)
    function.attributes[ARENA_LOWER_BOUND] = IntegerAttr(lower_bound(lifetimes), i64)
    function.attributes[WEIGHTS_SIZE] = IntegerAttr(weights_size, i64)


@dataclass(frozen=True)
class AllocatePass(ModulePass):
    """Gives every weight and activation its offset."""

    name = "glow-allocate"
    level = PROGRAM

    alignment: int = 64
    """The number of bytes of which offsets are multiples."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.alignment < 1:
            raise PassFailedException(
                f"expected an alignment of at least 1 byte, found {self.alignment}"
            )
        for function in programs(op):
            allocate(function, self.alignment)
