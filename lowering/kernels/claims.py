"""The operators that the CPU computes, as claims that follow from the registry of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ...glow_dialects.claims import Claim
from ...glow_dialects.glow.base import DataParallel, OnlyMovesData
from ...glow_dialects.machine import MachineDescription
from ...glow_dialects.operator import Call
from ...glow_dialects.operators import OPERATORS
from . import algorithms as _algorithms  # noqa: F401  (fills the registry)
from .registry import kernel_of


@cache
def kernel_claims(machine: MachineDescription) -> Sequence[Claim]:
    """
    Returns a claim for each operator that can become kernels on a machine, on all element types
    that it admits: data-parallel operators, those with an algorithm, and those that instructions
    express with views and copies.
    """

    def computes(call: Call) -> bool:
        operator, found = call.operator, kernel_of(call.operator)
        if issubclass(operator, DataParallel) and operator.depends_on_place(call):
            return False
        return found is None or found.on(machine, call)

    return tuple(
        Claim(operator, when=computes)
        for operator in OPERATORS
        if issubclass(operator, DataParallel)
        or operator.has_trait(OnlyMovesData)
        or kernel_of(operator) is not None
    )
