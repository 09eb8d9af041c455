"""Winograd convolutions of bytes: their kernels and meaning are exact, and chosen only if so."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import pytest
from glow.glow_dialects.glow_cpu.dot import DotConvolutionOp
from glow.glow_dialects.glow_cpu.winograd import TILES, DotWinogradConvolutionOp
from glow.glow_dialects.machine import MachineDescription
from glow.glow_dialects.operator import with_shape
from glow.passes.graph.choose_convolutions import best_tile_of_bytes
from glow.runtime.interpreter import interpret
from glow.semantics import make_constant
from glow.semantics.arrays import element_type
from glow.semantics.blocked import pack_channels, unpack_channels
from glow.semantics.dot import dot_filter
from glow.semantics.winograd import transform_dot_filter
from glow.tests.support.native import apply, check_native
from glow.tests.support.operator_kernels import one_node
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block

AVX2, SSE2 = MachineDescription(256, 16), MachineDescription(128, 16, has_fma=False)


def drawn(rng: np.random.Generator, dtype: str, *shape: int) -> np.ndarray:
    """Returns all numbers of a type; the extremes half of the time."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    found = rng.integers(low, high, shape, endpoint=True)
    return np.where(rng.random(shape) < 0.5, rng.choice([low, high], shape), found).astype(dtype)


@dataclass(frozen=True)
class Window:
    kernel: tuple[int, ...] = (3, 3)
    strides: tuple[int, ...] = (1, 1)
    dilations: tuple[int, ...] = (1, 1)
    group: int = 1


WINDOW = Window()


