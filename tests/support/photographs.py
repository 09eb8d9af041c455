"""Photographs that scikit-image brings along, and pieces of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

THINGS = ("astronaut", "camera", "chelsea", "coffee", "motorcycle_left", "rocket")
"""Photographs of something that can be named, as networks for ImageNet do; not of textures."""


def photograph(name: str) -> Image.Image:
    """Returns a photograph in RGB; skips the test if scikit-image is absent."""
    data = pytest.importorskip("skimage.data", reason="needs scikit-image for its photographs")
    (path,) = Path(data.__file__).parent.glob(f"{name}.*")
    return Image.open(path).convert("RGB")


def pieces(rng: np.random.Generator, count: int, size: int) -> Iterator[Image.Image]:
    """
    Returns `count` squares of `size` pixels, from all photographs in turn: between 70 % and all of
    the height, half of them mirrored, up to 10 % brighter or darker.
    """
    photographs = [photograph(name) for name in THINGS]
    for number in range(count):
        picture = photographs[number % len(photographs)]
        side = int(min(picture.size) * rng.uniform(0.7, 1))
        left = int(rng.integers(0, picture.width - side + 1))
        top = int(rng.integers(0, picture.height - side + 1))
        piece = picture.crop((left, top, left + side, top + side)).resize((size, size))
        if rng.random() < 0.5:
            piece = piece.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        gain = float(rng.uniform(0.9, 1.1))
        yield piece.point([min(255, int(v * gain)) for v in range(256)] * 3)
