"""
The order of the loops of a reduction that reads two arrays.

A loop inside another one reads again what does not depend on the outer loop. Where one of the
arrays comes from memory and the other one from a cache, the former is better read once.
"""

from __future__ import annotations

from ....glow_dialects.costs import cached_bytes
from ....glow_dialects.glow_nest.affine import Access, Dim
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.machine import MachineDescription


def far_array_outside(nest: Nest, machine: MachineDescription) -> tuple[Dim, ...]:
    """
    Returns the parallel loops of a reduction. Those of an array that comes from memory are outside
    those of an array that stays in a cache; others have the order of the nest.
    """
    reads = nest.reduced_reads
    if nest.range is not None or nest.is_limited or len(reads) != 2:
        return nest.parallel
    stays = [nest.touched_bytes(a) <= cached_bytes(machine) for a in reads]
    if stays[0] == stays[1]:
        return nest.parallel
    near, far = reads if stays[0] else reversed(reads)
    inside = [d for d in nest.parallel if _depends(near, d) and not _depends(far, d)]
    return (*(d for d in nest.parallel if d not in inside), *inside)


def _depends(access: Access, dim: Dim) -> bool:
    return any(a.stride(dim) != 0 for a in (access, *access.indices))
