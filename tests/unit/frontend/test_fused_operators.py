"""Operators of onnxruntime's own domain, with the numbers of onnxruntime in float."""

from __future__ import annotations

from dataclasses import replace

import glow
import ml_dtypes
import numpy as np
import pytest
from glow.errors import ModelError, UnsupportedError
from glow.lowering.target import find_target

from .onnxruntime_cases import Case, check, floats


def _activations(rng: np.random.Generator) -> list[Case]:
    x, bias = floats(rng, 2, 5, 7), floats(rng, 7)
    return [
        Case("Gelu", {"x": x}),
        Case("BiasGelu", {"x": x, "b": bias}),
        Case("FastGelu", {"x": x}),
        Case("FastGelu", {"x": x, "b": bias}),
        Case("QuickGelu", {"x": x}, attributes={"alpha": 1.3}),
    ]


def _products(rng: np.random.Generator) -> list[Case]:
    leaky = {"activation": "LeakyRelu", "activation_alpha": 0.3, "transB": 1}
    hard = {"activation": "HardSigmoid", "activation_alpha": 0.3, "activation_beta": 0.4}
    turned = {"transBatchA": 1, "transA": 1, "transBatchB": 1, "transB": 1}
    c = floats(rng, 4)
    return [
        Case("CDist", {"a": floats(rng, 5, 7), "b": floats(rng, 3, 7)}),
        Case(
            "CDist",
            {"a": floats(rng, 1, 5), "b": floats(rng, 4, 5)},
            attributes={"metric": "euclidean"},
        ),
        Case(
            "FusedMatMul",
            {"a": floats(rng, 3, 2, 4, 5), "b": floats(rng, 3, 2, 7, 5)},
            attributes={"transB": 1, "alpha": 0.3},
        ),
        Case(
            "FusedMatMul",
            {"a": floats(rng, 5, 3, 2, 4), "b": floats(rng, 7, 3, 2, 5)},
            attributes=turned,
        ),
        Case(
            "FusedGemm",
            {"a": floats(rng, 3, 5)},
            {"b": floats(rng, 4, 5), "c": c},
            attributes=leaky,
        ),
        Case(
            "FusedGemm",
            {"a": floats(rng, 3, 5), "b": floats(rng, 5, 4), "c": c},
            attributes={**hard, "alpha": 0.5},
        ),
    ]


def _convolutions(rng: np.random.Generator) -> list[Case]:
    x, w = floats(rng, 1, 3, 7, 6), floats(rng, 4, 3, 3, 3)
    clip = {"activation": "Clip", "activation_params": [-1.0, 1.0]}
    return [
        Case(
            "FusedConv",
            {"x": x, "z": floats(rng, 1, 4, 7, 6)},
            {"w": w, "b": floats(rng, 4)},
            order=["x", "w", "b", "z"],
            attributes={"pads": [1, 1, 1, 1], "activation": "Relu"},
        ),
        Case("FusedConv", {"x": x}, {"w": w}, attributes=clip),
        Case(
            "NhwcMaxPool",
            {"x": rng.integers(0, 256, (1, 7, 6, 3)).astype(np.uint8)},
            attributes={"kernel_shape": [2, 2], "strides": [2, 2]},
        ),
    ]


def _norms(rng: np.random.Generator) -> list[Case]:
    x, gamma, beta, bias = floats(rng, 2, 5, 8), floats(rng, 8), floats(rng, 8), floats(rng, 8)
    ids = rng.integers(0, 11, (2, 5)).astype(np.int32)
    tables = {"w": floats(rng, 11, 8), "p": floats(rng, 9, 8), "t": floats(rng, 3, 8)}
    ends = {"g": gamma, "b": beta}
    simple = {"domain": "", "attributes": {"epsilon": 1e-3}}
    return [
        Case("SimplifiedLayerNormalization", {"x": x, "g": gamma}, **simple),
        Case("SkipLayerNormalization", {"x": x, "s": floats(rng, 5, 8), "g": gamma}),
        Case(
            "SkipLayerNormalization",
            {"x": x, "s": floats(rng, 1, 5, 8), "g": gamma, "beta": beta, "bias": bias},
            outputs=["y", "", "", "sum"],
            attributes={"epsilon": 1e-5},
        ),
        Case(
            "SkipSimplifiedLayerNormalization",
            {"x": x, "s": floats(rng, 2, 5, 8), "g": gamma, "bias": bias},
            outputs=["y", "", "", "sum"],
        ),
        Case(
            "EmbedLayerNormalization",
            {"i": ids, "s": ids % 3},
            {**tables, **ends},
            outputs=["y", "kept", "sum"],
        ),
        Case(
            "EmbedLayerNormalization",
            {"i": ids, "m": ids % 2, "at": ids % 7},
            {**tables, **ends},
            order=["i", "", "w", "p", "", "g", "b", "m", "at"],
            outputs=["y", "kept"],
        ),
    ]


