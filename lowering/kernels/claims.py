"""The operators that the CPU computes, as claims that follow from the registry of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ...glow_dialects.claims import Claim
from ...glow_dialects.machine import MachineDescription
from ...glow_dialects.operator import Call
from ...glow_dialects.operators import OPERATORS
from . import algorithms as _algorithms  # noqa: F401  (fills the registry)
from .registry import has_kernel, implements, runs_on


@cache
def kernel_claims(machine: MachineDescription) -> Sequence[Claim]:
    """
    Returns a claim for each operator that can become kernels on a machine, on all element types
    that it admits. `implements` and `runs_on` decide about calls.
    """

    def computes(call: Call) -> bool:
        return implements(call) and runs_on(machine, call)

    return tuple(Claim(operator, when=computes) for operator in OPERATORS if has_kernel(operator))
