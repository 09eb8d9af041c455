"""Kernels that compute as many rows as a call has."""

from __future__ import annotations

import glow
import numpy as np
import pytest
from glow.runtime.interpreter import interpret
from glow.tests.support.graph_text import parse, run
from glow.tests.support.oracle import close

M = 37
"""
The largest number of rows, in the texts below. Nothing else has the size, and twice as many are
those of two texts.
"""
GRAPHS = {
    "a vector along the rows": """
  %e = glow.exp %x : (tensor<5x37xf32>) -> tensor<5x37xf32>
  %y = glow.add %e, %x : (tensor<5x37xf32>, tensor<5x37xf32>) -> tensor<5x37xf32>
""",
    "a transpose": """
  %e = glow.transpose %x permutation [1, 0] : (tensor<5x37xf32>) -> tensor<37x5xf32>
  %s = glow.softmax %e axis 1 : (tensor<37x5xf32>) -> tensor<37x5xf32>
  %y = glow.transpose %s permutation [1, 0] : (tensor<37x5xf32>) -> tensor<5x37xf32>
""",
    "softmax over rows": """
  %y = glow.softmax %x axis 1 : (tensor<5x37xf32>) -> tensor<5x37xf32>
""",
    "sums, the largest number and a product": """
  %s = glow.reduce_sum %x axes [1] keep_dims true : (tensor<5x37xf32>) -> tensor<5x1xf32>
  %l = glow.reduce_max %x axes [1] keep_dims true : (tensor<5x37xf32>) -> tensor<5x1xf32>
  %p = glow.reduce_prod %x axes [1] keep_dims true : (tensor<5x37xf32>) -> tensor<5x1xf32>
  %a = glow.add %s, %l : (tensor<5x1xf32>, tensor<5x1xf32>) -> tensor<5x1xf32>
  %c = glow.add %a, %p : (tensor<5x1xf32>, tensor<5x1xf32>) -> tensor<5x1xf32>
  %b = glow.broadcast %c : (tensor<5x1xf32>) -> tensor<5x37xf32>
  %y = glow.mul %x, %b : (tensor<5x37xf32>, tensor<5x37xf32>) -> tensor<5x37xf32>
""",
    "scores and means": """
  %t = glow.transpose %x permutation [1, 0] : (tensor<5x37xf32>) -> tensor<37x5xf32>
  %s = glow.matmul %t, %x : (tensor<37x5xf32>, tensor<5x37xf32>) -> tensor<37x37xf32>
  %p = glow.softmax %s axis 1 : (tensor<37x37xf32>) -> tensor<37x37xf32>
  %z = glow.matmul %p, %t : (tensor<37x37xf32>, tensor<37x5xf32>) -> tensor<37x5xf32>
  %y = glow.transpose %z permutation [1, 0] : (tensor<37x5xf32>) -> tensor<5x37xf32>
""",
    "a norm and products": """
  %t = glow.transpose %x permutation [1, 0] : (tensor<5x37xf32>) -> tensor<37x5xf32>
  %a = glow.splat value 0.5 : tensor<5xf32>
  %n = glow.layer_norm %t, %a, %a axis 1 epsilon 0.001 : (tensor<37x5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<37x5xf32>
  %w = glow.splat value 0.25 : tensor<5x70xf32>
  %h = glow.matmul %n, %w : (tensor<37x5xf32>, tensor<5x70xf32>) -> tensor<37x70xf32>
  %g = glow.gelu %h : (tensor<37x70xf32>) -> tensor<37x70xf32>
  %v = glow.splat value -0.125 : tensor<70x5xf32>
  %o = glow.matmul %g, %v : (tensor<37x70xf32>, tensor<70x5xf32>) -> tensor<37x5xf32>
  %r = glow.add %o, %t : (tensor<37x5xf32>, tensor<37x5xf32>) -> tensor<37x5xf32>
  %y = glow.transpose %r permutation [1, 0] : (tensor<37x5xf32>) -> tensor<5x37xf32>
""",  # noqa: E501
    "a product of two matrices, of which one is packed": """
  %t = glow.transpose %x permutation [1, 0] : (tensor<5x37xf32>) -> tensor<37x5xf32>
  %v = glow.splat value 0.25 : tensor<5x300xf32>
  %h = glow.matmul %t, %v : (tensor<37x5xf32>, tensor<5x300xf32>) -> tensor<37x300xf32>
  %s = glow.reduce_sum %x axes [1] keep_dims true : (tensor<5x37xf32>) -> tensor<5x1xf32>
  %b = glow.broadcast %s : (tensor<5x1xf32>) -> tensor<5x60xf32>
  %u = glow.splat value 0.5 : tensor<300x5xf32>
  %w = glow.matmul %u, %b : (tensor<300x5xf32>, tensor<5x60xf32>) -> tensor<300x60xf32>
  %p = glow.matmul %h, %w : (tensor<37x300xf32>, tensor<300x60xf32>) -> tensor<37x60xf32>
  %l = glow.reduce_max %p axes [1] : (tensor<37x60xf32>) -> tensor<37xf32>
  %m = glow.reshape %l : (tensor<37xf32>) -> tensor<1x37xf32>
  %c = glow.broadcast %m : (tensor<1x37xf32>) -> tensor<5x37xf32>
  %y = glow.mul %x, %c : (tensor<5x37xf32>, tensor<5x37xf32>) -> tensor<5x37xf32>
""",
    "texts that are one dimension": """
  %t = glow.transpose %x permutation [1, 0] : (tensor<5x37xf32>) -> tensor<37x5xf32>
  %r = glow.reshape %t : (tensor<37x5xf32>) -> tensor<1x37x5xf32>
  %e = glow.exp %r : (tensor<1x37x5xf32>) -> tensor<1x37x5xf32>
  %b = glow.concat %r, %e axis 0 : (tensor<1x37x5xf32>, tensor<1x37x5xf32>) -> tensor<2x37x5xf32>
  %w = glow.splat value 0.5 : tensor<5x9xf32>
  %f = glow.reshape %b : (tensor<2x37x5xf32>) -> tensor<74x5xf32>
  %p = glow.matmul %f, %w : (tensor<74x5xf32>, tensor<5x9xf32>) -> tensor<74x9xf32>
  %s = glow.softmax %p axis 1 : (tensor<74x9xf32>) -> tensor<74x9xf32>
  %g = glow.reshape %s : (tensor<74x9xf32>) -> tensor<2x37x9xf32>
  %m = glow.reduce_sum %g axes [0, 2] : (tensor<2x37x9xf32>) -> tensor<37xf32>
  %n = glow.reshape %m : (tensor<37xf32>) -> tensor<1x37xf32>
  %c = glow.broadcast %n : (tensor<1x37xf32>) -> tensor<5x37xf32>
  %y = glow.mul %x, %c : (tensor<5x37xf32>, tensor<5x37xf32>) -> tensor<5x37xf32>
""",
    "rows of images": """
  %t = glow.transpose %x permutation [1, 0] : (tensor<5x37xf32>) -> tensor<37x5xf32>
  %k = glow.reshape %t : (tensor<37x5xf32>) -> tensor<37x5x1x1xf32>
  %a = glow.attention %k, %k, %k scale 0.5 : (tensor<37x5x1x1xf32>, tensor<37x5x1x1xf32>, tensor<37x5x1x1xf32>) -> tensor<37x5x1x1xf32>
  %q = glow.reshape %a : (tensor<37x5x1x1xf32>) -> tensor<37x5x1xf32>
  %v = glow.splat value 1.5 : tensor<1xf32>
  %n = glow.layer_norm %q, %v, %v axis 2 epsilon 0.001 : (tensor<37x5x1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<37x5x1xf32>
  %z = glow.add %q, %n : (tensor<37x5x1xf32>, tensor<37x5x1xf32>) -> tensor<37x5x1xf32>
  %r = glow.reshape %z : (tensor<37x5x1xf32>) -> tensor<37x5xf32>
  %y = glow.transpose %r permutation [1, 0] : (tensor<37x5xf32>) -> tensor<5x37xf32>
""",  # noqa: E501
    "attention": """
  %t = glow.transpose %x permutation [1, 0] : (tensor<5x37xf32>) -> tensor<37x5xf32>
  %k = glow.reshape %t : (tensor<37x5xf32>) -> tensor<1x37x1x5xf32>
  %v = glow.exp %k : (tensor<1x37x1x5xf32>) -> tensor<1x37x1x5xf32>
  %a = glow.attention %k, %k, %v scale 0.5 : (tensor<1x37x1x5xf32>, tensor<1x37x1x5xf32>, tensor<1x37x1x5xf32>) -> tensor<1x37x1x5xf32>
  %r = glow.reshape %a : (tensor<1x37x1x5xf32>) -> tensor<37x5xf32>
  %y = glow.transpose %r permutation [1, 0] : (tensor<37x5xf32>) -> tensor<5x37xf32>
""",  # noqa: E501
}


