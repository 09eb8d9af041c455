"""Objects of the backend `cpu`, linked into this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..lowering.target import Target
from .cpu_options import CpuOptions
from .cpu_program import Addresses
from .jit import Executable
from .program_plan import LinkPlan


def linked(
    objects: Sequence[bytes], plan: LinkPlan, options: CpuOptions, target: Target
) -> Callable[[int, Addresses, int], None]:
    """
    Returns the function that runs a program on the addresses of its weights, inputs and outputs,
    and arena.
    """
    executable = Executable(objects, "glow_main", target)
    if plan.threads == 1:
        return executable
    # programs for one thread do not need the module
    from .teams import ParallelExecutable

    # the last object is that of `lowering.threads`, which the workers themselves run too
    return ParallelExecutable(executable, plan.threads, options.pin, objects[-1])
