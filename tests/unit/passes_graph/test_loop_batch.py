"""Batches of any size up to a maximum in one program."""

from __future__ import annotations

import glow
import numpy as np
import pytest
from glow.errors import CompileError
from glow.runtime.interpreter import interpret
from glow.tests.support.graph_text import parse, run
from glow.tests.support.oracle import close

GRAPH = """
func.func @main(%x: tensor<5x3x7x11xf32> {glow.name = "x"}) -> (tensor<5x13xf32> {glow.name = "y"}) {
  %w = glow.splat value 0.25 : tensor<7x3x3x3xf32>
  %b = glow.splat value -0.5 : tensor<7xf32>
  %m = glow.splat value 0.125 : tensor<231x13xf32>
  %c = glow.convolution %x, %w, %b pads [0, 1, 0, 1] : (tensor<5x3x7x11xf32>, tensor<7x3x3x3xf32>, tensor<7xf32>) -> tensor<5x7x5x11xf32>
  %r = glow.relu %c : (tensor<5x7x5x11xf32>) -> tensor<5x7x5x11xf32>
  %p = glow.slice %r sizes [5, 7, 3, 11] : (tensor<5x7x5x11xf32>) -> tensor<5x7x3x11xf32>
  %f = glow.reshape %p : (tensor<5x7x3x11xf32>) -> tensor<5x231xf32>
  %l = glow.matmul %f, %m : (tensor<5x231xf32>, tensor<231x13xf32>) -> tensor<5x13xf32>
  %k = glow.splat value 0.5 : tensor<5x13xf32>
  %y = glow.add %l, %k : (tensor<5x13xf32>, tensor<5x13xf32>) -> tensor<5x13xf32>
  func.return %y : tensor<5x13xf32>
}
"""  # noqa: E501


@pytest.mark.parametrize(("backend", "threads"), [("cpu", 1), ("cpu", 2), ("interpreter", 1)])
def test_a_program_runs_batches_of_all_sizes(rng: np.random.Generator, backend: str, threads: int):
    """Results are those of the whole batch for the images that are there, and 0 behind them."""
    module = parse(GRAPH)
    x = rng.standard_normal((5, 3, 7, 11)).astype(np.float32)
    want = interpret(module, [x])["y"]
    module = run("glow-loop-batch{count=n}", module)
    model = glow.compile(module, backend=backend, threads=threads)
    for size in (3, 5, 0, 1, 9):
        (got,) = model(x=x, n=np.array(size, np.int64))
        there = min(size, 5)
        close(got[:there], want[:there])
        assert not got[there:].any()


ROWS = """
func.func @main(%x: tensor<5x3x8xf32>) -> tensor<5x3x7xf32> {
  %w = glow.splat value 0.25 : tensor<8x7xf32>
  %k = glow.splat value 0.5 : tensor<15x7xf32>
  %r = glow.reshape %x : (tensor<5x3x8xf32>) -> tensor<15x8xf32>
  %s = glow.softmax %r axis 1 : (tensor<15x8xf32>) -> tensor<15x8xf32>
  %m = glow.matmul %s, %w : (tensor<15x8xf32>, tensor<8x7xf32>) -> tensor<15x7xf32>
  %a = glow.mul %m, %k : (tensor<15x7xf32>, tensor<15x7xf32>) -> tensor<15x7xf32>
  %p = glow.slice %a sizes [15, 5] : (tensor<15x7xf32>) -> tensor<15x5xf32>
  %q = glow.pad %p low [0, 0] high [0, 2] value 1.0 : (tensor<15x5xf32>) -> tensor<15x7xf32>
  %y = glow.reshape %q : (tensor<15x7xf32>) -> tensor<5x3x7xf32>
  func.return %y : tensor<5x3x7xf32>
}
"""


def test_images_of_several_rows(rng: np.random.Generator):
    """Dimension 0 may have the rows of all images, as exporters write products."""
    x = rng.standard_normal((5, 3, 8)).astype(np.float32)
    module = parse(ROWS)
    (want,) = interpret(module, [x]).values()
    model = glow.compile(run("glow-loop-batch", module), backend="interpreter")
    (got,) = model(x, np.array(4, np.int64))
    close(got[:4], want[:4])


@pytest.mark.parametrize(
    "nodes",
    [
        # rows of several images become columns of one row
        """%t = glow.transpose %r permutation [1, 0] : (tensor<5x10xf32>) -> tensor<10x5xf32>
        %y = glow.reshape %t : (tensor<10x5xf32>) -> tensor<5x10xf32>""",
        # the rows of some images only
        """%t = glow.reshape %r : (tensor<5x10xf32>) -> tensor<10x5xf32>
        %u = glow.slice %t sizes [5, 5] : (tensor<10x5xf32>) -> tensor<5x5xf32>
        %y = glow.concat %u, %u axis 1 : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x10xf32>""",
        # a sum over rows of all images
        """%t = glow.reshape %r : (tensor<5x10xf32>) -> tensor<10x5xf32>
        %u = glow.matmul %t, %r : (tensor<10x5xf32>, tensor<5x10xf32>) -> tensor<10x10xf32>
        %y = glow.slice %u sizes [5, 10] : (tensor<10x10xf32>) -> tensor<5x10xf32>""",
    ],
)
def test_rows_of_several_images(nodes: str):
    text = f"""func.func @main(%r: tensor<5x10xf32>) -> tensor<5x10xf32> {{
        {nodes}
        func.return %y : tensor<5x10xf32>
    }}"""
    with pytest.raises(CompileError, match="computes each of the 5 images by itself"):
        run("glow-loop-batch", parse(text))