def _quantized(rng: np.random.Generator) -> list[Case]:
    """
    Returns cases with small bytes, because onnxruntime's products of two neighbours saturate on
    some machines.
    """
    w = rng.integers(-60, 61, (7, 5)).astype(np.int8)
    scales = np.abs(floats(rng, 5)) + np.float32(0.1)
    one, zero = np.array(0.1, np.float32), np.array(100, np.uint8)
    image = rng.integers(0, 256, (1, 6, 5, 3)).astype(np.uint8)
    by = {"s": one, "z": zero, "ys": np.array(0.07, np.float32), "yz": np.array(9, np.uint8)}
    filters = rng.integers(-60, 61, (4, 3, 2, 2)).astype(np.int8)
    of_filters = {"ws": np.asarray(one / 10), "wz": np.array(0, np.int8)}
    last = {"channels_last": 1}
    return [
        Case("DynamicQuantizeMatMul", {"a": floats(rng, 2, 3, 7)}, {"b": w, "s": scales}),
        Case(
            "MatMulIntegerToFloat",
            {"a": rng.integers(0, 256, (2, 3, 7)).astype(np.uint8)},
            {"b": w, "as": one, "s": scales, "z": zero, "bz": w[0], "bias": floats(rng, 5)},
        ),
        Case("QLinearGlobalAveragePool", {"x": image}, by, attributes=last),
        Case("QLinearAveragePool", {"x": image}, by, attributes={**last, "kernel_shape": [2, 2]}),
        Case(
            "QLinearConv",
            {"x": image},
            {**by, "w": filters, **of_filters},
            order=["x", "s", "z", "w", "ws", "wz", "ys", "yz"],
            attributes=last,
        ),
    ]


FAMILIES = {
    "activations": _activations,
    "products": _products,
    "convolutions": _convolutions,
    "norms": _norms,
}


@pytest.mark.parametrize("family", FAMILIES)
def test_fused_operators(family: str, rng: np.random.Generator) -> None:
    for case in FAMILIES[family](rng):
        check(case)


def test_quantized_operators(rng: np.random.Generator) -> None:
    """A step of the result's scale may differ where a number is half way between two."""
    for case in _quantized(rng):
        check(case, tolerance=1e-2)


