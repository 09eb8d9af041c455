"""
Layers: the unit of work of one pass over the accumulators.

A layer makes one tensor of 8 bits. For each tile of the tensor, products are accumulated, tensors
that are combined with them are loaded, the ALU computes the rest, and the result is stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...glow_dialects.vta import AluOpcode, VtaConfig
from .epilogue import Chain, Constant, Leaf, Pair, Shared
from .regions import Dram, Grid, Tensor


class Window(NamedTuple):
    """The inputs of an output in one spatial dimension."""

    kernel: int = 1
    stride: int = 1
    dilation: int = 1
    before: int = 0
    """Zeros in front of the first input."""

    def reach(self, outputs: int) -> int:
        """
        Returns the number of inputs from the first to the last that `outputs` neighbouring outputs
        need.
        """
        return (outputs - 1) * self.stride + (self.kernel - 1) * self.dilation + 1

    def first(self, output: int) -> int:
        """Returns the first input of an output; less than 0 in the padding."""
        return output * self.stride - self.before


@dataclass(eq=False)
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
    """Products into the accumulators of a slot."""

    slot: int
    products: Sequence[Product]


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


Action = Accumulate | Fetch | Apply | Duplicate


@dataclass(eq=False)
class Layer:
    """Blocks `first` to `first + blocks - 1` of the channels of a tensor, as actions on a tile."""

    name: str
    output: Tensor
    first: int
    blocks: int
    actions: list[Action]
    result: int
    """The slot that is stored."""
    slots: int
    vectors: int
    constants: Dram | None
    """An accumulator for each vector and each block of the tensor."""
    is_flat: bool = False
    """Whether all images are single pixels, and computed together."""
    higher: Sequence[Tensor] = ()
    """The places of bits 8 to 15, and so on, of the result, if it has more than 8."""

    @property
    def products(self) -> list[Product]:
        """All products, each once."""
        found = (p for a in self.actions if isinstance(a, Accumulate) for p in a.products)
        return list(dict.fromkeys(found))


@dataclass(eq=False)
class Pooling:
    """The largest number of each window, of all channels of a tensor."""

    name: str
    source: Tensor
    output: Tensor
    rows: Window
    columns: Window


@dataclass
class Linear:
    """The actions of a chain, and the vectors that they use."""

    config: VtaConfig
    leaves: Sequence[Sequence[Product] | Tensor]
    actions: list[Action] = field(default_factory=list)
    vectors: list[Constant] = field(default_factory=list)
    slots: int = 0
    _free: list[int] = field(default_factory=list)
    _uses: Counter[Shared] = field(default_factory=Counter)
    """The number of uses of a common beginning of chains that are still to come."""
    _kept: dict[Shared, int] = field(default_factory=dict)
    """The common beginnings that are needed again, and their slots."""

    def add(self, chain: Chain) -> int:
        """Emits a chain; the slot of its result."""
        self._count(chain)
        return self._add(chain)

    def _count(self, chain: Chain) -> None:
        base = chain.base
        if isinstance(base, Pair):
            self._count(base.left)
            self._count(base.right)
        elif isinstance(base, Shared):
            if base not in self._uses:
                self._count(base.chain)
            self._uses[base] += 1

    def _add(self, chain: Chain) -> int:
        slot = self._base(chain)
        for step, _ in chain.steps:
            self.actions.append(Apply(slot, step.opcode, self._operand(step.value)))
        return slot

    def _base(self, chain: Chain) -> int:
        base = chain.base
        if isinstance(base, Shared):
            return self._shared(base)
        if isinstance(base, Leaf):
            slot = self._take()
            leaf = self.leaves[base.index]
            action = Fetch(slot, leaf) if isinstance(leaf, Tensor) else Accumulate(slot, leaf)
            self.actions.append(action)
            return slot
        left, right = self._add(base.left), self._add(base.right)
        self.actions.append(Apply(left, base.opcode, Slot(right)))
        self._free.append(right)
        return left

    def _shared(self, base: Shared) -> int:
        slot = self._kept.get(base)
        if slot is None:
            slot = self._kept[base] = self._add(base.chain)
        self._uses[base] -= 1
        if not self._uses[base]:
            return self._kept.pop(base)
        copy = self._take()
        self.actions.append(Duplicate(copy, slot))
        return copy

    def _take(self) -> int:
        if self._free:
            return self._free.pop()
        self.slots += 1
        return self.slots - 1

    def _operand(self, value: Constant) -> int | Vector:
        limit = 1 << (self.config.imm_bits - 1)
        if isinstance(value, int) and -limit <= value < limit:
            return value
        for index, known in enumerate(self.vectors):
            if np.array_equal(known, value):
                return Vector(index)
        self.vectors.append(value)
        return Vector(len(self.vectors) - 1)


def spread_vectors(vectors: Sequence[Constant], channels: int, config: VtaConfig) -> np.ndarray:
    """
    Returns vectors as accumulators: int32[vectors, blocks, batch, block]; 0 after the channels.
    """
    blocks = -(-channels // config.block_out)
    found = np.zeros((len(vectors), blocks * config.block_out), np.int32)
    for row, vector in zip(found, vectors, strict=True):
        row[:channels] = vector
    tiles = found.reshape(len(vectors), blocks, 1, config.block_out)
    return np.repeat(tiles, config.batch, axis=2)


def parts(count: int, size: int) -> Iterator[tuple[int, int]]:
    """
    Yields ranges of at most `size` that make up `count`: where each begins, and how long it is.
    """
    for start in range(0, count, size):
        yield start, min(size, count - start)
