"""Tables of entries by class or name."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from glow.table import Table


class Base: ...


class Derived(Base): ...


def table(inherited: bool) -> Table[type, Callable[[], str]]:
    made: Table[type, Callable[[], str]] = Table("a name", inherited)

    @made.entry(Base)
    def base() -> str:
        return "base"

    return made


def test_entries_are_found_by_class() -> None:
    found = table(inherited=False)
    assert found[Base]() == "base"
    assert Derived not in found
    assert found.get(Derived) is None
    assert found.get(Derived, found[Base]) is found[Base]
    assert list(found) == [Base]
    assert len(found) == 1
    with pytest.raises(KeyError):
        found[Derived]


def test_the_nearest_base_class_with_an_entry() -> None:
    found = table(inherited=True)
    assert Derived in found
    assert found[Derived]() == "base"
    found.add(Derived, lambda: "derived")
    assert found[Derived]() == "derived"
    assert int not in found
    assert [] not in found


def test_a_second_entry_is_refused() -> None:
    with pytest.raises(ValueError, match="Base already has a name"):
        table(inherited=False).add(Base, lambda: "other")
