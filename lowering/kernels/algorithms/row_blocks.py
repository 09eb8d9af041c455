"""Loops that visit the rows of a tensor a few at a time, or the panels of a factor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ....glow_dialects.glow_nest.affine import Affine, Dim, Index, Limit, View, affine
from ..registry import Kernel


@dataclass(frozen=True)
class Rows:
    """
    A few rows of a tensor: those with indices `[*outer, first + row, *after]`. A vector is one row.
    """

    outer: Sequence[Index]
    first: Index
    row: Dim
    after: Sequence[Index] = ()
    of_vector: bool = False

    @property
    def place(self) -> list[Index]:
        """The indices of a row."""
        if self.of_vector:
            return []
        return [*self.outer, affine(self.first) + self.row, *self.after]

    def part(self, first: Index, size: int, limit: Limit | None = None) -> Rows:
        """Returns `size` of these rows, starting with row `first`."""
        return replace(self, first=affine(self.first) + first, row=Dim("i", size, limit))


def for_rows(
    k: Kernel, leading: int, x: View, count: int, along: int | None = None
) -> Iterator[Rows]:
    """
    Yields each `count` rows, in loops around the nests that use them, and the remaining rows at the
    end. The indices of a row are the `leading` first dimensions of `x`, of the result and of the
    epilogue's operands; where rows lie `along` a dimension, without that one. Dimensions that all
    of these step through as one are joined to one.
    """
    views = [x, *k.elementwise_views]
    if along is not None:
        views = [v.along([d for d in range(v.rank) if d != along]) for v in views]
    shape = views[0].shape[:leading]
    if not leading:
        yield Rows((), 0, Dim("i", 1), of_vector=True)
        return
    if period := views[0].period(leading - 1):
        yield from _for_texts(k, leading, views[0], period, count)
        return
    limits = [views[0].limit(i) for i in range(leading)]
    # the stride of a dimension of one element says nothing
    several = [i for i in range(leading) if shape[i] > 1 or limits[i] is not None]
    last = several[-1] if several else leading - 1
    size, joined, limit = shape[last], last, limits[last]
    while joined and (
        shape[joined - 1] == 1
        or (limit is None and all(v.strides[joined - 1] == v.strides[last] * size for v in views))
    ):
        joined -= 1
        if shape[joined] > 1 and (outermost := limits[joined]) is not None:
            limit = outermost.of_elements(size)
        size *= shape[joined]
    outer = [views[0].dim(f"o{i}", i) for i in range(joined)]
    # the index of the last one alone moves through all dimensions that are joined
    inner: list[Index] = [0] * (last - joined)
    rows = Rows([*outer, *inner], 0, Dim("i", size, limit), after=[0] * (leading - 1 - last))
    with k.repeat(*outer):
        yield from in_blocks(k, rows, count)


def _for_texts(k: Kernel, leading: int, view: View, period: int, count: int) -> Iterator[Rows]:
    """Yields the same where the last leading dimension has the rows of several texts."""
    *others, last = range(leading)
    outer, text = [view.dim(f"o{i}", i) for i in others], Dim("o", view.shape[last] // period)
    rows = Rows(outer, text * period, Dim("i", period, view.limits[last]))
    with k.repeat(*outer, text):
        yield from in_blocks(k, rows, count)


def in_blocks(k: Kernel, rows: Rows, count: int) -> Iterator[Rows]:
    """
    Yields each `count` of some rows, in a loop around the nests that use them, and the remaining
    rows at the end.
    """
    blocks, rest = divmod(rows.row.size, count)
    limit, inside, after = rows.row.limit, None, None
    if limit is not None:
        inside = Limit(of_rest=True)
        after = replace(limit, start=limit.start + blocks * count)
        limit = replace(limit, granule=count, opens=True)
    if blocks:
        block = Dim("b", blocks, limit)
        with k.repeat(block):
            yield rows.part(block * count, count, inside)
    if rest:
        yield rows.part(blocks * count, rest, after)


def one_or_several(k: Kernel, rows: Rows) -> Iterator[tuple[Rows, bool]]:
    """
    Yields some rows, and whether they are one. Of the rest of a block, which may be one row, it
    yields the first row and all rows; a call takes one of these ways.
    """
    row, rest = rows.row, Limit(of_rest=True)
    if row.limit != rest or row.size == 1:
        yield rows, row.size == 1 and row.limit is None
        return
    # 2 - rest and rest - 1 tell whether there is one
    with k.repeat(Dim("one", 1, replace(rest, factor=-1, start=-2))):
        yield rows.part(0, 1), True
    with k.repeat(Dim("several", 1, replace(rest, granule=row.size, start=1))):
        yield rows, False


def each_panel(
    k: Kernel,
    columns: int,
    width: int,
    limit: Limit | None = None,
    opens: bool = False,
    in_nest: bool = False,
    names: tuple[str, str] = ("p", "l"),
) -> Iterator[tuple[Affine, list[Dim]]]:
    """
    Yields the number of a panel and the loop variables of a nest, of which the last is that of
    columns: once for all whole panels, and once for the rest. A loop around the nest is over whole
    panels, or, `in_nest`, the first loop variable is. `names` are those of both variables. With a
    limit of the columns, it leaves out panels beyond it; if the panel `opens`, also columns.
    """
    whole, rest = divmod(columns, width)
    by_panel = None if limit is None else replace(limit, granule=width, opens=opens)
    inside = Limit(of_rest=True) if by_panel is not None and opens else None
    panel, lane = names
    if whole:
        p, column = Dim(panel, whole, by_panel), Dim(lane, width, inside)
        around, dims = ([], [p, column]) if in_nest else ([p], [column])
        with k.repeat(*around):
            yield affine(p), dims
    if rest:
        after = [] if by_panel is None else [Dim(panel, 1, replace(by_panel, start=whole * width))]
        with k.repeat(*after):
            yield affine(whole), [Dim(lane, rest, inside)]
