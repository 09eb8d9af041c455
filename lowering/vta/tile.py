"""
The tiles of layers in the text: between the choice of tiles and the instructions of the machine.

A layer computes the result of an instruction on buffers, together with earlier instructions whose
results stay in accumulators. The attribute `vta.tiles` of the instruction has the tiles of its
layers. Tiles that are edited take effect; without the attribute, the pass makes the default choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import groupby

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.passes import ModulePass

from ...errors import CompileError
from ...glow_dialects.glow_inst.instruction import Instruction
from ...glow_dialects.vta import TILES, Tiles, TilesAttr, VtaConfig, VtaTiming
from ...passes.instructions.program import programs
from ...passes.levels import PROGRAM
from ...passes.visited_operation import visit
from ...wording import counted
from . import elements as _elements  # noqa: F401
from .layers import Layer, Pooling
from .memory_map import MemoryMap
from .network import Network
from .tiling import choose_pooling, choose_tiles


@dataclass(frozen=True)
class TileVtaLayersPass(VtaConfig, VtaTiming, ModulePass):
    """
    Choose the tiles of the layers of a program for VTA. The options are the sizes of the machine,
    and how fast it is.
    """

    name = "glow-tile-vta-layers"
    level = PROGRAM

    def __post_init__(self) -> None:
        config_of(self)
        timing_of(self)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        write_tiles(program_of(op), config_of(self), timing_of(self))


def config_of(options: VtaConfig) -> VtaConfig:
    """Returns the machine of the options of a pass."""
    return VtaConfig(**{f.name: getattr(options, f.name) for f in fields(VtaConfig)})


def timing_of(options: VtaTiming) -> VtaTiming:
    """Returns the times of the options of a pass."""
    return VtaTiming(**{f.name: getattr(options, f.name) for f in fields(VtaTiming)})


def program_of(module: ModuleOp) -> func.FuncOp:
    """Returns the function of instructions on buffers. Raises CompileError if there is none."""
    main = next(programs(module), None)
    if main is None:
        raise CompileError(
            "expected a function @main of instructions on buffers (glow-irgen makes it)"
        )
    return main


def write_tiles(main: func.FuncOp, config: VtaConfig, timing: VtaTiming) -> None:
    """
    Chooses the tiles of each layer, and writes them to the instruction that the layer computes.
    Loops over elements become stacks. Raises CompileError for operations that the machine cannot
    compute.
    """
    check_config(config)
    network = Network(main, MemoryMap(config))
    for op, layers in _by_instruction(network):
        visit(op)
        op.attributes[TILES] = ArrayAttr([TilesAttr(_choose(layer, timing)) for layer in layers])


def tiles_of(network: Network) -> list[Tiles]:
    """
    Returns the tiles of each layer: those of the attribute or, without it, the default choice.
    Raises CompileError for an attribute that is no list of the tiles of the layers.
    """
    found: list[Tiles] = []
    for op, layers in _by_instruction(network):
        visit(op)
        given = op.attributes.get(TILES)
        if given is None:
            found += [_choose(layer, VtaTiming()) for layer in layers]
            continue
        entries = given.data if isinstance(given, ArrayAttr) else ()
        tiles = [entry.data for entry in entries if isinstance(entry, TilesAttr)]
        if len(tiles) != len(layers):
            wanted = f"{TILES} of {counted(len(layers), 'layer')}"
            raise CompileError(f"{layers[0].name}: expected {wanted}, found {given}")
        found += tiles
    return found


def _by_instruction(network: Network) -> list[tuple[Instruction, Sequence[Layer | Pooling]]]:
    pairs = zip(network.origins, network.layers, strict=True)
    groups = groupby(pairs, key=lambda pair: pair[0])
    return [(op, [layer for _, layer in group]) for op, group in groups]


def _choose(layer: Layer | Pooling, timing: VtaTiming) -> Tiles:
    return choose_pooling(layer) if isinstance(layer, Pooling) else choose_tiles(layer, timing)


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
