"""The places of tiles of a Winograd convolution."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from ....glow_dialects.glow_cpu.winograd import Axis
from ....glow_dialects.glow_nest.affine import Affine, Dim, Index, affine
from ..schedules.tile_blocks import Edge


class Image:
    """
    The images that a Winograd convolution reads or writes. Along a dilated dimension, each phase is
    an image of its own: the axes of all phases come before those of dimensions.
    """

    def __init__(self, images: int, axes: Sequence[Axis], dilations: Sequence[int]):
        self.number = Dim("n", images)
        self.dilations = dilations
        self.dilated = [n for n, d in enumerate(dilations) if d > 1]
        self.axes = [*[Axis(1, 1, (0,))] * len(self.dilated), *axes]

    def regions(self, sizes: Sequence[int]) -> Sequence[tuple[Sequence[int], Sequence[int]]]:
        """
        Returns regions of a result of some sizes, in which all phases have the same number of
        outputs: where each begins, and its sizes, along each axis.
        """
        regions: list[tuple[Sequence[int], Sequence[int]]] = []
        choices = [_phases(n, d) for n, d in zip(sizes, self.dilations, strict=True)]
        for choice in product(*choices):
            starts, counts = ([choice[n][i] for n in self.dilated] for i in (0, 1))
            outputs = [outputs for _, _, outputs in choice]
            regions.append(([*starts, *(0 for _ in outputs)], [*counts, *outputs]))
        return regions

    def place(self, block: Index, at: Sequence[Affine], lane: Index) -> list[Index]:
        """Returns the place of an element of a block of channels, of its place along each axis."""
        phases, places = at[: len(self.dilated)], list(at[len(self.dilated) :])
        for n, phase in zip(self.dilated, phases, strict=True):
            places[n] = places[n] * self.dilations[n] + phase
        return [self.number, block, *places, lane]


def _phases(size: int, dilation: int) -> list[tuple[int, int, int]]:
    """
    Returns the phases of a dimension of `size` outputs, of which each `dilation`-th is of the same
    phase, by their number of outputs: the first of these phases, how many there are, and their
    outputs.
    """
    outputs, longer = divmod(size, dilation)
    phases = [(0, longer, outputs + 1), (longer, dilation - longer, outputs)]
    return [p for p in phases if p[1] and p[2]]


class Part:
    """Tiles of a block that write the same number of outputs: those at an edge, or the others."""

    def __init__(self, first: Sequence[Affine], tiles: Sequence[int], part: Sequence[Edge]):
        """A block has `tiles` tiles along each dimension, from the tiles `first` on."""
        self.edges = part
        self.tiles = [Dim(f"t{i}", edge.tiles) for i, edge in enumerate(part)]
        numbers = [t + edge.start for t, edge in zip(self.tiles, part, strict=True)]
        self.tile = affine(0)
        """The number of a tile within its block."""
        for count, number in zip(tiles, numbers, strict=True):
            self.tile = self.tile * count + number
        self.at = added(first, numbers)
        """The number of a tile in the image, along each dimension."""

    def places(self, sizes: Sequence[int]) -> list[Affine]:
        """Returns where tiles begin that have some sizes."""
        return [at * size for at, size in zip(self.at, sizes, strict=True)]


def added(places: Sequence[Affine], others: Sequence[Index]) -> list[Affine]:
    """Returns the sums of places along each dimension."""
    return [a + b for a, b in zip(places, others, strict=True)]


def further(places: Sequence[Affine], axis: int, distance: Index) -> list[Affine]:
    """Returns places so far from others along one axis."""
    return [place + distance if n == axis else place for n, place in enumerate(places)]
