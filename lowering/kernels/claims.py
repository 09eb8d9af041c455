"""What the CPU computes, as claims that are read off the registry of kernels."""

from __future__ import annotations

from functools import cache

from ...glow_dialects.claims import Claim
from ...glow_dialects.glow import NODES
from ...glow_dialects.glow.base import DataParallel, OnlyMovesData
from .registry import algorithm_of, implements


@cache
def kernel_claims() -> tuple[Claim, ...]:
    """
    Each operator that can become kernels, on all element types that it admits. Which calls those
    are, `implements` decides.
    """
    return tuple(
        Claim(operator, when=implements)
        for operator in NODES
        if issubclass(operator, DataParallel)
        or operator.has_trait(OnlyMovesData)
        or algorithm_of(operator) is not None
    )
