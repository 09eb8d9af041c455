"""Signal-to-noise ratios and agreement, computed again by definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from glow.errors import QuantizationError
from glow.quantization import (
    Comparison,
    compare_graphs,
    name_values,
    snr_db,
    top1_agreement,
    values_of,
)
from glow.tests.support.graph_text import parse, run


def test_ratio(rng: np.random.Generator) -> None:
    x = rng.standard_normal((3, 7, 5)).astype(np.float32)
    y = x + rng.standard_normal(x.shape).astype(np.float32) * np.float32(0.01)
    a, b = x.astype(np.float64), y.astype(np.float64)
    want = 10 * math.log10((a**2).sum() / ((a - b) ** 2).sum())
    assert snr_db(x, y) == pytest.approx(want)
    assert snr_db(x, x * np.float32(1.125)) == pytest.approx(20 * math.log10(8), abs=1e-3)


def test_limits_of_the_ratio() -> None:
    x = np.ones(3, np.float32)
    assert snr_db(x, x) == math.inf
    assert snr_db(0 * x, 0 * x) == math.inf
    assert snr_db(0 * x, x) == -math.inf
    assert snr_db(x, np.array([1, np.nan, 1], np.float32)) == -math.inf
    assert snr_db(np.array([1, np.inf]), np.array([1.0, 2.0])) == -math.inf
    strange = np.array([np.nan, np.inf, -np.inf, 2.0])
    assert snr_db(strange, strange) == math.inf
    assert snr_db(np.empty((0, 3)), np.empty((0, 3))) == math.inf


def test_agreement() -> None:
    a = np.array([[1.0, 3.0, 2.0], [5.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    b = np.array([[1.0, 3.0, 2.9], [5.0, 6.0, 1.0], [0.0, 0.0, 9.0]])
    assert top1_agreement(a, b) == pytest.approx(2 / 3)
    assert top1_agreement(np.array(3.0), np.array(4.0)) == 1.0


def test_sums_over_batches(rng: np.random.Generator) -> None:
    comparison = Comparison()
    runs = [
        ({"a": x, "b": 2 * x}, {"b": 2 * x + e, "a": x, "other": x})
        for x, e in (rng.standard_normal((2, 4, 3)) for _ in range(3))
    ]
    for reference, found in runs:
        comparison.add(reference, found)
    assert list(comparison.values) == ["a", "b"]
    assert comparison.values["a"].snr_db == math.inf
    b = comparison.values["b"]
    signal = np.concatenate([r["b"] for r, _ in runs])
    noise = np.concatenate([f["b"] for _, f in runs]) - signal
    assert b.snr_db == pytest.approx(10 * math.log10((signal**2).sum() / (noise**2).sum()))
    assert b.largest == pytest.approx(np.abs(noise).max())
    assert (b.elements, b.rows) == (36, 12)
    assert comparison.worst is b


def test_errors() -> None:
    comparison = Comparison()
    assert comparison.worst is None
    with pytest.raises(QuantizationError, match=r"'a': expected shape \(2,\), found \(3,\)"):
        comparison.add({"a": np.ones(2)}, {"a": np.ones(3)})
    with pytest.raises(QuantizationError, match="no value is in both runs"):
        comparison.add({"a": np.ones(2)}, {"b": np.ones(2)})


FLOAT = """
func.func @main(%x: tensor<3x4xf32> {glow.name = "x"}) -> (tensor<3x4xf32> {glow.name = "y"}) {
  %a = glow.tanh %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %a_1 = glow.exp %a : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %y = glow.neg %a_1 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}
"""
Q = "!quant.uniform<u8:f32, 0.0078125:128>"
QUANTIZED = f"""
func.func @main(%x: tensor<3x4xf32> {{glow.name = "x"}}) -> (tensor<3x4xf32> {{glow.name = "y"}}) {{
  %t = glow.tanh %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %a = glow.quantize %t : (tensor<3x4xf32>) -> tensor<3x4x{Q}>
  %d = glow.dequantize %a : (tensor<3x4x{Q}>) -> tensor<3x4xf32>
  %a_1 = glow.exp %d : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %y = glow.neg %a_1 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}}
"""


def test_graphs(rng: np.random.Generator) -> None:
    feeds = [{"x": rng.standard_normal((3, 4)).astype(np.float32)} for _ in range(2)]
    found = compare_graphs(parse(FLOAT), parse(QUANTIZED), feeds).values
    assert list(found) == ["x", "a", "a_1", "y"]
    x = np.concatenate([f["x"] for f in feeds])
    tanh = np.tanh(x.astype(np.float32))
    steps = np.clip(np.rint(tanh * 128), -128, 127) / 128
    assert found["x"].snr_db == math.inf
    assert found["a"].snr_db == pytest.approx(snr_db(tanh, steps), abs=1e-3)
    assert found["y"].snr_db == pytest.approx(snr_db(np.exp(tanh), np.exp(steps)), abs=1e-2)


def test_no_batches() -> None:
    with pytest.raises(QuantizationError, match="there are no data"):
        compare_graphs(parse(FLOAT), parse(QUANTIZED), [])


def test_names_survive_passes(rng: np.random.Generator) -> None:
    reference = parse(FLOAT)
    name_values(reference)
    changed = reference.clone()
    run("glow-lower-nodes{backend=none},canonicalize,cse,dce", changed)
    feed = {"x": rng.standard_normal((3, 4)).astype(np.float32)}
    want, found = values_of(reference, feed), values_of(changed, feed)
    assert list(want) == ["x", "a", "a_1", "y"]
    for name in want:
        assert np.allclose(found[name], want[name], rtol=1e-5)
    assert list(values_of(reference, feed, ["a_1"])) == ["a_1"]
