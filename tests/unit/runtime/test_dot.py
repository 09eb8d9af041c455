"""Products of groups of narrow integers, and depthwise ones: meaning and kernels, exactly."""

from __future__ import annotations

import numpy as np
import pytest
from glow.glow_dialects.glow_cpu.blocked import BlockedDepthwiseConvolutionOp, PackChannelsOp
from glow.glow_dialects.glow_cpu.dot import DotConvolutionOp, DotMatMulOp
from glow.glow_dialects.glow_vec import DotKind
from glow.glow_dialects.machine import MachineDescription
from glow.runtime.interpreter import interpret
from glow.semantics.blocked import pack_channels, unpack_channels
from glow.semantics.dot import dot_filter, group_rows
from glow.tests.support.native import apply, check_native, needs
from glow.tests.support.operator_kernels import one_node, types_of

VNNI: tuple[DotKind, ...] = (DotKind.VPDPBUSD,)
QUADS = [
    ("avx512vnni", MachineDescription(512, 32, int8_dots=VNNI)),
    ("avxvnni", MachineDescription(256, 16, int8_dots=VNNI)),
]
PAIRS = [
    ("avx512bw", MachineDescription(512, 32)),
    ("avx2", MachineDescription(256, 16)),
    ("sse2", MachineDescription(128, 16, has_fma=False)),
]
MACHINES = [pytest.param(m, 4, f, id=f) for f, m in QUADS]
MACHINES += [pytest.param(m, 2, f, id=f"{f} pairs") for f, m in PAIRS]

# channels, block, outputs, block, image, kernel, strides, dilations
CONVOLUTIONS = [
    (3, 4, 16, 16, (9, 7), (3, 3), (2, 2), (1, 1)),
    (35, 16, 48, 64, (5, 9), (3, 2), (1, 1), (1, 2)),
    (64, 64, 80, 16, (14, 14), (1, 1), (1, 1), (1, 1)),
    (24, 32, 144, 48, (7, 7), (1, 1), (2, 1), (1, 1)),
]


