"""Embedding tables of bytes and of half bytes."""

from __future__ import annotations

import glow
import numpy as np
import pytest
from glow.context import make_context
from glow.errors import QuantizationError
from glow.quantization import Quantization, quantize
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

ROWS = 37


def lookups(table: np.ndarray) -> ModuleOp:
    """Returns two lookups of rows of a table, and one of elements of a narrow one."""
    rows, columns = table.shape
    text = f"""
    func.func @main(%i: tensor<5x3xi64> {{glow.name = "i"}}, %j: tensor<2xi64> {{glow.name = "j"}})
        -> (tensor<5x3x{columns}xf32> {{glow.name = "a"}},
            tensor<2x{columns}xf32> {{glow.name = "b"}}, tensor<2x1xf32> {{glow.name = "c"}}) {{
      %t = glow.constant dense<{table.tolist()}> : tensor<{rows}x{columns}xf32>
      %n = glow.constant dense<[[1.5], [2.5], [-0.5]]> : tensor<3x1xf32>
      %a = glow.gather %t, %i axis 0
        : (tensor<{rows}x{columns}xf32>, tensor<5x3xi64>) -> tensor<5x3x{columns}xf32>
      %b = glow.gather %t, %j axis 0
        : (tensor<{rows}x{columns}xf32>, tensor<2xi64>) -> tensor<2x{columns}xf32>
      %c = glow.gather %n, %j axis 0
        : (tensor<3x1xf32>, tensor<2xi64>) -> tensor<2x1xf32>
      func.return %a, %b, %c
        : tensor<5x3x{columns}xf32>, tensor<2x{columns}xf32>, tensor<2x1xf32>
    }}"""
    module = Parser(make_context(), text).parse_module()
    module.verify()
    return module


@pytest.mark.parametrize("columns", [8, 13, 30])
@pytest.mark.parametrize(("storage", "levels"), [("u8", 255), ("u4", 15)])
def test_rows_are_within_half_a_step(
    storage: str, levels: int, columns: int, rng: np.random.Generator
):
    # rows of very different sizes, one of them constant
    table = rng.standard_normal((ROWS, columns)).astype(np.float32)
    table *= 10.0 ** rng.uniform(-3, 3, (ROWS, 1)).astype(np.float32)
    table[5] = 0
    module = lookups(table)
    quantize(module, None, Quantization(embeddings=storage))
    module.verify()
    text = str(module)
    assert f"{ROWS}x{columns if storage == 'u8' else -(-columns // 2)}xui8" in text
    indices = [rng.integers(0, ROWS, (5, 3)), np.array([5, 2])]
    wanted = [table[i] for i in indices]
    for backend in ("interpreter", "cpu"):
        found = glow.compile(module, backend=backend, cache=False)(*indices)
        for a, b in zip(found[:2], wanted, strict=True):
            low, high = np.minimum(b, 0).min(-1), np.maximum(b, 0).max(-1)
            assert (np.abs(a - b).max(-1) <= (high - low) / levels * 0.501).all()
        np.testing.assert_array_equal(found[2], [[-0.5], [-0.5]])


def test_what_is_kept_and_what_is_wrong():
    table = np.ones((ROWS, 9), np.float32)
    module = lookups(table)
    before = str(module)
    quantize(module, None, Quantization(embeddings="u8", keep_float=("gather",)))
    assert str(module) == before
    quantize(module, None, Quantization(embeddings="u8", keep_float=("a",)))
    assert str(module).count("xui8>, tensor<2xi64>") == 1
    with pytest.raises(QuantizationError, match="expected embeddings of float, u8, u4"):
        Quantization(embeddings="i2")
