"""
The symbols that dimensions of outputs follow from, told by the shapes of outputs for some sizes.

Exporters name the dimensions of inputs, and often leave those of outputs open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
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
    # those with few sizes choose first
    order = sorted(symbols, key=lambda s: ranges[s].high - ranges[s].low if s in ranges else inf)
    for unit in _UNITS:
        used: set[int] = set()
        first, more = dict[str, int](), dict[str, int]()
        for symbol in order:
            for number, sizes in enumerate((first, more)):
                near = unit * (2 + symbols.index(symbol) + number * len(symbols))
                sizes[symbol] = _unused(near, ranges.get(symbol), used)
        yield first, more


def _unused(size: int, allowed: SizeRange | None, used: set[int]) -> int:
    """Returns the size of a range that is nearest to `size`, if possible none of those in use."""
    low, high = (1, size + len(used)) if allowed is None else (allowed.low, allowed.high)
    nearest = min(max(size, low), high)
    near = range(max(low, nearest - len(used)), min(high, nearest + len(used)) + 1)
    found = min(set(near) - used, key=lambda n: (abs(n - nearest), n), default=nearest)
    used.add(found)
    return found


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
