"""Tiles in the text between two passes: other tiles give the same results."""

from __future__ import annotations

import numpy as np
import pytest
from glow.glow_dialects.vta import TILES, TilesAttr, VtaConfig, VtaTiming
from glow.lowering.vta.lower import lower
from glow.lowering.vta.tile import write_tiles
from glow.runtime.interpreter import interpret
from glow.runtime.signature import main_function
from glow.runtime.vta.assemble import assemble
from glow.runtime.vta.simulator import Simulator
from glow.tests.support.vta_networks import CONFIGS, RandomNetwork, instructions
from xdsl.dialects.builtin import ArrayAttr
from xdsl.dialects.func import FuncOp


def tiles_in(main: FuncOp) -> list[TilesAttr]:
    found = [op.attributes[TILES] for op in main.body.block.ops if TILES in op.attributes]
    return [t for tiles in found if isinstance(tiles, ArrayAttr) for t in tiles.data]  # pyright: ignore


@pytest.mark.parametrize("config", CONFIGS, ids=range(len(CONFIGS)))
def test_written_tiles_are_those_of_one_pass(config: VtaConfig, rng: np.random.Generator) -> None:
    module = RandomNetwork(int(rng.integers(1 << 30))).grow(4)
    whole, tiled = instructions(module, config), instructions(module, config)
    write_tiles(tiled, config, VtaTiming())
    assert tiles_in(tiled)
    words = [assemble(lower(main, config)).instructions for main in (whole, tiled)]
    assert bytes(words[0]) == bytes(words[1])


@pytest.mark.parametrize("timing", [VtaTiming(start=5000), VtaTiming(bytes_per_cycle=512)])
def test_results_do_not_depend_on_the_times_that_tiles_are_chosen_for(
    timing: VtaTiming, rng: np.random.Generator
) -> None:
    config = CONFIGS[1]
    for _ in range(4):
        module = RandomNetwork(int(rng.integers(1 << 30))).grow(3)
        main = instructions(module, config)
        write_tiles(main, config, timing)
        shape = main_function(module).function_type.inputs.data[0].get_shape()  # pyright: ignore
        x = rng.integers(-128, 128, shape).astype(np.int8)
        wanted = interpret(module, [x])
        simulator = Simulator(assemble(lower(main, config)))
        for region, array in zip(simulator.program.outputs, simulator.run([x]), strict=True):
            np.testing.assert_array_equal(array, wanted[region.name])
