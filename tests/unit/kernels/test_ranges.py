"""Reductions whose loops have bounds in memory: bags of rows, rows of sparse matrices, segments."""

from __future__ import annotations

from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest
from glow.glow_dialects.glow.embedding import EmbeddingBagOp, FusedEmbeddingBagOp
from glow.glow_dialects.machine import MachineDescription
from glow.tests.support.native import check_native, parse
from glow.tests.support.operator_kernels import check
from glow.tests.support.oracle import run_node

COLUMNS = (1, 3, 17, 33, 128, 200)
ROWS, COUNT = 11, 150
"""The table, and more indices than are prefetched."""


def bags(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns indices, weights, and offsets of bags of which two are empty."""
    inner = np.sort(rng.integers(0, COUNT, 5))
    offsets = np.array([0, *inner[:3], *inner[2:], COUNT, COUNT])
    weights = rng.standard_normal(COUNT).astype(np.float32)
    return rng.integers(-ROWS, ROWS, COUNT), weights, offsets


def summed(rows: np.ndarray, indices: np.ndarray, weights: np.ndarray, offsets: np.ndarray):
    """Returns the sums of bags in f64."""
    products = rows.astype(np.float64)[indices] * weights[:, None].astype(np.float64)
    return np.stack([products[a:b].sum(0) for a, b in pairwise(offsets)])


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16], ids=["f32", "bf16"])
@pytest.mark.parametrize("columns", COLUMNS)
def test_bags(columns: int, dtype: type, rng: np.random.Generator):
    indices, weights, offsets = bags(rng)
    rows, weights = rng.standard_normal((ROWS, columns)).astype(dtype), weights.astype(dtype)
    check(EmbeddingBagOp, rows, indices, weights, offsets)
    found = run_node(EmbeddingBagOp, rows, indices, weights, offsets)
    wanted = summed(rows, indices, weights, offsets)
    tolerance = 1e-5 if dtype is np.float32 else 1e-2
    atol = tolerance * np.abs(wanted).max()
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=0, atol=atol)


@pytest.mark.parametrize(("bits", "half"), [(8, False), (4, True), (8, True), (4, False)])
@pytest.mark.parametrize("size", COLUMNS)
def test_fused_rows(size: int, bits: int, half: bool, rng: np.random.Generator):
    """The scale and the offset of a row lie at any place, also at odd ones."""
    indices, weights, offsets = bags(rng)
    packed = rng.integers(0, 256, (ROWS, size)).astype(np.uint8)
    ends = rng.standard_normal((ROWS, 2)).astype(np.float16 if half else np.float32)
    data = np.concatenate([packed, ends.view(np.uint8)], 1)
    operands = data, indices, weights, offsets
    check(FusedEmbeddingBagOp, *operands, bits=bits, half=half)
    numbers = packed if bits == 8 else np.stack([packed & 15, packed >> 4], -1).reshape(ROWS, -1)
    rows = numbers * ends[:, :1].astype(np.float64) + ends[:, 1:]
    wanted = summed(rows, indices, weights, offsets)
    found = run_node(FusedEmbeddingBagOp, *operands, bits=bits, half=half)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


def test_one_weight(rng: np.random.Generator):
    indices, weights, offsets = bags(rng)
    rows = rng.standard_normal((ROWS, 19)).astype(np.float32)
    check(EmbeddingBagOp, rows, indices, weights[:1], offsets)
    found = run_node(EmbeddingBagOp, rows, indices, weights[:1], offsets)
    wanted = summed(rows, indices, np.repeat(weights[:1], COUNT), offsets)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


def kernel(types: dict[str, str], loops: str, reduction: str) -> str:
    """Returns a program of one nest, whose result is `y` and whose other memrefs are inputs."""
    names = ", ".join(f"%{name}" for name in types)
    parameters = ", ".join(f"%{name}: memref<{t}>" for name, t in types.items())
    of = ", ".join(f"memref<{t}>" for t in types.values())
    given = ", ".join(
        f'%{name}: memref<{t}> {{glow.name = "{name}", glow.qualifier = "{qualifier}"}}'
        for (name, t), qualifier in zip(types.items(), ["in"] * 4 + ["out"], strict=True)
    )
    sizes = "{glow.arena_size = 0 : i64, glow.weights_size = 0 : i64}"
    passed = names.replace("%", "@in %").replace("@in %y", "@out %y")
    return f"""
glow_nest.kernel @k({parameters}) {{
  glow_nest.nest {loops} range t from %at[i] to %at[i + 1] {reduction}
}}
func.func @main({given}) attributes {sizes} {{
  glow_nest.call @k({passed}) : {of}
  func.return
}}
"""


REDUCTIONS = {
    "sparse product": "add f32 of(%x[{m} * index(%c[t], 23) + j], %v[t])",
    "segment maximum": "maximum f32 of(%x[{m} * index(%c[t], 23) + j])",
    "segment sum of one": "add f32 of(%v[t])",
}


@pytest.mark.parametrize("kind", ["i64", "i32"])
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("columns", [1, 19])
def test_reductions(columns: int, name: str, kind: str, rng: np.random.Generator):
    """Any reduction may have a range: products of sparse matrices, and segments."""
    types = {"at": f"38x{kind}", "c": "211xi32", "v": "211xf32"}
    types |= {"x": f"23x{columns}xf32", "y": f"37x{columns}xf32"}
    loops = f"parallel(i: 37, j: {columns}) reduce(t: 211)"
    writes = f" writes(%y[{columns} * i + j])"
    text = kernel(types, loops, REDUCTIONS[name].format(m=columns) + writes)
    offsets = np.sort(rng.integers(-3, 220, 38)).astype(np.int64 if kind == "i64" else np.int32)
    indices = rng.integers(0, 23, 211).astype(np.int32)
    values = rng.standard_normal(211).astype(np.float32)
    x = rng.standard_normal((23, columns)).astype(np.float32)
    arrays = [offsets, indices, values, x]
    for machine in (None, MachineDescription(128, 8, False)):
        check_native(parse(text), arrays, machine)