def numbers(rng: np.random.Generator, dtype: str, *shape: int) -> np.ndarray:
    """Returns all numbers of a type; the extremes more often."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    found = rng.integers(low, high, shape, dtype, endpoint=True)
    return np.where(rng.random(shape) < 0.2, rng.choice([low, high], shape), found).astype(dtype)


def check(module, arrays: list[np.ndarray], machine: MachineDescription) -> None:
    apply(module, "glow-irgen,glow-eliminate-copies,glow-allocate")
    check_native(module, arrays, machine)


@pytest.mark.parametrize("case", CONVOLUTIONS)
@pytest.mark.parametrize(("machine", "terms", "feature"), MACHINES)
def test_convolution(
    machine: MachineDescription, terms: int, feature: str, case: tuple, rng: np.random.Generator
):
    needs(feature)
    channels, block, outputs, result, image, kernel, strides, dilations = case
    dtype = "u1" if terms == 4 else rng.choice(["u1", "i1", "i2"])
    x = pack_channels(numbers(rng, dtype, 2, channels, *image), block)
    w = numbers(rng, "i2" if dtype == "i2" else "i1", outputs, channels, *kernel)
    b = pack_channels(rng.integers(-(2**31), 2**31, outputs).astype("i4"), result, 0)
    arrays = [x, dot_filter(w, block, machine.lanes(32), terms), b]
    module = one_node(DotConvolutionOp, types_of(arrays), strides=strides, dilations=dilations)
    check(module, arrays, machine)


@pytest.mark.parametrize(("strides", "group"), [((1, 1), 1), ((2, 1), 2), ((2, 3), 1)])
@pytest.mark.parametrize("threads", [1, 2])
def test_pixels_are_widened_in_blocks(
    strides: tuple[int, int], group: int, threads: int, rng: np.random.Generator
):
    """The words of all pixels of 1 x 1 do not stay near; the last block has fewer rows."""
    machine = MachineDescription(256, 16, l2_bytes=8192)
    x = pack_channels(numbers(rng, "u1", 2, 48, 19, 21), 8)
    w = numbers(rng, "i1", 32, 48 // group, 1, 1)
    b = pack_channels(rng.integers(-(2**31), 2**31, 32).astype("i4"), 8, 0)
    arrays = [x, dot_filter(w, 8, 8, 2), b]
    options = {"strides": strides, "dilations": (1, 1), "group": group}
    module = one_node(DotConvolutionOp, types_of(arrays), **options)
    apply(module, "glow-irgen,glow-eliminate-copies,glow-allocate")
    check_native(module, arrays, machine, threads=threads)


@pytest.mark.parametrize(
    ("rows", "inner", "columns"), [((1,), 4, 16), ((37,), 68, 41), ((2, 9), 128, 64)]
)
@pytest.mark.parametrize(("machine", "terms", "feature"), MACHINES)
def test_matmul(
    machine: MachineDescription,
    terms: int,
    feature: str,
    rows: tuple[int, ...],
    inner: int,
    columns: int,
    rng: np.random.Generator,
):
    needs(feature)
    dtype = "u1" if terms == 4 else rng.choice(["u1", "i1", "i2"])
    x = numbers(rng, dtype, *rows, inner)
    lanes = machine.lanes(32)
    panels = -(-columns // lanes)
    w = numbers(rng, "i2" if dtype == "i2" else "i1", panels, inner // terms, lanes, terms)
    module = one_node(DotMatMulOp, types_of([x, w]), columns=columns)
    check(module, [x, w], machine)


@pytest.mark.parametrize("case", CONVOLUTIONS)
@pytest.mark.parametrize(("dtype", "terms"), [("u1", 4), ("i1", 2), ("i2", 2)])
def test_meaning_of_convolution(dtype: str, terms: int, case: tuple, rng: np.random.Generator):
    channels, block, outputs, result, image, kernel, strides, dilations = case
    x = numbers(rng, dtype, 1, channels, *image)
    w = numbers(rng, "i2" if dtype == "i2" else "i1", outputs, channels, *kernel)
    b = rng.integers(-(2**31), 2**31, outputs).astype("i4")
    packed = [pack_channels(x, block), dot_filter(w, block, 16, terms), pack_channels(b, result, 0)]
    module = one_node(DotConvolutionOp, types_of(packed), strides=strides, dilations=dilations)
    (found,) = interpret(apply(module, "glow-irgen,glow-allocate"), packed).values()
    wanted = np.zeros((1, outputs, *found.shape[2:-1]), np.int64)
    rows, columns = found.shape[2:-1]
    for i, j in np.ndindex(*kernel):
        h = slice(i * dilations[0], i * dilations[0] + (rows - 1) * strides[0] + 1, strides[0])
        v = slice(j * dilations[1], j * dilations[1] + (columns - 1) * strides[1] + 1, strides[1])
        part = x[0, :, h, v].astype(np.int64)
        wanted[0] += np.einsum("oc,chw->ohw", w[:, :, i, j].astype(np.int64), part)
    wanted += b.reshape(-1, 1, 1)
    np.testing.assert_array_equal(unpack_channels(found, outputs), wanted.astype("i4"))


def test_groups_of_rows(rng: np.random.Generator):
    w = numbers(rng, "i1", 3, 6, 5)
    groups = group_rows(w, 1, 4)
    assert groups.shape == (3, 2, 5, 4)
    np.testing.assert_array_equal(groups[1, 1, 3], [*w[1, 4:6, 3], 0, 0])


# image, kernel, strides, dilations
DEPTHWISE = [
    ((13, 11), (3, 3), (1, 1), (1, 1)),
    ((9, 8), (3, 3), (2, 2), (1, 1)),
    ((7, 10), (2, 4), (1, 3), (3, 2)),
    ((5, 9), (3, 5), (1, 1), (1, 1)),
    ((3, 3), (3, 3), (1, 1), (1, 1)),
    ((17,), (3,), (1,), (2,)),
    ((2, 6, 7), (1, 3, 2), (1, 1, 1), (1, 1, 1)),
]


ALWAYS_UNSIGNED = (*DEPTHWISE[:3], DEPTHWISE[-1])
"""Windows of 2, 3 and 4 columns."""


@pytest.mark.parametrize("case", DEPTHWISE)
@pytest.mark.parametrize(("machine", "terms", "feature"), MACHINES)
def test_depthwise(
    machine: MachineDescription, terms: int, feature: str, case: tuple, rng: np.random.Generator
):
    """In quads of pixels where the machine has them, pairs of u8, else in f32 or in i32."""
    needs(feature)
    image, kernel, strides, dilations = case
    block = machine.channel_block * int(rng.integers(1, 4))
    dtype = "u1" if case in ALWAYS_UNSIGNED else rng.choice(["u1", "i1", "i2"])
    x = numbers(rng, dtype, 2, 2, *image, block)
    w = numbers(rng, "i2" if dtype == "i2" else "i1", 2, *kernel, block)
    b = rng.integers(-(2**31), 2**31, (2, block)).astype("i4")
    arrays = [x, w, b]
    options = {"strides": strides, "dilations": dilations}
    check(one_node(BlockedDepthwiseConvolutionOp, types_of(arrays), **options), arrays, machine)


@pytest.mark.parametrize(("machine", "terms", "feature"), MACHINES)
def test_few_channels_are_packed(
    machine: MachineDescription, terms: int, feature: str, rng: np.random.Generator
):
    needs(feature)
    channels, block = int(rng.integers(1, 7)), int(rng.choice([2, 4]))
    x = numbers(rng, "u1", 2, channels, 5, int(rng.integers(1, 70)))
    check(one_node(PackChannelsOp, types_of([x]), block=block), [x], machine)
