"""
The `glow` dialect: a typed dataflow graph of tensors.

A network is a `func.func` over tensors, whose sizes are numbers or depend on symbols. Its arguments
and results carry the names of the model's inputs and outputs as `glow.name`. Every node is pure and
infers its result types.
"""

from __future__ import annotations

from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation

from ..blob import BlobAttr
from ..dims import DimsAttr
from . import (
    activation,
    arithmetic,
    attention,
    constant,
    control,
    convolution,
    embedding,
    generic,
    indexing,
    integer_parts,
    inverse_functions,
    logic,
    matrix,
    narrow_weights,
    normalization,
    padding,
    pooling,
    profile,
    quantization,
    random,
    recurrent,
    reduction,
    resampling,
    selection,
    shape,
    sizes,
    transposed,
    trees,
)
from .base import DataParallel, Node, nodes_of
from .machine import MachineAttr

NODES: list[type[Node]] = nodes_of(
    *(constant, shape, arithmetic, activation, logic, convolution, pooling, matrix),
    *(normalization, attention, reduction, quantization, transposed),
    *(resampling, padding, recurrent, generic),
    *(
        inverse_functions,
        indexing,
        integer_parts,
        narrow_weights,
        embedding,
        selection,
        trees,
        random,
    ),
)
OTHERS: list[type[IRDLOperation]] = [
    profile.ProfileOp,
    sizes.SizesOp,
    *(control.IfOp, control.LoopOp, control.YieldOp),
]
"""
Operations that no program has as nodes: they observe values, have graphs as bodies, or become
constants when symbols are bound.
"""
GLOW = Dialect(
    "glow",
    [*list[type[IRDLOperation]](NODES), *OTHERS],
    [BlobAttr, DimsAttr, MachineAttr],
)  # pyright: ignore

__all__ = ["GLOW", "NODES", "DataParallel", "Node"]
