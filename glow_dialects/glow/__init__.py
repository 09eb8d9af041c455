"""
The `glow` dialect: a typed dataflow graph of tensors.

A network is a `func.func` over statically shaped tensors. Its arguments and results carry the names
of the model's inputs and outputs as `glow.name`. Every node is pure and infers its result types.
"""

from __future__ import annotations

from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation

from ..blob import BlobAttr
from . import (
    activation,
    arithmetic,
    attention,
    blocked,
    constant,
    convolution,
    dot,
    generic,
    logic,
    matrix,
    normalization,
    pooling,
    profile,
    quantization,
    reduction,
    shape,
    sparse,
    transposed,
    winograd,
)
from .base import DataParallel, Node

_FAMILIES = (
    *(constant, shape, arithmetic, activation, logic, convolution, pooling, matrix),
    *(normalization, attention, reduction, quantization, blocked, dot, winograd),
    *(transposed, sparse, generic),
)


def _nodes() -> list[type[Node]]:
    """Every concrete node, family by family in order of definition."""
    return [
        value
        for family in _FAMILIES
        for value in vars(family).values()
        if isinstance(value, type)
        and issubclass(value, Node)
        and value.__module__ == family.__name__
        and "get_irdl_definition" in vars(value)
    ]


NODES: list[type[Node]] = _nodes()
GLOW = Dialect("glow", [*list[type[IRDLOperation]](NODES), profile.ProfileOp], [BlobAttr])  # pyright: ignore

__all__ = ["GLOW", "NODES", "DataParallel", "Node"]
