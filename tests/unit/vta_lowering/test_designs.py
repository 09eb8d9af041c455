"""Programs for designs of VTA compute what the interpreter does, without what a design lacks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from glow.errors import CompileError
from glow.glow_dialects.glow.arithmetic import AddOp, MulOp, SubOp
from glow.glow_dialects.glow.convolution import ConvolutionOp
from glow.glow_dialects.glow.matrix import FullyConnectedOp
from glow.glow_dialects.glow.pooling import MaxPoolOp
from glow.glow_dialects.glow.quantization import RescaleOp
from glow.glow_dialects.glow.reduction import ReduceSumOp
from glow.glow_dialects.operator import shape_of, with_shape
from glow.glow_dialects.vta import CONFIG, DESIGNS, AluOpcode, ConfigAttr, VtaConfig
from glow.lowering.vta.epilogue import INT32, Chain, Leaf, Pair, Shared
from glow.lowering.vta.legalize import legalized
from glow.passes.vta.verify_vta_tokens import verify_tokens
from glow.runtime.interpreter import interpret
from glow.runtime.vta.assemble import assemble
from glow.runtime.vta.backend import VtaBackend
from glow.runtime.vta.program import VtaProgram
from glow.runtime.vta.simulator import Simulator
from glow.runtime.vta.words import Alu, AluOp, Gemm, MemoryCode, Transfer, VtaError
from glow.tests.support.vta_networks import RandomNetwork, convolved, lowered
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

LIMITED = ["xilinx-hls", "chisel", "intelfocl"]


def network(rng: np.random.Generator, *shape: int) -> RandomNetwork:
    return RandomNetwork(int(rng.integers(2**32)), shape)


def checked(module: ModuleOp, config: VtaConfig, rng: np.random.Generator) -> VtaProgram:
    """
    Returns the program, which gives what the interpreter gives, in any order that tokens permit.
    """
    program = assemble(lowered(module, config))
    shape = program.inputs[0].shape
    x = rng.integers(-128, 128, shape).astype(np.int8)
    wanted = interpret(module, [x])
    for shuffle in (None, int(rng.integers(2**32))):
        found = Simulator(program).run([x], shuffle=shuffle)
        for region, array in zip(program.outputs, found, strict=True):
            np.testing.assert_array_equal(array, wanted[region.name], err_msg=region.name)
    return program


def strided(net: RandomNetwork) -> SSAValue:
    return convolved(net, net.values[0], 24, 33, 3, 2)


def pointwise(net: RandomNetwork) -> SSAValue:
    return convolved(net, net.values[0], 24, 16, 1, 1)


def dense(net: RandomNetwork) -> SSAValue:
    """Returns one accumulator for many products."""
    n, *rest = shape_of(net.values[0].type)
    inner = int(np.prod(rest))
    flat = net.build.reshape(net.values[0], (n, inner))
    acc = net.build(FullyConnectedOp, flat, net.weights(10, inner), net.bias(10))
    return net.rescale(acc, 12)


def sum_of_two(net: RandomNetwork) -> SSAValue:
    """Returns a shortcut: what is loaded, and products."""
    left = net.wide(convolved(net, net.values[0], 24, 24, 3, 1))
    return net.rescale(net.build(AddOp, left, net.wide(net.values[0])), 1)


def difference(net: RandomNetwork) -> SSAValue:
    left = net.wide(convolved(net, net.values[0], 24, 24, 1, 1))
    return net.rescale(net.build(SubOp, left, net.wide(net.values[0])), 1)


def depthwise(net: RandomNetwork) -> SSAValue:
    acc = net.build(
        ConvolutionOp, net.values[0], net.weights(24, 1, 3, 3), net.bias(24), result_types=None,
        strides=[1, 1], pads=[1] * 4, dilations=[1, 1], group=24,
    )  # fmt: skip
    return net.rescale(acc, 9)


def pooled(net: RandomNetwork) -> SSAValue:
    return net.build(
        MaxPoolOp, net.values[0], result_types=None, kernel=[3, 3], pads=[1] * 4, strides=[2, 2],
        dilations=[1, 1],
    )  # fmt: skip


def mean(net: RandomNetwork) -> SSAValue:
    """Returns a multiplier of many bits, in two parts."""
    x = net.values[0]
    acc = net.build(ReduceSumOp, net.wide(x), result_types=None, axes=[2, 3], keep_dims=True)
    shape = shape_of(acc.type)
    operands = (net.spread(np.array(n), shape) for n in (1402438301, 36))
    return net.build(RescaleOp, acc, *operands, result_types=[with_shape(net.quantized(), shape)])


def by_channel(net: RandomNetwork) -> SSAValue:
    """Shifts to both sides, those of some channels by more than 15 places."""
    x = net.values[0]
    shape = shape_of(x.type)
    right = np.resize([1, 17, 2, 3, 20], 24)
    multiplier = np.resize([8, 1 << 13, 1, 2, 1 << 14], 24)
    operands = (net.spread(numbers, shape) for numbers in (multiplier, right))
    types = [with_shape(net.quantized(), shape)]
    return net.build(RescaleOp, net.wide(x), *operands, result_types=types)


def far_padding(net: RandomNetwork) -> SSAValue:
    """Adds more zeros than the fields can hold, and windows of only zeros."""
    acc = net.build(
        ConvolutionOp, net.values[0], net.weights(16, 24, 2, 2), net.bias(16), result_types=None,
        strides=[6, 6], pads=[17, 2, 1, 18], dilations=[1, 1],
    )  # fmt: skip
    return net.rescale(acc, 12)


def unchanged(net: RandomNetwork) -> SSAValue:
    return net.values[0]


LAYERS: tuple[Callable[[RandomNetwork], SSAValue], ...] = (
    *(strided, pointwise, dense, sum_of_two, difference, depthwise, pooled, mean, by_channel),
    *(far_padding, unchanged),
)


def every_layer(rng: np.random.Generator) -> ModuleOp:
    net = network(rng, 1, 24, 9, 7)
    return net.module([layer(net) for layer in LAYERS])


def uses(program: VtaProgram) -> set[str]:
    """Returns the features of a program that some designs lack."""
    found = set()
    for i in Simulator(program).instructions:
        if isinstance(i, Transfer) and i.memory is MemoryCode.ACC_8BIT:
            found.add("acc8")
        elif isinstance(i, Alu) and i.op is AluOp.MUL:
            found.add("mul")
    return found


@pytest.mark.parametrize("design", ["functional", *LIMITED])
def test_every_layer(design: str, rng: np.random.Generator):
    """The verifiers are part of the lowering; the simulator refuses the same."""
    program = checked(every_layer(rng), VtaConfig(design=design), rng)
    lacking = set() if design in ("functional", "intelfocl") else {"acc8", "mul"}
    assert uses(program) == {"acc8", "mul"} - lacking


@pytest.mark.parametrize("design", LIMITED)
def test_a_network_on_a_small_machine(design: str, rng: np.random.Generator):
    config = VtaConfig(
        design=design, block_in=8, block_out=8, inp_depth=128, wgt_depth=32, acc_depth=64,
        uop_depth=64, size_bits=6, loop_bits=5, base_address=5000, queue_length=200,
    )  # fmt: skip
    net = network(rng, 1, 24, 9, 7)
    first = convolved(net, net.values[0], 24, 24, 3, 1)
    both = net.rescale(net.build(AddOp, net.wide(first), net.wide(net.values[0])), 1)
    net.values = [both]
    program = checked(net.module([pooled(net), mean(net), dense(net)]), config, rng)
    assert min(region.address for region in program.regions) >= 5000


def test_sums_keep_their_distance(rng: np.random.Generator):
    """Idle accumulators come between the products of a single one, and nowhere else."""
    net = network(rng, 1, 24, 9, 7)
    module = net.module([dense(net)])
    far = checked(module, VtaConfig(design="xilinx-hls"), rng)
    plain = checked(module, VtaConfig(), rng)
    counts = [
        sum(i.iterations for i in Simulator(p).instructions if isinstance(i, Gemm) and not i.reset)
        for p in (plain, far)
    ]
    assert counts == [2 * 63, 3 * 2 * 63]
    net = network(rng, 1, 24, 9, 7)
    module = net.module([strided(net)])
    far = checked(module, VtaConfig(design="xilinx-hls"), rng)
    products = [i for i in Simulator(far).instructions if isinstance(i, Gemm) and not i.reset]
    assert sum(i.iterations for i in products) == 5 * 4 * 9 * 2 * 3


def test_products_of_two_tensors_belong_to_another_device(rng: np.random.Generator):
    net = network(rng, 1, 24, 9, 7)
    x = net.wide(net.values[0])
    module = net.module([net.rescale(net.build(MulOp, x, net.wide(net.values[0])), 7)])
    checked(module, VtaConfig(design="intelfocl"), rng)
    for design in ("xilinx-hls", "chisel"):
        message = f"the design {design} cannot multiply two tensors: leave that to another device"
        with pytest.raises(CompileError, match=message):
            lowered(module, VtaConfig(design=design))
        claimed = {c.operator for c in VtaBackend(config={"design": design}).claims()}
        assert {AddOp, SubOp} <= claimed
        assert MulOp not in claimed
    assert MulOp in {c.operator for c in VtaBackend().claims()}


@pytest.mark.parametrize("factor", [0, 1, 3, -1, -6, 255, 32767, -(1 << 31)])
def test_products_as_sums(factor: int, rng: np.random.Generator):
    """Returns the results of the steps of a legalized chain, in 32 bits."""
    x = rng.integers(-(1 << 31), 1 << 31, 9).astype(np.int32)
    product = Chain(Leaf(True, 0), INT32).appended(AluOpcode.MUL, factor)
    found = evaluated(legalized(product, DESIGNS["xilinx-hls"]), x)
    np.testing.assert_array_equal(found, (x.astype(np.int64) * factor).astype(np.int32))


_STEPS: dict[AluOpcode, Callable[[np.ndarray, int], np.ndarray]] = {
    AluOpcode.ADD: np.add,
    AluOpcode.MIN: np.minimum,
    AluOpcode.MAX: np.maximum,
    AluOpcode.SHR: lambda x, n: x >> n if n > 0 else x << -n,
}


def evaluated(chain: Chain, x: np.ndarray) -> np.ndarray:
    """Returns a chain without products, on int32, as int64 whose low 32 bits count."""
    match chain.base:
        case Leaf():
            found = x.astype(np.int64)
        case Shared(inner):
            found = evaluated(inner, x)
        case Pair(_, left, right):
            found = evaluated(left, x) + evaluated(right, x)
    for step, _ in chain.steps:
        assert isinstance(step.value, int)
        assert step.opcode is not AluOpcode.SHR or -16 <= step.value <= 15
        found = _STEPS[step.opcode](found.astype(np.int32).astype(np.int64), step.value)
    return found.astype(np.int32).astype(np.int64)


def test_programs_fit_queues(rng: np.random.Generator):
    """The loads of this layer run ahead of its products by 9."""
    net = RandomNetwork(1, (1, 128, 28, 28))
    module = net.module([convolved(net, net.values[0], 128, 128, 1, 1)])
    free = lowered(module, VtaConfig())
    program = assemble(free)
    for length in (2, 8):
        short = VtaConfig(queue_length=length)
        with pytest.raises(VtaError, match=f"in the queue to .*, which holds {length} tokens"):
            Simulator(replace(program, config=short)).run([])
        free.attributes[CONFIG] = ConfigAttr(short)
        with pytest.raises(VerifyException, match=f"deadlock: .* which holds {length} tokens"):
            verify_tokens(free)
        fitting = checked(module, short, rng)
        # other tokens, and the same work
        assert len(fitting.instructions) == len(program.instructions)
