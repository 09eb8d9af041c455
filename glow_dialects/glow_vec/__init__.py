"""
The `glow_vec` dialect: operations on vectors that kernels need and xDSL's upstream dialects lack.

Each operation corresponds to one LLVM instruction or intrinsic: lane selection, comparison and
conversion, lane numbers, sums of products, lookups, gather, scatter and prefetch, and products of
tiles. Vectors have one dimension and fixed length. Everything else that kernels do with vectors is
in `arith`, `math` and `vector`.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from .lanes import (
    CastKind,
    CastKindAttr,
    CastOp,
    CmpOp,
    Predicate,
    PredicateAttr,
    RemOp,
    SelectOp,
    lanes,
)
from .lookups import TABLE_BYTES, LookupKindAttr, LookupOp
from .memory import GatherOp, PrefetchOp
from .products import (
    DOT_RULES,
    DotKind,
    DotKindAttr,
    DotOp,
    DotRule,
    dot_kind,
    dot_terms,
)
from .tiles import (
    TileConfigureOp,
    TileDotOp,
    TileLoadOp,
    TileProduct,
    TileProductAttr,
    TileReleaseOp,
    TileStoreOp,
    TileZeroOp,
)

GLOW_VEC = Dialect(
    "glow_vec",
    [
        *(CastOp, CmpOp, DotOp, GatherOp, LookupOp, PrefetchOp, RemOp, SelectOp),
        *(TileConfigureOp, TileDotOp, TileLoadOp, TileReleaseOp, TileStoreOp, TileZeroOp),
    ],
    [CastKindAttr, DotKindAttr, LookupKindAttr, PredicateAttr, TileProductAttr],
)

__all__ = [
    "DOT_RULES",
    "GLOW_VEC",
    "TABLE_BYTES",
    "CastKind",
    "CastKindAttr",
    "CastOp",
    "CmpOp",
    "DotKind",
    "DotKindAttr",
    "DotOp",
    "DotRule",
    "GatherOp",
    "LookupKindAttr",
    "LookupOp",
    "Predicate",
    "PredicateAttr",
    "PrefetchOp",
    "RemOp",
    "SelectOp",
    "TileConfigureOp",
    "TileDotOp",
    "TileLoadOp",
    "TileProduct",
    "TileProductAttr",
    "TileReleaseOp",
    "TileStoreOp",
    "TileZeroOp",
    "dot_kind",
    "dot_terms",
    "lanes",
]
