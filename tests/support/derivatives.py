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


class NotSmoothError(AssertionError):
    """Finite differences tell nothing, because a function has corners near by."""


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


def finite_differences(
    module: ModuleOp, feeds: Mapping[str, np.ndarray], direction: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """
    Returns the derivative of the result `out` in a direction by finite differences, and where the
    function is smooth, so that differences over a shorter step say the same.
    """

    def difference(step: float) -> np.ndarray:
        moved = (
            {n: v + s * direction[n] if n in direction else v for n, v in feeds.items()}
            for s in (step, -step)
        )
        ahead, back = (run(module, given)["out"] for given in moved)
        return (ahead - back) / (2 * step)

    far, near = difference(_STEP), difference(_STEP / 3)
    scale = np.abs(near).max(initial=1.0)
    smooth = np.isclose(far, near, rtol=1e-5, atol=1e-6 * scale)
    # errors grow with the square of the step (Richardson 1911)
    return near + (near - far) / 8, smooth


def check_derivatives(module: ModuleOp, feeds: Mapping[str, np.ndarray]) -> None:
    """
    Asserts that the derivative of the result `out` in a random direction is that of finite
    differences, in both modes: the product of a seed, the Jacobian and a direction. A place where
    the function is not smooth does not count; if there are several, it raises NotSmoothError.
    """
    rng = generator()
    direction = {n: rng.uniform(-1, 1, v.shape) for n, v in feeds.items() if v.dtype.kind == "f"}
    expected, smooth = finite_differences(module, feeds, direction)
    if (~smooth).sum() > 1:
        raise NotSmoothError
    tangents = {f"tangent.{n}": v for n, v in direction.items()}
    forward = run(differentiated(module, mode="jvp"), {**feeds, **tangents})
    scale = np.abs(expected[smooth]).max(initial=1.0)
    np.testing.assert_allclose(
        forward["tangent.out"][smooth], expected[smooth], rtol=1e-6, atol=1e-7 * scale
    )
    seed = rng.uniform(-1, 1, expected.shape) if expected.size != 1 else np.ones(expected.shape)
    reverse = run(differentiated(module, seed=True), {**feeds, "seed.out": seed})
    found = sum(float((reverse[f"grad.{n}"] * v).sum()) for n, v in direction.items())
    products = forward["tangent.out"] * seed
    assert found == pytest.approx(
        float(products.sum()), rel=1e-9, abs=1e-11 * max(1.0, float(np.abs(products).sum()))
    )
