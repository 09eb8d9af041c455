"""
The tiles of layers in the text: between the choice of tiles and the instructions of the machine.

Tiles that are edited take effect; a layer without tiles gets the default choice.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...glow_dialects.vta import LayerLike, LayerOp, MaxPoolOp, Tiles, VtaTiming
from ...passes.levels import VTA_LAYERS
from ...passes.visited_operation import each
from .layer_views import layer_of, pooling_of
from .layers import Layer, Pooling
from .memory_map import MemoryMap
from .program import layers_of, memory_of, program_of_layers
from .tiling import choose_pooling, choose_tiles


@dataclass(frozen=True)
class TileVtaLayersPass(VtaTiming, ModulePass):
    """Chooses the tiles of the layers of a program for VTA. The options are how fast it is."""

    name = "glow-tile-vta-layers"
    level = VTA_LAYERS

    def __post_init__(self) -> None:
        timing_of(self)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        write_tiles(program_of_layers(op), timing_of(self))


def timing_of(options: VtaTiming) -> VtaTiming:
    """Returns the times of the options of a pass."""
    return VtaTiming(**{f.name: getattr(options, f.name) for f in fields(VtaTiming)})


def write_tiles(function: func.FuncOp, timing: VtaTiming) -> None:
    """Chooses the tiles of each layer."""
    memory = memory_of(function)
    for op in each(layers_of(function)):
        op.chosen_tiles = chosen(view_of(op, memory), timing)


def view_of(op: LayerLike, memory: MemoryMap) -> Layer | Pooling:
    """Returns what a layer in the text does."""
    if isinstance(op, LayerOp):
        return layer_of(op, memory)
    assert isinstance(op, MaxPoolOp)
    return pooling_of(op, memory)


def chosen(layer: Layer | Pooling, timing: VtaTiming) -> Tiles:
    """Returns the tiles that take least time."""
    return choose_pooling(layer) if isinstance(layer, Pooling) else choose_tiles(layer, timing)
