"""Derivatives of graphs, compared with finite differences of the interpreter in f64."""

from __future__ import annotations

from collections.abc import Mapping

import glow
import numpy as np
import pytest
from glow.passes.graph.differentiate import DifferentiatePass
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import PassPipeline

from .seeds import generator

_STEP = 1e-5


def differentiated(module: ModuleOp, **options: object) -> ModuleOp:
    """Returns a copy of a graph with derivatives."""
    module = module.clone()
    found = DifferentiatePass(**options)  # pyright: ignore[reportArgumentType]
    PassPipeline((found,)).apply(glow.context.make_context(), module)
    module.verify()
    return module


def run(
    module: ModuleOp, feeds: Mapping[str, np.ndarray], backend: str = "interpreter"
) -> dict[str, np.ndarray]:
    """Returns the outputs of a graph by name."""
    model = glow.compile(module, backend=backend)
    outputs = model.run(None, {i.name: feeds[i.name] for i in model.get_inputs()})
    return {o.name: v for o, v in zip(model.get_outputs(), outputs, strict=True)}


def inputs(module: ModuleOp, above: float = 0.2) -> dict[str, np.ndarray]:
    """Returns numbers at which functions are smooth; small integers are indices."""
    rng = generator()
    return {
        i.name: rng.uniform(above, above + 0.7, i.shape)
        if np.dtype(i.dtype).kind == "f"
        else rng.integers(0, 2, i.shape).astype(i.dtype)
        for i in glow.compile(module, backend="interpreter").get_inputs()
    }


def check_derivatives(module: ModuleOp, feeds: Mapping[str, np.ndarray]) -> None:
    """
    Asserts that the derivative of the result `out` in a random direction is that of finite
    differences, in both modes: the product of a seed, the Jacobian and a direction.
    """
    rng = generator()
    direction = {n: rng.uniform(-1, 1, v.shape) for n, v in feeds.items() if v.dtype.kind == "f"}
    ahead, back = (
        run(module, {n: v + s * direction[n] if n in direction else v for n, v in feeds.items()})
        for s in (_STEP, -_STEP)
    )
    expected = (ahead["out"] - back["out"]) / (2 * _STEP)
    tangents = {f"tangent.{n}": v for n, v in direction.items()}
    forward = run(differentiated(module, mode="jvp"), {**feeds, **tangents})
    np.testing.assert_allclose(forward["tangent.out"], expected, rtol=1e-6, atol=1e-7)
    seed = rng.uniform(-1, 1, expected.shape) if expected.size != 1 else np.ones(expected.shape)
    reverse = run(differentiated(module, seed=True), {**feeds, "seed.out": seed})
    found = sum(float((reverse[f"grad.{n}"] * v).sum()) for n, v in direction.items())
    exact = float((forward["tangent.out"] * seed).sum())
    assert found == pytest.approx(exact, rel=1e-9, abs=1e-11)
