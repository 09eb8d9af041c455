"""The operator Gradient of ai.onnx.preview.training."""

from __future__ import annotations

import glow
import numpy as np
import onnx
import pytest
from glow.errors import UnsupportedError
from onnx import parser

HEAD = '<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>\n'


def parsed(text: str) -> onnx.ModelProto:
    return parser.parse_model(HEAD + text)


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
@pytest.mark.parametrize("shown", ["loss, ", ""], ids=["also the value", "the gradients alone"])
def test_gradients_of_a_loss(backend: str, shown: str, rng: np.random.Generator):
    """
    The gradients of `mean((x @ w - t) ** 2)`, whether the loss itself is an output or not. The node
    stands before what it differentiates.
    """
    outputs = "".join(f"float[] {name}, " for name in shown.split(", ") if name)
    results = f"{outputs}float[5,3] dx, float[3,7] dw"
    model = parsed(f"""g (float[5,3] x, float[3,7] w, float[5,7] t) => ({results}) {{
        dx, dw = ai.onnx.preview.training.Gradient<xs=["x","w"], zs=["t"], y="loss">(x, w, t)
        p = MatMul(x, w) d = Sub(p, t) s = Mul(d, d) loss = ReduceMean<keepdims=0>(s) }}""")
    x, w, t = (rng.standard_normal(s).astype(np.float32) for s in ((5, 3), (3, 7), (5, 7)))
    *_, dx, dw = glow.compile(model, backend)(x, w, t)
    error = 2 * (x @ w - t) / 35
    np.testing.assert_allclose(dx, error @ w.T, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(dw, x.T @ error, rtol=1e-5, atol=1e-6)


def test_gradients_of_gradients(rng: np.random.Generator):
    """The second derivative of `x ** 3`; nothing depends on the other input."""
    model = parsed("""g (float[1] x, float[2,3] u) => (float[1] second, float[2,3] du) {
        q = Mul(x, x) y = Mul(q, x)
        dx = ai.onnx.preview.training.Gradient<xs=["x"], y="y">(x)
        second, du = ai.onnx.preview.training.Gradient<xs=["x","u"], y="dx">(x, u) }""")
    x, u = (rng.standard_normal(s).astype(np.float32) for s in ((1,), (2, 3)))
    second, du = glow.compile(model)(x, u)
    np.testing.assert_allclose(second, 6 * x, rtol=1e-5)
    assert du.shape == (2, 3)
    assert not du.any()


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ('Gradient<xs=["x"], y="v">(x)', r"differentiates \(3,\) numbers"),
        ('Gradient<xs=["x"], y="y">(v)', "at other values than those of xs"),
        ('Gradient<xs=["c"], y="y">(c)', "the constant 'c'"),
    ],
    ids=["several numbers", "other values", "constant"],
)
def test_what_is_refused(node: str, message: str):
    model = parsed(f"""g (float[3] x) => (float[3] dx) <float[3] c = {{1.0, 2.0, 3.0}}> {{
        v = Mul(x, c) y = ReduceSum<keepdims=0>(v)
        dx = ai.onnx.preview.training.{node} }}""")
    with pytest.raises(UnsupportedError, match=message):
        glow.compile(model)
