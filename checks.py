"""The checks that run after each pass: types and structure, dominance, and memory of programs."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from .passes.verify_dominance import verify_dominance


def has_instructions(module: ModuleOp) -> bool:
    """Returns whether a function of the module holds `glow_inst` operations."""
    for function in module.ops:
        if isinstance(function, func.FuncOp) and any(
            op.name.startswith("glow_inst.") for block in function.body.blocks for op in block.ops
        ):
            return True
    return False


def verify_all(module: ModuleOp) -> None:
    """
    Verifies types, structure and dominance, and for instruction programs the use of memory.

    Raises VerifyException; its attribute `operation`, if present, is the offending operation.
    """
    module.verify()
    verify_dominance(module)
    if has_instructions(module):
        # glow-opt starts with this module, and most modules have no instructions
        from .passes.instructions.verify_memory import verify_memory

        verify_memory(module)