def graph(name: str, rows: int) -> str:
    text = f"""
func.func @main(%x: tensor<5x37xf32> {{glow.name = "x"}}) -> (tensor<5x37xf32> {{glow.name = "y"}}) {{
{GRAPHS[name]}
  func.return %y : tensor<5x37xf32>
}}
"""  # noqa: E501
    return text.replace(str(M), str(rows)).replace(str(2 * M), str(2 * rows))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", GRAPHS)
def test_rows_of_a_call(rng: np.random.Generator, name: str, threads: int):
    """
    Memory behind the rows of a call does not matter, though it has NaN in it. The inputs are
    positive, because products of sums that nearly cancel are not known to 1e-5.
    """
    module = run('glow-limit-rows{rows="x=1" count=n}', parse(graph(name, M)))
    model = glow.compile(module, threads=threads)
    for rows in (M, 1, 2, 7, 16, 17, 33, 36):
        x = np.full((5, M), np.nan, np.float32)
        x[:, :rows] = rng.uniform(0.5, 1.5, (5, rows))
        want = interpret(parse(graph(name, rows)), [np.ascontiguousarray(x[:, :rows])])["y"]
        (got,) = model(x, np.array(rows, np.int64))
        close(got[:, :rows], want)


@pytest.mark.parametrize("threads", [1, 2])
def test_all_numbers_of_rows(rng: np.random.Generator, threads: int):
    """The last tiles of a loop have each size, alone and behind full tiles."""
    name = "a norm and products"
    module = run('glow-limit-rows{rows="x=1" count=n}', parse(graph(name, M)))
    model = glow.compile(module, threads=threads)
    x = rng.standard_normal((5, M)).astype(np.float32)
    # each row by itself
    want = interpret(parse(graph(name, M)), [x])["y"]
    for rows in range(1, M + 1):
        given = np.full((5, M), np.nan, np.float32)
        given[:, :rows] = x[:, :rows]
        (got,) = model(given, np.array(rows, np.int64))
        close(got[:, :rows], want[:, :rows])


