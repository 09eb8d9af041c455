"""Words that depend on numbers, names that may be meant, and names that are free."""

from __future__ import annotations

from collections.abc import Collection, Iterable


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Returns `1 sample`, `2 samples`; the plural is the noun with an s unless it is given."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """
    Returns `; did you mean a or b?` with the known names that are similar, or nothing if none is.
    """
    # only an error needs it
    from difflib import get_close_matches

    similar = get_close_matches(name, list(known))
    return f"; did you mean {' or '.join(similar)}?" if similar else ""


def free_name(wanted: str, taken: Collection[str]) -> str:
    """Returns a name that is not taken: the wanted one, if need be with `_` behind it."""
    while wanted in taken:
        wanted += "_"
    return wanted
