"""
The lowering of layers to the instructions of VTA. `docs/vta-lowering.md` explains it.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i64
from xdsl.passes import ModulePass

from ...glow_dialects.vta import MicroOpsOp, VtaTiming
from ...glow_dialects.vta.attributes import number
from ...passes.levels import VTA_LAYERS
from ...passes.visited_operation import each
from .emit import emit_layer
from .layers import Layer
from .micro_ops import MicroOps
from .pooling import emit_pooling
from .program import layers_of, memory_of, program_of_layers
from .regions import Dram
from .stream import Stream
from .tile import chosen, view_of

_TABLE = "micro-ops"


@dataclass(frozen=True)
class LowerToVtaPass(ModulePass):
    """
    Makes a program for VTA of layers. Layers without tiles get those that `glow-tile-vta-layers`
    chooses by default.
    """

    name = "glow-lower-to-vta"
    level = VTA_LAYERS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lower(program_of_layers(op))


def lower(function: func.FuncOp) -> None:
    """
    Replaces the layers of a function by instructions. Raises CompileError for tiles that do not fit
    into the buffers of the machine.
    """
    memory, layers = memory_of(function), layers_of(function)
    memory.order_accesses()
    before = set(memory.regions)
    table = MicroOpsOp.of(_TABLE, 0, [(0, 0, 0)])
    stream = Stream(memory.config)
    micro_ops = MicroOps(stream, Dram(table.result, 0))
    name = ""
    for op in each(layers):
        layer = view_of(op, memory)
        tiles = op.chosen_tiles or chosen(layer, VtaTiming())
        if layer.name != name:
            name = layer.name
            stream.begin(name)
        if isinstance(layer, Layer):
            emit_layer(layer, tiles, stream, micro_ops, memory)
        else:
            emit_pooling(layer, tiles, stream, micro_ops, memory)
    stream.finish()
    instructions = stream.instructions()
    table.properties["ops"] = DenseArrayBase.from_list(i64, micro_ops.table().reshape(-1).tolist())
    table.properties["address"] = number(memory.place(4 * len(micro_ops.table())))
    for op in layers:
        op.detach()
        op.erase()
    block = function.body.block
    end = block.last_op
    assert end is not None
    added = [op for op in memory.regions if op not in before]
    block.insert_ops_before([*added, table, *instructions], end)
