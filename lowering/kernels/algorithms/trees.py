"""
Ensembles of decision trees: walks of many rows or trees at a time.

A nest takes one step of all walks of a block, whose places are in scratch. The steps of a nest do
not depend on each other, so that a processor overlaps them, and there are no branches to predict.
Blocks of rows walk through one tree after the other. If there are few rows, several trees make a
block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.elementwise import X
from ....glow_dialects.glow.trees import NODE, TreeEnsembleOp
from ....glow_dialects.glow_nest.affine import Access, Affine, Dim, Indirect, View
from ....glow_dialects.glow_nest.nest import Combine
from ....glow_dialects.scalar import arguments, bitcast, convert
from ..registry import Kernel, kernel, total
from ..schedules.blocking import rows_walked_together, trees_walked_together
from .row_blocks import each_panel

_COMBINES = {"sum": Combine.ADD, "min": Combine.MINIMUM, "max": Combine.MAXIMUM}


@kernel(TreeEnsembleOp)
def tree_ensemble(k: Kernel) -> None:
    rows = k.operands[0].shape[0]
    most = rows_walked_together(rows, k.threads)
    trees = k.operands[2].shape[0]
    leaves = k.scratch((trees, min(rows, most)), k.operands[1].element)
    for row, r in _blocks(k, ("block", "r"), rows, most):
        first = 0
        walks = k.call.ints("walks")
        for count, steps in zip(walks[::2], walks[1::2], strict=True):
            for tree, t in _blocks(k, ("tree", "t"), count, trees_walked_together(r.size)):
                _walk(k, row, r, tree + first, t, steps, leaves)
            first += count
        _combine(k, row, r, leaves)


def _blocks(
    k: Kernel, names: tuple[str, str], total: int, most: int
) -> Iterator[tuple[Affine, Dim]]:
    """
    Yields the start and the loop variable of blocks of equal size, `most` at the most, and of what
    is left over, which is smaller than a block. `names` are those of loops over and in blocks.
    """
    size = total // -(-total // most) if total else 1
    for block, (inside,) in each_panel(k, total, size, names=names):
        yield block * size, inside


def _walk(k: Kernel, row: Affine, r: Dim, tree: Affine, t: Dim, steps: int, leaves: View) -> None:
    """Takes rows through some trees, and notes to which row of leaves they lead."""
    x, nodes, roots = k.operands[:3]
    place = k.scratch((t.size, r.size), nodes.element)[[t, r]]
    k.copy([t, r], place, roots[[tree + t, 0]])

    def number(of: int) -> Access:
        there = Indirect(place, nodes.shape[0] - NODE + 1, nodes.strides[0], True)
        return replace(nodes[[of]], indirect=there)

    value = x.chosen([row + r, number(0)], unsigned=True)
    found, threshold, child = arguments(3)
    is_second = found <= bitcast(threshold, x.element)
    next_place = child + convert(is_second, nodes.element) * NODE
    with k.repeat(Dim("step", steps)):
        operands = [value, number(1), number(2)]
        k.map_all([t, r], [place], operands, [next_place], in_place=True)
    k.copy([t, r], leaves[[tree + t, r]], number(3))


def _combine(k: Kernel, row: Affine, r: Dim, leaves: View) -> None:
    _, _, roots, given = k.operands
    trees, groups, width = roots.shape[0], k.call.int("groups"), given.shape[1]
    g, w, i = Dim("g", groups), Dim("w", width), Dim("i", trees // groups)
    leaf = leaves.chosen([roots[[i * groups + g, 1]], r], unsigned=True)
    read = given.chosen([leaf, w], unsigned=True)
    found = total(_COMBINES[k.call.get("combine")], compute_type(k.element), read)
    k.finish([r, g, w], [row + r, g * width + w], (), X, [i], found)
