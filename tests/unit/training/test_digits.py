"""The example that trains a network on handwritten digits."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import glow
import numpy as np
import onnx
import pytest
from glow.tests.unit.training.digits_example import FOLDER, digits_example


def _weights(model: onnx.ModelProto) -> list[tuple[int, ...]]:
    """Returns the sorted shapes of the floats of a model."""
    floats = [t for t in model.graph.initializer if t.data_type == onnx.TensorProto.FLOAT]
    return sorted(tuple(sorted(t.dims)) for t in floats)


def test_the_example_learns(tmp_path: Path) -> None:
    """
    Four epochs suffice for nine of ten digits. The export has the layers and weights of the model
    of the demo, and gives the probabilities of the trainer's network.
    """
    pytest.importorskip("sklearn")
    example = digits_example()
    trainer, accuracy = example.train(4)
    assert accuracy > 0.85
    trainer.export(tmp_path / "d.onnx", {"image": (1, 1, 8, 8)}, then=glow.nn.softmax)
    exported, old = onnx.load(tmp_path / "d.onnx"), onnx.load(FOLDER / "digits.onnx")
    layers = [Counter(n.op_type for n in m.graph.node) for m in (exported, old)]
    for layer in ("Conv", "Relu", "MaxPool", "Gemm", "Softmax"):
        assert layers[0][layer] == layers[1][layer]
    assert _weights(exported) == _weights(old)
    _, _, images, labels = example.load()
    model = glow.compile(tmp_path / "d.onnx")
    right = np.mean([model(x[None])[0].argmax() == y for x, y in zip(images, labels, strict=True)])
    assert right == pytest.approx(accuracy, abs=1e-6)
