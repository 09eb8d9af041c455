"""Tiles in the text between two passes: other tiles give the same results."""

from __future__ import annotations

import numpy as np
import pytest
from glow.glow_dialects.vta import VtaConfig, VtaTiming
from glow.lowering.vta.form_layers import form_layers
from glow.lowering.vta.lower import lower
from glow.lowering.vta.program import layers_of
from glow.lowering.vta.tile import write_tiles
from glow.runtime.interpreter import interpret
from glow.runtime.signature import main_function
from glow.runtime.vta.assemble import assemble
from glow.runtime.vta.simulator import Simulator
from glow.tests.support.graph_text import parse
from glow.tests.support.vta_networks import CONFIGS, RandomNetwork, instructions
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp


def words(function: FuncOp) -> bytes:
    lower(function)
    return bytes(assemble(function).instructions)


@pytest.mark.parametrize("config", CONFIGS, ids=range(len(CONFIGS)))
def test_written_tiles_are_those_of_one_pass(config: VtaConfig, rng: np.random.Generator) -> None:
    module = RandomNetwork(int(rng.integers(1 << 30))).grow(4)
    whole, tiled = (form_layers(instructions(module, config), config) for _ in range(2))
    write_tiles(tiled, VtaTiming())
    assert layers_of(tiled)
    assert all(op.chosen_tiles for op in layers_of(tiled))
    assert words(whole) == words(tiled)


@pytest.mark.parametrize("config", CONFIGS, ids=range(len(CONFIGS)))
def test_layers_are_text(config: VtaConfig, rng: np.random.Generator) -> None:
    """A function of layers that is printed and parsed gives the same program."""
    module = RandomNetwork(int(rng.integers(1 << 30))).grow(4)
    formed = form_layers(instructions(module, config), config)
    write_tiles(formed, VtaTiming())
    read = parse(str(ModuleOp([formed.clone()])))
    read.verify()
    assert words(main_function(read)) == words(formed)


@pytest.mark.parametrize("timing", [VtaTiming(start=5000), VtaTiming(bytes_per_cycle=512)])
def test_results_do_not_depend_on_the_times_that_tiles_are_chosen_for(
    timing: VtaTiming, rng: np.random.Generator
) -> None:
    config = CONFIGS[1]
    for _ in range(4):
        module = RandomNetwork(int(rng.integers(1 << 30))).grow(3)
        main = form_layers(instructions(module, config), config)
        write_tiles(main, timing)
        shape = main_function(module).function_type.inputs.data[0].get_shape()  # pyright: ignore
        x = rng.integers(-128, 128, shape).astype(np.int8)
        wanted = interpret(module, [x])
        lower(main)
        simulator = Simulator(assemble(main))
        for region, array in zip(simulator.program.outputs, simulator.run([x]), strict=True):
            np.testing.assert_array_equal(array, wanted[region.name])
