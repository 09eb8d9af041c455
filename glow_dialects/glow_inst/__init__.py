"""
The `glow_inst` dialect: a linear program over typed regions of memory.

A network is a `func.func` over memrefs whose arguments are the model's inputs and outputs, marked
`glow.qualifier = "in"` or `"out"`. Buffers are weights, activations with an explicit life,
arguments, and views of these; instructions qualify each operand as `@in`, `@out` or `@inout`.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from ..glow.base import Node, OnlyMovesData
from ..operators import OPERATORS
from .control import IfInstruction, LoopInstruction
from .instruction import OperatorInstruction, derive
from .memory import AllocActivationOp, DeallocActivationOp, TensorViewOp, WeightOp
from .stacked import CopyOp, StackedOp, YieldOp

INSTRUCTIONS: dict[type[Node], type[OperatorInstruction]] = {
    node: derive(node) for node in OPERATORS if not node.has_trait(OnlyMovesData)
}
"""The instruction of each operator that has one."""

GLOW_INST = Dialect(
    "glow_inst",
    [
        WeightOp,
        AllocActivationOp,
        DeallocActivationOp,
        TensorViewOp,
        CopyOp,
        StackedOp,
        YieldOp,
        IfInstruction,
        LoopInstruction,
        *INSTRUCTIONS.values(),
    ],
)
