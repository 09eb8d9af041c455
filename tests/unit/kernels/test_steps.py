"""Steps of a reduction that are emitted together: which there are, and that they add up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from glow.glow_dialects.glow.matrix import MatMulOp
from glow.glow_dialects.glow_cpu.blocked import BlockedConvolutionOp, BlockedDepthwiseConvolutionOp
from glow.glow_dialects.glow_cpu.packed import PackedMatMulOp
from glow.glow_dialects.glow_nest.affine import Buffer, Dim, Indirect, Limit, View
from glow.glow_dialects.glow_nest.body import Body
from glow.glow_dialects.glow_nest.nest import Combine, Nest, Reduction
from glow.glow_dialects.glow_nest.schedule import Reduce
from glow.glow_dialects.timings import TIMINGS
from glow.lowering.kernels.schedules import steps
from glow.lowering.kernels.schedules.steps import steps_together
from glow.passes.graph.panels import packed
from glow.tests.support.operator_kernels import check, random
from xdsl.dialects.builtin import f32, i32, i64
from xdsl.ir import Attribute


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets small kernels have several steps together."""
    monkeypatch.setattr(steps, "TIMINGS", replace(TIMINGS, least_unrolled_work=1))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("inner", [1, 4, 7, 8, 9, 31, 97])
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=str)
def test_products(inner: int, dtype: type):
    x, matrix = random(1, 37, inner, dtype=dtype), random(2, inner, 50, dtype=dtype)
    check(MatMulOp, x, matrix, tolerance=2e-5)
    check(PackedMatMulOp, x, packed(matrix, 16), columns=50, tolerance=2e-5)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("strides", [(1, 1), (2, 2)])
def test_depthwise_windows(strides: tuple[int, int]):
    """The innermost loop of the reduction is unrolled already."""
    x, w, b = random(1, 1, 3, 19, 21, 8), random(2, 3, 3, 3, 8), random(3, 3, 8)
    operator = BlockedDepthwiseConvolutionOp
    check(operator, x, w, b, strides=strides, dilations=(1, 1), tolerance=2e-5)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("block", [8, 16])
@pytest.mark.parametrize("kernel", [(1, 1), (3, 3)])
def test_convolutions(block: int, kernel: tuple[int, int]):
    x, b = random(1, 1, 3, 9, 11, block), random(3, 2, block)
    w = random(2, 2, 3, *kernel, block, block)
    check(BlockedConvolutionOp, x, w, b, strides=(1, 1), dilations=(1, 1), tolerance=2e-5)


def nest(
    terms: int, element: Attribute = f32, limit: Limit | None = None, is_chosen: bool = False
) -> Nest:
    """Returns a product of 64 rows, which may be chosen by an index, with 512 columns."""
    i, j, t = Dim("i", 64), Dim("j", 512), Dim("t", terms, limit)
    x, w, y = (
        View.dense(Buffer(element, 0, a * b, n), (a, b))
        for n, (a, b) in enumerate([(64, terms), (terms, 512), (64, 512)])
    )
    factors = w[[t, j]]
    if is_chosen:
        numbers = View.dense(Buffer(i64, 0, terms, 3), (terms,))
        factors = replace(w[[0, j]], indirect=Indirect(numbers[[t]], terms, 512))
    reduction = Reduction(Combine.ADD, element, (x[[i, t]], factors))
    return Nest((i, j), (y[[i, j]],), Body.passing(element), (), reduction, (t,))


@pytest.mark.parametrize(
    ("product", "sums", "expected"),
    [
        (nest(384), 12, 8),
        (nest(384), 10, 8),
        (nest(384), 24, 4),
        (nest(384), 28, 1),  # too few to save anything
        (nest(384), 3, 1),  # waits for its additions
        (nest(9), 10, 9),
        (nest(384, i32), 12, 1),  # LLVM would reorder it
        (nest(384, limit=Limit()), 12, 1),
        (nest(384, is_chosen=True), 12, 1),
        (nest(4), 12, 1),  # short work
    ],
    ids=["12", "10", "24", "28", "3", "all", "integers", "limit", "chosen", "work"],
)
def test_steps_together(product: Nest, sums: int, expected: int):
    (i, j), reduced = product.parallel, product.reduced
    schedule = Reduce(order=(i, j), reduced=reduced, vector=j, lanes=8, tile={i: sums})
    assert steps_together(product, schedule) == expected
    assert steps_together(product, replace(schedule, unrolled=frozenset(reduced))) == 1
