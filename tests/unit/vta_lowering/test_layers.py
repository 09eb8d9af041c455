"""Random layers of all kinds, on several machines, against the interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from glow.glow_dialects.vta import VtaConfig
from glow.passes.vta.verify_vta_tokens import verify_tokens
from glow.runtime.interpreter import interpret
from glow.runtime.signature import main_function
from glow.runtime.vta.assemble import assemble
from glow.runtime.vta.simulator import Simulator
from glow.tests.support.vta_networks import CONFIGS, RandomNetwork, lowered
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

LAYERS = 4
"""
The least number of layers of each network: 5 machines with 10 networks each have over 200, others
in each run.
"""


def check(module: ModuleOp, config: VtaConfig, seed: int) -> None:
    """
    Checks that the program of a network computes what the interpreter computes, also in a random
    order.
    """
    module.verify()
    main = main_function(module)
    shape = main.function_type.inputs.data[0].get_shape()  # pyright: ignore
    x = np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)
    wanted = interpret(module, [x])
    function = lowered(module, config)
    function.verify()
    verify_tokens(function)
    simulator = Simulator(assemble(function))
    for shuffle in (None, seed):
        found = simulator.run([x], shuffle=shuffle)
        for region, array in zip(simulator.program.outputs, found, strict=True):
            np.testing.assert_array_equal(array, wanted[region.name])


@pytest.mark.parametrize("config", CONFIGS, ids=range(len(CONFIGS)))
@given(seed=st.integers(0, 2**32 - 1), layers=st.integers(LAYERS, 2 * LAYERS))
@settings(max_examples=6, deadline=None)
def test_a_network_is_computed_exactly(config: VtaConfig, seed: int, layers: int) -> None:
    check(RandomNetwork(seed).grow(layers), config, seed)
