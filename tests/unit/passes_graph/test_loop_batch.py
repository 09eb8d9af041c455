"""Batches of any size up to a maximum in one program."""

from __future__ import annotations

import glow
import numpy as np
import pytest
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
