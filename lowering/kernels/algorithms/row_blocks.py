"""Loops that visit the rows of a tensor a few at a time, or the panels of a factor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ....glow_dialects.glow_nest.affine import Affine, Dim, Index, View, affine
from ..registry import Kernel


@dataclass(frozen=True)
class Rows:
    """A few rows of a tensor: those with indices `[*outer, first + row]`. A vector is one row."""

    outer: Sequence[Index]
    first: Index
    row: Dim
    of_vector: bool = False

    @property
    def place(self) -> list[Index]:
        """The indices of a row."""
        return [] if self.of_vector else [*self.outer, affine(self.first) + self.row]

    def part(self, first: Index, size: int) -> Rows:
        """Returns `size` of these rows, starting with row `first`."""
        return replace(self, first=affine(self.first) + first, row=Dim("i", size))


Visit = Callable[[Rows], None]


def for_rows(k: Kernel, leading: int, views: Sequence[View], count: int, visit: Visit) -> None:
    """
    Lets `visit` add the nests for each `count` rows, and for the remaining rows at the end. The
    indices of a row are the `leading` first dimensions of `views`, of the result and of the
    epilogue's operands. Dimensions that all of these step through as one are joined to one.
    """
    views = [*views, *k.elementwise_views]
    shape = views[0].shape[:leading]
    if not leading:
        visit(Rows((), 0, Dim("i", 1), of_vector=True))
        return
    size, joined = shape[-1], leading - 1
    while joined and (
        shape[joined - 1] == 1
        or all(v.strides[joined - 1] == v.strides[leading - 1] * size for v in views)
    ):
        joined -= 1
        size *= shape[joined]
    outer = [Dim(f"o{i}", s) for i, s in enumerate(shape[:joined])]
    # the index of the last one alone moves through all dimensions that are joined
    zeros: list[Index] = [0] * (leading - 1 - joined)
    rows = Rows([*outer, *zeros], 0, Dim("i", size))
    _nested(k, outer, lambda: in_blocks(k, rows, count, visit))


def _nested(k: Kernel, dims: Sequence[Dim], inner: Callable[[], None]) -> None:
    if not dims:
        inner()
        return
    with k.repeat(dims[0]):
        _nested(k, dims[1:], inner)


def in_blocks(k: Kernel, rows: Rows, count: int, visit: Visit) -> None:
    """
    Lets `visit` add the nests for each `count` of some rows, and for the remaining rows at the end.
    """
    blocks, rest = divmod(rows.row.size, count)
    if blocks:
        block = Dim("b", blocks)
        with k.repeat(block):
            visit(rows.part(block * count, count))
    if rest:
        visit(rows.part(blocks * count, rest))


def each_panel(k: Kernel, columns: int, width: int) -> Iterator[tuple[Affine, Dim]]:
    """
    Yields the number of a panel and the loop variable of its columns: once for all whole panels, in
    a loop, and once for the rest.
    """
    whole, rest = divmod(columns, width)
    if whole:
        with k.repeat(p := Dim("p", whole)):
            yield affine(p), Dim("l", width)
    if rest:
        yield affine(whole), Dim("l", rest)
