"""Real networks: agreement with onnxruntime, and every stage through its text and back."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from enum import Enum
from itertools import islice
from pathlib import Path

import glow
import numpy as np
import onnxruntime
import pytest
from glow.benchmarks.networks import NETWORKS, network_file
from glow.context import make_context
from glow.glow_dialects.glow_nest.kernel import KernelOp
from glow.passes.collector import without_garbage_collection
from glow.passes.verify_dominance import verify_dominance
from PIL import Image
from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FixedBitwidthType,
    IntegerType,
    ModuleOp,
)
from xdsl.ir import Attribute, Data, Operation, ParametrizedAttribute
from xdsl.parser import Parser

LIGHT = sorted(NETWORKS)
SHARED = ["mnist", "squeezenet_fp16", "ultraface320"]
TOLERANCE = 1e-4
"""The tolerance relative to the largest output value."""
TOLERANCE_F16 = 1e-2
BGR_MEAN = (104, 117, 123)
MANY = 300
"""Functions of more operations go through their text in one of three stages, each time others."""
WHOLE = ("mnist",)
"""Networks of which all functions go through their text."""
CLASSES = {"dog_207": 207, "zebra_340": 340, "cat_285": 281}
"""
The classes that onnxruntime finds in the images; it takes the Egyptian cat (285) for a tabby (281).
"""


def onnxruntime_outputs(path: Path, feed: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options)
    return [np.asarray(o) for o in session.run(None, dict(feed))]


def worst_difference(found: np.ndarray, expected: np.ndarray) -> float:
    """Returns the largest difference relative to the largest expected value."""
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
    """Checks that the text of a module parses, the result verifies, and prints the same again."""
    again = Parser(context, text, name).parse_module()
    again.verify()
    verify_dominance(again)
    assert str(again) == text, name


def kind_of(attribute: Attribute) -> Hashable:
    """Returns an attribute without its numbers, names and references to constants."""
    match attribute:
        case ArrayAttr(data=data):
            return ArrayAttr, frozenset(map(kind_of, data))
        case DictionaryAttr(data=data):
            return DictionaryAttr, frozenset((key, kind_of(a)) for key, a in data.items())
        case Data(data=Enum()) | IntegerType() | FixedBitwidthType():
            return attribute
        case ParametrizedAttribute():
            return type(attribute), *map(kind_of, attribute.parameters)
        case _:
            return type(attribute)


class Kinds:
    """The kinds of operations that went through their text in this process."""

    def __init__(self) -> None:
        self.seen: set[Hashable] = set()

    def new(self, op: Operation) -> bool:
        """
        Returns whether the operation, or one within it, is of a new kind; all are known from now
        on.
        """
        # the operation keeps its attributes alive, so their ids tell them apart, faster than hashes
        cached: dict[int, Hashable] = {}

        def kind(attribute: Attribute) -> Hashable:
            if id(attribute) not in cached:
                cached[id(attribute)] = kind_of(attribute)
            return cached[id(attribute)]

        found: set[Hashable] = set()
        for inner in op.walk():
            attributes = {**inner.properties, **inner.attributes}
            named = frozenset((key, kind(a)) for key, a in attributes.items())
            # of operands of one type it does not matter how many there are
            types = frozenset(kind(v.type) for v in (*inner.operands, *inner.results))
            found.add((inner.name, named, types, len(inner.regions)))
        new = not found <= self.seen
        self.seen |= found
        return new


KINDS = Kinds()


def is_long(op: Operation) -> bool:
    return next(islice(op.walk(), MANY, None), None) is not None


def check_stages(model: glow.CompiledModel, rng: np.random.Generator, whole: bool = False) -> None:
    """
    Stages go through their text and back: the whole of each, or the functions that have an
    operation of a new kind, also beside the stages and networks before, and one in 32 of the
    others, each time others. The rest become declarations, and so do most functions of many
    operations.

    Kernels have to be generated again for this, so they are looked at in one of three networks
    that are not whole, each time in others.
    """
    context = make_context()
    kernels = whole or rng.integers(3) == 0
    before = ""
    with without_garbage_collection():
        for name, module in model.stages.walk():
            drawn = rng.integers(32, size=len(module.ops)) == 0
            long = rng.integers(3) == 0
            kept = [
                whole or ((long or not is_long(op)) and (KINDS.new(op) or d))
                for op, d in zip(module.ops, drawn, strict=True)
            ]
            if any(kept):
                pairs = zip(module.ops, kept, strict=True)
                ops = [
                    op.clone() if keep else op.clone_without_regions()
                    for op, keep in pairs
                    # a kernel of nests has no declaration
                    if keep or not isinstance(op, KernelOp)
                ]
                part = ModuleOp(ops, dict(module.attributes))
                part.verify()
                verify_dominance(part)
                if (text := str(part)) != before:
                    check_text(context, text, name)
                before = text
            if name == "allocated" and not kernels:
                return


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
    check_stages(model, rng, name in WHOLE)
    del model
    path.unlink()


@pytest.mark.parametrize("name", SHARED)
def test_stages_of_trained_networks(name: str, shared: Path, rng: np.random.Generator):
    check_stages(glow.compile(shared / "models" / f"{name}.onnx"), rng, name in WHOLE)


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
