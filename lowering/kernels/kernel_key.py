"""The key of a kernel in files of measured schedules."""

from __future__ import annotations

from hashlib import sha256
from io import StringIO

from xdsl.printer import Printer

from ...glow_dialects.glow_nest.kernel import KernelOp


def kernel_key(kernel: KernelOp) -> str:
    """
    Returns the hash of the nests of a kernel before they are scheduled. Kernels that do the same on
    memory of the same shape have the same key in every network, for any number of threads.
    """
    text = StringIO()
    printer = Printer(text)
    printer.print_list(kernel.body.block.args, printer.print_block_argument)
    printer.print_region(kernel.body, print_entry_block_args=False)
    return sha256(text.getvalue().encode()).hexdigest()[:24]
