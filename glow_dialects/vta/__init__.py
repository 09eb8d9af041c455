"""
The `vta` dialect: programs of the Versatile Tensor Accelerator, an open int8 tensor core with a
published instruction set (Apache TVM's `tvm-vta`, hardware version 0.0.2).

A program is a `func.func` with the attribute `vta.config`, the sizes of the machine. Its body
declares regions of DRAM and tables of micro-ops, followed by the instructions.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from .attributes import (
    CONFIG,
    DRAM,
    LAYER,
    AluOpcodeAttr,
    ConfigAttr,
    DramType,
    MemoryAttr,
    Tokens,
    TokensAttr,
    config_of,
)
from .config import DEFAULT, AluOpcode, Engine, Opcode, VtaConfig, VtaMemory
from .designs import DESIGNS, Design
from .dram import MicroOpsOp, RegionKind, RegionKindAttr, RegionOp
from .instruction import FinishOp, VtaInstruction
from .layer_body import ApplyOp, CopyOp, FetchOp, ProductOp, WriteOp
from .layers import AccumulatorsType, LayerLike, LayerOp, MaxPoolOp
from .loops import AluOp, GemmOp, Loop
from .program import contents, programs
from .tiles import Tiles, TilesAttr
from .timing import VtaTiming
from .transfers import LoadOp, StoreOp, Transfer

VTA = Dialect(
    "vta",
    [
        *(AluOp, FinishOp, GemmOp, LoadOp, MicroOpsOp, RegionOp, StoreOp),
        *(ApplyOp, CopyOp, FetchOp, LayerOp, MaxPoolOp, ProductOp, WriteOp),
    ],
    [
        *(AccumulatorsType, AluOpcodeAttr, ConfigAttr, DramType, MemoryAttr, RegionKindAttr),
        *(TilesAttr, TokensAttr),
    ],
)

__all__ = [
    "CONFIG",
    "DEFAULT",
    "DESIGNS",
    "DRAM",
    "LAYER",
    "VTA",
    "AluOp",
    "AluOpcode",
    "ApplyOp",
    "ConfigAttr",
    "CopyOp",
    "Design",
    "DramType",
    "Engine",
    "FetchOp",
    "FinishOp",
    "GemmOp",
    "LayerLike",
    "LayerOp",
    "LoadOp",
    "Loop",
    "MaxPoolOp",
    "MicroOpsOp",
    "Opcode",
    "ProductOp",
    "RegionKind",
    "RegionOp",
    "StoreOp",
    "Tiles",
    "TilesAttr",
    "Tokens",
    "TokensAttr",
    "Transfer",
    "VtaConfig",
    "VtaInstruction",
    "VtaMemory",
    "VtaTiming",
    "WriteOp",
    "config_of",
    "contents",
    "programs",
]
