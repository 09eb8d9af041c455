"""
The symbols that dimensions of outputs follow from, told by the shapes of outputs for some sizes.

Exporters name the dimensions of inputs, and often leave those of outputs open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .symbols import SizeRange

_UNITS = (32, 8, 1)
"""
Factors of the sizes to try: images are often of multiples of 32, and sequences of limited length.
"""


def unnamed_dimensions(shape: Sequence[Any], symbols: Sequence[str]) -> list[Any]:
    """Returns the dimensions that are neither numbers nor symbols."""
    return [d for d in shape if not isinstance(d, int) and d not in symbols]


def trial_sizes(
    symbols: Sequence[str], ranges: Mapping[str, SizeRange]
) -> Iterator[tuple[dict[str, int], dict[str, int]]]:
    """
    Yields pairs of sizes of all symbols, within their ranges. Where ranges allow it, no two symbols
    have the same size, and none has the same size twice.
    """
    for unit in _UNITS:
        first = {s: _within(unit * (i + 2), ranges.get(s)) for i, s in enumerate(symbols)}
        more = {
            s: _within(unit * (i + 2 + len(symbols)), ranges.get(s)) for i, s in enumerate(symbols)
        }
        yield first, more


def _within(size: int, allowed: SizeRange | None) -> int:
    return size if allowed is None else min(max(size, allowed.low), allowed.high)


def named_dimensions(
    shape: Sequence[Any],
    symbols: Sequence[str],
    trials: Sequence[Mapping[str, int]],
    shapes: Sequence[Sequence[int]],
) -> list[int | str | None]:
    """
    Returns the dimensions of an output, in which a symbol, or a number, takes the place of what is
    neither, if it alone has the sizes that the output has for all `trials`.
    """
    found: list[int | str | None] = list(shape)
    for i in range(len(found)):
        if not unnamed_dimensions([found[i]], symbols):
            continue
        sizes = [each[i] for each in shapes]
        fitting = [s for s in symbols if [trial[s] for trial in trials] == sizes]
        if len(fitting) == 1:
            found[i] = fitting[0]
        elif not fitting and len(set(sizes)) == 1:
            found[i] = sizes[0]
    return found
