"""
Trained networks, quantized by min-max with one scale per output channel: what they see stays.

Whether a network keeps its first choice between two classes that are as likely is chance. Of random
pieces of photographs, SqueezeNet keeps 94 to 98 %; the bar leaves room.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import glow
import numpy as np
import pytest
from glow import quantization
from glow.tests.support import faces
from glow.tests.support.photographs import photograph, pieces
from glow.tests.support.seeds import numbered
from PIL import Image

BGR_MEAN = np.array((104, 117, 123), np.float32)
FEW, MANY = 18, 120


def quantized(path: Path, inputs: Sequence[np.ndarray], folder: Path) -> glow.CompiledModel:
    """Returns the network with the profile of some inputs."""
    name = glow.compile(path).get_inputs()[0].name
    file = folder / "profile.json"
    quantization.profile(path, [{name: x} for x in inputs]).save(file)
    return glow.compile(path, quantize=quantization.Quantization(profile=str(file)))


def test_mnist_reads_ten_digits(shared: Path, tmp_path: Path):
    files = sorted((shared / "images" / "mnist").glob("*.png"))
    digits = [np.asarray(Image.open(f).convert("L"), np.float32)[None, None] for f in files]
    model = quantized(shared / "models" / "mnist.onnx", digits[:5], tmp_path)
    assert "xi8>" in str(model.stages["quantized"])
    found = [int(model(digit)[0].argmax()) for digit in digits]
    assert found == [int(f.stem.split("_")[0]) for f in files]


def blue_green_red(picture: Image.Image) -> np.ndarray:
    pixels = np.asarray(picture.convert("RGB").resize((224, 224)), np.float32)
    return (pixels[:, :, ::-1] - BGR_MEAN).transpose(2, 0, 1)[None].astype(np.float16)


def test_squeezenet_sees_the_same(shared: Path, tmp_path: Path):
    path = shared / "models" / "squeezenet_fp16.onnx"
    given = [blue_green_red(Image.open(f)) for f in sorted((shared / "images").glob("*.png"))]
    few = [blue_green_red(p) for p in pieces(numbered(1), FEW, 224)]
    many = [blue_green_red(p) for p in pieces(numbered(2), MANY, 224)]
    exact, model = glow.compile(path), quantized(path, [*given, *few], tmp_path)
    same = [exact(x)[0].argmax() == model(x)[0].argmax() for x in (*given, *many)]
    assert all(same[: len(given)])
    assert np.mean(same) >= 0.9


def face_pictures() -> list[np.ndarray]:
    """Pictures with the face of an astronaut at several places and sizes."""
    whole = photograph("astronaut")
    corners = [(0, 0, 512, 384), (40, 0, 440, 300), (100, 0, 420, 240), (120, 20, 340, 185)]
    parts = [whole.crop(c).resize(faces.SIZE, Image.Resampling.BILINEAR) for c in corners]
    mirrored = [p.transpose(Image.Transpose.FLIP_LEFT_RIGHT) for p in parts]
    return [faces.pixels(np.asarray(p)) for p in (*parts, *mirrored)]


def test_ultraface_finds_the_same_faces(shared: Path, tmp_path: Path):
    path = shared / "models" / "ultraface320.onnx"
    pictures = face_pictures()
    exact, model = glow.compile(path), quantized(path, pictures[::2], tmp_path)
    for picture in pictures:
        want, found = faces.boxes(exact(picture)), faces.boxes(model(picture))
        assert len(want) == len(found) >= 1
        for box in want:
            assert max(faces.overlap(box, other) for other in found) >= 0.9


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_mnist_in_16_bit_floats(element: str, shared: Path):
    path = shared / "models" / "mnist.onnx"
    exact = glow.compile(path)
    model = glow.compile(path, quantize=f"glow-convert-to{{element={element}}}")
    assert exact.memory is not None
    assert model.memory is not None
    assert model.memory.weight_bytes < 0.6 * exact.memory.weight_bytes
    for file in sorted((shared / "images" / "mnist").glob("*.png")):
        digit = np.asarray(Image.open(file).convert("L"), np.float32)[None, None]
        (want,), (found,) = exact(digit), model(digit)
        assert found.argmax() == want.argmax() == int(file.stem.split("_")[0])
        bound = 0.002 if element == "f16" else 0.02
        assert np.abs(found - want).max() < bound * np.abs(want).max()
