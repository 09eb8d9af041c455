"""Packing the weights of products keeps what a graph computes, and is undone by lowering."""

from __future__ import annotations

import glow
import numpy as np
import pytest
from glow.errors import GlowError
from glow.passes.graph.pack_weights import all_finite, turned
from glow.passes.graph.panels import packed, panel_width
from glow.runtime.interpreter import interpret
from glow.semantics.arrays import BFLOAT16
from glow.tests.support.graph_text import count, parse, run
from glow.tests.support.seeds import numbered


@pytest.mark.parametrize("seed", range(8))
def test_panels_hold_every_column(seed: int):
    rng = numbered(seed)
    inner, columns = (int(n) for n in rng.integers(1, 200, 2))
    lanes, vectors = 2 ** int(rng.integers(0, 5)), int(rng.integers(1, 9))
    width = panel_width(columns, lanes, vectors)
    assert width % lanes == 0
    assert width <= lanes * vectors
    matrix = rng.standard_normal((inner, columns)).astype(np.float32)
    panels = packed(matrix, width)
    assert len(panels) == -(-columns // width) == -(-columns // (lanes * vectors))
    beside = panels.transpose(1, 0, 2).reshape(inner, -1)
    np.testing.assert_array_equal(beside[:, :columns], matrix)
    assert not beside[:, columns:].any()


def graph(rows: int, inner: int, columns: int) -> str:
    """
    Returns a fully connected layer, a reshape, and two products, with random weights in the text.
    """
    rng = numbered(rows, inner, columns)

    def constant(name: str, *shape: int) -> str:
        values = np.array2string(
            rng.standard_normal(shape).astype(np.float32), separator=", ", threshold=10**6
        )
        t = "x".join(map(str, shape))
        return f"%{name} = glow.constant dense<{values}> : tensor<{t}xf32>"

    n, k, m = columns, inner, 2 * rows
    return f"""
    func.func @main(%x: tensor<{m}x{k}xf32> {{glow.name = "x"}})
        -> (tensor<2x{rows}x{k}xf32> {{glow.name = "y"}}) {{
      {constant("w", n, k)}
      {constant("b", n)}
      {constant("v", n, k)}
      %h = glow.fully_connected %x, %w, %b
         : (tensor<{m}x{k}xf32>, tensor<{n}x{k}xf32>, tensor<{n}xf32>) -> tensor<{m}x{n}xf32>
      %p = glow.matmul %h, %v
         : (tensor<{m}x{n}xf32>, tensor<{n}x{k}xf32>) -> tensor<{m}x{k}xf32>
      %y = glow.reshape %p : (tensor<{m}x{k}xf32>) -> tensor<2x{rows}x{k}xf32>
      func.return %y : tensor<2x{rows}x{k}xf32>
    }}"""


@pytest.mark.parametrize("sizes", [(1, 3, 7), (3, 17, 40), (2, 1, 1)], ids=str)
@pytest.mark.parametrize(
    ("options", "lanes"),
    [("", 16), ("{vector-bits=128 vector-registers=16}", 4), ("{vector-bits=64}", 2)],
)
def test_results_stay(sizes: tuple[int, int, int], options: str, lanes: int):
    module = parse(graph(*sizes))
    x = numbered(1).standard_normal((2 * sizes[0], sizes[1])).astype(np.float32)
    want = interpret(module, [x])["y"]
    run(f"glow-set-machine{options},glow-pack-weights", module)
    # matrices of few columns that fill no vector stay as they are
    _, columns_of_matmul, columns = sizes
    few = min(4, lanes - 1)
    found = count(module)
    assert found["glow_cpu.packed_matmul"] == (columns > few) + (columns_of_matmul > few)
    assert found["glow.fully_connected"] == (columns <= few)
    np.testing.assert_allclose(interpret(module, [x])["y"], want, rtol=1e-4, atol=1e-5)
    run("glow-lower-nodes{backend=none}", module)
    assert not count(module)["glow_cpu.packed_matmul"]
    np.testing.assert_allclose(interpret(module, [x])["y"], want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(1, 1), (3, 200), (64, 7), (65, 64), (300, 129)], ids=str)
def test_turned(shape: tuple[int, int], rng: np.random.Generator):
    matrix = rng.standard_normal(shape).astype(np.float32)
    result = turned(matrix)
    assert result.flags.c_contiguous
    np.testing.assert_array_equal(result, matrix.T)


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_all_finite(number: float, rng: np.random.Generator):
    matrix = rng.standard_normal((400, 501)).astype(np.float32)
    assert all_finite(lambda: matrix)
    matrix[tuple(rng.integers(0, matrix.shape))] = number
    assert not all_finite(lambda: matrix)


