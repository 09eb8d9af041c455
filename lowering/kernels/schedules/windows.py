"""
Windows of depthwise convolutions and poolings: innermost loops of a reduction over which neighbours
read the same elements.

The loop is unrolled. Each vector is then loaded once for all windows of a register tile that read
it, and stays in a register, so tiles may be larger than those of other reductions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from ....glow_dialects.glow_nest.affine import Access, Dim, stride_of
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.machine import MachineDescription

_PART = 4
"""The part of the registers that the vectors of a window take; with more, a loop is as fast."""


@dataclass(frozen=True)
class Window:
    """A loop of a reduction that is unrolled."""

    loop: Dim
    vector: Dim
    """The loop that runs over the lanes of vectors."""
    reads: Sequence[Access]
    overlapping: Sequence[Dim]
    """The other loops along which windows overlap."""

    def loaded(self, access: Access, tile: Mapping[Dim, int], lanes: int) -> float:
        """Returns the vectors that an access reads for a tile in each step of the window."""
        return len(self._vectors(access, tile, lanes)) / self.loop.size

    def kept(self, tile: Mapping[Dim, int], lanes: int) -> int:
        """Returns the vectors that stay in registers: several windows of a tile read them."""
        return sum(
            number > 1
            for access in self.reads
            if any(_overlaps(access, dim, self.loop) for dim in self.overlapping)
            for number in self._vectors(access, tile, lanes).values()
        )

    def _vectors(self, access: Access, tile: Mapping[Dim, int], lanes: int) -> Counter[int]:
        """Returns how many points of a tile and of the window read each vector, by its place."""
        counts = {**tile, self.loop: self.loop.size}
        steps = {d: stride_of(access, d) * (lanes if d is self.vector else 1) for d in counts}
        moves = [[steps[d] * i for i in range(n)] for d, n in counts.items()]
        return Counter(map(sum, product(*moves)))


def window_of(nest: Nest, vector: Dim | None, machine: MachineDescription) -> Window | None:
    """Returns the window of a nest with a reduction, if it has one that is unrolled."""
    assert nest.reduction is not None
    if vector is None or vector in nest.reduced or nest.range is not None or nest.tabled:
        return None
    if not nest.reduced or _PART * nest.reduced[-1].size > machine.vector_registers:
        return None
    loop = nest.reduced[-1]
    reads = nest.reduction.reads
    loops = (d for d in nest.parallel if d is not vector)
    overlapping = [d for d in loops if any(_overlaps(a, d, loop) for a in reads)]
    return Window(loop, vector, reads, overlapping) if overlapping else None


def _overlaps(access: Access, dim: Dim, window: Dim) -> bool:
    """Returns whether neighbours along a loop read elements of each other's windows."""
    far, near = access.stride(dim), access.stride(window)
    if not (isinstance(far, int) and isinstance(near, int) and near and far % near == 0):
        return False
    return 0 < far // near < window.size
