"""Passes that change instruction programs remove memory plans that hold no more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ...glow_dialects.glow_inst.memory import AllocActivationOp, WeightOp
from ...glow_dialects.plan_attributes import ARENA_LOWER_BOUND, ARENA_SIZE, WEIGHTS_SIZE
from .program import in_order, program_blocks, programs


@contextmanager
def changing(module: ModuleOp) -> Iterator[Iterator[Block]]:
    """
    Yields the blocks of all instruction programs of a module to a pass that may change them. A
    program that the pass changed has no memory plan then, because its buffers may live longer.
    """
    planned = [f for f in programs(module) if ARENA_SIZE in f.attributes]
    before = [_content(function) for function in planned]
    yield program_blocks(module)
    for function, content in zip(planned, before, strict=True):
        if _content(function) != content:
            forget_plan(function)


def forget_plan(function: func.FuncOp) -> None:
    """Removes what `glow-allocate` wrote into a program."""
    for op in in_order(function.body.block):
        if isinstance(op, AllocActivationOp | WeightOp):
            op.offset = None
    for name in (ARENA_SIZE, ARENA_LOWER_BOUND, WEIGHTS_SIZE):
        function.attributes.pop(name, None)


def _content(function: func.FuncOp) -> Sequence[tuple[Operation, Sequence[SSAValue]]]:
    """Returns the operations of a program with their operands, on which lifetimes depend."""
    return [(op, tuple(op.operands)) for op in in_order(function.body.block)]
