"""The layers of ResNet-18: how busy the GEMM core is, and how much DRAM traffic there is."""

from __future__ import annotations

import numpy as np
import pytest
from glow.glow_dialects.glow.activation import ReluOp
from glow.glow_dialects.glow.arithmetic import AddOp
from glow.glow_dialects.vta import VtaConfig
from glow.passes.vta.verify_vta_tokens import verify_tokens
from glow.runtime.vta.assemble import assemble
from glow.runtime.vta.program import VtaProgram
from glow.runtime.vta.timing import estimate
from glow.runtime.vta.traffic import compulsory_bytes
from glow.tests.support.vta_networks import RandomNetwork, convolved, lowered
from xdsl.ir import SSAValue

BUSY, TRAFFIC = 0.6, 1.5


def program_of(net: RandomNetwork, result: SSAValue, config: VtaConfig | None = None) -> VtaProgram:
    function = lowered(net.module([result]), config or VtaConfig())
    verify_tokens(function)
    return assemble(function)


def expect_goals(program: VtaProgram) -> None:
    """Checks the last layer."""
    layer = estimate(program).layers[-1]
    assert layer.gemm_utilisation >= BUSY
    least = compulsory_bytes(program)[-1]
    assert sum(layer.dram_bytes.values()) <= TRAFFIC * least


@pytest.mark.parametrize(
    ("inputs", "outputs", "size", "stride"),
    [
        *((64, 64, 56, 1), (64, 128, 56, 2), (128, 128, 28, 1), (128, 256, 28, 2)),
        *((256, 256, 14, 1), (256, 512, 14, 2), (512, 512, 7, 1)),
    ],
)
def test_convolutions(inputs: int, outputs: int, size: int, stride: int, rng: np.random.Generator):
    net = RandomNetwork(int(rng.integers(2**32)), (1, inputs, size, size))
    x = net.values[0]
    result = net.build(ReluOp, net.wide(convolved(net, x, inputs, outputs, 3, stride)))
    expect_goals(program_of(net, net.rescale(result, 0)))


@pytest.mark.parametrize(("channels", "size"), [(64, 56), (128, 28), (256, 14)])
def test_a_shortcut_is_computed_with_the_convolution_that_it_is_added_to(
    channels: int, size: int, rng: np.random.Generator
):
    """Alone it has too few products for each result: here it costs neither a store nor a load."""
    seed = int(rng.integers(2**32))
    net = RandomNetwork(seed, (1, channels, size, size))
    x, wide = net.values[0], 2 * channels
    inner = convolved(net, x, channels, wide, 3, 2)
    inner.name_hint = "first"
    left = net.wide(convolved(net, inner, wide, wide, 3, 1))
    right = net.wide(convolved(net, x, channels, wide, 1, 2))
    program = program_of(net, net.rescale(net.build(AddOp, left, right), 1))
    assert len(program.layers) == 2
    expect_goals(program)


def test_weights_and_micro_ops_are_loaded_once_if_they_fit():
    net = RandomNetwork(0, (1, 16, 40, 40))
    result = convolved(net, net.values[0], 16, 16, 3, 1)
    program = program_of(net, result, VtaConfig(inp_depth=256, acc_depth=256))
    moved = {k.name: v for k, v in estimate(program).total.dram_bytes.items()}
    assert moved["WGT"] == 9 * 256
    assert moved["UOP"] == program.micro_ops.size * 4
    # loads of the next tile do not wait for the products of this one
    found = estimate(program)
    assert sum(found.busy.values()) > 1.2 * found.cycles
