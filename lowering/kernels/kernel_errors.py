"""Helpers of passes on kernels: the kernels of a module, and errors that name them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from ...errors import CompileError
from ...glow_dialects.glow_nest.kernel import KernelOp


def kernels_of(module: ModuleOp) -> list[KernelOp]:
    """Returns the kernels of a module."""
    return [op for op in module.body.block.ops if isinstance(op, KernelOp)]


@contextmanager
def of_kernel(kernel: KernelOp) -> Iterator[None]:
    """Turns an error about a kernel into a CompileError that names the kernel."""
    try:
        yield
    except (ValueError, VerifyException) as error:
        raise CompileError(f"kernel @{kernel.sym_name.data}: {error}") from error
