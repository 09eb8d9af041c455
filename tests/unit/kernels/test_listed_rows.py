"""Products at lists of places that lie in rows: tiles of a list are a loop."""

from __future__ import annotations

import numpy as np
import pytest
from glow.glow_dialects.glow_nest.affine import TableRows
from glow.glow_dialects.machine import MachineDescription
from glow.runtime.interpreter import interpret
from glow.tests.support.native import check_native, parse
from hypothesis import given
from hypothesis import strategies as st

MACHINE = MachineDescription(256, 16, True)
LANES, TERMS = 8, 11


@given(st.integers(1, 9), st.integers(1, 7), st.integers(-50, 50), st.integers(-9, 9), st.data())
def test_rows_of_a_table(size: int, rows: int, apart: int, step: int, data: st.DataObject):
    """The last row may be shorter."""
    count = max(1, size * rows - data.draw(st.integers(0, 8)))
    table = [i // size * apart + i % size * step for i in range(count)]
    found = TableRows.of(table)
    # a row of one element has no step
    assert found is not None or size == 1
    if found is not None:
        assert [found.place(i) for i in range(count)] == table


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=9))
def test_other_tables_have_no_rows(offsets: list[int]):
    table = [0, *offsets]
    found = TableRows.of(table)
    if found is not None:
        assert [found.place(i) for i in range(len(table))] == table


@pytest.mark.parametrize(
    ("height", "width", "parts"),
    [
        (3, 3, "0 to 8 by 4, 8 to 9 by 1"),
        (7, 7, "0 to 24 by 6, 24 to 49 by 5"),
        (5, 2, "0 to 10 by 5"),
        (1, 5, "0 to 4 by 2, 4 to 5 by 1"),
        (4, 1, "0 to 4 by 4"),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_products_at_listed_places(
    height: int, width: int, parts: str, threads: int, rng: np.random.Generator
):
    """The result is the inside of a padded image, and an operand of the body one of other rows."""
    count, padded = height * width, (height + 2) * (width + 2) * LANES
    pixels = [(i // width, i % width) for i in range(count)]
    written = [((r + 1) * (width + 2) + c + 1) * LANES for r, c in pixels]
    added = [(r * (width + 3) + c) * LANES for r, c in pixels]
    start = written[0]
    tables = [[place - start for place in written], added]
    types = {
        "x": f"{count * TERMS}xf32",
        "w": f"{TERMS * LANES}xf32",
        "r": f"{(width + 3) * height * LANES}xf32",
        "y": f"{padded}xf32",
    }
    given = ", ".join(
        f'%{name}: memref<{t}> {{glow.name = "{name}", glow.qualifier = "{q}"}}'
        for (name, t), q in zip(types.items(), ("in", "in", "in", "out"), strict=True)
    )
    parameters = ", ".join(f"%{name}: memref<{t}>" for name, t in types.items())
    text = f"""
glow_nest.kernel @k({parameters}) {{
  glow_nest.nest parallel(q: {padded}) writes(%y[q]) body {{
  ^bb0:
    %0 = glow.splat value 0 : f32
    glow_nest.yield %0 : f32
  }}
  glow_nest.nest parallel(p: {count}, o: {LANES}) reduce(t: {TERMS})
    add f32 of(%x[{TERMS} * p + t], %w[{LANES} * t + o]) reads(%r[o + {tables[1]}[p]])
    writes(%y[o + {start} + {tables[0]}[p]]) body {{
  ^bb0(%sum: f32, %more: f32):
    %0 = glow.add %sum, %more : (f32, f32) -> f32
    glow_nest.yield %0 : f32
  }} schedule<register_tile, order = [p, o], vector = o, lanes = {LANES}, reduced = [t],
     vectors = 1, parts = {{p: [{parts}]}}, listed = p>
}}
func.func @main({given}) attributes {{glow.arena_size = 0 : i64, glow.weights_size = 0 : i64}} {{
  glow_nest.call @k(@in %x, @in %w, @in %r, @out %y)
    : {", ".join(f"memref<{t}>" for t in types.values())}
  func.return
}}
"""
    sizes = [int(t.split("x")[0]) for t in types.values()][:3]
    x, w, r = (rng.standard_normal(n).astype(np.float32) for n in sizes)
    check_native(parse(text), [x, w, r], MACHINE, threads=threads)
    (found,) = interpret(parse(text), [x, w, r]).values()
    wanted = np.zeros((height + 2, width + 2, LANES))
    wanted[1:-1, 1:-1] = (x.reshape(count, TERMS) @ w.reshape(TERMS, LANES)).reshape(
        height, width, LANES
    ) + r.reshape(height, width + 3, LANES)[:, :width]
    np.testing.assert_allclose(found.reshape(wanted.shape), wanted, rtol=0, atol=1e-5)
