"""
Plans of index arrays, with which numpy computes GEMM and ALU instructions.

An instruction executes micro-ops in two nested loops. Its plan lists the same operations grouped so
that each group is a few array operations with the same result as the sequence has. Plans are
relative to the smallest index of each operand, so that equal loops on other tiles share them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np

from ...glow_dialects.vta.config import VtaConfig
from .words import decode_micro_ops

PIECE = 1 << 17
"""Iterations that are planned together; longer loops are executed in pieces, in their order."""


Indices = np.ndarray | slice


class Factors(NamedTuple):
    """The numbers that an iteration of the outer and of the inner loop add to an index."""

    outer: int
    inner: int

    def indices(self, first: np.ndarray, outer: int, inner: int) -> np.ndarray:
        """Returns the index in each iteration, in order: int64[outer * inner * len(first)]."""
        i = np.arange(outer, dtype=np.int64)[:, None, None] * self.outer
        j = np.arange(inner, dtype=np.int64)[:, None] * self.inner
        return (i + j + first).reshape(-1)

    def step(self, outer: int, inner: int) -> int:
        """Returns the number that is added in one iteration; no earlier one adds more."""
        return outer * self.outer + inner * self.inner


class Piece(NamedTuple):
    """A part of two loops: `outer` x `inner` iterations from `first_outer`, `first_inner` on."""

    first_outer: int
    first_inner: int
    outer: int
    inner: int


def pieces(outer: int, inner: int, micro_ops: int) -> Iterator[Piece]:
    """
    Yields the loops in parts of at most `PIECE` iterations, in an order that keeps that of all.
    """
    if inner * micro_ops <= PIECE:
        step = max(PIECE // max(inner * micro_ops, 1), 1)
        for i in range(0, outer, step):
            yield Piece(i, 0, min(step, outer - i), inner)
        return
    step = max(PIECE // micro_ops, 1)
    for i in range(outer):
        for j in range(0, inner, step):
            yield Piece(i, j, 1, min(step, inner - j))


@dataclass(frozen=True)
class Product:
    """
    Sums of products for G x R accumulators: accumulator [g, r] gets the sum over k of input
    [g, r, k] by weight [g, k]. No accumulator appears twice in a plan.
    """

    dst: np.ndarray
    """int64[G * R]"""
    src: np.ndarray
    """int64[G, R, K]"""
    wgt: np.ndarray
    """int64[G, K]"""


@dataclass(frozen=True)
class GemmPlan:
    products: tuple[Product, ...]
    dst: np.ndarray
    """Every index once, as all below."""
    src: np.ndarray
    wgt: np.ndarray


def plan_reset(dst: np.ndarray) -> Indices:
    """Returns all accumulators that become zero."""
    return _compact(np.unique(dst))


def plan_gemm(dst: np.ndarray, src: np.ndarray, wgt: np.ndarray) -> GemmPlan:
    """
    Plans products that are added to accumulators; the order of additions does not matter, because
    they wrap around.
    """
    order = np.argsort(dst, kind="stable")
    dst, src, wgt = dst[order], src[order], wgt[order]
    starts = np.flatnonzero(np.diff(dst, prepend=-1))
    counts = np.diff(starts, append=dst.size)
    products: list[Product] = []
    for count in np.unique(counts):
        rows = starts[counts == count]
        places = rows[:, None] + np.arange(count)
        products.extend(_products(dst[rows], src[places], wgt[places]))
    return GemmPlan(tuple(products), dst[starts], np.unique(src), np.unique(wgt))


def _products(dst: np.ndarray, src: np.ndarray, wgt: np.ndarray) -> Iterator[Product]:
    """Yields groups accumulators int64[D], each with K products, by their weights int64[D, K]."""
    keys = np.ascontiguousarray(wgt).view(np.dtype((np.void, wgt.shape[1] * 8))).reshape(-1)
    _, group = np.unique(keys, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    counts = np.diff(starts, append=dst.size)
    for count in np.unique(counts):
        first = starts[counts == count]
        members = order[first[:, None] + np.arange(count)]
        yield Product(dst[members].reshape(-1), src[members], wgt[members[:, 0]])


@dataclass(frozen=True)
class AluPlan:
    steps: tuple[tuple[Indices, Indices], ...]
    """
    Destinations and sources. Those of one step can be computed at once: all are read before one is
    written, and no destination appears twice.
    """
    used: Indices
    """All that are read."""


def plan_alu(dst: np.ndarray, src: np.ndarray | None = None) -> AluPlan:
    """Plans operations on accumulators `dst`, with `src` or an immediate, that keep their order."""
    levels = _occurrences(dst) if src is None else _levels(dst, src)
    used = np.unique(dst if src is None else np.concatenate([dst, src]))
    source = dst if src is None else src
    if not levels.any():
        return AluPlan(((_compact(dst), _compact(source)),), _compact(used))
    order = np.argsort(levels, kind="stable")
    ends = np.cumsum(np.bincount(levels))[:-1]
    steps = [(_compact(dst[part]), _compact(source[part])) for part in np.split(order, ends)]
    return AluPlan(tuple(steps), _compact(used))


def _occurrences(indices: np.ndarray) -> np.ndarray:
    """Returns the number of earlier occurrences of each value."""
    order = np.argsort(indices, kind="stable")
    places = np.arange(indices.size)
    ordered = indices[order]
    begins = np.diff(ordered, prepend=-1) != 0
    found = np.empty_like(places)
    found[order] = places - np.maximum.accumulate(np.where(begins, places, 0))
    return found


def _levels(dst: np.ndarray, src: np.ndarray) -> np.ndarray:
    """
    Returns the step of each operation: later than the operations that wrote its operands or its
    result, and not before those that read its result's old value.
    """
    other = src != dst
    if not np.isin(src[other], dst).any():
        return _occurrences(dst)
    written: dict[int, int] = {}
    read: dict[int, int] = {}
    levels = np.empty(dst.size, np.int64)
    for n, (d, s) in enumerate(zip(dst.tolist(), src.tolist(), strict=True)):
        level = max(written.get(d, -1) + 1, written.get(s, -1) + 1, read.get(d, 0))
        levels[n] = written[d] = level
        read[s] = max(read.get(s, 0), level)
    return levels


def _compact(indices: np.ndarray) -> Indices:
    """
    Returns the indices as a slice if they are consecutive; numpy reads and writes slices much
    faster.
    """
    if indices.size and (np.diff(indices) == 1).all():
        return slice(int(indices[0]), int(indices[-1]) + 1)
    return indices


class PlanKind(Enum):
    """The kind of instruction that is planned."""

    GEMM = "gemm"
    RESET = "reset"
    ALU = "alu"
    IMMEDIATE = "immediate"


class Operands(NamedTuple):
    """
    The places of the operands of a piece: the numbers that are added to the indices of a plan, and
    the largest index.
    """

    bases: tuple[int, ...]
    last: tuple[int, ...]


Plan = GemmPlan | AluPlan | Indices

_MAKERS: dict[PlanKind, Callable[..., Plan]] = {
    PlanKind.GEMM: plan_gemm,
    PlanKind.RESET: plan_reset,
    PlanKind.ALU: plan_alu,
    PlanKind.IMMEDIATE: plan_alu,
}


class Plans:
    """
    The plans of one program, made when they are first needed.

    Of those made, indices of about `limit` bytes are kept.
    """

    def __init__(self, config: VtaConfig, limit: int = 1 << 28):
        self._config = config
        self._limit = limit
        self._bytes = 0
        self._by_words: dict[tuple, tuple[Plan, Operands]] = {}
        self._by_indices: dict[tuple, Plan] = {}

    def find(
        self, kind: PlanKind, words: np.ndarray, loops: Sequence[Factors], piece: Piece
    ) -> tuple[Plan, Operands]:
        """
        Returns the plan of the micro-ops `words` in a piece of loops, one `Factors` for each
        operand.
        """
        key = (kind, words.tobytes(), tuple(loops), piece)
        found = self._by_words.get(key)
        if found is None:
            found = self._by_words[key] = self._find(kind, words, loops, piece)
            self._account(words.nbytes)
        return found

    def _find(
        self, kind: PlanKind, words: np.ndarray, loops: Sequence[Factors], piece: Piece
    ) -> tuple[Plan, Operands]:
        starts = [f.step(piece.first_outer, piece.first_inner) for f in loops]
        decoded = decode_micro_ops(words, self._config)
        indices = [index + start for index, start in zip(decoded, starts, strict=False)]
        bases = [int(index.min()) for index in indices]
        if kind is PlanKind.ALU:
            # both operands are accumulators, and which of them are the same matters
            bases = [min(bases)] * 2
        relative = [index - base for index, base in zip(indices, bases, strict=True)]
        shape = (piece.outer, piece.inner)
        key = (kind, *(r.tobytes() for r in relative), tuple(loops), shape)
        plan = self._by_indices.get(key)
        if plan is None:
            expanded = [f.indices(r, *shape) for f, r in zip(loops, relative, strict=True)]
            plan = self._by_indices[key] = _MAKERS[kind](*expanded)
            self._account(len(expanded) * expanded[0].nbytes)
        ends = [f.step(piece.outer - 1, piece.inner - 1) for f in loops]
        last = [int(index.max()) + end for index, end in zip(indices, ends, strict=True)]
        return plan, Operands(tuple(bases), tuple(last))

    def _account(self, size: int) -> None:
        self._bytes += size
        if self._bytes > self._limit:
            self._by_words, self._by_indices, self._bytes = {}, {}, 0
