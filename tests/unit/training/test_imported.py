"""Training of imported models: element types, symbolic sizes, initializers with several uses."""

from __future__ import annotations

import glow
import numpy as np
import pytest
from glow import nn
from glow.errors import UnsupportedError
from glow.training import SGD, AdamW
from glow.training.optimizers import Optimizer
from onnx import ModelProto, numpy_helper, parser

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'


def parsed(text: str, **parameters: np.ndarray) -> ModelProto:
    """Returns a model with initializers."""
    model = parser.parse_model(HEAD + text)
    model.graph.initializer.extend(
        numpy_helper.from_array(array, name) for name, array in parameters.items()
    )
    return model


def trained(model: ModelProto, x: np.ndarray, target: np.ndarray, optimizer: Optimizer):
    """Returns a trainer after three steps."""
    trainer = glow.Trainer(model, nn.mean_squared_error, optimizer)
    for _ in range(3):
        trainer.train_step([(x, target)])
    return trainer


@pytest.mark.parametrize("mixed", [False, True], ids=["f64", "f32 and f64"])
def test_parameters_of_f64(mixed: bool, rng: np.random.Generator) -> None:
    """A network `(x @ u) @ w` of f64, or with `u` in f32, follows the gradients in f64."""
    x, target = rng.standard_normal((7, 3)), rng.standard_normal((7, 2))
    u, w = rng.standard_normal((3, 5)), rng.standard_normal((5, 2))
    if mixed:
        x, u = x.astype(np.float32), u.astype(np.float32)
    first = "float" if mixed else "double"
    text = f"""g ({first}[7,3] x) => (double[7,2] y) {{
        p = MatMul(x, u) q = Cast<to=11>(p) y = MatMul(q, w) }}"""
    optimizer = SGD(0.1, momentum=0.9, weight_decay=0.01, clip_norm=0.5)
    found = trained(parsed(text, u=u, w=w), x, target, optimizer).parameters
    values = {"u": u.astype(np.float64), "w": w}
    velocities = {name: np.zeros_like(value) for name, value in values.items()}
    for _ in range(3):
        error = 2 * (x @ values["u"] @ values["w"] - target) / target.size
        gradients = {"u": x.T @ (error @ values["w"].T), "w": (x @ values["u"]).T @ error}
        norm = np.sqrt(sum((g * g).sum() for g in gradients.values()))
        for name, value in values.items():
            step = gradients[name] * min(1, 0.5 / norm) + 0.01 * value
            velocities[name] = 0.9 * velocities[name] + step
            values[name] = value - 0.1 * velocities[name]
    for name, value in values.items():
        assert found[name].dtype == (np.float32 if mixed and name == "u" else np.float64)
        np.testing.assert_allclose(found[name], value, rtol=1e-5 if mixed else 1e-10, atol=1e-7)


def test_symbolic_sizes_that_cannot_be_1(rng: np.random.Generator) -> None:
    """The parameters are known before the sizes of the first batch, as in a model with sizes."""
    parameters = {
        "w": rng.standard_normal((5, 3, 3, 3)).astype(np.float32),
        **{n: rng.uniform(0.5, 1, 5).astype(np.float32) for n in ("s", "b", "m", "v")},
    }
    text = """g (float[{0}] x) => (float[{1}] y) {{
        c = Conv(x, w) d = BatchNormalization(c, s, b, m, v) y = Relu(d) }}"""
    symbolic = parsed(text.format("n,3,h,w_", "n,5,h2,w2"), **parameters)
    static = parsed(text.format("2,3,7,5", "2,5,5,3"), **parameters)
    x = rng.standard_normal((2, 3, 7, 5)).astype(np.float32)
    target = rng.standard_normal((2, 5, 5, 3)).astype(np.float32)
    found, expected = (trained(m, x, target, AdamW(0.01)) for m in (symbolic, static))
    assert sorted(found.trained) == sorted(expected.trained) == ["b", "s", "w"]
    for name, value in expected.parameters.items():
        np.testing.assert_array_equal(found.parameters[name], value)