def wanted(x: np.ndarray, w: np.ndarray, b: np.ndarray, window: Window = WINDOW) -> np.ndarray:
    """Returns the convolution by its definition, in integers of 32 bits that wrap around."""
    along = zip(x.shape[2:], window.kernel, window.strides, window.dilations, strict=True)
    counts = [(n - (k - 1) * d - 1) // s + 1 for n, k, s, d in along]
    y = np.zeros((len(x), len(w), *counts), np.int64)
    groups = [np.array_split(a, window.group, axis) for a, axis in ((x, 1), (w, 0), (y, 1))]
    for images, filters, results in zip(*groups, strict=True):
        for at in np.ndindex(window.kernel):
            steps = zip(at, counts, window.strides, window.dilations, strict=True)
            places = [slice(i * d, i * d + (n - 1) * s + 1, s) for i, n, s, d in steps]
            part = images[(slice(None), slice(None), *places)].astype(np.int64)
            factors = filters[(slice(None), slice(None), *at)].astype(np.int64)
            results += np.einsum("oc,nc...->no...", factors, part)
    return (y + b.reshape(-1, *[1] * len(counts))).astype(np.int32)


def program(
    x: np.ndarray, w: np.ndarray, b: np.ndarray, tile: int, block: int, window: Window = WINDOW
) -> tuple[ModuleOp, list[np.ndarray]]:
    w = np.pad(w, [(0, 0), (0, -w.shape[1] % block), *[(0, 0)] * (w.ndim - 2)])
    u = transform_dot_filter(dot_filter(w, block, block, 2), tile, window.strides)
    arrays = [pack_channels(x, block), u, pack_channels(b, block, 0)]
    types = [with_shape(element_type(a.dtype), a.shape) for a in arrays]
    module = one_node(DotWinogradConvolutionOp, types, tile=tile, **asdict(window))
    return apply(module, "glow-irgen,glow-eliminate-copies,glow-allocate"), arrays


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize(
    ("window", "sizes"),
    [
        (Window((5, 5)), (1, 20, 9, 13, 12)),
        (Window(strides=(2, 2)), (2, 8, 17, 9, 16)),
        (Window((7, 4), (2, 2)), (1, 8, 8, 15, 11)),
        (Window((1, 3), (1, 2)), (1, 11, 8, 5, 14)),
        (Window(dilations=(2, 3)), (1, 8, 8, 9, 13)),
        (Window((3, 3), (2, 1), (1, 2), group=2), (1, 16, 32, 7, 11)),
        (Window((5,), (1,), (4,)), (1, 9, 8, 31)),
        (Window((3, 3, 3), (2, 1, 1), (1, 1, 1)), (1, 8, 8, 5, 6, 7)),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["u1", "i1"])
def test_windows_are_exact(
    window: Window, sizes: tuple[int, ...], tile: int, dtype: str, rng: np.random.Generator
):
    """The meaning equals the definition, and kernels the meaning, for windows of all kinds."""
    images, inputs, outputs, *spatial = sizes
    x = drawn(rng, dtype, images, inputs, *spatial)
    w = drawn(rng, "i1", outputs, inputs // window.group, *window.kernel)
    b = rng.integers(-(2**31), 2**31, outputs).astype("i4")
    module, arrays = program(x, w, b, tile, 8, window)
    (found,) = interpret(module, arrays).values()
    np.testing.assert_array_equal(unpack_channels(found, outputs), wanted(x, w, b, window))
    check_native(module, arrays, AVX2)


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("dtype", ["u1", "i1"])
@pytest.mark.parametrize(
    ("machine", "block", "sizes", "threads"),
    [
        (AVX2, 8, (2, 20, 17, 9, 12), 1),
        (AVX2, 8, (1, 8, 24, 31, 5), 2),
        (SSE2, 8, (1, 11, 8, 3, 3), 1),
        (SSE2, 4, (1, 7, 3, 13, 4), 1),
    ],
    ids=str,
)
def test_kernels_are_exact(
    machine: MachineDescription,
    block: int,
    sizes: tuple[int, int, int, int, int],
    threads: int,
    dtype: str,
    tile: int,
    rng: np.random.Generator,
):
    images, inputs, outputs, rows, columns = sizes
    x, w = drawn(rng, dtype, images, inputs, rows, columns), drawn(rng, "i1", outputs, inputs, 3, 3)
    b = rng.integers(-(2**31), 2**31, outputs).astype("i4")
    module, arrays = program(x, w, b, tile, block)
    check_native(module, arrays, machine, threads=threads)


@given(
    st.sampled_from(TILES),
    st.sampled_from(["u1", "i1"]),
    st.tuples(*(st.integers(1, n) for n in (2, 70, 9))),
    st.tuples(st.integers(3, 12), st.integers(3, 12)),
    st.integers(0, 2**32),
)
@settings(max_examples=20)
def test_meaning_is_exact(
    tile: int, dtype: str, sizes: tuple[int, int, int], image: tuple[int, int], seed: int
):
    rng, (images, inputs, outputs) = np.random.default_rng(seed), sizes
    x, w = drawn(rng, dtype, images, inputs, *image), drawn(rng, "i1", outputs, inputs, 3, 3)
    b = rng.integers(-(2**31), 2**31, outputs).astype("i4")
    module, arrays = program(x, w, b, tile, 8)
    (found,) = interpret(module, arrays).values()
    np.testing.assert_array_equal(unpack_channels(found, outputs), wanted(x, w, b))


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("dtype", ["u1", "i1"])
def test_extremes(dtype: str, tile: int):
    """All bytes are at the ends of their range, and the sums are the largest that are exact."""
    ends = [np.full((112, 7, 6), n, dtype) for n in (np.iinfo(dtype).min, np.iinfo(dtype).max)]
    w = np.stack([np.full((112, 3, 3), n, np.int8) for n in (-128, 127)])
    x, b = np.stack(ends), np.array([7, -9], np.int32)
    module, arrays = program(x, w, b, tile, 8)
    (found,) = interpret(module, arrays).values()
    np.testing.assert_array_equal(unpack_channels(found, 2), wanted(x, w, b))
    check_native(module, arrays, AVX2)


def convolution(w: np.ndarray, dtype: str, size: int) -> DotConvolutionOp:
    outputs, inputs = (-(-n // 8) for n in w.shape[:2])
    x = TensorType(element_type(np.dtype(dtype)), [1, inputs, size, size, 8])
    block = Block(arg_types=[x])
    f, b = make_constant(dot_filter(w, 8, 8, 2)), make_constant(np.zeros((outputs, 8), np.int32))
    node = DotConvolutionOp.of(block.args[0], f.result, b.result, strides=[1, 1], dilations=[1, 1])
    block.add_ops([f, b, node])
    return node


@pytest.mark.parametrize(
    ("channels", "weight", "dtype", "tile"),
    [
        (112, -128, "u1", 4),  # in range whatever the weights
        (120, 1, "u1", 4),  # in range because of the weights
        (120, -128, "u1", 2),
        (240, 127, "i1", 2),
        (224, 127, "i1", 4),
    ],
)
def test_tiles_that_are_exact(channels: int, weight: int, dtype: str, tile: int):
    """2^25 divided by 9 * 255 * 128, or by 9 * 128 * 128, is 114 or 227 channels of extremes."""
    node = convolution(np.full((64, channels, 3, 3), weight, np.int8), dtype, 30)
    assert best_tile_of_bytes(node, forced=False) == tile


def test_few_channels_stay():
    node = convolution(np.full((2, 8, 3, 3), 1, np.int8), "u1", 3)
    assert best_tile_of_bytes(node, forced=False) is None
    assert best_tile_of_bytes(node, forced=True) is not None


def test_out_of_range_stays():
    """No tile is exact for more than 2^29 / (9 * 255 * 128) channels of extremes."""
    node = convolution(np.full((8, 1832, 3, 3), -128, np.int8), "u1", 4)
    assert best_tile_of_bytes(node, forced=True) is None
