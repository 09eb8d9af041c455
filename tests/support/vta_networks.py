"""Random networks of integers after `glow-legalize-quantized`, for tests of VTA programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from glow.glow_dialects.glow.activation import ClipOp, ReluOp
from glow.glow_dialects.glow.arithmetic import AddOp, MaximumOp, MinimumOp, MulOp, SubOp
from glow.glow_dialects.glow.convolution import ConvolutionOp
from glow.glow_dialects.glow.logic import CastOp
from glow.glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from glow.glow_dialects.glow.pooling import MaxPoolOp
from glow.glow_dialects.glow.quantization import RescaleOp, StorageCastOp
from glow.glow_dialects.glow.reduction import ReduceSumOp
from glow.glow_dialects.operator import shape_of, with_shape
from glow.glow_dialects.quant import QuantizedType
from glow.glow_dialects.vta.config import VtaConfig
from glow.passes.graph.rewriting import Build
from glow.runtime.signature import main_function
from glow.runtime.stages import Stages
from glow.runtime.vta.backend import PROGRAM, VtaBackend
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, f32, i8, i32
from xdsl.ir import Block, Region, SSAValue

CONFIGS = (
    VtaConfig(),
    # small buffers, and fields that are too narrow for most transfers
    VtaConfig(
        inp_depth=128,
        wgt_depth=64,
        acc_depth=64,
        uop_depth=64,
        size_bits=6,
        stride_bits=7,
        pad_bits=1,
        loop_bits=5,
        imm_bits=8,
    ),
    VtaConfig(block_in=8, block_out=8, inp_depth=256, wgt_depth=128, acc_depth=256, uop_depth=512),
    VtaConfig(
        batch=2, block_in=4, block_out=4, inp_depth=512, wgt_depth=512, acc_depth=256, uop_depth=256
    ),
    VtaConfig(block_in=32, block_out=32, inp_depth=512, wgt_depth=256, acc_depth=512),
)
_STEPS: list[Callable[[RandomNetwork], SSAValue]] = []


def step(function: Callable[[RandomNetwork], SSAValue]) -> Callable[[RandomNetwork], SSAValue]:
    """Registers a kind of layer."""
    _STEPS.append(function)
    return function


class RandomNetwork:
    """A network with one input, grown layer by layer. Scales are powers of two."""

    def __init__(self, seed: int, shape: Sequence[int] | None = None):
        self.rng = np.random.default_rng(seed)
        self.build = Build()
        self.layers = 0
        n, c = self.int(1, 3), self.int(1, 40)
        shape = shape or (n, c, self.int(1, 12), self.int(1, 12))
        self.block = Block(arg_types=[with_shape(self.quantized(), shape)])
        self.values: list[SSAValue] = [self.block.args[0]]
        """All of 8 bits."""

    def grow(self, layers: int) -> ModuleOp:
        """Adds layers. What none of them reads, and sometimes others, are the results."""
        while self.layers < layers:
            made = _STEPS[self.int(0, len(_STEPS) - 1)](self)
            if made not in self.values:
                self.layers += 1
                self.values.append(made)
        results = [v for v in self.values[1:] if v.first_use is None]
        if self.int(0, 3) == 0:
            results.append(self.values[self.int(0, len(self.values) - 1)])
        return self.module(results)

    def module(self, results: Sequence[SSAValue]) -> ModuleOp:
        """Returns the function @main with these results."""
        self.block.add_ops([*self.build.ops, func.ReturnOp(*results)])
        types = [a.type for a in self.block.args], [r.type for r in results]
        main = func.FuncOp("main", types, Region(self.block))
        named = [DictionaryAttr({"glow.name": StringAttr(f"y{i}")}) for i in range(len(results))]
        main.properties["arg_attrs"] = ArrayAttr([DictionaryAttr({"glow.name": StringAttr("x")})])
        main.properties["res_attrs"] = ArrayAttr(named)
        return ModuleOp([main])

    # numbers and values

    def int(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high, endpoint=True))

    def quantized(self) -> QuantizedType:
        return QuantizedType(i8, f32, 2.0 ** -self.int(0, 7), 0)

    def pick(self, rank: int | None = None) -> SSAValue:
        """Returns a value, more often a late one."""
        found = [v for v in self.values if rank is None or len(shape_of(v.type)) == rank]
        return found[max(self.int(0, len(found) - 1), self.int(0, len(found) - 1))]

    def weights(self, *shape: int) -> SSAValue:
        array = self.rng.integers(-128, 128, shape).astype(np.int8)
        array[self.rng.random(shape) < 0.2] = 0
        return self.build.constant(array, "w")

    def spread(self, numbers: np.ndarray, shape: Sequence[int]) -> SSAValue:
        """Returns int32, one number or one for each channel, broadcast."""
        numbers = np.atleast_1d(numbers).astype(np.int32)
        column = numbers.reshape([1, -1] + [1] * (len(shape) - 2))
        return self.build.broadcast(self.build.constant(column, "c"), shape)

    def rescale(self, acc: SSAValue, spread: int) -> SSAValue:
        """
        Rescales numbers of about `spread` bits more to 8 bits; now and then each channel has a
        factor of its own.
        """
        shape = shape_of(acc.type)
        count = shape[1] if self.int(0, 3) == 0 else 1
        right = np.maximum(spread + self.rng.integers(-3, 2, count), -2)
        multiplier = np.where(right < 1, 1 << (1 - np.minimum(right, 1)), 1)
        shift = np.maximum(right, 1)
        # the same factor with other numbers
        more = self.int(0, 30 - int(multiplier.max()).bit_length())
        multiplier, shift = multiplier << more, shift + more
        operands = acc, self.spread(multiplier, shape), self.spread(shift, shape)
        return self.build(RescaleOp, *operands, result_types=[with_shape(self.quantized(), shape)])

    def limited(self, value: SSAValue) -> SSAValue:
        """Limits stored numbers with an activation, or leaves them."""
        kind, element = self.int(0, 3), value.type.element_type  # pyright: ignore
        if kind > 1:
            return value
        shape = shape_of(value.type)
        stored = self.build(StorageCastOp, value, result_types=[with_shape(i8, shape)])
        if kind == 0:
            stored = self.build(ReluOp, stored)
        else:
            low, high = sorted((self.int(-128, 127), self.int(-128, 127)))
            stored = self.build(ClipOp, stored, result_types=None, min=low, max=high)
        return self.build(StorageCastOp, stored, result_types=[with_shape(element, shape)])

    def wide(self, value: SSAValue) -> SSAValue:
        """Returns the stored numbers as i32."""
        shape = shape_of(value.type)
        stored = self.build(StorageCastOp, value, result_types=[with_shape(i8, shape)])
        return self.build(CastOp, stored, result_types=[with_shape(i32, shape)])

    def bias(self, outputs: int) -> SSAValue:
        limit = 1 << self.int(1, 16)
        return self.build.constant(self.rng.integers(-limit, limit, outputs).astype(np.int32), "b")


@step
def convolution(net: RandomNetwork) -> SSAValue:
    if not any(len(shape_of(v.type)) == 4 for v in net.values):
        return net.values[0]
    x = net.pick(4)
    c = shape_of(x.type)[1]
    groups = 1
    if net.int(0, 3) == 0:
        groups = net.rng.choice([g for g in range(1, c + 1) if c % g == 0])
    outputs = int(groups) * net.int(1, max(1, 40 // int(groups)))
    return net.limited(_convolved(net, x, outputs, int(groups)))


def _convolved(net: RandomNetwork, x: SSAValue, outputs: int, groups: int) -> SSAValue:
    _, c, *sizes = shape_of(x.type)
    kernel, pads, dilations = [], [], []
    for size in sizes:
        kernel.append(net.int(1, 4))
        dilations.append(net.int(1, 3) if net.int(0, 3) == 0 else 1)
        reach = (kernel[-1] - 1) * dilations[-1] + 1
        least = -(-max(reach - size, 0) // 2)
        pads.append(least + (net.int(0, 2) if net.int(0, 1) else 0))
    strides = [net.int(1, 3) for _ in sizes]
    weights = net.weights(outputs, c // groups, *kernel)
    low = pads
    high = [p + net.int(0, 1) for p in pads]
    acc = net.build(
        ConvolutionOp, x, weights, net.bias(outputs), result_types=None,
        strides=strides, pads=[*low, *high], dilations=dilations, group=groups,
    )  # fmt: skip
    return net.rescale(acc, _bits(c // groups * kernel[0] * kernel[1]))


def _bits(terms: int) -> int:
    return 6 + terms.bit_length() // 2


@step
def residual(net: RandomNetwork) -> SSAValue:
    """Returns the sum of two values with different scales, one of which may be a convolution's."""
    x = net.pick()
    shape = shape_of(x.type)
    same = [v for v in net.values if shape_of(v.type) == shape]
    other = same[net.int(0, len(same) - 1)]
    if len(shape) == 4 and net.int(0, 1):
        x = _pointwise(net, net.values[0] if net.int(0, 1) and x is other else x, shape)
    if shape_of(x.type) != shape:
        return x
    left, right = net.wide(x), net.wide(other)
    if net.int(0, 1):
        factor = 1 << net.int(1, 5)
        right = net.build(MulOp, right, net.spread(np.array(factor), shape))
    kind = (AddOp, AddOp, SubOp, MaximumOp, MinimumOp)[net.int(0, 4)]
    return net.limited(net.rescale(net.build(kind, left, right), net.int(0, 4)))


