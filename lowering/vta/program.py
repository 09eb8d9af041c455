"""Programs of layers: functions with the regions of a VTA, and layers."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from ...errors import CompileError
from ...glow_dialects.vta import LayerLike, RegionOp, config_of, programs
from .memory_map import MemoryMap


def program_of_layers(module: ModuleOp) -> func.FuncOp:
    """Returns the function of layers. Raises CompileError if there is none."""
    found = next((f for f in programs(module) if layers_of(f)), None)
    if found is None:
        raise CompileError("expected layers for VTA (glow-form-vta-layers makes them)")
    return found


def layers_of(function: func.FuncOp) -> list[LayerLike]:
    """Returns the layers of a program, in order."""
    return [op for op in function.body.block.ops if isinstance(op, LayerLike)]


def memory_of(function: func.FuncOp) -> MemoryMap:
    """Returns the regions of a program."""
    regions = [op for op in function.body.block.ops if isinstance(op, RegionOp)]
    return MemoryMap(config_of(function), regions)
