"""
The `llvm` dialect as upstream MLIR has it, as far as the compiler needs it.

xDSL 0.74 defines 72 operations of the dialect. This module adds the ones that it lacks and replaces
those that it restricts to scalars (`llvm.fcmp`, `llvm.select`, `llvm.getelementptr`,
`llvm.intr.masked.store`). Names, properties and assembly are upstream's: what this dialect prints,
`mlir-opt` reads. See https://mlir.llvm.org/docs/Dialects/LLVM/ for the meaning of each operation.
"""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation

from .address import DYNAMIC, GEPOp, NoWrap
from .atomics import AtomicKind, AtomicRMWOp, Ordering
from .instructions import (
    ExtractElementOp,
    FCmpOp,
    FPToSIOp,
    FPToUIOp,
    FreezeOp,
    PoisonOp,
    SelectOp,
    UIToFPOp,
)
from .memory import (
    MaskedGatherOp,
    MaskedStoreOp,
    PrefetchOp,
)
from .numbers import (
    MaximumOp,
    MinimumOp,
    RintOp,
    SMaxOp,
    SMinOp,
    TanhOp,
    UMaxOp,
    UMinOp,
)
from .reductions import (
    ReduceFMaximumOp,
    ReduceFMinimumOp,
)

OPERATIONS: list[type[IRDLOperation]] = [
    AtomicRMWOp,
    ExtractElementOp,
    FCmpOp,
    FPToSIOp,
    FPToUIOp,
    FreezeOp,
    GEPOp,
    MaskedGatherOp,
    MaskedStoreOp,
    MaximumOp,
    MinimumOp,
    PoisonOp,
    PrefetchOp,
    ReduceFMaximumOp,
    ReduceFMinimumOp,
    RintOp,
    SMaxOp,
    SMinOp,
    SelectOp,
    TanhOp,
    UIToFPOp,
    UMaxOp,
    UMinOp,
]
_NAMES = {op.name for op in OPERATIONS}

EXTENDED_LLVM = Dialect(
    "llvm",
    [*(op for op in llvm.LLVM.operations if op.name not in _NAMES), *OPERATIONS],
    list(llvm.LLVM.attributes),
)

__all__ = [
    "DYNAMIC",
    "EXTENDED_LLVM",
    "OPERATIONS",
    "AtomicKind",
    "AtomicRMWOp",
    "ExtractElementOp",
    "FCmpOp",
    "FPToSIOp",
    "FPToUIOp",
    "FreezeOp",
    "GEPOp",
    "MaskedGatherOp",
    "MaskedStoreOp",
    "MaximumOp",
    "MinimumOp",
    "NoWrap",
    "Ordering",
    "PoisonOp",
    "PrefetchOp",
    "ReduceFMaximumOp",
    "ReduceFMinimumOp",
    "RintOp",
    "SMaxOp",
    "SMinOp",
    "SelectOp",
    "TanhOp",
    "UIToFPOp",
    "UMaxOp",
    "UMinOp",
]