@pytest.mark.parametrize("name", GRAPHS)
def test_nests_of_rows(rng: np.random.Generator, name: str):
    """The nests mean the same in numpy, whatever their schedules."""
    module = run('glow-limit-rows{rows="x=1" count=n}', parse(graph(name, M)))
    nests = run(
        "glow-lower-nodes,dce,glow-schedule-nodes,glow-irgen,glow-stack-ops,glow-allocate,"
        "glow-build-nests,glow-schedule-nests",
        module,
    )
    for rows in (M, 1, 5, 16, 19):
        x = np.full((5, M), np.nan, np.float32)
        x[:, :rows] = rng.uniform(0.5, 1.5, (5, rows))
        want = interpret(parse(graph(name, rows)), [np.ascontiguousarray(x[:, :rows])])["y"]
        got = interpret(nests, [x, np.array(rows, np.int64)])["y"]
        close(got[:, :rows], want)


@pytest.mark.parametrize("rows", [-3, 0, M + 1, 10**6])
def test_wrong_numbers_of_rows_stay_in_memory(rng: np.random.Generator, rows: int):
    module = run('glow-limit-rows{rows="x=1" count=n}', parse(graph("a norm and products", M)))
    model = glow.compile(module, sanitize=True, cache=False)
    x = rng.standard_normal((5, M)).astype(np.float32)
    (got,) = model(x, np.array(rows, np.int64))
    if rows > M:
        close(got, interpret(parse(graph("a norm and products", M)), [x])["y"])
