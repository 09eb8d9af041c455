"""
Loops over micro-ops.

An instruction repeats a range of micro-ops in two loops, which add factors to their indices. The
two longest dimensions of a computation on a tile become loops, and the others are written out as
micro-ops. Tiles of equal shape at the same place of the buffers have equal micro-ops, so a sequence
is kept in DRAM once and loaded when it is not in the buffer.

Some designs need some iterations between two sums into the same accumulator. For these, the loops
over sums are outside, and those over accumulators inside. If there are too few accumulators,
products into idle ones, the last of the buffer, come between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import prod
from typing import NamedTuple

import numpy as np

from ...glow_dialects.vta import VtaConfig, VtaMemory
from .regions import Dram, Move
from .stream import Loops, Stream


class Axis(NamedTuple):
    """A dimension of a computation: its iterations, and what each adds to the three indices."""

    size: int
    dst: int = 0
    src: int = 0
    wgt: int = 0


class MicroOps:
    """The buffer of micro-ops, and the table in DRAM from which it is filled."""

    def __init__(self, stream: Stream, dram: Dram):
        """`dram` is the table of micro-ops; its number of elements is set to theirs."""
        self._stream = stream
        self._dram = dram
        self._config = stream.config
        self._table: list[np.ndarray] = []
        self._places: dict[bytes, int] = {}
        """The places in the table at which sequences begin."""
        self._held: dict[bytes, tuple[int, int]] = {}
        """Ranges of the buffer, in the order in which they were loaded."""
        self._end = 0

    def table(self) -> np.ndarray:
        """Returns all micro-ops: int64[N, 3], at least one."""
        return np.concatenate(self._table or [np.zeros((1, 3), np.int64)])

    def loops(
        self, axes: Sequence[Axis], bases: tuple[int, int, int], sums: bool = False
    ) -> Iterator[tuple[tuple[int, int], Loops]]:
        """
        Yields instructions that compute in all iterations of `axes`, whose indices begin at
        `bases`: for each the range of micro-ops, which is in the buffer then, and the loops. With
        `sums`, axes that stay at the same accumulators add to them.
        """
        distance = self._config.capabilities.distance if sums else 1
        axes = _merged(axes)
        choose = _split if distance == 1 else _split_apart
        outer, inner, rest = choose(axes, self._config)
        ops = np.array([bases], np.int64)
        for axis in rest:
            steps = np.arange(axis.size)[:, None] * np.array(axis[1:])
            ops = (ops[:, None] + steps).reshape(-1, 3)
        loops = Loops(
            (outer.size, inner.size),
            (outer.dst, inner.dst),
            (outer.src, inner.src),
            (outer.wgt, inner.wgt),
        )
        # at most half of the buffer, so that the micro-ops of the next instruction can stay
        most = min(self._config.usable_micro_ops // 2, (1 << self._config.size_bits) - 1)
        if distance > 1:
            parts = _whole_groups(self._with_idle(ops, axes, rest, distance), most)
        else:
            parts = (ops[start : start + most] for start in range(0, len(ops), most))
        for part in parts:
            yield self._find(part), loops

    def _with_idle(
        self, ops: np.ndarray, axes: Sequence[Axis], rest: Sequence[Axis], distance: int
    ) -> np.ndarray:
        """
        Returns micro-ops in groups [group, micro-op, 3] of different accumulators, with idle ones
        if there are sums, but fewer accumulators than needed.
        """
        groups = ops.reshape(-1, prod(axis.size for axis in rest if axis.dst), 3)
        missing = distance - prod(axis.size for axis in axes if axis.dst)
        if missing <= 0 or all(axis.dst for axis in axes):
            return groups
        idle = np.repeat(groups[:, :1], missing, axis=1)
        idle[:, :, 0] = self._config.acc_depth - 1 - np.arange(missing)
        return np.concatenate([groups, idle], axis=1)

    def _find(self, ops: np.ndarray) -> tuple[int, int]:
        key = ops.tobytes()
        found = self._held.get(key)
        if found is not None:
            return found
        if self._end + len(ops) > self._config.usable_micro_ops:
            self._end = 0
        begin, end = self._end, self._end + len(ops)
        self._held = {k: r for k, r in self._held.items() if r[1] <= begin or r[0] >= end}
        self._held[key] = begin, end
        self._end = end
        self._stream.load(VtaMemory.UOP, begin, self._dram, self._stored(key, ops))
        return begin, end

    def _stored(self, key: bytes, ops: np.ndarray) -> Move:
        first = self._places.get(key)
        if first is None:
            first = self._places[key] = self._dram.elements
            self._table.append(ops)
            self._dram.elements += len(ops)
        return Move(first, 1, len(ops), len(ops))


def _merged(axes: Sequence[Axis]) -> list[Axis]:
    """Returns the same iterations in as few dimensions as possible."""
    found: list[Axis] = []
    for axis in axes:
        if axis.size == 1:
            continue
        if found and found[-1][1:] == tuple(axis.size * step for step in axis[1:]):
            found[-1] = Axis(found[-1].size * axis.size, *axis[1:])
        else:
            found.append(axis)
    return found


def _split(axes: list[Axis], config: VtaConfig) -> tuple[Axis, Axis, list[Axis]]:
    """
    Returns the two loops with the most iterations that fields can hold, and the other dimensions.
    """
    none = Axis(1)
    fitting = [i for i, axis in enumerate(axes) if _fits(axis, config)]
    pairs = [*combinations(fitting, 2), *((i,) for i in fitting), ()]
    best = max(pairs, key=lambda pair: np.prod([axes[i].size for i in pair], initial=1))
    outer, inner = [*(none for _ in range(2 - len(best))), *(axes[i] for i in best)]
    return outer, inner, [axis for i, axis in enumerate(axes) if i not in best]


def _split_apart(axes: list[Axis], config: VtaConfig) -> tuple[Axis, Axis, list[Axis]]:
    """
    Returns the axes as `_split` divides them, with as many accumulators inside all sums as the
    design needs.
    """
    none, distance = Axis(1), config.capabilities.distance
    sums, places = [a for a in axes if not a.dst], [a for a in axes if a.dst]
    axes = [*sums, *places]
    # with too few accumulators, they are all micro-ops, followed by idle ones
    few = bool(sums) and prod(a.size for a in places) < distance
    fitting = [i for i, axis in enumerate(axes) if _fits(axis, config) and not (few and axis.dst)]
    best: tuple[Axis, Axis, list[Axis]] = none, none, axes
    for pair in [*combinations(fitting, 2), *((i,) for i in fitting)]:
        outer, inner = [*(none for _ in range(2 - len(pair))), *(axes[i] for i in pair)]
        rest = [axis for i, axis in enumerate(axes) if i not in pair]
        better = outer.size * inner.size > best[0].size * best[1].size
        if better and (few or _are_apart([outer, inner, *rest], distance)):
            best = outer, inner, rest
    return best


def _are_apart(axes: Sequence[Axis], distance: int) -> bool:
    """Returns whether enough accumulators are inside of each sum."""
    return all(
        prod(inner.size for inner in axes[i + 1 :] if inner.dst) >= distance
        for i, axis in enumerate(axes)
        if axis.size > 1 and not axis.dst
    )


def _whole_groups(groups: np.ndarray, most: int) -> Iterator[np.ndarray]:
    """Yields parts of at most `most` micro-ops of groups [group, micro-op, 3]."""
    count, size, _ = groups.shape
    if size <= most:
        step = most // size
        for start in range(0, count, step):
            yield groups[start : start + step].reshape(-1, 3)
        return
    for group in groups:
        yield from np.array_split(group, -(-size // most))


def _fits(axis: Axis, config: VtaConfig) -> bool:
    sources = min(config.inp_depth, config.acc_depth)
    return (
        axis.size < 1 << config.loop_bits
        and axis.dst < config.acc_depth
        and axis.src < sources
        and axis.wgt < config.wgt_depth
    )
