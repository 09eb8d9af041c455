"""Blocked layouts compute what plain ones do, whatever the channels and blocks."""

from __future__ import annotations

import numpy as np
import pytest
from glow.glow_dialects.glow.activation import ReluOp, SigmoidOp
from glow.glow_dialects.glow.arithmetic import AddOp, LogOp, MulOp, SignOp
from glow.glow_dialects.glow.base import Node
from glow.glow_dialects.glow.constant import SplatOp
from glow.glow_dialects.glow.convolution import ConvolutionOp
from glow.glow_dialects.glow.normalization import GroupNormOp
from glow.glow_dialects.glow.pooling import AvgPoolOp, MaxPoolOp
from glow.glow_dialects.glow.reduction import ReduceMeanOp
from glow.glow_dialects.glow.shape import BroadcastOp, ConcatOp, ReshapeOp, SliceOp, TransposeOp
from glow.glow_dialects.operator import shape_of, with_shape
from glow.runtime.interpreter import interpret
from glow.semantics.arrays import make_constant
from glow.tests.support.graph_text import count, run
from glow.tests.support.seeds import numbered
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32
from xdsl.ir import Block, Region, SSAValue

BLOCKS = (4, 8, 16)


class Graph:
    """A graph under construction, with random constants."""

    def __init__(self, seed: int, *shape: int):
        self.rng = np.random.default_rng(seed)
        self.block = Block(arg_types=[TensorType(f32, shape)])
        (self.x,) = self.block.args

    def add(self, node: Node) -> SSAValue:
        self.block.add_op(node)
        return node.results[0]

    def constant(self, *shape: int) -> SSAValue:
        array = self.rng.standard_normal(shape, dtype=np.float32) / np.sqrt(np.prod(shape[1:]))
        return self.add(make_constant(array.astype(np.float32), "w"))

    def conv(
        self, x: SSAValue, outputs: int, kernel: int = 3, stride: int = 1, group: int = 1
    ) -> SSAValue:
        channels, rank = shape_of(x.type)[1], len(shape_of(x.type)) - 2
        w = self.constant(outputs, channels // group, *[kernel] * rank)
        b = self.constant(outputs)
        pad = kernel // 2
        return self.add(
            ConvolutionOp.of(
                *(x, w, b),
                strides=[stride] * rank,
                dilations=[1] * rank,
                pads=[pad] * (2 * rank),
                group=group,
            )
        )

    def pool(self, kind: type[Node], x: SSAValue, **properties: bool) -> SSAValue:
        rank = len(shape_of(x.type)) - 2
        return self.add(
            kind.of(
                x,
                result_types=None,
                kernel=[3] * rank,
                strides=[2] * rank,
                pads=[1] * (2 * rank),
                dilations=[1] * rank,
                **properties,
            )
        )

    def per_channel(self, x: SSAValue) -> SSAValue:
        shape = shape_of(x.type)
        c = self.constant(shape[1], *[1] * (len(shape) - 2))
        return self.add(BroadcastOp.of(c, result_types=[x.type]))

    def module(self, *results: SSAValue) -> ModuleOp:
        self.block.add_op(func.ReturnOp(*results))
        t = FunctionType.from_lists([self.x.type], [r.type for r in results])
        return ModuleOp([func.FuncOp("main", t, Region(self.block))])


def check(module: ModuleOp, block: int) -> ModuleOp:
    """Returns the graph with blocked layouts, which computes the same."""
    (function,) = module.ops
    shape = function.function_type.inputs.data[0].get_shape()  # pyright: ignore
    x = numbered(block).standard_normal(shape).astype(np.float32)
    wanted = list(interpret(module, [x]).values())
    changed = run(f"glow-assign-layouts{{block={block}}},cse,dce", module.clone())
    for want, have in zip(wanted, interpret(changed, [x]).values(), strict=True):
        np.testing.assert_allclose(have, want, rtol=0, atol=1e-5 * max(1, np.abs(want).max()))
    again = run(f"glow-assign-layouts{{block={block}}},cse,dce", changed.clone())
    assert str(again) == str(changed)
    return changed


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("outputs", [1, 2, 4, 5, 9])
@pytest.mark.parametrize("kernel", [1, 3])
def test_results_of_few_channels(block: int, outputs: int, kernel: int):
    """Whichever way is fastest, and with a bias that is one number, they are the same."""
    g = Graph(5, 1, 3, 9, 7)
    x = g.add(ReluOp.of(g.conv(g.x, 40)))
    w = g.constant(outputs, 40, kernel, kernel)
    bias = g.add(SplatOp.of(result_types=[TensorType(f32, [outputs])], value=0.75))
    pads = [kernel // 2] * 4
    options = {"strides": [1, 1], "dilations": [1, 1], "pads": pads, "group": 1}
    y = g.add(SigmoidOp.of(g.add(ConvolutionOp.of(x, w, bias, **options))))
    found = count(check(g.module(y), block))
    sums, dense = (found[f"glow_cpu.{name}_convolution"] for name in ("lane_sum", "blocked"))
    assert dense + sums + found["glow.convolution"] == 2
    if 2 * outputs > block:
        assert dense == 2
    elif outputs <= 2 and kernel == 3:
        assert sums == 1


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("channels", [16, 19, 24])
def test_residual_network(block: int, channels: int):
    g = Graph(1, 2, 3, 13, 11)
    x = g.add(ReluOp.of(g.conv(g.x, channels, 5, 2)))
    x = g.pool(MaxPoolOp, x)
    y = g.add(SigmoidOp.of(g.conv(x, channels)))
    x = g.add(AddOp.of(g.conv(y, channels, 1), x))
    x = g.add(MulOp.of(x, g.per_channel(x)))
    x = g.pool(AvgPoolOp, x, count_include_pad=True)
    x = g.conv(x, 2 * channels, 3, 2)
    mean = g.add(ReduceMeanOp.of(x, axes=[2, 3], keep_dims=False))
    changed = check(g.module(x, mean), block)
    assert count(changed)["glow_cpu.blocked_convolution"] == 4
    assert not count(changed)["glow_cpu.pack_channels"]


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("channels", [[16, 32, 16], [16, 16, 20], [20, 12, 16]])
def test_branches(block: int, channels: list[int]):
    """A value that convolutions with several paddings read has one border."""
    g = Graph(2, 1, 32, 9, 9)
    parts = [g.conv(g.x, c, k) for c, k in zip(channels, (1, 3, 5), strict=True)]
    whole = g.add(ConcatOp.of(*parts, axis=1))
    changed = check(g.module(g.conv(whole, 24, 3), whole), block)
    full = all(c % block == 0 for c in channels[:-1])
    # one border for the input and one for the concatenation
    assert count(changed)["glow.pad"] == 2
    assert count(changed)["glow_cpu.pack_channels"] == (1 if full else 2)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("group", [2, 4, 24, 48])
def test_groups(block: int, group: int):
    g = Graph(3, 1, 3, 8, 8)
    x = g.conv(g.x, 48)
    changed = check(g.module(g.conv(g.conv(x, 48, 3, 2, group), 7)), block)
    found = count(changed)
    if group == 48:
        assert found["glow_cpu.blocked_depthwise_convolution"] == 1
    elif 48 // group % block == 0:
        assert found["glow_cpu.blocked_convolution"] == 3 - (7 * 2 <= block)
    else:
        assert found["glow.convolution"] >= 1


@pytest.mark.parametrize("block", BLOCKS)
def test_large_depthwise_windows(block: int):
    g = Graph(4, 1, 20, 3, 6)
    changed = check(g.module(g.conv(g.x, 20, 5, 1, 20)), block)
    assert count(changed)["glow_cpu.blocked_depthwise_convolution"] == 1


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize(("channels", "groups"), [(16, 1), (24, 8), (30, 3), (19, 19), (20, 1)])
@pytest.mark.parametrize("rank", [1, 2])
def test_groups_of_channels_are_normalized(block: int, channels: int, groups: int, rank: int):
    """Groups may be parts of blocks, or reach over some; means are far from zero."""
    g = Graph(9, 2, 3, *[7, 5][:rank])
    x = g.conv(g.x, channels)
    x = g.add(AddOp.of(x, g.add(SplatOp.of(result_types=[x.type], value=8.0))))
    scale, bias = g.constant(channels), g.constant(channels)
    x = g.add(GroupNormOp.of(x, scale, bias, groups=groups, epsilon=0.01))
    found = count(check(g.module(g.conv(g.add(SigmoidOp.of(x)), 32)), block))
    assert not found["glow.group_norm"]
    assert found["glow_cpu.pack_channels"] <= 3 * (channels % block != 0)
    if channels % block == 0:
        assert found["glow_cpu.unpack_channels"] == 1


def test_normalized_groups_that_are_wanted_plain():
    g = Graph(9, 1, 3, 6, 6)
    x = g.conv(g.x, 16)
    x = g.add(GroupNormOp.of(x, g.constant(16), g.constant(16), groups=4))
    found = count(check(g.module(g.add(TransposeOp.of(x, permutation=[0, 2, 3, 1]))), 8))
    assert found["glow.group_norm"] == 1


def test_infinities_stay_out_of_missing_channels():
    """
    A filter multiplies them by zero, which is fine for log(sigmoid(0)) but not for the logarithm of
    a squared sign. That is -inf at zero only, so it adds no rounding errors to other numbers.
    """

    def unless_zero(g: Graph, x: SSAValue) -> SSAValue:
        sign = g.add(SignOp.of(x))
        return g.add(AddOp.of(x, g.add(LogOp.of(g.add(MulOp.of(sign, sign))))))

    g = Graph(4, 1, 3, 6, 6)
    x = g.add(LogOp.of(g.add(SigmoidOp.of(g.conv(g.x, 20)))))
    found = count(check(g.module(g.conv(x, 32)), 16))
    assert not found["glow_cpu.pack_channels"]
    g = Graph(4, 1, 3, 6, 6)
    x = unless_zero(g, g.conv(g.x, 20))
    found = count(check(g.module(g.conv(x, 32)), 16))
    assert found["glow_cpu.pack_channels"] == 1
    g = Graph(4, 1, 3, 6, 6)
    x = unless_zero(g, g.conv(g.x, 32))
    found = count(check(g.module(g.conv(x, 32)), 16))
    assert not found["glow_cpu.pack_channels"]


@pytest.mark.parametrize("rank", [1, 3])
def test_other_ranks(rank: int):
    g = Graph(5, 2, 17, *[6] * rank)
    x = g.add(ReluOp.of(g.conv(g.x, 33)))
    check(g.module(g.conv(g.pool(MaxPoolOp, x), 16)), 8)


def test_slices_and_flattening():
    g = Graph(6, 2, 3, 6, 6)
    x = g.conv(g.x, 48)
    part = g.add(SliceOp.of(x, starts=[0, 16, 1, 0], sizes=[2, 32, 4, 6], strides=[1, 1, 1, 1]))
    odd = g.add(SliceOp.of(x, starts=[0, 5, 0, 0], sizes=[2, 8, 6, 6], strides=[1, 1, 1, 1]))
    x = g.conv(part, 20)
    x = g.add(ReduceMeanOp.of(x, axes=[2, 3], keep_dims=True))
    flat = g.add(ReshapeOp.of(x, result_types=[with_shape(f32, (2, 20))]))
    changed = check(g.module(flat, odd), 16)
    # without spatial extent nothing is unpacked
    assert count(changed)["glow_cpu.unpack_channels"] == 1


def test_windows_of_an_image():
    """Windows may stay blocked until they are moved, whatever their rank."""
    g = Graph(7, 2, 3, 6, 10)
    x = g.conv(g.x, 11)
    windows = g.add(ReshapeOp.of(x, result_types=[TensorType(f32, [2, 11, 3, 2, 5, 2])]))
    windows = g.add(ReluOp.of(windows))
    moved = g.add(TransposeOp.of(windows, permutation=[0, 2, 4, 3, 5, 1]))
    check(g.module(moved), 8)


@pytest.mark.parametrize("last", [1, 4])
def test_mixed_operands_follow_the_users(last: int):
    """A sum of a blocked and a plain value is blocked if what follows reads it so."""
    g = Graph(7, 1, 3, 6, 6)
    x = g.conv(g.x, 48)
    y = g.conv(x, 48, 1, 1, 16)
    x = g.add(ReluOp.of(g.add(AddOp.of(y, x))))
    x = g.add(SigmoidOp.of(g.conv(x, 48, 1, 1, 1 if last == 1 else 16)))
    found = count(check(g.module(x), 16))
    assert found["glow_cpu.pack_channels"] == (1 if last == 1 else 0)
    assert found["glow_cpu.unpack_channels"] == (2 if last == 1 else 1)


TO_ALLOCATED = (
    "glow-assign-layouts{block=16},cse,dce,glow-schedule-nodes,glow-irgen,glow-eliminate-copies,"
    "glow-stack-ops,glow-share-buffers,glow-eliminate-dead-stores,glow-verify-memory,glow-allocate"
)


def test_programs_copy_nothing_but_the_image():
    """Borders and concatenations are written in place: dense blocks, branches and residuals."""
    g = Graph(8, 1, 3, 10, 10)
    x = g.add(ReluOp.of(g.conv(g.x, 32)))
    for _ in range(3):
        y = g.add(ReluOp.of(g.conv(g.add(ReluOp.of(g.conv(x, 16, 1))), 32)))
        x = g.add(ConcatOp.of(x, y, axis=1))
    parts = [g.add(ReluOp.of(g.conv(x, 16, k))) for k in (1, 3, 5)]
    x = g.add(ConcatOp.of(*parts, g.conv(x, 16, 1), axis=1))
    x = g.add(ReluOp.of(g.add(AddOp.of(g.conv(x, 64), x))))
    mean = g.add(ReduceMeanOp.of(g.conv(x, 32), axes=[2, 3], keep_dims=False))
    module = g.module(mean)
    image = g.rng.standard_normal((1, 3, 10, 10)).astype(np.float32)
    (wanted,) = interpret(module, [image]).values()
    program = run(TO_ALLOCATED, module)
    (found,) = interpret(program, [image]).values()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())
    assert count(program)["glow_inst.copy"] == 1
