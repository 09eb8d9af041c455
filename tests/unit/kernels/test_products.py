"""Matrix products with packed weights agree with the interpreter, on several machines."""

from __future__ import annotations

import re
from dataclasses import replace

import glow
import numpy as np
import pytest
from glow.glow_dialects import glow_vec
from glow.glow_dialects.glow.matrix import MatMulOp
from glow.glow_dialects.glow_cpu.blocked import BlockedConvolutionOp
from glow.glow_dialects.glow_cpu.packed import PackedMatMulOp
from glow.glow_dialects.operator import with_shape
from glow.lowering.target import find_target
from glow.passes.graph.panels import packed, panel_width
from glow.semantics.arrays import element_type
from glow.tests.support.graph_text import parse
from glow.tests.support.native import apply, check_native, kernels_passes, nests_passes
from glow.tests.support.operator_kernels import check, one_node, random
from xdsl.dialects.builtin import f32

# leading dimensions of the left operand, inner, columns, lanes, vectors
CASES = [
    ((8,), 5, 48, 16, 3),
    ((17,), 33, 100, 16, 3),
    ((2, 9), 7, 50, 16, 3),
    ((3, 2, 5), 20, 5, 4, 3),
    ((1,), 40, 300, 16, 8),
    ((), 21, 37, 8, 2),
    ((1,), 3, 1, 16, 3),
    # one row and large weights: a tile has panels that are far apart, if it divides their number
    ((1,), 300, 27 * 16 + 5, 16, 1),
    ((1, 1), 300, 24 * 8, 8, 1),
    ((), 300, 29 * 16, 16, 1),
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64], ids=str)
def test_packed_matmul(case: tuple, dtype: type):
    rows, inner, columns, lanes, vectors = case
    x, matrix = random(1, *rows, inner, dtype=dtype), random(2, inner, columns, dtype=dtype)
    weights = packed(matrix, panel_width(columns, lanes, vectors))
    check(PackedMatMulOp, x, weights, columns=columns, tolerance=2e-5)


@pytest.mark.parametrize("columns", [3, 5, 9, 12, 15])
@pytest.mark.parametrize("transposed", [False, True])
def test_columns_that_fill_a_part_of_a_vector(columns: int, transposed: bool):
    for batch, rows, inner in (((), 9, 21), ((3,), 8, 5), ((2, 3), 50, 33), ((2,), 7, 4)):
        x = random(1, *batch, rows, inner)
        shape = (columns, inner) if transposed else (inner, columns)
        check(MatMulOp, x, random(2, *batch, *shape), transpose_rhs=transposed, tolerance=2e-5)


SUM_IN_PLACE = """
func.func @main(%x: memref<{0}x33xf32> {{glow.name = "x", glow.qualifier = "in"}},
    %w: memref<2x33x16xf32> {{glow.name = "w", glow.qualifier = "in"}},
    %r: memref<{0}x29xf32> {{glow.name = "r", glow.qualifier = "in"}},
    %y: memref<{0}x29xf32> {{glow.name = "y", glow.qualifier = "out"}}) {{
  glow_inst.copy @out %y, @in %r : memref<{0}x29xf32>, memref<{0}x29xf32>
  glow_inst.packed_matmul @inout %y, @in %x, @in %w columns 29
      : memref<{0}x29xf32>, memref<{0}x33xf32>, memref<2x33x16xf32> epilogue {{
  ^bb0(%0: f32, %1: f32):
    %2 = glow.add %1, %0 : (f32, f32) -> f32
    glow_inst.yield %2 : f32
  }}
  func.return
}}
"""


@pytest.mark.parametrize("rows", [7, 53])
def test_sum_in_place(rows: int):
    """Each element is read before it is written, and once, also in the last and smaller tile."""
    module = apply(parse(SUM_IN_PLACE.format(rows)), "glow-allocate")
    operands = [random(i, *shape) for i, shape in enumerate([(rows, 33), (2, 33, 16), (rows, 29)])]
    check_native(module, operands, None, 2e-5)


