"""Kernels on blocked channel layouts agree with the interpreter; tiles cover every point once."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import pytest
from glow.glow_dialects.glow.base import Node
from glow.glow_dialects.glow_cpu.blocked import (
    BlockedAvgPoolOp,
    BlockedConvolutionOp,
    BlockedDepthwiseConvolutionOp,
    BlockedMaxPoolOp,
    LaneSumConvolutionOp,
    PackChannelsOp,
    UnpackChannelsOp,
)
from glow.glow_dialects.machine import MachineDescription
from glow.glow_dialects.operator import with_shape
from glow.glow_dialects.python_values import Python
from glow.lowering.kernels.algorithms import blocked
from glow.lowering.kernels.schedules.blocking import rows_packed_together
from glow.lowering.kernels.schedules.register_tile import balanced
from glow.semantics import element_type
from glow.tests.support.native import apply, check_native, parse
from glow.tests.support.operator_kernels import one_node, random
from hypothesis import given
from hypothesis import strategies as st

MACHINES = {
    16: MachineDescription(512, 32, True),
    8: MachineDescription(256, 16, True),
    4: MachineDescription(128, 8, False),
}

# vectors of 4, 8 and 16 elements, with second caches so small that images are far
SMALL = {
    4: MachineDescription(128, 8, False, l2_bytes=1 << 13),
    8: MachineDescription(256, 16, True, l2_bytes=1 << 14),
    16: MachineDescription(512, 32, True, l2_bytes=1 << 15),
}


def check(
    operator: type[Node],
    *arrays: np.ndarray,
    machine: MachineDescription,
    **properties: Python,
) -> None:
    types = [with_shape(element_type(a.dtype), a.shape) for a in arrays]
    module = one_node(operator, types, None, **properties)
    apply(module, "glow-irgen,glow-eliminate-copies,glow-allocate")
    check_native(module, arrays, machine, 2e-5)


@pytest.mark.parametrize(("rows", "columns", "inputs"), [(13, 17, 7), (5, 300, 2), (1, 131, 5)])
@pytest.mark.parametrize("block", SMALL)
def test_far_images_with_borders(block: int, rows: int, columns: int, inputs: int):
    """Rows, pixels or blocks are outermost; all results are the same."""
    wide = columns + 2
    plane = (rows + 2) * wide * block
    image = f"memref<1x{inputs}x{rows + 2}x{wide}x{block}xf32>"
    inner = (
        f"memref<1x{inputs}x{rows}x{columns}x{block}xf32, "
        f"strided<[{inputs * plane}, {plane}, {wide * block}, {block}, 1], "
        f"offset: {(wide + 1) * block}>>"
    )
    filters, bias = f"memref<5x{inputs}x1x1x{block}x{block}xf32>", f"memref<5x{block}xf32>"
    result = f"memref<1x5x{rows}x{columns}x{block}xf32>"
    text = f"""
    func.func @main(%x: {image} {{glow.name = "x", glow.qualifier = "in"}},
                    %f: {filters} {{glow.name = "f", glow.qualifier = "in"}},
                    %b: {bias} {{glow.name = "b", glow.qualifier = "in"}},
                    %y: {result} {{glow.name = "y", glow.qualifier = "out"}}) {{
      %v = glow_inst.tensor_view %x : {image} to {inner}
      glow_inst.blocked_convolution @out %y, @in %v, @in %f, @in %b
        : {result}, {inner}, {filters}, {bias}
      func.return
    }}"""
    module = parse(text)
    apply(module, "glow-allocate")
    arrays = (
        random(1, 1, inputs, rows + 2, wide, block),
        random(2, 5, inputs, 1, 1, block, block),
        random(3, 5, block),
    )
    check_native(module, arrays, SMALL[block], 2e-5)


# batch, input blocks, output blocks, sizes, kernel, strides, dilations
CONVOLUTIONS = [
    (1, 2, 3, (9, 9), (3, 3), (1, 1), (1, 1)),
    (2, 1, 2, (7, 7), (1, 1), (1, 1), (1, 1)),
    (1, 3, 5, (5, 29), (1, 1), (1, 1), (1, 1)),
    (1, 2, 1, (12, 31), (3, 3), (2, 2), (1, 1)),
    (1, 1, 7, (17, 6), (5, 3), (1, 2), (2, 1)),
    (1, 2, 2, (3, 3), (3, 3), (1, 1), (1, 1)),
    (1, 4, 2, (1, 1), (1, 1), (1, 1), (1, 1)),
    (2, 2, 3, (23,), (4,), (3,), (2,)),
    (1, 1, 2, (4, 5, 6), (2, 3, 3), (1, 1, 2), (1, 1, 1)),
]


def rows_packed(machine: MachineDescription, planes: int, strides: Sequence[int]) -> int | None:
    """Returns how many of 128 rows of 32 bytes are packed at a time."""
    return rows_packed_together(machine, planes, 4096 * prod(strides), 128, 32, prod(strides) > 1)


@pytest.mark.parametrize("sizes", [(8, 16), (128,)], ids=str)
def test_pixels_of_competing_planes_are_packed(sizes: tuple[int, ...]):
    machine, kernel = SMALL[8], (1,) * len(sizes)
    arrays = (random(1, 2, 9, *sizes, 8), random(2, 5, 9, *kernel, 8, 8), random(3, 5, 8))
    check(BlockedConvolutionOp, *arrays, machine=machine, strides=kernel, dilations=kernel)
    # 128 pixels in blocks of 19: what is near the cores holds 21 of them
    assert rows_packed(machine, 9, (1,)) == 19
    # few planes, planes at other places of their pages, a small image
    assert rows_packed(machine, 8, (1,)) is None
    assert rows_packed_together(machine, 9, 4096 + 64, 128, 32, False) is None
    assert rows_packed(MachineDescription(256, 16), 9, (1,)) is None


@pytest.mark.parametrize("block", SMALL)
@pytest.mark.parametrize(
    ("sizes", "strides"),
    [
        ((131,), (2,)),
        ((13, 17), (2, 2)),
        ((14, 11), (1, 2)),
        ((11, 15), (3, 1)),
        ((5, 6, 7), (2, 1, 2)),
    ],
    ids=str,
)
def test_pixels_of_strides_are_packed(
    monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...], strides: tuple[int, ...], block: int
):
    chosen = []

    def recorded(*args: Any) -> int | None:
        chosen.append(rows_packed_together(*args))
        return chosen[-1]

    monkeypatch.setattr(blocked, "rows_packed_together", recorded)
    point = (1,) * len(sizes)
    arrays = (
        random(1, 2, 7, *sizes, block),
        random(2, 5, 7, *point, block, block),
        random(3, 5, block),
    )
    check(BlockedConvolutionOp, *arrays, machine=SMALL[block], strides=strides, dilations=point)
    assert chosen
    assert all(rows is not None for rows in chosen)


def test_few_planes_of_strides_are_packed_and_small_images_are_not():
    assert rows_packed(SMALL[8], 8, (2,)) == 22
    assert rows_packed(MachineDescription(256, 16), 8, (2,)) is None


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("block", MACHINES)
def test_convolution(case: tuple, block: int):
    batch, inputs, outputs, sizes, kernel, strides, dilations = case
    check(
        BlockedConvolutionOp,
        random(1, batch, inputs, *sizes, block),
        random(2, outputs, inputs, *kernel, block, block),
        random(3, outputs, block),
        machine=MACHINES[block],
        strides=strides,
        dilations=dilations,
    )


@pytest.mark.parametrize("block", MACHINES)
def test_convolution_of_a_plain_image(block: int):
    check(
        BlockedConvolutionOp,
        random(1, 2, 3, 19, 21),
        random(2, 5, 3, 7, 7, block),
        random(3, 5, block),
        machine=MACHINES[block],
        strides=(2, 2),
        dilations=(1, 1),
    )


@pytest.mark.parametrize("block", MACHINES)
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("outputs", [1, 3, 5])
def test_convolution_to_few_channels(block: int, stride: int, outputs: int):
    check(
        LaneSumConvolutionOp,
        random(2, 2, 3, 12, 17, block),
        random(2, outputs, 3, 3, 2, block),
        random(3, outputs),
        machine=MACHINES[block],
        strides=(stride, 1),
        dilations=(1, 2),
    )


@pytest.mark.parametrize("block", MACHINES)
@pytest.mark.parametrize("stride", [1, 2])
def test_depthwise_convolution(block: int, stride: int):
    check(
        BlockedDepthwiseConvolutionOp,
        random(1, 2, 3, 12, 17, block),
        random(2, 3, 3, 3, block),
        random(3, 3, block),
        machine=MACHINES[block],
        strides=(stride, stride),
        dilations=(1, 2),
    )


POOLS = [
    ((3, 3), (2, 2), (1, 1, 1, 1), (1, 1), False),
    ((3, 3), (1, 1), (1, 1, 1, 1), (1, 1), False),
    ((2, 2), (2, 2), (0, 0, 0, 0), (1, 1), True),
    ((3, 2), (3, 2), (2, 0, 0, 1), (1, 1), True),
    ((3, 3), (1, 2), (2, 2, 2, 2), (2, 2), False),
    ((11, 13), (1, 1), (0, 0, 0, 0), (1, 1), False),
]


@pytest.mark.parametrize("case", POOLS, ids=str)
@pytest.mark.parametrize("block", MACHINES)
def test_pools(case: tuple, block: int):
    kernel, strides, pads, dilations, ceil = case
    x = random(1, 2, 3, 11, 13, block)
    options = {
        "kernel": kernel,
        "strides": strides,
        "pads": pads,
        "dilations": dilations,
        "ceil_mode": ceil,
    }
    check(BlockedMaxPoolOp, x, machine=MACHINES[block], **options)
    for padded in (False, True):
        options["count_include_pad"] = padded
        check(BlockedAvgPoolOp, x, machine=MACHINES[block], **options)


@pytest.mark.parametrize("channels", [1, 7, 16, 24, 32, 45])
@pytest.mark.parametrize("block", MACHINES)
def test_changes_of_layout(channels: int, block: int):
    machine = MACHINES[block]
    check(PackChannelsOp, random(1, 2, channels, 5, 7), machine=machine, block=block)
    blocks = -(-channels // block)
    check(
        UnpackChannelsOp,
        random(1, 2, blocks, 5, 7, block),
        machine=machine,
        channels=channels,
    )


def test_changes_of_layout_of_windows():
    """Windows of an image have dimensions of their own: the rank is any."""
    check(PackChannelsOp, random(1, 1, 11, 2, 3, 2, 5), machine=MACHINES[8], block=8)
    x = random(1, 1, 2, 2, 3, 2, 5, 8)
    check(UnpackChannelsOp, x, machine=MACHINES[8], channels=11)


EPILOGUE = """
func.func @main(%x: memref<1x2x9x9x16xf32> {{glow.name = "x", glow.qualifier = "in"}},
    %w: memref<3x2x3x3x16x16xf32> {{glow.name = "w", glow.qualifier = "in"}},
    %b: memref<3x16xf32> {{glow.name = "b", glow.qualifier = "in"}},
    %r: memref<1x3x{h}x{h}x16xf32> {{glow.name = "r", glow.qualifier = "in"}},
    %y: memref<1x3x{h}x{h}x16xf32> {{glow.name = "y", glow.qualifier = "out"}}) {{
  glow_inst.copy @out %y, @in %r : memref<1x3x{h}x{h}x16xf32>, memref<1x3x{h}x{h}x16xf32>
  glow_inst.blocked_convolution @inout %y, @in %x, @in %w, @in %b strides [{s}, {s}]
      : memref<1x3x{h}x{h}x16xf32>, memref<1x2x9x9x16xf32>, memref<3x2x3x3x16x16xf32>,
        memref<3x16xf32> epilogue {{
  ^bb0(%0: f32, %1: f32):
    %2 = glow.add %1, %0 : (f32, f32) -> f32
    %3 = glow.relu %2 : (f32) -> f32
    glow_inst.yield %3 : f32
  }}
  func.return
}}
"""


@pytest.mark.parametrize("stride", [1, 2])
def test_sum_in_place(stride: int):
    """No element may be visited twice, whatever the tiles: 7 x 7 and 4 x 4 pixels."""
    size = 6 // stride + 1
    module = apply(parse(EPILOGUE.format(h=size, s=stride)), "glow-allocate")
    arrays = [
        random(1, 1, 2, 9, 9, 16),
        random(2, 3, 2, 3, 3, 16, 16),
        random(3, 3, 16),
        random(4, 1, 3, size, size, 16),
    ]
    check_native(module, arrays, MACHINES[16], 2e-5)


@given(st.integers(1, 5000), st.integers(1, 31))
def test_balanced_parts(size: int, most: int):
    parts = balanced(size, most)
    visited = [
        i
        for p in parts
        for start in range(p.start, p.stop, p.tile)
        for i in range(start, start + p.tile)
    ]
    assert visited == list(range(size))
    assert max(p.tile for p in parts) <= most
    assert max(p.tile for p in parts) - min(p.tile for p in parts) <= 1
    assert sum(p.tiles for p in parts) == -(-size // most)