def test_a_scale_that_is_also_a_variance(rng: np.random.Generator) -> None:
    """Exporters keep one of several equal initializers, such as the ones of a new network."""
    ones, zeros = np.ones(3, np.float32), np.zeros(3, np.float32)
    w = rng.standard_normal((5, 3)).astype(np.float32)
    text = """g (float[7,5] x) => (float[7,3] y) {{
        p = MatMul(x, w) y = BatchNormalization(p, {}) }}"""
    shared = parsed(text.format("ones, zeros, zeros, ones"), w=w, ones=ones, zeros=zeros)
    apart = parsed(text.format("s, b, m, v"), w=w, s=ones, b=zeros, m=zeros, v=ones)
    x, target = (rng.standard_normal((7, n)).astype(np.float32) for n in (5, 3))
    found, expected = (trained(model, x, target, SGD(0.1)) for model in (shared, apart))
    assert sorted(found.trained) == ["ones", "w", "zeros"]
    for name, other in (("w", "w"), ("ones", "s"), ("zeros", "b")):
        np.testing.assert_allclose(found.parameters[name], expected.parameters[other], rtol=1e-6)
        assert not np.array_equal(found.parameters[name], {"w": w, "s": ones, "b": zeros}[other])
    results = [glow.compile(t.graph({"x": (7, 5)}))(x)[0] for t in (found, expected)]
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-6)


def test_an_initializer_of_the_body_of_a_loop(rng: np.random.Generator) -> None:
    """All steps of the loop read one parameter, whether the graph or the body has it."""
    w = rng.standard_normal((3, 3)).astype(np.float32)
    numbers = ", ".join(map(str, w.ravel()))
    text = """g (float[5,3] x) => (float[5,3] y) {{
        n = Constant<value = int64 {{3}}>() c = Constant<value = bool {{1}}>()
        y = Loop(n, c, x) <body = b (int64 i, bool going, float[5,3] s) =>
        (bool on, float[5,3] t) {} {{ on = Identity(going) p = MatMul(s, w) t = Tanh(p) }}> }}"""
    inside = parsed(text.format(f"<float[3,3] w = {{{numbers}}}>"))
    x, target = (rng.standard_normal((5, 3)).astype(np.float32) for _ in range(2))
    found, expected = (
        trained(model, x, target, SGD(0.1)).parameters
        for model in (inside, parsed(text.format(""), w=w))
    )
    assert not np.array_equal(found["w"], w)
    np.testing.assert_allclose(found["w"], expected["w"], rtol=1e-5, atol=1e-6)


def test_initializers_of_one_name_in_two_bodies(rng: np.random.Generator) -> None:
    """They are two parameters, of which the branch that is taken changes one."""
    model = parsed("""g (float[5,3] x, bool c) => (float[5,3] y) {
        y = If(c) <
            then_branch = a () => (float[5,3] u) <float[3] w = {1.0, 2.0, 3.0}> { u = Mul(x, w) },
            else_branch = b () => (float[5,3] v) <float[3] w = {4.0, 5.0, 6.0}> { v = Mul(x, w) }
        > }""")
    x, target = (rng.standard_normal((5, 3)).astype(np.float32) for _ in range(2))
    trainer = glow.Trainer(model, nn.mean_squared_error, SGD(0.1))
    before = trainer.parameters
    assert sorted(tuple(v) for v in before.values()) == [(1, 2, 3), (4, 5, 6)]
    trainer.train_step([((x, np.array(False)), target)])
    for name, value in before.items():
        gradient = 2 * ((x * value - target) * x).sum(0) / 15 if value[0] == 4 else 0
        np.testing.assert_allclose(trainer.parameters[name], value - 0.1 * gradient, rtol=1e-5)


def test_dropout_of_training_mode_is_refused() -> None:
    model = parsed(
        """g (float[5,3] x) => (float[5,3] y) { ratio = Constant<value = float {0.5}>()
        mode = Constant<value = bool {1}>() p = Mul(x, w) y = Dropout(p, ratio, mode) }""",
        w=np.ones((5, 3), np.float32),
    )
    with pytest.raises(UnsupportedError, match="draws random numbers"):
        glow.Trainer(model, nn.mean_squared_error, SGD(0.1))
