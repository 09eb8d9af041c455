"""Helpers of passes on kernels: the kernels of a module, and errors about them."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from ...errors import CompileError
from ...glow_dialects.glow_nest.kernel import KernelOp
from ...passes.collector import without_garbage_collection
from ...passes.visited_operation import each


def for_kernels(module: ModuleOp, act: Callable[[KernelOp], None]) -> None:
    """
    Calls a function for each kernel of a module. An error about a kernel becomes a CompileError
    that names the kernel.
    """
    with without_garbage_collection():
        kernels = [op for op in module.body.block.ops if isinstance(op, KernelOp)]
        for kernel in each(kernels):
            try:
                act(kernel)
            except (ValueError, VerifyException) as error:
                raise CompileError(f"kernel @{kernel.sym_name.data}: {error}") from error


def expect_threads(threads: int) -> None:
    """Raises CompileError unless a number of threads is one that a program can have."""
    if threads < 1:
        raise CompileError(f"expected threads to be at least 1, found {threads}")
