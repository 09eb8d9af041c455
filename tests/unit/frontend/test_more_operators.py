"""Operators that become several nodes, against onnxruntime, numpy or their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from glow.frontend.onnx import import_onnx
from glow.runtime.interpreter import interpret
from glow.tests.unit.frontend.against_onnxruntime import check
from onnx import TensorProto, helper

from .models import model, node, value

EQUATIONS = [
    ("ij,jk->ik", [(3, 5), (5, 2)]),
    ("bij, bjk", [(2, 3, 5), (2, 5, 4)]),
    ("...ij,...kj->...ik", [(2, 1, 3, 5), (7, 4, 5)]),
    ("ii->i", [(4, 4)]),
    ("...ii->...", [(2, 4, 4)]),
    ("i,j->ji", [(3,), (5,)]),
    ("ijk->", [(2, 3, 4)]),
    ("ba", [(2, 3)]),
    ("ab,bc,cad->d", [(2, 3), (3, 5), (5, 2, 4)]),
    ("bhqd,bhkd->bhqk", [(1, 2, 3, 4), (1, 2, 5, 4)]),
    ("aij,ib->ab", [(2, 3, 4), (3, 5)]),
]


@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS, ids=[e for e, _ in EQUATIONS])
def test_einsum(rng: np.random.Generator, equation: str, shapes: list):
    arrays = {f"x{i}": rng.standard_normal(s).astype(np.float32) for i, s in enumerate(shapes)}
    made = model(
        [node("Einsum", list(arrays), ["y"], equation=equation)],
        [value(name, a.shape) for name, a in arrays.items()],
        ["y"],
    )
    found = interpret(import_onnx(made), arrays)["y"]
    wanted = np.einsum(equation, *arrays.values())
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_einsum_of_other_sizes():
    made = model(
        [node("Einsum", ["x", "w"], ["y"], name="e", equation="ij,jk->ik")],
        [value("x", [2, 3]), value("w", [4, 5])],
        ["y"],
    )
    with pytest.raises(Exception, match="Einsum 'e': expected one size for 'j', found 3 and 4"):
        import_onnx(made)


@pytest.mark.parametrize("length", [1, 5, 8])
@pytest.mark.parametrize("axis", [0, 1])
def test_fourier_transforms(rng: np.random.Generator, length: int, axis: int):
    real, imaginary = rng.standard_normal((2, 5, 4))
    both = real + 1j * imaginary
    pair = [real, imaginary]
    cases: list[tuple[list[np.ndarray], np.ndarray, dict[str, Any]]] = [
        ([real], np.fft.fft(real, length, axis), {}),
        (pair, np.fft.fft(both, length, axis), {}),
        (pair, np.fft.ifft(both, length, axis), {"inverse": 1}),
        ([real], np.fft.rfft(real, length, axis), {"onesided": 1}),
        (pair, np.fft.irfft(both, length, axis), {"onesided": 1, "inverse": 1}),
    ]
    for parts, complex_result, flags in cases:
        array = np.stack(parts, -1).astype(np.float32)
        weights = {"n": np.array(length), "a": np.array(axis)}
        nodes = [node("DFT", ["x", "n", "a"], ["y"], **flags)]
        made = model(nodes, [value("x", array.shape)], ["y"], weights, opset=20)
        wanted = [np.real(complex_result)]
        if np.iscomplexobj(complex_result):
            wanted.append(np.imag(complex_result))
        found = interpret(import_onnx(made), {"x": array})["y"]
        np.testing.assert_allclose(found, np.stack(wanted, -1), atol=1e-5)


@pytest.mark.parametrize("p", [1, 2])
def test_lp_normalization(rng: np.random.Generator, p: int):
    x = rng.standard_normal((3, 5)).astype(np.float32)
    check(node("LpNormalization", ["x"], ["y"], p=p, axis=0), {"x": x})


@pytest.mark.parametrize("operator", ["ScatterElements", "GatherElements"])
def test_rows_of_other_sizes(rng: np.random.Generator, operator: str):
    x = rng.standard_normal((4, 6)).astype(np.float32)
    inputs = {"x": x, "i": rng.integers(-4, 4, (3, 5))}
    if operator == "ScatterElements":
        inputs["u"] = rng.standard_normal((3, 5)).astype(np.float32)
        # places that differ: onnxruntime does not promise an order
        inputs["i"] = np.argsort(rng.random((4, 5)), 0)[:3]
    check(node(operator, list(inputs), ["y"], axis=0), inputs)


def test_shifts_by_more_bits_than_there_are():
    x = np.array([-8, 4, -1], np.int8)
    for direction, wanted in (("LEFT", [0, 0, 0]), ("RIGHT", [-1, 0, -1])):
        made = model(
            [node("BitShift", ["x", "n"], ["y"], direction=direction)],
            [value(name, [3], TensorProto.INT8) for name in "xn"],
            ["y"],
            opset=28,
        )
        for bits in ([8, 9, 127], [-1, -8, -128]):
            found = interpret(import_onnx(made), {"x": x, "n": np.array(bits, np.int8)})
            assert found["y"].tolist() == wanted


def test_slopes_of_old_models_are_for_channels(rng: np.random.Generator):
    x = rng.standard_normal((2, 3, 3)).astype(np.float32)
    slope = np.array([0.1, 0.2, 0.3], np.float32)
    made = model([node("PRelu", ["x", "s"], ["y"])], [value("x", x.shape)], ["y"], {"s": slope})
    del made.opset_import[:]
    made.opset_import.append(helper.make_opsetid("", 6))
    with pytest.warns(UserWarning, match="opset 6"):
        module = import_onnx(made)
    wanted = np.where(x >= 0, x, x * slope[:, None])
    np.testing.assert_allclose(interpret(module, {"x": x})["y"], wanted, rtol=1e-6)
