"""
The lowering of instructions on buffers to a program for VTA.

The function @main, whose inputs and results are integers of 8 bits, or results of 32, becomes one
of the `vta` dialect with the same inputs and results. `docs/vta-lowering.md` explains the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, FunctionType, ModuleOp, i64
from xdsl.ir import Block, Region
from xdsl.passes import ModulePass

from ...errors import CompileError
from ...glow_dialects.vta import CONFIG, ConfigAttr, MicroOpsOp, VtaConfig
from ...glow_dialects.vta.attributes import number
from ...passes.instructions.allocate import ARENA_LOWER_BOUND, ARENA_SIZE
from ...passes.instructions.program import programs
from ...passes.levels import PROGRAM
from . import elements as _elements  # noqa: F401
from .emit import emit_layer
from .layers import Layer
from .memory_map import MemoryMap
from .micro_ops import MicroOps
from .network import Network
from .pooling import emit_pooling
from .regions import Dram
from .scratch import place_scratch
from .stream import Stream

_TABLE = "micro-ops"


@dataclass(frozen=True)
class LowerToVtaPass(VtaConfig, ModulePass):
    """
    Make a program for VTA of instructions on buffers. The options are the sizes of the machine.
    """

    name = "glow-lower-to-vta"
    level = PROGRAM

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = next(programs(op), None)
        if main is None:
            raise CompileError(
                "expected a function @main of instructions on buffers (glow-irgen makes it)"
            )
        function = lower(main, VtaConfig(**{f.name: getattr(self, f.name) for f in fields(self)}))
        main.detach()
        main.erase()
        op.body.block.add_op(function)


def lower(main: func.FuncOp, config: VtaConfig) -> func.FuncOp:
    """
    The program of a function of instructions, which is not in use afterwards.

    Raises CompileError for what the machine cannot compute, and for sizes that it cannot have.
    """
    check_config(config)
    memory = MemoryMap(config)
    network = Network(main, memory)
    return program(network, *place_scratch(network.layers, memory))


def program(network: Network, scratch_bytes: int, least_bytes: int) -> func.FuncOp:
    """
    The program of layers whose tensors have places. It says how many bytes of scratch it takes, and
    how many it takes at least.
    """
    memory = network.memory
    config = memory.config
    table = MicroOpsOp.of(_TABLE, 0, [(0, 0, 0)])
    stream = Stream(config)
    micro_ops = MicroOps(stream, Dram(table.result, 0))
    name = ""
    for layer in network.layers:
        if layer.name != name:
            name = layer.name
            stream.begin(name)
        if isinstance(layer, Layer):
            emit_layer(layer, stream, micro_ops, memory)
        else:
            emit_pooling(layer, stream, micro_ops, memory)
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


def check_config(config: VtaConfig) -> None:
    """Raises CompileError for a machine whose outputs cannot be inputs."""
    if config.block_in != config.block_out:
        raise CompileError(
            "expected block_in and block_out of VTA to be equal, because results are inputs of the "
            f"next layer; found {config.block_in} and {config.block_out}"
        )
    bits = (config.inp_bits, config.wgt_bits, config.out_bits, config.acc_bits)
    if bits != (8, 8, 8, 32):
        raise CompileError(
            f"expected inputs, weights and outputs of 8 bits and accumulators of 32, found {bits}"
        )
