"""
Layers as actions on slots: places of the accumulators, of which each holds a value of a tile.

`vta.layer` says what is computed. A value takes a slot when it comes about, keeps it while
operators change it, and leaves it to others when it has been combined with another value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...glow_dialects.vta import AluOpcode
from ...glow_dialects.vta.grid import Grid, Window
from .regions import Dram, Tensor


@dataclass(frozen=True)
class Product:
    """
    Sums over windows and blocks of input channels of inputs by weights.

    The weights of one block of outputs are [blocks of inputs, rows * columns of the kernel], or, if
    `uniform`, [blocks of inputs, 1] for all places of the kernel.
    """

    source: Tensor
    grid: Grid
    """The elements of the source that are inputs."""
    rows: Window
    columns: Window
    weights: Dram
    first_weight: int
    """The element where the weights of the first block of outputs begin."""
    first_input: int
    """The first block of inputs."""
    inputs: int
    """The number of blocks of inputs."""
    uniform: bool = False

    @property
    def places(self) -> int:
        """Weights for each pair of blocks."""
        return 1 if self.uniform else self.rows.kernel * self.columns.kernel


class Accumulate(NamedTuple):
    """A product into the accumulators of a slot; added to what is there, if so said."""

    slot: int
    product: Product
    is_added: bool = False


class Fetch(NamedTuple):
    """Numbers of 8 bits into the accumulators of a slot."""

    slot: int
    source: Tensor


class Vector(NamedTuple):
    """Numbers by channel, in accumulators of their own."""

    number: int


class Slot(NamedTuple):
    """The accumulators of a slot."""

    number: int


class Apply(NamedTuple):
    """`slot = opcode(slot, operand)` for each accumulator."""

    slot: int
    opcode: AluOpcode
    operand: int | Slot | Vector


class Duplicate(NamedTuple):
    """The accumulators of a slot into those of another."""

    slot: int
    source: int


class Write(NamedTuple):
    """The lowest 8 bits of the accumulators of a slot into a tensor."""

    slot: int
    tensor: Tensor


Action = Accumulate | Fetch | Apply | Duplicate | Write


@dataclass(eq=False)
class Layer:
    """Blocks `first` to `first + blocks - 1` of the channels of a tensor, as actions on a tile."""

    name: str
    output: Tensor
    first: int
    blocks: int
    actions: Sequence[Action]
    slots: int
    vectors: int
    constants: Dram | None
    """An accumulator for each vector and each block of the tensor."""
    is_flat: bool = False
    """Whether all images are single pixels, and computed together."""

    @property
    def products(self) -> list[Product]:
        """All products, each once."""
        found = (a.product for a in self.actions if isinstance(a, Accumulate))
        return list(dict.fromkeys(found))


@dataclass(eq=False)
class Pooling:
    """The largest number of each window, of all channels of a tensor."""

    name: str
    source: Tensor
    output: Tensor
    rows: Window
    columns: Window
    least: int
    """The least number that occurs."""


def parts(count: int, size: int) -> Iterator[tuple[int, int]]:
    """
    Yields ranges of at most `size` that make up `count`: where each begins, and how long it is.
    """
    for start in range(0, count, size):
        yield start, min(size, count - start)
