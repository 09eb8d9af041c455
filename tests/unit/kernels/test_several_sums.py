"""Reductions whose map computes several values, each with a sum of its own."""

from __future__ import annotations

import numpy as np
import pytest
from glow.glow_dialects.machine import MachineDescription
from glow.runtime.interpreter import interpret
from glow.tests.support.native import check_native, parse

MACHINES = (None, MachineDescription(256, 16, True), MachineDescription(128, 8, False))


def program(rows: int, columns: int, size: int, read: str, write: str) -> str:
    """
    Returns a program of sums over `size` numbers of `x`, whose maps compute two values of it, and a
    third one of `s`, which is the same for all columns.
    """
    x, s, y = f"{rows * columns * size}xf32", f"{rows * size}xf32", f"{2 * rows * columns}xf32"
    given = ", ".join(
        f'%{name}: memref<{t}> {{glow.name = "{name}", glow.qualifier = "{qualifier}"}}'
        for name, t, qualifier in (("x", x, "in"), ("s", s, "in"), ("y", y, "out"))
    )
    return f"""
glow_nest.kernel @k(%x: memref<{x}>, %s: memref<{s}>, %y: memref<{y}>) {{
  glow_nest.nest parallel(i: {rows}, j: {columns}) reduce(t: {size})
    add f32 of(%x[{read}], %s[{size} * i + t]) values 3 map {{
  ^bb0(%a: f32, %b: f32):
    %0 = glow.mul %a, %b : (f32, f32) -> f32
    %1 = glow.mul %b, %b : (f32, f32) -> f32
    glow_nest.yield %a, %1, %0 : f32, f32, f32
  }} {write} body {{
  ^bb0(%sum: f32, %same: f32, %product: f32):
    %2 = glow.sub %product, %same : (f32, f32) -> f32
    %3 = glow.add %sum, %same : (f32, f32) -> f32
    glow_nest.yield %2, %3 : f32, f32
  }}
}}
func.func @main({given}) attributes {{glow.arena_size = 0 : i64, glow.weights_size = 0 : i64}} {{
  glow_nest.call @k(@in %x, @in %s, @out %y) : memref<{x}>, memref<{s}>, memref<{y}>
  func.return
}}
"""


WRITES = {
    "neighbours": "writes(%y[{two} * i + 2 * j], %y[{two} * i + 2 * j + 1])",
    "far apart": "writes(%y[{columns} * i + j], %y[{columns} * i + j + {half}])",
}
READS = {
    "along columns": "{row} * i + {columns} * t + j",
    "along terms": "{row} * i + {size} * j + t",
}


@pytest.mark.parametrize("machine", MACHINES, ids=str)
@pytest.mark.parametrize("written", WRITES)
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 37, 5), (2, 5, 67), (1, 64, 3)], ids=str)
def test_sums(
    shape: tuple[int, int, int],
    read: str,
    written: str,
    machine: MachineDescription | None,
    rng: np.random.Generator,
):
    """Lanes run over columns, or over the numbers that are added; results are records or not."""
    rows, columns, size = shape
    sizes = {"row": columns * size, "columns": columns, "size": size}
    sizes |= {"two": 2 * columns, "half": rows * columns}
    text = program(
        rows, columns, size, READS[read].format(**sizes), WRITES[written].format(**sizes)
    )
    x = rng.standard_normal(rows * columns * size).astype(np.float32)
    s = rng.standard_normal(rows * size).astype(np.float32)
    check_native(parse(text), [x, s], machine)
    (found,) = interpret(parse(text), [x, s]).values()
    terms, weights = x.reshape(rows, columns, size), s.reshape(rows, 1, size)
    if read == "along columns":
        terms = x.reshape(rows, size, columns).swapaxes(1, 2)
    same = (weights**2).sum(2, dtype=np.float64)
    first = (terms * weights).sum(2, dtype=np.float64) - same
    both = [first, terms.sum(2, dtype=np.float64) + same]
    wanted = np.stack(both, 2 if written == "neighbours" else 0).reshape(-1)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())
