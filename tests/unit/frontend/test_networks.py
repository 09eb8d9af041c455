"""Real networks, imported and interpreted, against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from glow.benchmarks.networks import NETWORKS, network, network_file
from glow.frontend.onnx import import_onnx
from glow.runtime.interpreter import interpret
from glow.tests.support.seeds import shared_generator

DRAWN = 2
"""The number of networks that a run interprets."""
LONGEST_TEXT = 300_000
"""Characters; DenseNet-121 has the most nodes. Weights would add hundreds of millions."""


def errors(path: Path, rng: np.random.Generator) -> tuple[list[float], list[np.ndarray]]:
    """
    Returns the largest difference of each output relative to its largest element, on a random
    input, and the outputs of onnxruntime.
    """
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    (image,) = session.get_inputs()
    dtype = np.float16 if image.type == "tensor(float16)" else np.float32
    inputs = {image.name: rng.standard_normal(image.shape, np.float32).astype(dtype)}
    wanted: list[np.ndarray] = session.run(None, inputs)  # pyright: ignore
    names = [o.name for o in session.get_outputs()]
    del session
    module = import_onnx(path)
    module.verify()
    assert len(str(module)) < LONGEST_TEXT
    results = interpret(module, inputs)
    found = [results[name].astype(np.float64) for name in names]
    pairs = zip(found, wanted, strict=True)
    return [float(np.abs(f - w).max() / np.abs(w).max()) for f, w in pairs], wanted


@pytest.mark.parametrize("place", range(DRAWN))
def test_networks_with_random_weights(place: int, tmp_path: Path, rng: np.random.Generator) -> None:
    """Networks that are drawn, each run others; `test_models.py` compiles all of them."""
    name = str(shared_generator(f"{__name__}.networks").permutation(sorted(NETWORKS))[place])
    path = network_file(name, tmp_path, seed=int(rng.integers(2**32)))
    found, outputs = errors(path, rng)
    path.unlink()
    assert max(found) < 1e-4, (name, found)
    assert 0.05 < outputs[-1].std() < 50, "activations do not stay near unit variance"
    assert len(outputs) == (1 if name == "densenet121" else 2)


def test_networks_depend_on_their_seed_only() -> None:
    first, second, other = (network("shufflenet", seed) for seed in (1, 1, 2))
    assert first == second
    assert first != other
    onnx.checker.check_model(first)


@pytest.mark.parametrize(
    ("name", "tolerance"), [("mnist", 1e-4), ("ultraface320", 1e-4), ("squeezenet_fp16", 1e-2)]
)
def test_shared_models(name: str, tolerance: float, shared: Path, rng: np.random.Generator) -> None:
    found, _ = errors(shared / "models" / f"{name}.onnx", rng)
    assert max(found) < tolerance, found