def narrow(
    rng: np.random.Generator, rows: tuple[int, ...], inner: int, columns: int, block: int, bits: int
) -> Case:
    blocks = -(-inner // block)
    weights = {
        "w": rng.integers(0, 256, (columns, blocks, block * bits // 8)).astype(np.uint8),
        "s": np.abs(floats(rng, columns, blocks)),
    }
    sizes = {"K": inner, "N": columns, "block_size": block, "bits": bits}
    return Case("MatMulNBits", {"x": floats(rng, *rows, inner)}, weights, attributes=sizes)


def with_zero_points(case: Case, zeros: np.ndarray, bias: np.ndarray | None = None) -> Case:
    weights = {**case.weights, "z": zeros, **({} if bias is None else {"b": bias})}
    order = ["x", "w", "s", "z", *([] if bias is None else ["", "b"])]
    return Case("MatMulNBits", case.inputs, weights, order, attributes=case.attributes)


def test_weights_of_a_few_bits(rng: np.random.Generator) -> None:
    """Compares few rows, which read words, and many rows, which read unpacked panels."""
    plain = narrow(rng, (2, 3), 64, 19, 16, 4)
    check(plain)
    packed = rng.integers(0, 256, (37, 2)).astype(np.uint8)
    last_block = with_zero_points(narrow(rng, (1,), 70, 37, 32, 4), packed, floats(rng, 37))
    check(last_block, "cpu")
    real = with_zero_points(narrow(rng, (29,), 40, 33, 16, 4), floats(rng, 33, 3) + 8)
    check(real, "cpu")
    whole = rng.integers(0, 256, (19, 2)).astype(np.uint8)
    check(with_zero_points(narrow(rng, (1, 3), 64, 19, 32, 8), whole))
    check(narrow(rng, (5,), 64, 16, 16, 2))


def test_rows_of_a_few_bits(rng: np.random.Generator) -> None:
    """Compares tables whose numbers share bytes, and one whose numbers have a type of their own."""
    ids = rng.integers(-11, 11, (2, 3))
    of = {"x": ids}
    for bits, columns in ((2, 64), (4, 48), (8, 32)):
        words = rng.integers(0, 256, (11, columns * bits // 8)).astype(np.uint8)
        blocks = columns // 16
        table = {"t": words, "s": np.abs(floats(rng, 11, blocks))}
        sizes = {"bits": bits, "block_size": 16, "quantize_axis": 1}
        check(Case("GatherBlockQuantized", of, table, ["t", "x", "s"], attributes=sizes))
        points = rng.integers(0, 256, (11, -(-blocks * bits // 8))).astype(np.uint8)
        order = ["t", "x", "s", "z"]
        given = {**table, "z": points}
        check(Case("GatherBlockQuantized", of, given, order, attributes=sizes), "cpu")
    typed = {
        "t": rng.integers(-8, 8, (32, 11)).astype(ml_dtypes.int4),
        "s": np.abs(floats(rng, 2, 11)),
    }
    along = {"gather_axis": 1, "block_size": 16, "quantize_axis": 0}
    check(Case("GatherBlockQuantized", of, typed, ["t", "x", "s"], attributes=along))


@pytest.mark.parametrize(("bits", "level", "width"), [(4, 4, 8), (2, 4, 8), (8, 4, 8), (4, 2, 16)])
def test_rounded_inputs(bits: int, level: int, width: int, rng: np.random.Generator) -> None:
    """
    Compares with an exact product. Half a step of the largest number of each block is the bound of
    what a number of the input may be rounded by.
    """
    if bits == 8 and find_target().describe().byte_dot(unsigned=True) is None:
        width = 16
    block, columns, blocks = 64, 19, 3
    case = narrow(rng, (3,), block * blocks, columns, block, bits)
    x, scales = case.inputs["x"] * rng.uniform(0.1, 9, block * blocks), case.weights["s"]
    x = x.astype(np.float32)
    x[1, :block] = 0
    words = case.weights["w"].reshape(columns, -1)
    numbers = words[:, :, None] >> np.arange(0, 8, bits, dtype=np.uint8) & (2**bits - 1)
    centred = numbers.reshape(columns, blocks, block).astype(np.float64) - 2 ** (bits - 1)
    matrix = centred * scales[:, :, None]
    by_block = x.reshape(3, blocks, block)
    want = np.einsum("rbk,cbk->rc", by_block, matrix)
    steps = np.abs(by_block).max(-1) / (2 ** (width - 1) - 1)
    bound = np.einsum("rb,cb->rc", steps / 2, np.abs(matrix).sum(-1))
    case = replace(case, attributes={**case.attributes, "accuracy_level": level})
    (found,) = glow.compile(case.model(), cache=False)(x)
    error = np.abs(found - want)
    assert (error <= bound + 1e-5 * np.abs(want).max()).all()
    assert error.max() > 0.01 * bound.max()  # the input is rounded


def test_weights_stay_packed(rng: np.random.Generator) -> None:
    compiled = glow.compile(narrow(rng, (1,), 512, 256, 32, 4).model(), cache=False)
    scales = 256 * 16 * 4
    assert compiled.memory is not None
    assert compiled.memory.weight_bytes < 512 * 256 // 2 + scales + 1024


def test_what_is_refused(rng: np.random.Generator) -> None:
    case = narrow(rng, (1,), 32, 8, 16, 4)
    groups = {**case.weights, "g": np.zeros(32, np.int32)}
    order = ["x", "w", "s", "", "g"]
    with pytest.raises(UnsupportedError, match=r"MatMulNBits with output 'y': g_idx"):
        glow.compile(
            Case("MatMulNBits", case.inputs, groups, order, attributes=case.attributes).model()
        )
    level = {**case.attributes, "accuracy_level": 5}
    with pytest.raises(ModelError, match="expected accuracy_level to be 0 to 4, found 5"):
        glow.compile(Case("MatMulNBits", case.inputs, case.weights, attributes=level).model())
    wrong = {**case.attributes, "N": 9}
    with pytest.raises(ModelError, match=r"expected input 1 of 9x2x8 elements, found .*8x2x8"):
        glow.compile(Case("MatMulNBits", case.inputs, case.weights, attributes=wrong).model())
    x = {"x": floats(rng, 2, 3), "w": floats(rng, 3, 3)}
    with pytest.raises(UnsupportedError, match="activation 'Mish'"):
        glow.compile(Case("FusedGemm", x, attributes={"activation": "Mish"}).model())
