"""Functions that are smooth at 0 have their derivative there, whatever their expressions are."""

from __future__ import annotations

import glow
import numpy as np
import pytest
from glow import nn
from glow.training import SGD
from onnx import parser

DERIVATIVES = {
    **dict.fromkeys(["Asin", "Asinh", "Atan", "Atanh", "Sinh", "Tan", "Tanh", "Celu"], 1.0),
    **dict.fromkeys(["Elu", "Softsign", "Sin", "Exp"], 1.0),
    **dict.fromkeys(["Softplus", "Gelu", "HardSwish"], 0.5),
    **dict.fromkeys(["Cos", "Cosh", "Sign", "Abs", "Floor"], 0.0),
    "Acos": -1.0,
    "Sigmoid": 0.25,
    "Erf": 2 / np.pi**0.5,
    "Mish": 0.6,
}


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("operator", DERIVATIVES)
def test_derivatives_at_zero(operator: str, backend: str, rng: np.random.Generator) -> None:
    """In both modes, at both zeros of IEEE 754."""
    model = parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 22]>
        g (float[3] x) => (float[3] y) {{ y = {operator}(x) }}""")
    x, along = np.array([0.0, -0.0, 0.0], np.float32), rng.standard_normal(3).astype(np.float32)
    expected = DERIVATIVES[operator] * along
    for graph in (glow.differentiate(model, mode="jvp"), glow.differentiate(model, seed=True)):
        _, found = glow.compile(graph, backend=backend)(x, along)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


def test_derivatives_of_large_numbers() -> None:
    """Branches that an expression does not select are infinite there, and add nothing."""
    model = parser.parse_model("""<ir_version: 10, opset_import: ["" : 22]>
        g (float[5] x, float[3] z) => (float[5] y, float[3] w) { y = Asinh(x)  w = Sinh(z) }""")
    x = np.array([3.0, -1e8, 1e10, 1e20, -1e30], np.float32)
    z = np.array([29.0, 30.0, -88.0], np.float32)
    graph = glow.differentiate(model, mode="jvp")
    found = glow.compile(graph)(x, z, np.ones_like(x), np.ones_like(z))
    np.testing.assert_allclose(found[2], 1 / np.sqrt(x.astype("f8") ** 2 + 1), rtol=1e-5)
    np.testing.assert_allclose(found[3], np.cosh(z.astype("f8")), rtol=3e-5)


def test_binary_cross_entropy_of_scores_of_zero(rng: np.random.Generator) -> None:
    """The gradient is `sigmoid(0) - target`: a last layer may begin with zeros."""
    layer = nn.Linear(3, 1, initializer=nn.zeros)
    trainer = glow.Trainer(layer, nn.binary_cross_entropy, SGD(0.1), backend="interpreter")
    x = rng.standard_normal((7, 3)).astype(np.float32)
    target = rng.integers(0, 2, (7, 1)).astype(np.float32)
    found = trainer.gradients((x, target))
    np.testing.assert_allclose(found["weight"], (0.5 - target).T @ x / 7, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found["bias"], (0.5 - target).mean(0), rtol=1e-5, atol=1e-6)
