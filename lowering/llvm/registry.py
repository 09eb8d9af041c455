"""Which function converts which operation into the `llvm` dialect."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from xdsl.dialects import func
from xdsl.ir import Operation

from ...errors import CompileError

if TYPE_CHECKING:
    from .function import FunctionConverter

Converter: TypeAlias = "Callable[[Any, FunctionConverter], None]"
F = TypeVar("F", bound=Converter)

CONVERTERS: dict[type[Operation], Converter] = {}


def converts(*operations: type[Operation]) -> Callable[[F], F]:
    """Registers the decorated function as the conversion of these operations."""

    def register(function: F) -> F:
        for operation in operations:
            assert operation not in CONVERTERS, operation
            CONVERTERS[operation] = function
        return function

    return register


def failure(op: Operation, reason: str) -> CompileError:
    """The error for an operation that cannot be converted; names the operation and its function."""
    parent = op
    while parent is not None and not isinstance(parent, func.FuncOp):
        parent = parent.parent_op()
    where = f" in @{parent.sym_name.data}" if parent is not None else ""
    return CompileError(f"cannot convert '{op.name}'{where} to the llvm dialect: {reason}")
