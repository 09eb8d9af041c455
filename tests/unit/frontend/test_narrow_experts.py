"""Experts and products with narrow weights, and routers, as onnxruntime defines them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import glow
import numpy as np
import pytest
from glow.errors import ModelError, UnsupportedError
from glow.frontend.onnx import import_onnx
from glow.semantics.narrow_weights import unpacked

from .onnxruntime_cases import Case, check_known, floats

# mixtures of experts


def _packed(numbers: np.ndarray, bits: int) -> np.ndarray:
    """Returns numbers of a few bits in bytes, the first ones in the lowest bits."""
    per = 8 // bits
    missing = [(0, 0)] * (numbers.ndim - 1) + [(0, -numbers.shape[-1] % per)]
    apart = np.pad(numbers, missing).reshape(*numbers.shape[:-1], -1, per).astype(np.uint8)
    return np.bitwise_or.reduce(apart << np.arange(0, 8, bits, dtype=np.uint8), axis=-1)


def _experts(
    rng: np.random.Generator,
    tokens: int,
    sizes: tuple[int, int, int],
    bits: int,
    options: str = "",
    **attributes: Any,
) -> Case:
    """
    Returns a mixture of experts with `sizes` inputs, hidden elements, and experts. The options are
    b for biases, z for zero points, and s for shares of their own.
    """
    width, hidden, experts = sizes
    parts = 2 if attributes.get("swiglu_fusion") else 1
    inputs = {"x": floats(rng, tokens, width), "r": floats(rng, tokens, experts)}
    weights: dict[str, np.ndarray] = {}
    block = attributes.get("block_size", 0)
    for n, outputs, size in ((1, parts * hidden, width), (2, width, hidden)):
        codes = rng.integers(0, 2**bits, (experts, outputs, size))
        of_scales = (experts, outputs, size // block) if block else (experts, outputs)
        scales = (rng.random(of_scales) + 0.5) / 2**bits
        weights |= {f"w{n}": _packed(codes, bits), f"s{n}": scales.astype(np.float32)}
        if "b" in options:
            weights[f"b{n}"] = floats(rng, experts, outputs)
        if "z" in options:
            weights[f"z{n}"] = _packed(rng.integers(0, 2**bits, of_scales), bits)
    order = ["x", "r", *(f"{kind}{n}" for n in (1, 2, 3) for kind in "wsb"), "z1", "z2", "z3"]
    order = [name if name in {**inputs, **weights} else "" for name in order]
    if "s" in options:
        inputs["a"] = np.abs(floats(rng, tokens, experts))
        order.append("a")
    given = {"k": 2, "expert_weight_bits": bits, **attributes}
    return Case("QMoE", inputs, weights, order=order, attributes=given)


_GATED = {"activation_type": "swiglu", "swiglu_fusion": 1}


@pytest.mark.parametrize(
    ("tokens", "sizes", "bits", "options", "attributes"),
    [
        (5, (8, 24, 4), 2, "b", {}),
        (5, (6, 10, 4), 4, "", {"activation_type": "silu"}),
        (5, (7, 13, 3), 8, "bz", {"normalize_routing_weights": 1, "k": 1}),
        (1, (32, 64, 5), 2, "z", {"block_size": 16}),
        (5, (32, 96, 5), 4, "bz", {"block_size": 32, "weights_prepacked": 0}),
        (71, (32, 48, 3), 4, "bz", {"block_size": 16, "activation_alpha": 1.7, **_GATED}),
        (90, (32, 48, 3), 2, "z", {"block_size": 16}),
        (90, (32, 40, 3), 4, "b", {}),
        (70, (16, 32, 3), 8, "", {"activation_type": "silu"}),
        (5, (8, 12, 5), 4, "z", _GATED),
        (5, (32, 32, 5), 4, "s", {"block_size": 32}),
        (5, (32, 32, 5), 4, "s", {"block_size": 32, "normalize_routing_weights": 1}),
    ],
)
def test_experts_with_narrow_weights(
    tokens: int,
    sizes: tuple[int, int, int],
    bits: int,
    options: str,
    attributes: dict[str, Any],
    rng: np.random.Generator,
) -> None:
    check_known(_experts(rng, tokens, sizes, bits, options, **attributes))


def test_experts_with_blocks_of_8_bits(rng: np.random.Generator) -> None:
    """Compares roughly: onnxruntime rounds inputs of such experts to 8 bits."""
    check_known(_experts(rng, 5, (32, 64, 4), 8, "bz", block_size=32), tolerance=0.02)


def test_widths_of_layers_differ(rng: np.random.Generator) -> None:
    """Compares with layers of one width, as onnxruntime has those of two on GPUs only."""
    case = _experts(rng, 5, (8, 24, 4), 4)
    (wanted,) = glow.compile(case.model(), cache=False).run(None, dict(case.inputs))
    wide = unpacked(case.weights["w2"], 4) - 8 + 128
    weights = {**case.weights, "w2": wide.astype(np.uint8)}
    given = {**case.attributes, "fc2_expert_weight_bits": 8}
    other = replace(case, weights=weights, attributes=given)
    (found,) = glow.compile(other.model(), cache=False).run(None, dict(case.inputs))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


def test_the_weights_of_experts_stay_packed(rng: np.random.Generator) -> None:
    case = _experts(rng, 5, (32, 64, 4), 4, "z", block_size=32)
    text = str(import_onnx(case.model()))
    assert "tensor<4x64x1x16xui8>" in text
    assert "tensor<4x64x32xf32>" not in text


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"quant_type": "fp8"}, UnsupportedError, "quant_type 'fp8'"),
        ({"weights_prepacked": 1}, UnsupportedError, "weights_prepacked=1"),
        ({"fc1_expert_weight_bits": 3}, UnsupportedError, "experts with weights of 3 bits"),
        ({"fc1_expert_weight_bits": 8}, ModelError, "weights of 8 bits for 8 inputs"),
        ({"block_size": 5}, ModelError, "8 inputs in blocks, found block_size=5"),
        ({"k": 5}, ModelError, "4 experts, of which k=5"),
    ],
)
def test_narrow_experts_that_are_refused(
    given: dict[str, Any], error: type[Exception], message: str, rng: np.random.Generator
) -> None:
    case = _experts(rng, 3, (8, 6, 4), 4)
    model = replace(case, attributes={**case.attributes, **given}).model()
    with pytest.raises(error, match=message):
        glow.compile(model, backend="interpreter")


# routers


@pytest.mark.parametrize(
    ("rows", "attributes"),
    [
        ((5,), {"top_k": 2}),
        ((2, 3), {"top_k": 3, "n_group": 4, "topk_group": 2}),
        ((7,), {"top_k": 4, "n_group": 4, "topk_group": 2, "group_topk": 5}),
        ((1,), {"top_k": 4, "n_group": 3, "topk_group": 1, "group_topk": 1}),
        ((5,), {"top_k": 4, "n_group": 4, "topk_group": 1, "router_sentinel": -3.0}),
    ],
)
def test_router_of_groups(
    rows: Sequence[int], attributes: dict[str, Any], rng: np.random.Generator
) -> None:
    inputs, weights = {"x": floats(rng, *rows, 12)}, {"b": floats(rng, 12)}
    check_known(Case("MoEGroupRouter", inputs, weights, attributes=attributes))


@pytest.mark.parametrize("projected", [False, True])
def test_scores_of_all_experts(projected: bool, rng: np.random.Generator) -> None:
    inputs, weights = {"x": floats(rng, 5, 256 if projected else 12)}, {"b": floats(rng, 12)}
    if projected:
        weights["p"] = floats(rng, 12, 256) * np.float32(0.1)
    case = Case("MoEGroupRouter", inputs, weights, outputs=("", "s", "w"), attributes={"top_k": 2})
    if not projected:
        check_known(case)
        return
    # onnxruntime has projections on GPUs only
    wanted = 1 / (1 + np.exp(-inputs["x"] @ weights["p"].T))
    found = glow.compile(case.model(), cache=False).run(None, inputs)
    np.testing.assert_allclose(found[0], wanted + weights["b"], rtol=0, atol=1e-5)
    np.testing.assert_allclose(found[1], wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_group": 5}, "12 experts in groups, found n_group=5"),
        ({"top_k": 13}, "a choice of 1 to 12, found 13"),
        ({"n_group": 3, "topk_group": 4}, "a choice of 1 to 3, found 4"),
    ],
)
def test_routers_that_are_refused(
    given: dict[str, int], message: str, rng: np.random.Generator
) -> None:
    inputs, weights = {"x": floats(rng, 5, 12)}, {"b": floats(rng, 12)}
    case = Case("MoEGroupRouter", inputs, weights, attributes={"top_k": 2, **given})
    with pytest.raises(ModelError, match=message):
        glow.compile(case.model(), backend="interpreter")


# products


def _product(
    rng: np.random.Generator, kind: int, rows: int, columns: int, block: int, trans: int
) -> Case:
    """Returns a product with a matrix of FP4 or NF4."""
    count = rows * columns
    weights = {
        "b": rng.integers(0, 256, (count + 1) // 2).astype(np.uint8),
        "m": (rng.random(-(-count // block)) + 0.2).astype(np.float32),
    }
    given = {"quant_type": kind, "N": rows, "K": columns, "block_size": block, "transB": trans}
    x = floats(rng, 2, 3, columns if trans else rows)
    return Case("MatMulBnb4", {"x": x}, weights, attributes=given)


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize(("rows", "columns", "block"), [(8, 32, 16), (7, 48, 32), (5, 33, 16)])
def test_product_with_codes(
    kind: int, rows: int, columns: int, block: int, rng: np.random.Generator
) -> None:
    check_known(_product(rng, kind, rows, columns, block, 1))


def test_product_with_codes_as_they_are(rng: np.random.Generator) -> None:
    """Compares both orders with each other: onnxruntime's CPU code (1.32) ignores `transB`."""
    case = _product(rng, 1, 5, 40, 32, 0)
    x = case.inputs["x"]
    (found,) = glow.compile(case.model(), cache=False).run(None, {"x": x})
    unit = {"x": np.eye(40, dtype=np.float32)}
    other = replace(case, inputs=unit, attributes={**case.attributes, "transB": 1})
    (matrix,) = glow.compile(other.model(), cache=False).run(None, unit)
    np.testing.assert_allclose(found, x @ matrix.T, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"quant_type": 2}, "quant_type 0 or 1"),
        ({"N": 9}, "9x32 codes and magnitudes of blocks of 16"),
    ],
)
def test_products_with_codes_that_are_refused(
    given: dict[str, int], message: str, rng: np.random.Generator
) -> None:
    case = _product(rng, 0, 8, 32, 16, 1)
    model = replace(case, attributes={**case.attributes, **given}).model()
    with pytest.raises(ModelError, match=message):
        glow.compile(model, backend="interpreter")
