"""Moving lanes and reducing vectors."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pytest
from glow.errors import CompileError
from glow.tests.support.kernels import Kernels, convert


def lanes_kernel(body: str, element: str = "f32", out: int = 8) -> str:
    """
    Returns `body` computes %r, a vector of `out` lanes, from %v, a vector of eight, and scalar %s.
    """
    return f"""
    func.func @f(%x: memref<8x{element}>, %y: memref<{out}x{element}>) {{
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %v = vector.load %x[%c0] : memref<8x{element}>, vector<8x{element}>
      %s = memref.load %x[%c2] : memref<8x{element}>
      {body}
      vector.store %r, %y[%c0] : memref<{out}x{element}>, vector<{out}x{element}>
      return
    }}"""


MOVES: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "broadcast": (
        "%r = vector.broadcast %s : f32 to vector<8xf32>",
        lambda x: np.repeat(x[2], 8),
    ),
    "broadcast of a constant": (
        """%k = arith.constant 1.5 : f32
        %r = vector.broadcast %k : f32 to vector<8xf32>""",
        lambda x: np.full(8, 1.5),
    ),
    "extract": (
        """%a = vector.extract %v[5] : f32 from vector<8xf32>
        %r = vector.broadcast %a : f32 to vector<8xf32>""",
        lambda x: np.repeat(x[5], 8),
    ),
    "shuffle": (
        """%w = arith.addf %v, %v : vector<8xf32>
        %r = vector.shuffle %v, %w [0, 15, 1, 14, 2, 13, 3, 12] : vector<8xf32>, vector<8xf32>""",
        lambda x: np.concatenate([x, 2 * x])[[0, 15, 1, 14, 2, 13, 3, 12]],
    ),
    "bitcast": (
        """%b = vector.bitcast %v : vector<8xf32> to vector<32xi8>
        %r = vector.bitcast %b : vector<32xi8> to vector<8xf32>""",
        lambda x: x,
    ),
    "fma": (
        "%r = vector.fma %v, %v, %v : vector<8xf32>",
        lambda x: x * x + x,
    ),
}


@pytest.mark.parametrize("move", MOVES)
def test_lanes_are_moved(move: str, rng: np.random.Generator):
    body, oracle = MOVES[move]
    x = rng.standard_normal(8).astype(np.float32)
    y = np.zeros(8, np.float32)
    Kernels(lanes_kernel(body)).f(x, y)
    np.testing.assert_allclose(y, oracle(x), rtol=1e-6, atol=1e-6)


REDUCTIONS = {"add": np.sum, "mul": np.prod, "maximumf": np.max, "minimumf": np.min}


@pytest.mark.parametrize("kind", REDUCTIONS)
@pytest.mark.parametrize(("element", "dtype"), [("f32", np.float32), ("f64", np.float64)])
def test_reductions(kind: str, element: str, dtype: type, rng: np.random.Generator):
    body = f"""
      %p = vector.reduction <{kind}>, %v : vector<8x{element}> into {element}
      %r = vector.broadcast %p : {element} to vector<8x{element}>"""
    x, y = rng.standard_normal(8).astype(dtype), np.zeros(8, dtype)
    Kernels(lanes_kernel(body, element)).f(x, y)
    np.testing.assert_allclose(y, np.repeat(REDUCTIONS[kind](x), 8), rtol=1e-5)


def test_reassociation_is_only_allowed_where_the_operation_allows_it():
    def flags(reduction: str) -> str:
        body = f"%a = {reduction}\n %r = vector.broadcast %a : f32 to vector<8xf32>"
        return str(convert(lanes_kernel(body)))

    ordered = flags("vector.reduction <add>, %v : vector<8xf32> into f32")
    free = flags("vector.reduction <add>, %v fastmath<reassoc> : vector<8xf32> into f32")
    assert "reassoc" not in ordered
    assert "#llvm.fastmath<reassoc>" in free


def test_products_may_be_fused_unless_forbidden():
    body = "%p = arith.mulf %v, %v : vector<8xf32>\n %r = arith.addf %p, %v : vector<8xf32>"
    text = lanes_kernel(body)
    assert str(convert(text)).count("#llvm.fastmath<contract>") == 2
    assert "contract" not in str(convert(text, contract=False))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%q = vector.reduction <maxsi>, %v : vector<8xf32> into f32", "does not reduce"),
        ("%q = vector.reduction <add>, %v, %s : vector<8xf32> into f32", "does not reduce"),
        ("%q = vector.extract %v[%c2] : f32 from vector<8xf32>", "expected one position"),
        ("%q = vector.broadcast %v : vector<8xf32> to vector<2x8xf32>", "no counterpart"),
        ("%q = vector.broadcast %v : vector<8xf32> to vector<8xf32>", "expected a scalar"),
        (
            """%h = vector.shuffle %v, %v [4, 5, 6] : vector<8xf32>, vector<8xf32>
            %q = vector.shuffle %h, %v [7, 0] : vector<3xf32>, vector<8xf32>""",
            "expected vectors of one length",
        ),
    ],
)
def test_vectors_that_cannot_be_converted(body: str, message: str):
    with pytest.raises(CompileError, match=message):
        convert(lanes_kernel(body + "\n %r = arith.addf %v, %v : vector<8xf32>"))


def test_long_vectors(rng: np.random.Generator):
    n = 64
    text = f"""
    func.func @f(%x: memref<{n}xf32>, %y: memref<1xf32>) {{
      %c0 = arith.constant 0 : index
      %v = vector.load %x[%c0] : memref<{n}xf32>, vector<{n}xf32>
      %s = vector.reduction <maximumf>, %v : vector<{n}xf32> into f32
      memref.store %s, %y[%c0] : memref<1xf32>
      return
    }}"""
    x = rng.standard_normal(n).astype(np.float32)
    y = np.zeros(1, np.float32)
    Kernels(text).f(x, y)
    assert y[0] == functools.reduce(max, x)
