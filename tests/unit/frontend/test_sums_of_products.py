"""Einsum and Det, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from glow.errors import GlowError
from glow.frontend.onnx import import_onnx
from glow.runtime.interpreter import interpret
from glow.tests.unit.frontend.against_onnxruntime import SEEDS, floats
from hypothesis import given, settings
from hypothesis import strategies as st

from .models import model, node, value

EQUATIONS = [
    ("ij,jk->ik", (3, 4), (4, 5)),
    ("bhid,bhjd->bhij", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("bij,bjk", (2, 3, 4), (2, 4, 5)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)),
    ("ii->i", (4, 4), None),
    ("iij->j", (3, 3, 2), None),
    ("ij->", (3, 5), None),
    ("ba", (3, 5), None),
    ("i,j->ji", (3,), (5,)),
    ("ij,ij->i", (3, 4), (3, 4)),
    ("i...,...->...", (3, 4), (4,)),
    ("ab,bc->abc", (2, 3), (3, 1)),
]


def run(operator: str, arrays: list[np.ndarray], **attributes: str) -> np.ndarray:
    names = [f"x{i}" for i in range(len(arrays))]
    inputs = [value(name, a.shape) for name, a in zip(names, arrays, strict=True)]
    made = model([node(operator, names, ["y"], **attributes)], inputs, ["y"], {}, 17)
    return interpret(import_onnx(made), dict(zip(names, arrays, strict=True)))["y"]


@pytest.mark.parametrize(("equation", "first", "second"), EQUATIONS)
def test_einsum(
    equation: str, first: tuple[int, ...], second: tuple[int, ...] | None, rng: np.random.Generator
) -> None:
    arrays = [rng.random(s).astype(np.float32) for s in (first, second) if s is not None]
    found = run("Einsum", arrays, equation=equation)
    np.testing.assert_allclose(found, np.einsum(equation, *arrays), rtol=1e-5)


def test_einsum_of_three_operands(rng: np.random.Generator) -> None:
    arrays = [rng.random(s).astype(np.float32) for s in ((2, 3), (3, 4), (4, 2, 5))]
    found = run("Einsum", arrays, equation="ab, bc, cad -> da")
    np.testing.assert_allclose(found, np.einsum("ab,bc,cad->da", *arrays), rtol=1e-5)


@pytest.mark.parametrize(
    ("equation", "message"),
    [("ij->ii", "different labels"), ("i->i", "a letter for each"), ("ij->k", "labels of operands"),
     ("ij,jk->ik", "for 1 operands"), ("i1->i", "expected letters")],
)  # fmt: skip
def test_wrong_equations(equation: str, message: str) -> None:
    with pytest.raises(GlowError, match=message):
        run("Einsum", [np.ones((2, 3), np.float32)], equation=equation)


@settings(max_examples=8, deadline=None)
@given(st.integers(1, 6), SEEDS)
def test_determinants(n: int, seed: int) -> None:
    x = floats(seed, 3, n, n)
    x[1, :, 0] = 0
    np.testing.assert_allclose(run("Det", [x]), np.linalg.det(x), rtol=1e-3, atol=1e-4)
