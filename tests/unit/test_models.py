"""Real networks: agreement with onnxruntime, and every stage through its text and back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import glow
import numpy as np
import onnxruntime
import pytest
from glow.benchmarks.networks import NETWORKS, network_file
from glow.context import make_context
from glow.passes.collector import without_garbage_collection
from glow.passes.verify_dominance import verify_dominance
from PIL import Image
from xdsl.parser import Parser

LIGHT = sorted(NETWORKS)
SHARED = ["mnist", "squeezenet_fp16", "ultraface320"]
TOLERANCE = 1e-4
"""Of the largest output value."""
TOLERANCE_F16 = 1e-2
BGR_MEAN = (104, 117, 123)
CLASSES = {"dog_207": 207, "zebra_340": 340, "cat_285": 281}
"""What onnxruntime sees in the images; it takes the Egyptian cat (285) for a tabby (281)."""


def onnxruntime_outputs(path: Path, feed: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options)
    return [np.asarray(o) for o in session.run(None, dict(feed))]


def worst_difference(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference relative to the largest expected value."""
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    wide = expected.astype(np.float64)
    return float(np.abs(found - wide).max() / np.abs(wide).max())


def check_agreement(
    model: glow.CompiledModel, path: Path, feed: Mapping[str, np.ndarray], tolerance: float
) -> list[np.ndarray]:
    outputs = model.run(None, feed)
    expected = onnxruntime_outputs(path, feed)
    differences = [worst_difference(*pair) for pair in zip(outputs, expected, strict=True)]
    assert max(differences) <= tolerance, differences
    return outputs


def check_stages(model: glow.CompiledModel) -> None:
    """Every stage parses back from its own text, verifies, and prints the same again."""
    context = make_context()
    with without_garbage_collection():
        for name, module in model.stages.walk():
            text = str(module)
            again = Parser(context, text, name).parse_module()
            again.verify()
            verify_dominance(again)
            assert str(again) == text, name


def random_feed(model: glow.CompiledModel, rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {
        i.name: rng.standard_normal(i.shape, np.float32).astype(i.dtype) for i in model.get_inputs()
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("networks")


@pytest.mark.parametrize("name", LIGHT)
def test_light_networks_with_random_weights(name: str, folder: Path, rng: np.random.Generator):
    path = network_file(name, folder, seed=int(rng.integers(2**31)))
    model = glow.compile(path)
    check_agreement(model, path, random_feed(model, rng), TOLERANCE)
    check_stages(model)
    del model
    path.unlink()


@pytest.mark.parametrize("name", SHARED)
def test_stages_of_trained_networks(name: str, shared: Path):
    check_stages(glow.compile(shared / "models" / f"{name}.onnx"))


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_mnist_reads_ten_digits(backend: str, shared: Path):
    path = shared / "models" / "mnist.onnx"
    model = glow.compile(path, backend)
    (info,) = model.get_inputs()
    images = sorted((shared / "images" / "mnist").glob("*.png"))
    assert len(images) == 10
    for image in images:
        pixels = np.asarray(Image.open(image).convert("L"), np.float32) / 255
        feed = {info.name: pixels.reshape(info.shape)}
        (scores,) = check_agreement(model, path, feed, TOLERANCE)
        assert scores.argmax() == int(image.stem.split("_")[0])


@pytest.mark.parametrize("image", sorted(CLASSES))
def test_squeezenet_in_f16_classifies_images(image: str, shared: Path):
    path = shared / "models" / "squeezenet_fp16.onnx"
    model = glow.compile(path)
    (info,) = model.get_inputs()
    picture = Image.open(shared / "images" / f"{image}.png").convert("RGB").resize((224, 224))
    blue_green_red = np.asarray(picture, np.float32)[:, :, ::-1] - np.array(BGR_MEAN, np.float32)
    feed = {info.name: blue_green_red.transpose(2, 0, 1)[None].astype(info.dtype)}
    (scores,) = check_agreement(model, path, feed, TOLERANCE_F16)
    assert scores.argmax() == CLASSES[image]


def test_ultraface(shared: Path, rng: np.random.Generator):
    path = shared / "models" / "ultraface320.onnx"
    model = glow.compile(path)
    check_agreement(model, path, random_feed(model, rng), TOLERANCE)