def prefetches(rows: int, inner: int, steps: int = 1) -> int:
    """
    Returns how many prefetches a product's kernel has in its text, with so many steps together.
    """
    types = [with_shape(f32, (rows, inner)), with_shape(f32, (3, inner, 48))]
    module = one_node(PackedMatMulOp, types, columns=144)
    apply(module, "glow-irgen,glow-eliminate-copies,glow-allocate," + nests_passes())
    scheduled = re.sub(r", steps = \d+", "", str(module)).replace(
        "reduced = [t]", f"reduced = [t], steps = {steps}"
    )
    module = apply(parse(scheduled), "glow-generate-loops")
    return sum(op.name == "glow_vec.prefetch" for op in module.walk())


def test_far_weights_are_prefetched():
    # the next panel, a line in each step; of many weights also what the next steps need
    assert prefetches(64, 16) == 1
    assert prefetches(64, 384) == 3 + 1
    # steps that are emitted together prefetch each line of the next panel once
    assert prefetches(64, 384, steps=4) == 4 * 3 + 2
    # a few rows read the next panel soon enough
    assert prefetches(8, 16) == 0


def localities(inputs: int, outputs: int, size: int) -> set[int]:
    """Returns the localities of the prefetches of a 1 x 1 convolution on blocks of 16 channels."""
    types = [
        with_shape(f32, (1, inputs, size, size, 16)),
        with_shape(f32, (outputs, inputs, 1, 1, 16, 16)),
        with_shape(f32, (outputs, 16)),
    ]
    module = one_node(BlockedConvolutionOp, types, strides=(1, 1), dilations=(1, 1))
    passes = "glow-irgen,glow-eliminate-copies,glow-allocate," + kernels_passes()
    apply(module, f"glow-set-machine{{l2-bytes=2097152}},{passes}")
    found = [op for op in module.walk() if isinstance(op, glow_vec.PrefetchOp)]
    return {op.locality.value.data for op in found}


def test_next_filters_of_a_convolution_are_read_meanwhile():
    # the filters of the next blocks, into the second cache
    assert localities(16, 64, 14) == {2}
    # many filters of a block, which are not in the first cache: also what is needed soon, unless
    # there are so many pixels that filters are read in chunks
    assert localities(128, 32, 3) == {2, 3}
    assert localities(128, 32, 7) == {2}
    # an image that fills the cache, alone or with the filters of two blocks: nothing else
    assert localities(64, 16, 28) == {3}
    assert localities(256, 32, 9) == {3}
    # few filters stay near
    assert localities(4, 4, 28) == set()


EPILOGUE = """
func.func @main(%x: tensor<ROWSx20xf32> {glow.name = "x"},
                %w: tensor<2x20x48xf32> {glow.name = "w"},
                %r: tensor<ROWSx70xf32> {glow.name = "r"})
    -> (tensor<ROWSx70xf32> {glow.name = "y"}) {
  %p = glow_cpu.packed_matmul %x, %w columns 70
     : (tensor<ROWSx20xf32>, tensor<2x20x48xf32>) -> tensor<ROWSx70xf32>
  %s = glow.add %p, %r : (tensor<ROWSx70xf32>, tensor<ROWSx70xf32>) -> tensor<ROWSx70xf32>
  %g = glow.ACTIVATION %s : (tensor<ROWSx70xf32>) -> tensor<ROWSx70xf32>
  %y = glow.mul %g, %r : (tensor<ROWSx70xf32>, tensor<ROWSx70xf32>) -> tensor<ROWSx70xf32>
  func.return %y : tensor<ROWSx70xf32>
}"""


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("rows", ["3", "32", "75"])
def test_light_and_heavy_epilogues(rows: str, activation: str):
    module = parse(EPILOGUE.replace("ROWS", rows).replace("ACTIVATION", activation))
    apply(module, "glow-irgen,glow-eliminate-copies,glow-stack-ops,glow-allocate")
    names = [op.name for op in module.walk() if op.name.startswith("glow_inst.")]
    assert "glow_inst.stacked" not in names
    n = int(rows)
    check_native(module, [random(1, n, 20), random(2, 2, 20, 48), random(3, n, 70)], None, 2e-5)


def test_each_block_of_rows_has_a_loop_over_panels():
    text = EPILOGUE.replace("ROWS", "104").replace("ACTIVATION", "gelu")
    module = parse(text.replace("70", "96"))
    apply(module, "glow-irgen,glow-eliminate-copies,glow-stack-ops,glow-allocate")
    # so small a cache that 64 rows are a block, which is finished in two parts
    machine = replace(find_target().describe(), l2_bytes=10240)
    inputs = [random(1, 104, 20), random(2, 2, 20, 48), random(3, 104, 96)]
    check_native(module, inputs, machine, 2e-5)


