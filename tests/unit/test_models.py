"""Real networks: agreement with onnxruntime, and every stage through its text and back."""

from __future__ import annotations

import re
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
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.parser import Parser

LIGHT = sorted(NETWORKS)
SHARED = ["mnist", "squeezenet_fp16", "ultraface320"]
TOLERANCE = 1e-4
"""Of the largest output value."""
TOLERANCE_F16 = 1e-2
BGR_MEAN = (104, 117, 123)
DETAILS = re.compile(r'[%^][\w$.-]+|@("[^"]*"|[\w$.-]+)|(?<![a-wyzA-Z_\d])-?\d+')
"""Names of values, blocks and symbols, and numbers other than the widths of types."""
LISTS = re.compile(r"([^,()\n]+)(, \1)+")
"""Several of the same."""
WHOLE = ("alexnet", "mnist")
"""Networks of which all functions go through their text."""
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


def check_text(context: Context, text: str, name: str) -> None:
    """The text of a module parses, what is parsed verifies, and it prints the same again."""
    again = Parser(context, text, name).parse_module()
    again.verify()
    verify_dominance(again)
    assert str(again) == text, name


def without_repetition(module: ModuleOp) -> ModuleOp:
    """
    The module with bodies only for functions that have a line which no shorter one has, if names,
    numbers, and how many of the same are in a list do not count. The rest are declarations.
    """
    if len(module.ops) == 1:
        return module
    texts = sorted(((str(op), op) for op in module.ops), key=lambda pair: len(pair[0]))
    seen: set[str] = set()
    repeated: set[Operation] = set()
    for text, op in texts:
        general = LISTS.sub(r"\1, \1", DETAILS.sub("0", text))
        lines = {line.strip() for line in general.splitlines()}
        if lines <= seen:
            repeated.add(op)
        seen |= lines
    kept = [op.clone_without_regions() if op in repeated else op.clone() for op in module.ops]
    return ModuleOp(kept, dict(module.attributes))


def check_stages(model: glow.CompiledModel, whole: bool = False) -> None:
    """
    Every stage goes through its text and back: the whole of it, or without functions that have no
    new kind of line, which takes a fraction of the time. Equal stages that follow count once.
    """
    context = make_context()
    before = ""
    with without_garbage_collection():
        for name, module in model.stages.walk():
            module.verify()
            verify_dominance(module)
            part = module if whole else without_repetition(module)
            if (text := str(part)) != before:
                check_text(context, text, name)
            before = text


def random_feed(model: glow.CompiledModel, rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {
        i.name: rng.standard_normal(i.shape, np.float32).astype(i.dtype) for i in model.get_inputs()
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("networks")


@pytest.mark.slow
@pytest.mark.parametrize("name", LIGHT)
def test_light_networks_with_random_weights(name: str, folder: Path, rng: np.random.Generator):
    path = network_file(name, folder, seed=int(rng.integers(2**31)))
    model = glow.compile(path)
    check_agreement(model, path, random_feed(model, rng), TOLERANCE)
    check_stages(model, name in WHOLE)
    del model
    path.unlink()


@pytest.mark.parametrize("name", SHARED)
def test_stages_of_trained_networks(name: str, shared: Path):
    check_stages(glow.compile(shared / "models" / f"{name}.onnx"), name in WHOLE)


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
