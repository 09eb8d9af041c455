"""Chains of steps as the operators of a layer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from xdsl.ir import SSAValue

from ...glow_dialects.vta import ApplyOp, CopyOp, VtaConfig
from ...glow_dialects.vta.layers import InLayer
from .epilogue import Chain, Constant, Leaf, Pair, Shared, Step


class ChainOps:
    """
    The operators of chains, and the vectors that they use. `leaf` makes those of a leaf, by its
    number; the last one has its numbers.
    """

    def __init__(self, config: VtaConfig, leaf: Callable[[int], Sequence[InLayer]]):
        self.ops: list[InLayer] = []
        self.vectors: list[Constant] = []
        self._config = config
        self._leaf = leaf
        self._uses: Counter[Shared] = Counter()
        """The number of uses of a common beginning of chains that are still to come."""
        self._kept: dict[Shared, SSAValue] = {}
        """The common beginnings that are needed again."""

    def add(self, chain: Chain) -> SSAValue:
        """Adds a chain; returns its numbers."""
        self._count(chain)
        return self._add(chain)

    def append(self, op: InLayer) -> SSAValue:
        """Adds an operator; returns its result."""
        self.ops.append(op)
        return op.results[0]

    def _count(self, chain: Chain) -> None:
        base = chain.base
        if isinstance(base, Pair):
            self._count(base.left)
            self._count(base.right)
        elif isinstance(base, Shared):
            if base not in self._uses:
                self._count(base.chain)
            self._uses[base] += 1

    def _add(self, chain: Chain) -> SSAValue:
        value = self._base(chain)
        for step, _ in chain.steps:
            value = self.append(self._applied(step, value))
        return value

    def _base(self, chain: Chain) -> SSAValue:
        base = chain.base
        if isinstance(base, Shared):
            return self._shared(base)
        if isinstance(base, Leaf):
            return [self.append(op) for op in self._leaf(base.index)][-1]
        left, right = self._add(base.left), self._add(base.right)
        return self.append(ApplyOp.of(base.opcode, left, right))

    def _shared(self, base: Shared) -> SSAValue:
        value = self._kept.get(base)
        if value is None:
            value = self._kept[base] = self._add(base.chain)
        self._uses[base] -= 1
        if not self._uses[base]:
            return self._kept.pop(base)
        return self.append(CopyOp.of(value))

    def _applied(self, step: Step, value: SSAValue) -> ApplyOp:
        limit, operand = 1 << (self._config.imm_bits - 1), step.value
        if isinstance(operand, int) and -limit <= operand < limit:
            return ApplyOp.of(step.opcode, value, imm=operand)
        return ApplyOp.of(step.opcode, value, vector=self._vector(operand))

    def _vector(self, value: Constant) -> int:
        """Returns the number of the vector of a constant."""
        for index, known in enumerate(self.vectors):
            if np.array_equal(known, value):
                return index
        self.vectors.append(value)
        return len(self.vectors) - 1


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
