"""The buffers that lie in DRAM, and those that are computed in accumulators instead."""

from __future__ import annotations

import numpy as np
import pytest
from glow.glow_dialects.glow.activation import ClipOp
from glow.glow_dialects.glow.arithmetic import AddOp, MulOp
from glow.glow_dialects.glow.convolution import ConvolutionOp
from glow.glow_dialects.glow.pooling import MaxPoolOp
from glow.glow_dialects.glow.quantization import RescaleOp
from glow.glow_dialects.glow.reduction import ReduceSumOp
from glow.glow_dialects.operator import shape_of, with_shape
from glow.glow_dialects.vta import VtaConfig
from glow.runtime.interpreter import interpret
from glow.runtime.signature import main_function
from glow.runtime.vta.assemble import assemble
from glow.runtime.vta.program import RegionRole, VtaProgram
from glow.runtime.vta.simulator import Simulator
from glow.runtime.vta.timing import estimate
from glow.tests.support.seeds import generator
from glow.tests.support.vta_networks import RandomNetwork, convolved, lowered
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue


def network(*shape: int) -> RandomNetwork:
    return RandomNetwork(int(generator().integers(2**32)), shape)


def checked(module: ModuleOp) -> VtaProgram:
    """Returns the program, which gives what the interpreter gives."""
    main = main_function(module)
    shape = shape_of(main.function_type.inputs.data[0])
    x = generator().integers(-128, 128, shape).astype(np.int8)
    program = assemble(lowered(module, VtaConfig()))
    wanted = interpret(module, [x])
    for region, array in zip(program.outputs, Simulator(program).run([x]), strict=True):
        np.testing.assert_array_equal(array, wanted[region.name])
    return program


def names(program: VtaProgram) -> list[str]:
    return [region.name for region in program.of_kind(RegionRole.SCRATCH)]


def products(program: VtaProgram) -> int:
    return estimate(program).total.gemm_iterations


def swish(net: RandomNetwork, x: SSAValue) -> SSAValue:
    """Returns x * clip(x + 3), as a hard swish is."""
    shape = shape_of(x.type)
    moved = net.build(AddOp, net.wide(x), net.spread(np.array(3), shape))
    limited = net.build(ClipOp, moved, result_types=None, min=0, max=6)
    return net.rescale(net.build(MulOp, net.wide(x), limited), 4)


def test_a_value_that_a_chain_uses_twice_is_computed_once():
    net = network(1, 20, 9, 7)
    plain = checked(net.module([convolved(net, net.values[0], 20, 33, 3, 1)]))
    net = network(1, 20, 9, 7)
    program = checked(net.module([swish(net, convolved(net, net.values[0], 20, 33, 3, 1))]))
    assert products(program) == products(plain)
    assert len(program.layers) == 1
    assert names(program) == []


def test_what_several_instructions_read_is_stored():
    """In 8 bits, although each of them widens it, and equal nodes have become one."""
    net = network(1, 16, 8, 8)
    x = convolved(net, net.values[0], 16, 16, 3, 1)
    wide = net.wide(x)
    sums = []
    for _ in range(3):
        inner = convolved(net, sums[-1] if sums else x, 16, 16, 3, 1)
        sums.append(net.rescale(net.build(AddOp, net.wide(inner), wide), 1))
    program = checked(net.module([sums[-1]]))
    assert products(program) == 4 * 8 * 8 * 9
    assert len(names(program)) == 3


def test_a_pooling_is_a_layer_of_its_own():
    net = network(2, 20, 9, 7)
    pooled = net.build(
        MaxPoolOp, net.values[0], result_types=None, kernel=[3, 2], pads=[1, 0, 1, 1],
        strides=[2, 1], dilations=[1, 1], ceil_mode=False,
    )  # fmt: skip
    pooled.name_hint = "pooled"
    program = checked(net.module([swish(net, pooled)]))
    assert [layer.name for layer in program.layers] == ["pooled", "y0"]
    assert names(program) == ["pooled"]


def test_results_of_which_one_is_made_of_the_other():
    net = network(1, 20, 5, 3)
    first = convolved(net, net.values[0], 20, 16, 1, 1)
    program = checked(net.module([swish(net, first), first, net.values[0], first]))
    assert [region.name for region in program.outputs] == ["y0", "y1", "y2", "y3"]
    assert names(program) == []
    assert products(program) == 2 * 5 * 3


@pytest.mark.parametrize(("pads", "stride"), [(0, 2), (1, 3)])
def test_strides_between_images_of_one_pixel_mean_nothing(pads: int, stride: int):
    net = network(5, 20, 1, 1)
    acc = net.build(
        ConvolutionOp, net.values[0], net.weights(33, 20, 1, 1), net.bias(33), result_types=None,
        strides=[stride] * 2, pads=[pads] * 4, dilations=[1, 1],
    )  # fmt: skip
    checked(net.module([net.rescale(acc, 8)]))


@pytest.mark.parametrize("keep_dims", [True, False])
def test_means_do_not_take_their_sums_twice(keep_dims: bool):
    """The multiplier is applied in two parts."""
    net = network(1, 16, 7, 5)
    sums = net.build(
        ReduceSumOp, net.wide(net.values[0]), result_types=None, axes=[2, 3], keep_dims=keep_dims
    )
    shape = shape_of(sums.type)
    operands = (net.spread(np.array(n), shape) for n in (1402438301, 36))
    mean = net.build(RescaleOp, sums, *operands, result_types=[with_shape(net.quantized(), shape)])
    program = checked(net.module([mean]))
    assert products(program) == 35
    assert names(program) == []
