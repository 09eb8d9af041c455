"""Products of integers, and epilogues that store another type, agree with the interpreter."""

from __future__ import annotations

import glow
import numpy as np
import pytest
from glow.tests.support.graph_text import parse

U8 = "!quant.uniform<u8:f32, 0.0625:131>"
"""Scales are powers of two, so that products with them are exact: fused or not, a sum is rounded
once, and what is stored does not depend on that."""
SOURCE = """
!x = tensor<{n}x{c}x9x7x{u8}>
!p = tensor<{n}x{c}x11x9x{u8}>
!q = tensor<{n}x{o}x9x7x{u8}>
!f = tensor<{n}x{o}x9x7xf32>
!i = tensor<{n}x{o}x9x7xi32>
func.func @main(%x: !x {{glow.name = "x"}},
    %r: !q {{glow.name = "r"}}, %w: tensor<{o}x{g}x3x3xi8> {{glow.name = "w"}},
    %b: tensor<{o}xi32> {{glow.name = "b"}}, %s: tensor<{o}x1x1xf32> {{glow.name = "s"}})
    -> (!q {{glow.name = "y"}}) {{
  %p = glow.pad %x low [0, 0, 1, 1] high [0, 0, 1, 1] value 131.0
    : (!x) -> !p
  %c = glow.convolution %p, %w, %b group {group}
    : (!p, tensor<{o}x{g}x3x3xi8>, tensor<{o}xi32>) -> !i
  %f = glow.cast %c : (!i) -> !f
  %t = glow.broadcast %s : (tensor<{o}x1x1xf32>) -> !f
  %m = glow.mul %f, %t : (!f, !f) -> !f
  %d = glow.dequantize %r : (!q) -> !f
  %a = glow.add %m, %d : (!f, !f) -> !f
  %q = glow.quantize %a : (!f) -> !q
  func.return %q : !q
}}
"""


@pytest.mark.parametrize(("n", "c", "o", "group"), [(1, 5, 6, 1), (2, 6, 9, 3), (1, 7, 7, 7)])
def test_convolution_with_an_epilogue_is_one_instruction(
    n: int, c: int, o: int, group: int, rng: np.random.Generator
):
    module = parse(SOURCE.format(n=n, c=c, o=o, g=c // group, group=group, u8=U8))
    arrays = [
        rng.integers(0, 256, (n, c, 9, 7)).astype(np.uint8),
        rng.integers(0, 256, (n, o, 9, 7)).astype(np.uint8),
        rng.integers(-128, 128, (o, c // group, 3, 3)).astype(np.int8),
        rng.integers(-999, 999, o).astype(np.int32),
        np.exp2(rng.integers(-16, -11, (o, 1, 1))).astype(np.float32),
    ]
    (want,) = glow.compile(module, backend="interpreter")(*arrays)
    model = glow.compile(module, cache=False)
    (found,) = model(*arrays)
    np.testing.assert_array_equal(found, want)
    assert len(np.unique(want)) > 20
    text = str(model.stages["allocated"])
    assert "i32>" not in text.split("epilogue")[1]


@pytest.mark.parametrize(("rows", "terms", "columns"), [(1, 13, 7), (5, 64, 33), (17, 300, 1)])
@pytest.mark.parametrize("left", ["ui8", "i8"])
def test_matrix_products(rows: int, terms: int, columns: int, left: str, rng: np.random.Generator):
    module = parse(f"""
    func.func @main(%x: tensor<{rows}x{terms}x{left}> {{glow.name = "x"}},
        %w: tensor<{terms}x{columns}xi8> {{glow.name = "w"}})
        -> (tensor<{rows}x{columns}xi32> {{glow.name = "y"}}) {{
      %y = glow.matmul %x, %w
        : (tensor<{rows}x{terms}x{left}>, tensor<{terms}x{columns}xi8>)
        -> tensor<{rows}x{columns}xi32>
      func.return %y : tensor<{rows}x{columns}xi32>
    }}""")
    dtype = np.uint8 if left == "ui8" else np.int8
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max + 1, (rows, terms)).astype(dtype)
    w = rng.integers(-128, 128, (terms, columns)).astype(np.int8)
    (found,) = glow.compile(module, cache=False)(x, w)
    np.testing.assert_array_equal(found, x.astype(np.int32) @ w.astype(np.int32))


def test_quantization_with_scales_of_channels(rng: np.random.Generator):
    t = "!quant.uniform<i8:f32:1, {0.1:3, 0.5, 0.01:-7}>"
    module = parse(f"""
    func.func @main(%x: tensor<5x3x7xf32> {{glow.name = "x"}})
        -> (tensor<5x3x7x{t}> {{glow.name = "q"}}, tensor<5x3x7xf32> {{glow.name = "y"}}) {{
      %q = glow.quantize %x : (tensor<5x3x7xf32>) -> tensor<5x3x7x{t}>
      %y = glow.dequantize %q : (tensor<5x3x7x{t}>) -> tensor<5x3x7xf32>
      func.return %q, %y : tensor<5x3x7x{t}>, tensor<5x3x7xf32>
    }}""")
    x = (4 * rng.standard_normal((5, 3, 7))).astype(np.float32)
    x[0, :, 0] = [np.nan, np.inf, -np.inf]
    want = glow.compile(module, backend="interpreter")(x)
    found = glow.compile(module, cache=False)(x)
    for a, b in zip(found, want, strict=True):
        np.testing.assert_array_equal(a, b)
