"""
Ensembles of decision trees: walks of many rows or trees at a time.

A nest takes one step of all walks of a block, whose places are in scratch. The steps of a nest do
not depend on each other, so that a processor overlaps them, and there are no branches to predict.
Blocks of rows walk through one tree after the other. If there are few rows, several trees make a
block.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.elementwise import X
from ....glow_dialects.glow.trees import NODE, TreeEnsembleOp
from ....glow_dialects.glow_nest.affine import Access, Affine, Dim, Index, Indirect, View, affine
from ....glow_dialects.glow_nest.nest import Combine
from ....glow_dialects.scalar import arguments, bitcast, convert
from ..registry import Kernel, kernel, total
from ..schedules.blocking import rows_walked_together, trees_walked_together

_COMBINES = {"sum": Combine.ADD, "min": Combine.MINIMUM, "max": Combine.MAXIMUM}


@kernel(TreeEnsembleOp)
def tree_ensemble(k: Kernel) -> None:
    rows = k.operands[0].shape[0]
    most = rows_walked_together(rows, k.threads)
    trees = k.operands[2].shape[0]
    leaves = k.scratch((trees, min(rows, most)), k.operands[1].element)
    for row, size in _blocks(k, "block", rows, most):
        first = 0
        walks = k.call.ints("walks")
        for count, steps in zip(walks[::2], walks[1::2], strict=True):
            for tree, together in _blocks(k, "tree", count, trees_walked_together(size)):
                _walk(k, row, size, tree + first, together, steps, leaves)
            first += count
        _combine(k, row, size, leaves)


def _blocks(k: Kernel, name: str, total: int, most: int) -> Iterator[tuple[Affine, int]]:
    """
    Repeats what is added for blocks of equal size, `most` at the most, and adds it again for what
    is left over, which is smaller than a block.
    """
    size = total // -(-total // most) if total else 1
    whole, rest = divmod(total, size)
    if whole:
        block = Dim(name, whole)
        with k.repeat(block):
            yield block * size, size
    if rest:
        yield affine(whole * size), rest


def _walk(
    k: Kernel, row: Affine, size: int, tree: Affine, trees: int, steps: int, leaves: View
) -> None:
    """Takes rows through some trees, and notes to which row of leaves they lead."""
    x, nodes, roots = k.operands[:3]
    t, r = Dim("t", trees), Dim("r", size)
    place = k.scratch((trees, size), nodes.element)[[t, r]]
    k.copy([t, r], place, roots[[tree + t, 0]])

    def number(of: int) -> Access:
        there = Indirect(place, nodes.shape[0] - NODE + 1, nodes.strides[0], True)
        return Access(nodes.buffer, nodes[[of]].place, there)

    feature = Indirect(number(0), x.shape[1], x.strides[1], True)
    value = Access(x.buffer, x[[row + r, 0]].place, feature)
    found, threshold, child = arguments(3)
    is_second = found <= bitcast(threshold, x.element)
    next_place = child + convert(is_second, nodes.element) * NODE
    with k.repeat(Dim("step", steps)):
        operands = [value, number(1), number(2)]
        k.map_all([t, r], [place], operands, [next_place], in_place=True)
    k.copy([t, r], leaves[[tree + t, r]], number(3))


def _combine(k: Kernel, row: Affine, size: int, leaves: View) -> None:
    _, _, roots, given = k.operands
    trees, groups, width = roots.shape[0], k.call.int("groups"), given.shape[1]
    r, g, w, i = Dim("r", size), Dim("g", groups), Dim("w", width), Dim("i", trees // groups)
    walked = Indirect(roots[[i * groups + g, 1]], trees, leaves.strides[0], True)
    leaf = Access(leaves.buffer, leaves[[0, r]].place, walked)
    read = Access(
        given.buffer, given[[0, w]].place, Indirect(leaf, given.shape[0], given.strides[0], True)
    )
    combine = _COMBINES[k.call.get("combine")]
    column: Index = g * width + w
    found = total(combine, compute_type(k.element), read)
    k.finish([r, g, w], [row + r, column], (), X, [i], found)
