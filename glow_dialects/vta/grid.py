"""The elements of tensors in DRAM, and the windows of convolutions and pooling over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .config import VtaConfig


def spatial_shape(shape: Sequence[int]) -> tuple[int, int, int, int]:
    """
    Returns [N, C], [N, C, L] or [N, C, H, W] as [N, C, H, W]. Raises ValueError for other ranks.
    """
    if not 2 <= len(shape) <= 4:
        raise ValueError(f"expected 2 to 4 dimensions, found {list(shape)}")
    n, c, *rest = shape
    h, w = [1] * (2 - len(rest)) + rest
    return n, c, h, w


class Window(NamedTuple):
    """The inputs of an output in one spatial dimension."""

    kernel: int = 1
    stride: int = 1
    dilation: int = 1
    before: int = 0
    """Zeros in front of the first input; less than 0 if the window begins behind it."""

    def reach(self, outputs: int) -> int:
        """
        Returns the number of inputs from the first to the last that `outputs` neighbouring outputs
        need.
        """
        return (outputs - 1) * self.stride + (self.kernel - 1) * self.dilation + 1

    def first(self, output: int) -> int:
        """Returns the first input of an output; less than 0 in the padding."""
        return output * self.stride - self.before


class Dim(NamedTuple):
    """A dimension of a part of a tensor: how many indices, and how far apart in DRAM."""

    size: int
    stride: int


class Grid(NamedTuple):
    """
    Elements of a tensor by image, block of channels, row and column: how many, and how far apart.
    """

    images: Dim
    blocks: Dim
    rows: Dim
    columns: Dim

    @property
    def elements(self) -> int:
        return self.images.size * self.blocks.size * self.rows.size * self.columns.size

    @property
    def is_flat(self) -> bool:
        """Whether images are single pixels."""
        return self.rows.size == 1 and self.columns.size == 1

    def flat(self) -> Grid:
        """Returns the grid as one image whose pixels are the single pixels of all images."""
        return Grid(Dim(1, self.elements), self.blocks, Dim(1, self.elements), self.images)

    def first(self, image: int, block: int, row: int, column: int) -> int:
        """Returns the number of an element."""
        place = zip(self, (image, block, row, column), strict=True)
        return sum(d.stride * i for d, i in place)


def grid_of(shape: Sequence[int], config: VtaConfig) -> Grid:
    """Returns the grid of a tensor [N, C, H, W]."""
    n, c, h, w = shape
    blocks = -(-c // config.block_out)
    return Grid(
        Dim(-(-n // config.batch), blocks * h * w), Dim(blocks, h * w), Dim(h, w), Dim(w, 1)
    )
