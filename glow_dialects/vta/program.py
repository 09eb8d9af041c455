"""Programs: functions of one block that hold only operations of this dialect."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from ...errors import at_operation
from .attributes import CONFIG
from .dram import MicroOpsOp, RegionOp
from .instruction import VtaInstruction


def programs(module: ModuleOp) -> Iterator[func.FuncOp]:
    """Yields the functions of a module that are programs for a VTA."""
    for op in module.ops:
        if isinstance(op, func.FuncOp) and CONFIG in op.attributes:
            yield op


def contents(
    function: func.FuncOp,
) -> tuple[list[RegionOp | MicroOpsOp], list[VtaInstruction]]:
    """
    Returns a program's declarations of DRAM, and its instructions, each in order.

    Raises VerifyException for a body that is no program; its attribute `operation` is the offending
    operation.
    """
    regions: list[RegionOp | MicroOpsOp] = []
    instructions: list[VtaInstruction] = []
    if len(function.body.blocks) != 1 or function.body.block.args:
        raise _error(function, "expected a program of one block without arguments")
    for op in function.body.block.ops:
        if isinstance(op, VtaInstruction):
            instructions.append(op)
        elif isinstance(op, RegionOp | MicroOpsOp):
            regions.append(op)
        elif not isinstance(op, func.ReturnOp):
            raise _error(op, "expected only operations of the vta dialect in a program for it")
    return regions, instructions


def _error(op: Operation, message: str) -> VerifyException:
    return at_operation(VerifyException(message), op)