def _pointwise(net: RandomNetwork, x: SSAValue, shape: Sequence[int]) -> SSAValue:
    c = shape_of(x.type)[1]
    acc = net.build(
        ConvolutionOp, x, net.weights(shape[1], c, 1, 1), net.bias(shape[1]), result_types=None,
        strides=[1, 1], pads=[0] * 4, dilations=[1, 1],
    )  # fmt: skip
    return net.rescale(acc, _bits(c))


@step
def gated(net: RandomNetwork) -> SSAValue:
    """Returns a value times limits of itself, and perhaps of itself again."""
    x = net.pick()
    shape, wide = shape_of(x.type), net.wide(x)
    total = net.wide(x) if net.int(0, 1) else wide
    for _ in range(net.int(1, 2)):
        moved = net.build(AddOp, wide, net.spread(net.rng.integers(-9, 9, shape[1]), shape))
        limits = sorted((net.int(-6, 6), net.int(-6, 6)))
        gate = net.build(ClipOp, moved, result_types=None, min=limits[0], max=limits[1])
        total = net.build(MulOp, total, gate)
    return net.rescale(total, net.int(2, 5))


@step
def max_pool(net: RandomNetwork) -> SSAValue:
    if not any(len(shape_of(v.type)) == 4 for v in net.values):
        return net.values[0]
    x = net.pick(4)
    sizes = shape_of(x.type)[2:]
    kernel = [net.int(1, min(3, size)) for size in sizes]
    pads = [net.int(0, k - 1) for k in (*kernel, *kernel)]
    return net.build(
        MaxPoolOp, x, result_types=None, kernel=kernel, pads=pads,
        strides=[net.int(1, 3), net.int(1, 3)], dilations=[1, 1], ceil_mode=bool(net.int(0, 1)),
    )  # fmt: skip


