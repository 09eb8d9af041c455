"""
The formation of layers: instructions on buffers become layers on regions of DRAM.

The function @main, whose inputs and results are integers of 8 bits, or results of 32, becomes one
of the `vta` dialect with the same inputs and results. `docs/vta-lowering.md` explains the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Region
from xdsl.passes import ModulePass

from ...errors import CompileError
from ...glow_dialects.plan_attributes import ARENA_LOWER_BOUND, ARENA_SIZE
from ...glow_dialects.vta import CONFIG, ConfigAttr, VtaConfig
from ...glow_dialects.vta.attributes import number
from ...passes.instructions.program import programs
from ...passes.levels import PROGRAM
from . import elements as _elements  # noqa: F401
from .memory_map import MemoryMap
from .network import Network
from .scratch import place_scratch


@dataclass(frozen=True)
class FormVtaLayersPass(VtaConfig, ModulePass):
    """
    Makes layers for VTA of instructions on buffers, and places their tensors. The options are the
    sizes of the machine.
    """

    name = "glow-form-vta-layers"
    level = PROGRAM

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        config = VtaConfig(**{f.name: getattr(self, f.name) for f in fields(VtaConfig)})
        main = program_of(op)
        function = form_layers(main, config)
        main.detach()
        main.erase()
        op.body.block.add_op(function)


def program_of(module: ModuleOp) -> func.FuncOp:
    """Returns the function of instructions on buffers. Raises CompileError if there is none."""
    main = next(programs(module), None)
    if main is None:
        raise CompileError(
            "expected a function @main of instructions on buffers (glow-irgen makes it)"
        )
    return main


def form_layers(main: func.FuncOp, config: VtaConfig) -> func.FuncOp:
    """
    Returns the layers of a function of instructions, whose loops over elements become stacks.

    Raises CompileError for operations that the machine cannot compute.
    """
    check_config(config)
    memory = MemoryMap(config)
    layers = Network(main, memory).layers
    scratch_bytes, least_bytes = place_scratch(layers, memory)
    block = Block([*memory.regions, *layers, func.ReturnOp()])
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
