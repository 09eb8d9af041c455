"""Products with tile registers agree with the interpreter, those of bytes exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from glow.glow_dialects.glow_cpu.dot import DotConvolutionOp, DotMatMulOp
from glow.glow_dialects.glow_nest.affine import Buffer, Dim, View, affine
from glow.glow_dialects.glow_nest.body import Body
from glow.glow_dialects.glow_nest.nest import Combine, Nest, Reduction
from glow.glow_dialects.glow_nest.simplification import simplified
from glow.glow_dialects.machine import MachineDescription
from glow.glow_dialects.operator import with_shape
from glow.glow_dialects.python_values import Python
from glow.glow_dialects.timings import TIMINGS
from glow.lowering.host_machine import host_features, request_tiles
from glow.lowering.kernels.codegen import amx_nest
from glow.lowering.kernels.schedules.amx_groups import groups_of
from glow.lowering.kernels.schedules.amx_tile import TilePlan, plan_tiles
from glow.lowering.kernels.threads import split
from glow.lowering.target import find_target
from glow.semantics import element_type
from glow.tests.support.graph_text import parse
from glow.tests.support.native import apply, check_native, kernels_pipeline
from glow.tests.support.operator_kernels import one_node
from glow.tests.support.seeds import generator
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness, i8, i32

needs_tiles = pytest.mark.skipif(
    not find_target().describe().has_int8_tiles,
    reason="the target has no tile registers for bytes (AMX), or the system forbids them",
)
UI8 = IntegerType(8, Signedness.UNSIGNED)


def integers(low: int, high: int, shape: Sequence[int], dtype: type) -> np.ndarray:
    return generator().integers(low, high, shape).astype(dtype)


def convolution(
    batch: int,
    channels: tuple[int, int],
    outputs: tuple[int, int],
    sizes: Sequence[int],
    kernel: Sequence[int],
    panel: int = 16,
) -> tuple[np.ndarray, ...]:
    """Returns random input, filter and bias, for blocks of channels: how many, and of how many."""
    count, block = outputs
    return (
        integers(0, 256, (batch, channels[0], *sizes, channels[1]), np.uint8),
        integers(
            -128,
            128,
            (count * block // panel, channels[0], *kernel, channels[1] // 4, panel, 4),
            np.int8,
        ),
        integers(-(1 << 31), 1 << 31, outputs, np.int32),
    )


def lowered(operator: type, arrays: Sequence[np.ndarray], **properties: Python) -> ModuleOp:
    types = [with_shape(element_type(a.dtype), a.shape) for a in arrays]
    module = one_node(operator, types, None, **properties)
    return apply(module, "glow-irgen,glow-eliminate-copies,glow-allocate")


def uses_tiles(module: ModuleOp) -> bool:
    kernels = apply(module.clone(), kernels_pipeline(find_target().describe()))
    return any(op.name == "glow_vec.tile_dot" for op in kernels.walk())


def check(operator: type, arrays: Sequence[np.ndarray], threads: int, **properties: Python) -> None:
    module = lowered(operator, arrays, **properties)
    assert uses_tiles(module)
    check_native(module, arrays, find_target().describe(), threads=threads)


# batch, blocks of the input, blocks of the output, sizes, kernel, strides, dilations
CONVOLUTIONS = [
    (1, (1, 64), (1, 64), (1, 1), (1, 1), (1, 1), (1, 1)),
    (1, (2, 64), (2, 64), (7, 7), (1, 1), (1, 1), (1, 1)),
    (2, (1, 64), (1, 64), (9, 9), (3, 3), (1, 1), (1, 1)),
    (1, (2, 64), (1, 64), (16, 16), (3, 3), (1, 1), (1, 1)),
    (1, (1, 64), (3, 64), (13, 13), (1, 1), (2, 2), (1, 1)),
    (1, (1, 20), (1, 32), (5, 19), (3, 3), (1, 1), (2, 1)),
    (2, (3, 48), (2, 48), (11, 17), (3, 2), (1, 2), (1, 1)),
    (1, (1, 4), (1, 64), (21, 31), (7, 7), (2, 2), (1, 1)),
    (1, (1, 4), (3, 16), (15, 15), (3, 3), (1, 1), (3, 2)),
    (1, (1, 64), (1, 64), (3, 58), (3, 3), (1, 1), (1, 1)),
    (1, (2, 32), (1, 80), (5, 35), (1, 1), (1, 1), (1, 1)),
    (1, (1, 8), (2, 32), (37,), (4,), (3,), (2,)),
    (1, (1, 16), (1, 16), (4, 5, 6), (2, 3, 3), (1, 1, 2), (1, 1, 1)),
]


@needs_tiles
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("threads", [1, 3])
def test_convolution(case: tuple, threads: int):
    *shape, strides, dilations = case
    arrays = convolution(*shape)
    check(DotConvolutionOp, arrays, threads, strides=strides, dilations=dilations)


@needs_tiles
@pytest.mark.parametrize("case", CONVOLUTIONS[2:9], ids=str)
@pytest.mark.parametrize("threads", [1, 2])
def test_far_filters_and_images(case: tuple, threads: int, monkeypatch: pytest.MonkeyPatch):
    far = replace(
        TIMINGS,
        amx_prefetched_bytes=0,
        amx_filters_l2_share=0,
        amx_image_l2_share=400 / find_target().describe().l2_bytes,
        least_shared_amx_steps=0,
    )
    for module in (amx_nest, split):
        monkeypatch.setattr(module, "TIMINGS", far)
    *shape, strides, dilations = case
    arrays = convolution(*shape)
    check(DotConvolutionOp, arrays, threads, strides=strides, dilations=dilations)


@pytest.mark.parametrize(("lines", "size"), [(1, 1024), (48, 3), (5, 70), (7, 7)])
@pytest.mark.parametrize("most", [2, 3, 7, 1000])
def test_blocks_visit_every_group_once(lines: int, size: int, most: int):
    nest = simplified(product_nest(lines, size, 1, 16, 2))
    plan = plan_tiles(nest, MachineDescription(has_int8_tiles=True))
    assert plan is not None
    for kind in groups_of(plan)[1]:
        group = kind.group
        before = {d: p.constant for d, p in kind.first.items()}
        outside = kind.blocks(most)
        assert kind.dims[: len(outside)] == tuple(outside)
        found = set()
        for numbers in np.ndindex(*(d.size for d in kind.dims)):
            values = dict(zip(kind.dims, numbers, strict=True))
            found.add(
                tuple(
                    place.constant + sum(stride * values[d] for d, stride in place.terms.items())
                    for place in kind.first.values()
                )
            )
        (a, b), (i, j) = group.counts, group.extent
        assert found == {
            (before[plan.line[0]] + x * i, before[plan.line[1]] + y * j)
            for x in range(a)
            for y in range(b)
        }
        assert np.prod([d.size for d in outside]) >= min(most, a * b)


@needs_tiles
def test_panels_as_wide_as_blocks_and_blocks_without_panel():
    x, w, b = convolution(1, (1, 64), (2, 64), (9, 9), (1, 1), panel=64)
    check(DotConvolutionOp, (x, w, b), 1, strides=(1, 1), dilations=(1, 1))
    x, w, b = convolution(1, (1, 64), (2, 64), (9, 9), (1, 1))
    check(DotConvolutionOp, (x, w[:5], b), 1, strides=(1, 1), dilations=(1, 1))


@needs_tiles
@pytest.mark.parametrize(
    ("rows", "inner", "columns"),
    [((1,), 64, 16), ((3,), 20, 48), ((17,), 192, 80), ((2, 35), 100, 37), ((), 1024, 250)],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_matmul(rows: tuple[int, ...], inner: int, columns: int, threads: int):
    x = integers(0, 256, (*rows, inner), np.uint8)
    w = integers(-128, 128, (-(-columns // 16), inner // 4, 16, 4), np.int8)
    check(DotMatMulOp, (x, w), threads, columns=columns)


@needs_tiles
@pytest.mark.skipif(
    not find_target().describe().has_bf16_tiles, reason="no tile registers for bf16 here"
)
@pytest.mark.parametrize("case", CONVOLUTIONS[1:7], ids=str)
def test_convolution_of_bf16(case: tuple, rng: np.random.Generator):
    batch, channels, outputs, sizes, kernel, strides, dilations = case
    count, block = outputs
    x = rng.standard_normal((batch, channels[0], *sizes, channels[1]))
    w = rng.standard_normal((count * block // 16, channels[0], *kernel, channels[1] // 2, 16, 2))
    b = rng.standard_normal(outputs).astype(np.float32)
    arrays = (x.astype(ml_dtypes.bfloat16), w.astype(ml_dtypes.bfloat16), b)
    check(DotConvolutionOp, arrays, 2, strides=strides, dilations=dilations)


EPILOGUE = """
!x = tensor<1x1x9x9x64xui8>
!q = tensor<1x2x7x7x64xui8>
!f = tensor<1x2x7x7x64xf32>
func.func @main(%x: !x {glow.name = "x"}, %w: tensor<8x1x3x3x16x16x4xi8> {glow.name = "w"},
    %b: tensor<2x64xi32> {glow.name = "b"}, %s: tensor<1x2x1x1x64xf32> {glow.name = "s"},
    %r: !q {glow.name = "r"}) -> (!q {glow.name = "y"}) {
  %c = glow_cpu.dot_convolution %x, %w, %b
    : (!x, tensor<8x1x3x3x16x16x4xi8>, tensor<2x64xi32>) -> tensor<1x2x7x7x64xi32>
  %f = glow.cast %c : (tensor<1x2x7x7x64xi32>) -> !f
  %t = glow.broadcast %s : (tensor<1x2x1x1x64xf32>) -> !f
  %m = glow.mul %f, %t : (!f, !f) -> !f
  %d = glow.cast %r : (!q) -> !f
  %a = glow.add %m, %d : (!f, !f) -> !f
  %u = glow.relu %a : (!f) -> !f
  %y = glow.cast %u : (!f) -> !q
  func.return %y : !q
}"""


@needs_tiles
@pytest.mark.parametrize("threads", [1, 2])
def test_epilogue(threads: int):
    module = parse(EPILOGUE)
    apply(module, "glow-irgen,glow-eliminate-copies,glow-stack-ops,glow-share-buffers")
    apply(module, "glow-eliminate-dead-stores,glow-allocate")
    assert uses_tiles(module)
    x, w, _ = convolution(1, (1, 64), (2, 64), (9, 9), (3, 3))
    inputs = [
        *(x, w, integers(-9999, 9999, (2, 64), np.int32)),
        # By powers of two, products are exact: fused or not, the sum is rounded once.
        np.exp2(integers(-16, -12, (1, 2, 1, 1, 64), np.float32)),
        integers(0, 256, (1, 2, 7, 7, 64), np.uint8),
    ]
    check_native(module, inputs, find_target().describe(), threads=threads)


# plans


def product_nest(lines: int, size: int, stride: int, quads: int, outputs: int) -> Nest:
    """Returns rows of `size` windows of one place."""
    x = view(UI8, (lines, size * stride + 1, 4 * quads))
    w, y = view(i8, (outputs, quads, 16, 4)), view(i32, (lines, size, 16 * outputs))
    line, place, q, o = Dim("l", lines), Dim("p", size), Dim("q", quads), Dim("o", outputs)
    lane = Dim("j", 16)
    reads = (x[[line, place * stride, affine(q) * 4]], w[[o, q, lane, 0]])
    write = y[[line, place, affine(o) * 16 + lane]]
    reduction = Reduction(Combine.ADD, i32, reads, terms=4)
    return Nest((line, place, o, lane), (write,), Body.passing(i32), (), reduction, (q,))


def view(element: IntegerType, shape: Sequence[int]) -> View:
    return View.dense(Buffer(element, 0, int(np.prod(shape))), shape)


def points_of(plan: TilePlan) -> list[tuple[int, int]]:
    """Returns the points of results that groups write."""
    found = []
    for group in plan.groups:
        for a, b in np.ndindex(*group.counts):
            for i, j in np.ndindex(*group.extent):
                start, extent = group.start, group.extent
                found.append((start[0] + a * extent[0] + i, start[1] + b * extent[1] + j))
    return found


@given(
    *(st.integers(1, 20), st.integers(1, 70), st.integers(1, 3)),
    *(st.integers(1, 40), st.integers(1, 7)),
)
def test_groups_visit_every_point_once(
    lines: int, size: int, stride: int, quads: int, outputs: int
):
    machine = MachineDescription(has_int8_tiles=True)
    nest = simplified(product_nest(lines, size, stride, quads, outputs))
    plan = plan_tiles(nest, machine)
    if plan is None:
        assert quads > 16  # which no number of at least 4 divides
        return
    whole = (plan.line[0].size, plan.line[1].size)
    assert sorted(points_of(plan)) == sorted(np.ndindex(*whole))
    assert plan.images * plan.panels + plan.panels < 8
    for group in plan.groups:
        places: dict[int, tuple[int, int]] = {}
        for i, j, at in group.tiles:
            for r in range(plan.rows):
                places.setdefault(at + r, (i, j + r))
                assert places[at + r] == (i, j + r)
        pitch = group.pitch
        for i, j in np.ndindex(*group.extent):
            row, column = places[group.place + i * pitch + j]
            assert (row, column) in ((i, j), (0, i * pitch + j))


def test_only_machines_with_tiles_use_them():
    nest = simplified(product_nest(3, 5, 1, 16, 2))
    assert plan_tiles(nest, MachineDescription()) is None
    assert plan_tiles(nest, MachineDescription(has_int8_tiles=True)) is not None


def test_permission_is_asked_for_once():
    features = host_features()
    assert features is host_features()
    if features.get("amx-tile"):
        assert request_tiles()