@step
def sum_of_pixels(net: RandomNetwork) -> SSAValue:
    """Returns a global mean, with a multiplier that is no power of two."""
    if not any(len(shape_of(v.type)) == 4 for v in net.values):
        return net.values[0]
    x = net.pick(4)
    n, c, _, _ = shape_of(x.type)
    acc = net.build(ReduceSumOp, net.wide(x), result_types=None, axes=[2, 3], keep_dims=True)
    shape = (n, c, 1, 1)
    multiplier, shift = net.int(1, 255), net.int(6, 14)
    operands = acc, net.spread(np.array(multiplier), shape), net.spread(np.array(shift), shape)
    return net.build(RescaleOp, *operands, result_types=[with_shape(net.quantized(), shape)])


@step
def fully_connected(net: RandomNetwork) -> SSAValue:
    x = net.pick()
    n, *rest = shape_of(x.type)
    inner, outputs = int(np.prod(rest)), net.int(1, 50)
    flat = net.build.reshape(x, (n, inner))
    if net.int(0, 1):
        acc = net.build(FullyConnectedOp, flat, net.weights(outputs, inner), net.bias(outputs))
    else:
        turned = bool(net.int(0, 1))
        weights = net.weights(outputs, inner) if turned else net.weights(inner, outputs)
        acc = net.build(MatMulOp, flat, weights, result_types=None, transpose_rhs=turned)
    return net.limited(net.rescale(acc, _bits(inner)))


def stages_of(module: ModuleOp, config: VtaConfig) -> Stages:
    """Returns a graph of integers behind each stage of the backend; `module` stays as it is."""
    _, *stages = VtaBackend(config=config).stages()
    return Stages(module.clone(), stages)


def instructions(module: ModuleOp, config: VtaConfig) -> func.FuncOp:
    """Returns a graph of integers as instructions on buffers: what `glow-form-vta-layers` gets."""
    return main_function(stages_of(module, config)["optimized-instructions"])


def lowered(module: ModuleOp, config: VtaConfig) -> func.FuncOp:
    """Returns the program of a graph of integers."""
    return main_function(stages_of(module, config)[PROGRAM])


def convolved(
    net: RandomNetwork, x: SSAValue, inputs: int, outputs: int, kernel: int, stride: int
) -> SSAValue:
    """Returns a convolution, in 8 bits."""
    pads = [kernel // 2] * 4
    acc = net.build(
        ConvolutionOp, x, net.weights(outputs, inputs, kernel, kernel), net.bias(outputs),
        result_types=None, strides=[stride] * 2, pads=pads, dilations=[1, 1],
    )  # fmt: skip
    return net.rescale(acc, 12)