def test_what_cannot_be_read_is_not_known_to_be_finite():
    def read() -> np.ndarray:
        raise ValueError("gone")

    assert not all_finite(read)


@pytest.mark.parametrize("transposed", [False, True])
def test_skipping_rows_keeps_results(transposed: bool, rng: np.random.Generator):
    k, n = (int(i) for i in rng.integers([1, 60], 90))
    shape = (n, k) if transposed else (k, n)
    values = rng.standard_normal(shape).astype(np.float32)
    text = np.array2string(values, separator=", ", threshold=10**6)
    flag = str(transposed).lower()
    module = parse(f"""
    func.func @main(%x: tensor<1x{k}xf32> {{glow.name = "x"}})
        -> (tensor<1x{n}xf32> {{glow.name = "y"}}) {{
      %w = glow.constant dense<{text}> : tensor<{shape[0]}x{shape[1]}xf32>
      %a = glow.relu %x : (tensor<1x{k}xf32>) -> tensor<1x{k}xf32>
      %y = glow.matmul %a, %w {{transpose_rhs = {flag}}}
         : (tensor<1x{k}xf32>, tensor<{shape[0]}x{shape[1]}xf32>) -> tensor<1x{n}xf32>
      func.return %y : tensor<1x{n}xf32>
    }}""")
    x = rng.standard_normal((1, k)).astype(np.float32)
    want = interpret(module, [x])["y"]
    run("glow-set-machine{l2-bytes=1},glow-pack-weights", module)
    name = "glow_cpu.sparse_vector_matmul"
    assert count(module)[name] == 1
    np.testing.assert_allclose(interpret(module, [x])["y"], want, rtol=1e-4, atol=1e-5)
    run("glow-lower-nodes{backend=none}", module)
    assert not count(module)[name]
    np.testing.assert_allclose(interpret(module, [x])["y"], want, rtol=1e-4, atol=1e-5)


def _product_in_a_loop(columns: int, inner: int, transposed: bool) -> str:
    """Returns a graph of the products of 20 matrices of 3 rows with one that the loop reads."""
    w = f"tensor<{columns}x{inner}xf32>" if transposed else f"tensor<{inner}x{columns}xf32>"
    x, y = f"tensor<20x3x{inner}xf32>", f"tensor<20x3x{columns}xf32>"
    row, product = f"tensor<3x{inner}xf32>", f"tensor<3x{columns}xf32>"
    return f"""
    func.func @main(%x: {x} {{glow.name = "x"}}, %w: {w} {{glow.name = "w"}})
        -> ({y} {{glow.name = "y"}}) {{
      %r, %n = glow.loop reads(%x, %w) steps 20 : ({x}, {w}) -> ({y}, tensor<i32>) {{
      ^bb0(%i: tensor<i64>, %0: {x}, %1: {w}):
        %2 = glow.gather %0, %i axis 0 : ({x}, tensor<i64>) -> {row}
        %3 = glow.matmul %2, %1 transpose_rhs {str(transposed).lower()} : ({row}, {w}) -> {product}
        glow.yield %3 : {product}
      }}
      func.return %r : {y}
    }}"""


@pytest.mark.parametrize("precision", ["f32", "bf16"])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("columns", "inner"), [(33, 17), (80, 34), (49, 2)])
def test_matrices_that_loops_read_keep_results(
    columns: int, inner: int, transposed: bool, precision: str, rng: np.random.Generator
):
    text = _product_in_a_loop(columns, inner, transposed)
    x = rng.standard_normal((20, 3, inner)).astype(np.float32)
    w = rng.standard_normal((columns, inner) if transposed else (inner, columns))
    w = w.astype(np.float32)
    try:
        model = glow.compile(parse(text), precision=precision)
    except GlowError as error:
        pytest.skip(str(error))
    (found,) = model.run(None, {"x": x, "w": w})
    # rows in pairs are rounded
    if precision == "bf16" and inner % 2 == 0:
        x, w = (a.astype(BFLOAT16).astype(np.float32) for a in (x, w))
        assert count(model.stages["rounded"])["glow_cpu.dot_matmul"] == 1
    np.testing.assert_allclose(found, x @ (w.T if transposed else w), rtol=1e-5, atol=1e-5)
