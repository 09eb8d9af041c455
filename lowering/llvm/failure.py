"""The error for operations that have no form in the `llvm` dialect."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.ir import Operation

from ...errors import CompileError


def failure(op: Operation, reason: str) -> CompileError:
    """
    Returns the error for an operation that cannot be converted; names the operation and its
    function.
    """
    parent = op
    while parent is not None and not isinstance(parent, func.FuncOp):
        parent = parent.parent_op()
    where = f" in @{parent.sym_name.data}" if parent is not None else ""
    return CompileError(f"cannot convert '{op.name}'{where} to the llvm dialect: {reason}")