RESHAPED = """
func.func @main(%x: tensor<ROWSx20xf32>, %w: tensor<2x20x48xf32>, %m: tensor<10x7xf32>,
                %r: tensor<ROWSx10x7xf16>) -> tensor<ROWSx10x7xf32> {
  %p = glow_cpu.packed_matmul %x, %w columns 70
     : (tensor<ROWSx20xf32>, tensor<2x20x48xf32>) -> tensor<ROWSx70xf32>
  %h = glow.reshape %p : (tensor<ROWSx70xf32>) -> tensor<ROWSx10x7xf32>
  %b = glow.broadcast %m : (tensor<10x7xf32>) -> tensor<ROWSx10x7xf32>
  %s = glow.mul %h, %b
     : (tensor<ROWSx10x7xf32>, tensor<ROWSx10x7xf32>) -> tensor<ROWSx10x7xf32>
  %c = glow.cast %r : (tensor<ROWSx10x7xf16>) -> tensor<ROWSx10x7xf32>
  %y = glow.add %c, %s
     : (tensor<ROWSx10x7xf32>, tensor<ROWSx10x7xf32>) -> tensor<ROWSx10x7xf32>
  func.return %y : tensor<ROWSx10x7xf32>
}"""


@pytest.mark.parametrize("rows", ["1", "9", "64"])
def test_epilogues_of_another_shape(rows: str):
    module = parse(RESHAPED.replace("ROWS", rows))
    apply(module, "glow-irgen,glow-eliminate-copies,glow-stack-ops,glow-allocate")
    names = [op.name for op in module.walk() if op.name.startswith("glow_inst.")]
    assert not {"glow_inst.stacked", "glow_inst.cast", "glow_inst.mul"} & set(names)
    n = int(rows)
    arrays = [random(1, n, 20), random(2, 2, 20, 48), random(3, 10, 7)]
    check_native(module, [*arrays, random(4, n, 10, 7, dtype=np.float16)], None, 2e-5)


# leading dimensions, rows, inner, columns: many rows; several blocks of panels, of which the last
# is smaller; a batch that threads divide, and one of a single matrix; panels of a part of a vector
PACKED = [
    ((), 53, 139, 107),
    ((2,), 29, 1031, 301),
    ((5,), 24, 181, 53),
    ((1, 1), 37, 1999, 5),
]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("turned", "dtype"), [(0, np.float32), (1, np.float64), (2, np.float32)])
@pytest.mark.parametrize("sizes", PACKED, ids=str)
def test_matrices_that_are_packed_at_run_time(sizes: tuple, turned: int, dtype: type, threads: int):
    """
    Products of two matrices that are not constant, larger than a cache, with an epilogue; the sums
    differ from those of numpy by no more than their order explains.
    """
    batch, rows, inner, columns = sizes
    a = random(1, *batch, *((inner, rows) if turned == 1 else (rows, inner)), dtype=dtype)
    b = random(2, *batch, *((columns, inner) if turned == 2 else (inner, columns)), dtype=dtype)
    c = random(3, *batch, rows, columns, dtype=dtype)
    types = [str(with_shape(element_type(m.dtype), m.shape)) for m in (a, b, c)]
    module = parse(f"""
        func.func @main(%a: {types[0]}, %b: {types[1]}, %c: {types[2]}) -> {types[2]} {{
          %0 = glow.matmul %a, %b transpose_lhs {str(turned == 1).lower()}
            transpose_rhs {str(turned == 2).lower()} : ({types[0]}, {types[1]}) -> {types[2]}
          %1 = glow.mul %0, %c : ({types[2]}, {types[2]}) -> {types[2]}
          func.return %1 : {types[2]}
        }}""")
    (found,) = glow.compile(module, threads=threads, cache=False)(a, b, c)
    left, right = a.astype(np.float64), b.astype(np.float64)
    product = (left.mT if turned == 1 else left) @ (right.mT if turned == 2 else right)
    # partial sums of normal products grow with the root of their number, as their errors do
    bound = np.finfo(dtype).eps * (2 * inner * np.abs(c) + np.abs(product * c))
    np.testing.assert_array_less(np.abs(found - product * c), bound)
