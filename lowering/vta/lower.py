"""
The lowering of instructions on buffers to a program for VTA.

The function @main, whose inputs and results are integers of 8 bits, or results of 32, becomes one
of the `vta` dialect with the same inputs and results. `docs/vta-lowering.md` explains the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, FunctionType, ModuleOp, i64
from xdsl.ir import Block, Region
from xdsl.passes import ModulePass

from ...glow_dialects.plan_attributes import ARENA_LOWER_BOUND, ARENA_SIZE
from ...glow_dialects.vta import CONFIG, ConfigAttr, MicroOpsOp, Tiles, VtaConfig
from ...glow_dialects.vta.attributes import number
from ...passes.levels import PROGRAM
from ...passes.visited_operation import visit
from .emit import emit_layer
from .layers import Layer
from .memory_map import MemoryMap
from .micro_ops import MicroOps
from .network import Network
from .pooling import emit_pooling
from .regions import Dram
from .scratch import place_scratch
from .stream import Stream
from .tile import check_config, config_of, program_of, tiles_of

_TABLE = "micro-ops"


@dataclass(frozen=True)
class LowerToVtaPass(VtaConfig, ModulePass):
    """
    Make a program for VTA of instructions on buffers. The options are the sizes of the machine.

    Layers without tiles get those that `glow-tile-vta-layers` chooses by default.
    """

    name = "glow-lower-to-vta"
    level = PROGRAM

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = program_of(op)
        function = lower(main, config_of(self))
        main.detach()
        main.erase()
        op.body.block.add_op(function)


def lower(main: func.FuncOp, config: VtaConfig) -> func.FuncOp:
    """
    Returns the program of a function of instructions. The function cannot be used afterwards.

    Raises CompileError for operations that the machine cannot compute, and for sizes that are too
    large for it.
    """
    check_config(config)
    memory = MemoryMap(config)
    network = Network(main, memory)
    tiles = tiles_of(network)
    return program(network, tiles, *place_scratch(network.layers, memory))


def program(
    network: Network, tiles: Sequence[Tiles], scratch_bytes: int, least_bytes: int
) -> func.FuncOp:
    """
    Returns the program of layers with their tiles, whose tensors have places. The program has the
    bytes of scratch that it takes, and the least number of bytes that it could take.
    """
    memory = network.memory
    config = memory.config
    table = MicroOpsOp.of(_TABLE, 0, [(0, 0, 0)])
    stream = Stream(config)
    micro_ops = MicroOps(stream, Dram(table.result, 0))
    name = ""
    for op, layer, tile in zip(network.origins, network.layers, tiles, strict=True):
        visit(op)
        if layer.name != name:
            name = layer.name
            stream.begin(name)
        if isinstance(layer, Layer):
            emit_layer(layer, tile, stream, micro_ops, memory)
        else:
            emit_pooling(layer, tile, stream, micro_ops, memory)
    stream.finish()
    instructions = stream.instructions()
    table.properties["ops"] = DenseArrayBase.from_list(i64, micro_ops.table().reshape(-1).tolist())
    table.properties["address"] = number(memory.place(4 * len(micro_ops.table())))
    block = Block([*memory.regions, table, *instructions, func.ReturnOp()])
    function = func.FuncOp("main", FunctionType.from_lists([], []), Region(block))
    function.attributes[CONFIG] = ConfigAttr(config)
    if scratch_bytes:
        function.attributes[ARENA_SIZE] = number(scratch_bytes)
        function.attributes[ARENA_LOWER_BOUND] = number(least_bytes)
    return function
