"""The example that trains a small decoder and continues a text with it."""

from __future__ import annotations

import sys
from pathlib import Path

import glow
import numpy as np
import onnxruntime
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "decoder"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch):
    """Returns the modules of the example by name."""
    monkeypatch.syspath_prepend(str(FOLDER))
    yield __import__
    for name in ("generate", "network", "train"):
        sys.modules.pop(name, None)


def test_continued_text_is_the_most_likely_one(
    example, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    network, generate = example("network"), example("generate")
    prompt = "A function "
    monkeypatch.setattr(sys, "argv", ["generate.py", prompt, "--temperature=0", "--most=12"])
    assert generate.main() == 0
    session = onnxruntime.InferenceSession(FOLDER / "decoder.onnx")
    empty = np.zeros((1, network.HEADS, 0, network.WIDTH // network.HEADS), np.float32)
    feed = {i.name: empty for i in session.get_inputs()[1:]}
    tokens = network.tokens_of(prompt)
    for _ in range(12):
        (logits,) = session.run(["logits"], {"ids": np.array([tokens]), **feed})
        tokens.append(int(np.asarray(logits)[0, -1].argmax()))
    assert capsys.readouterr().out.startswith(network.text_of(tokens))


def test_training_writes_the_network_that_it_trained(
    example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    network = example("network")
    for name, size in (("WIDTH", 16), ("LAYERS", 1), ("POSITIONS", 9)):
        monkeypatch.setattr(network, name, size)
    train = example("train")
    monkeypatch.setattr(train, "BATCH", 2)
    trainer, loss = train.train(steps=2)
    assert np.isfinite(loss)
    ids = np.array(network.tokens_of("for x in"))[None]
    model = glow.compile(trainer.graph({"ids": ids}), "interpreter")
    (want,) = model(ids)
    model = network.onnx_model(trainer.parameters)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    feed = {i.name: np.zeros((1, 4, 0, 4), np.float32) for i in session.get_inputs()[1:]}
    (found,) = session.run(["logits"], {"ids": ids, **feed})
    np.testing.assert_allclose(np.asarray(found), want, rtol=1e-4, atol=1e-5)
