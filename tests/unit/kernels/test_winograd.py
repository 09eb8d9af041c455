"""Winograd kernels agree with the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from glow.errors import CompileError
from glow.glow_dialects.glow_cpu.winograd import TILES, WinogradConvolutionOp
from glow.glow_dialects.machine import MachineDescription
from glow.lowering.target import find_target
from glow.semantics import element_type
from glow.semantics.blocked import pack_channels, pack_filter
from glow.semantics.winograd import filter_in_parts, transform_filter
from glow.tests.support.native import apply, check_native, parse, run_native
from glow.tests.support.seeds import numbered
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.ir import Block, Region

MACHINES = {
    16: None,
    8: MachineDescription(256, 16, True),
    4: MachineDescription(128, 16, False),
}
"""The machines by the size of blocks of channels; None is the host."""


def layer(
    rng: np.random.Generator,
    images: int,
    inputs: int,
    outputs: int,
    counts: tuple[int, int],
    tile: int,
    block: int = 16,
) -> tuple[list[np.ndarray], np.ndarray]:
    """Returns operands with inputs of unit variance, and the filter before its transform."""
    rows, columns = counts
    x = rng.standard_normal((images, inputs, rows + 2, columns + 2)).astype(np.float32)
    w = rng.standard_normal((outputs, inputs, 3, 3)) * np.sqrt(2 / (9 * inputs))
    w = w.astype(np.float32)
    b = rng.standard_normal((1, outputs)).astype(np.float32)
    u = transform_filter(pack_filter(w, block, block), tile)
    return [pack_channels(x, block), u, pack_channels(b, block)[0]], w


def program(
    operands: list[np.ndarray],
    tile: int,
    pool: int = 1,
    group: int = 1,
    kernel: Sequence[int] = (3, 3),
    dilations: Sequence[int] = (1, 1),
    strides: Sequence[int] = (1, 1),
) -> ModuleOp:
    types = [TensorType(element_type(a.dtype), a.shape) for a in operands]
    block = Block(arg_types=types)
    window = {"kernel": list(kernel), "dilations": list(dilations), "strides": list(strides)}
    options: dict[str, Any] = {"pool": pool, "group": group, **window}
    node = WinogradConvolutionOp.of(*block.args, tile=tile, **options)
    block.add_ops([node, func.ReturnOp(*node.results)])
    t = FunctionType.from_lists(types, [r.type for r in node.results])
    module = ModuleOp([func.FuncOp("main", t, Region(block))])
    return apply(module, "glow-irgen,glow-eliminate-copies,glow-allocate")


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize(
    "case",
    [
        (1, 16, 16, (4, 4), 16),
        (1, 20, 33, (6, 9), 16),
        (2, 8, 24, (7, 13), 8),
        (1, 5, 3, (1, 2), 4),
        (1, 16, 8, (3, 70), 8),
        (1, 32, 16, (56, 5), 16),
    ],
    ids=str,
)
def test_agrees_with_the_interpreter(case: tuple[int, int, int, tuple[int, int], int], tile: int):
    images, inputs, outputs, counts, block = case
    rng = numbered(*counts)
    operands, _ = layer(rng, images, inputs, outputs, counts, tile, block)
    check_native(program(operands, tile), operands, MACHINES[block], 2e-5)


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("block", MACHINES)
def test_groups(block: int, threads: int, tile: int, rng: np.random.Generator):
    group, inputs, outputs = (int(n) for n in rng.integers([2, 1, 1], [5, 4, 4]))
    counts = (int(rng.integers(3, 15)), int(rng.integers(3, 15)))
    sizes = (group * inputs * block, outputs * block)
    operands, w = layer(rng, 2, *sizes, counts, tile, block)
    filters = np.split(pack_filter(w, block, block), group, 1)
    u = np.concatenate([transform_filter(f, tile) for f in filters], 1)
    bias = rng.standard_normal((group * outputs, block)).astype(np.float32)
    module = program([operands[0], u, bias], tile, group=group)
    check_native(module, [operands[0], u, bias], MACHINES[block], 2e-5, threads=threads)


@pytest.mark.parametrize(
    ("kernel", "group", "steps"),
    [
        *[((1, 3, 3), 1, None), ((2, 3, 3), 2, None), ((3, 4, 3), 1, None), ((5, 5), 1, None)],
        *[((7, 4), 1, None), ((5, 3), 2, None), ((3,), 1, None), ((7,), 2, None)],
        *[((1, 3), 1, None), ((4, 1), 2, None), ((2, 1, 3), 1, None), ((3, 1, 1), 2, None)],
        *[((3,), 1, (3,)), ((3, 3), 1, (2, 2)), ((3, 2), 2, (1, 4)), ((5, 3), 1, (2, 3))],
        ((3, 1, 3), 1, (2, 1, 5)),
        *[((3,), 1, (-2,)), ((3, 3), 1, (-2, -2)), ((4, 5), 2, (-2, -2)), ((3, 3), 1, (-2, 2))],
        *[((7, 1), 1, (-3, -2)), ((3, 3, 3), 1, (-2, -1, -2))],
    ],
    ids=str,
)
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("block", MACHINES)
def test_all_kernels(
    block: int,
    threads: int,
    kernel: tuple[int, ...],
    group: int,
    steps: tuple[int, ...] | None,
    rng: np.random.Generator,
):
    """`steps` are dilations, or strides if they are negative."""
    tile = TILES[kernel[0] % 2]
    inputs, outputs = (group * block * int(n) for n in rng.integers(1, 4, 2))
    dilations, strides = np.maximum(steps or 1, 1), np.maximum(-np.array(steps or 1), 1)
    dilations, strides = (np.broadcast_to(n, len(kernel)).tolist() for n in (dilations, strides))
    counts = [int(n) for n in rng.integers(1, 14, len(kernel))]
    window = zip(counts, kernel, dilations, strides, strict=True)
    sizes = [(n - 1) * s + (k - 1) * d + 1 + int(rng.integers(s)) for n, k, d, s in window]
    x = rng.standard_normal((2, inputs - (group == 1), *sizes)).astype(np.float32)
    w = rng.standard_normal((outputs, x.shape[1] // group, *kernel)).astype(np.float32)
    w *= np.sqrt(2 / w[0].size).astype(np.float32)
    filters = [
        transform_filter(pack_filter(f, block, block), tile, strides) for f in np.split(w, group)
    ]
    (b,) = pack_channels(rng.standard_normal((1, outputs)).astype(np.float32), block)
    operands = [pack_channels(x, block), np.concatenate(filters, 1), b]
    options: dict[str, Any] = {"kernel": kernel, "dilations": dilations, "strides": strides}
    module = program(operands, tile, group=group, **options)
    check_native(module, operands, MACHINES[block], 4e-5, threads=threads)


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("machine", "inputs"),
    [
        (MachineDescription(l1_bytes=24 << 10), 190),
        (MachineDescription(256, 16, l1_bytes=16 << 10), 175),
        (MachineDescription(128, 16, False, l1_bytes=8 << 10), 189),
    ],
    ids=str,
)
def test_sums_in_chunks(
    machine: MachineDescription, inputs: int, tile: int, threads: int, rng: np.random.Generator
):
    """Some steps of long sums are done for all tiles before others."""
    rows, columns = rng.integers(25, 35, 2)
    images, outputs = (int(n) for n in rng.integers([1, 50], [3, 80]))
    block = machine.channel_block
    counts = (int(rows), int(columns))
    operands, _ = layer(rng, images, inputs, outputs, counts, tile, block)
    check_native(program(operands, tile), operands, machine, 2e-5, threads=threads)


needs_tiles = pytest.mark.skipif(
    not find_target().describe().has_bf16_tiles,
    reason="the target has no tile registers for bf16 (AMX), or the system forbids them",
)


@needs_tiles
@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(
    "case",
    [
        (1, 16, 16, (4, 4)),
        (1, 20, 33, (6, 9)),
        (2, 48, 24, (7, 13)),
        (1, 80, 96, (3, 70)),
        (1, 32, 16, (56, 5)),
        (1, 64, 32, (61, 64)),
    ],
    ids=str,
)
def test_products_of_parts_agree_with_the_interpreter(
    case: tuple[int, int, int, tuple[int, int]], tile: int, threads: int, rng: np.random.Generator
):
    operands, _ = layer(rng, *case, tile)
    operands[1] = filter_in_parts(operands[1], 16)
    check_native(program(operands, tile), operands, find_target().describe(), 2e-5, threads=threads)


@pytest.mark.parametrize(("tile", "pool"), [(2, 2), (4, 2), (4, 4)])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    "case",
    [
        (1, 16, 16, (4, 4), 16),
        (1, 20, 33, (7, 9), 16),
        (2, 8, 24, (13, 22), 8),
        (1, 5, 3, (4, 71), 4),
    ],
    ids=str,
)
def test_maxima_of_windows(
    case: tuple[int, int, int, tuple[int, int], int],
    tile: int,
    pool: int,
    threads: int,
    rng: np.random.Generator,
):
    images, inputs, outputs, counts, block = case
    operands, _ = layer(rng, images, inputs, outputs, counts, tile, block)
    check_native(program(operands, tile, pool), operands, MACHINES[block], 2e-5, threads=threads)


def test_parts_need_tiles(rng: np.random.Generator):
    operands, _ = layer(rng, 1, 16, 16, (4, 4), 4)
    operands[1] = filter_in_parts(operands[1], 16)
    with pytest.raises(CompileError, match=r"winograd_convolution: .* no tile registers for bf16"):
        run_native(program(operands, 4), operands, MachineDescription())


EPILOGUE = """
func.func @main(%x: memref<1x2x9x12x16xf32> {glow.name = "x", glow.qualifier = "in"},
    %u: memref<36x3x32x16xf32> {glow.name = "u", glow.qualifier = "in"},
    %b: memref<3x16xf32> {glow.name = "b", glow.qualifier = "in"},
    %r: memref<1x3x7x10x16xf32> {glow.name = "r", glow.qualifier = "in"},
    %y: memref<1x3x7x10x16xf32> {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.copy @out %y, @in %r : memref<1x3x7x10x16xf32>, memref<1x3x7x10x16xf32>
  glow_inst.winograd_convolution @inout %y, @in %x, @in %u, @in %b tile 4
      : memref<1x3x7x10x16xf32>, memref<1x2x9x12x16xf32>, memref<36x3x32x16xf32>,
        memref<3x16xf32> epilogue {
  ^bb0(%0: f32, %1: f32):
    %2 = glow.add %1, %0 : (f32, f32) -> f32
    %3 = glow.relu %2 : (f32) -> f32
    glow_inst.yield %3 : f32
  }
  func.return
}
"""


def test_sum_in_place():
    """Each element is read before it is written, and once, also in tiles at the edges."""
    module = apply(parse(EPILOGUE), "glow-allocate")
    rng = numbered(5)
    operands, _ = layer(rng, 1, 32, 48, (7, 10), 4)
    rest = rng.standard_normal((1, 3, 7, 10, 16)).astype(np.float32)
    check_native(module, [*operands, rest], None, 2e-5)


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("channels", [64, 128, 256])
@pytest.mark.parametrize("parts", [False, pytest.param(True, marks=needs_tiles)])
def test_error(tile: int, channels: int, parts: bool, rng: np.random.Generator):
    """Within 2e-5 of the root mean square of what float64 computes from the same f32 numbers."""
    seed = int(rng.integers(2**32))
    rng = np.random.default_rng(seed)
    size = 12
    operands, w = layer(rng, 1, channels, 64, (size, size), tile)
    x, u, b = operands
    if parts:
        operands[1] = filter_in_parts(u, 16)
    plain = np.moveaxis(x, -1, 2).reshape(channels, size + 2, size + 2).astype(np.float64)
    want = b.reshape(-1, 1, 1).astype(np.float64) + sum(
        np.einsum("oc,cij->oij", w[:, :, i, j], plain[:, i : i + size, j : j + size])
        for i in range(3)
        for j in range(3)
    )
    (found,) = run_native(program(operands, tile), operands)
    y = np.moveaxis(found, -1, 2).reshape(64, size, size)
    error = np.abs(y - want).max() / np.sqrt(np.mean(want**2))
    assert error < 2e-5, f"seed {seed}"
