"""Registries: tables whose entries stand beside the code that they belong to."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, TypeVar, overload

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
V = TypeVar("V")


class Table(Mapping[K, V]):
    """
    Entries by operator, by another class, or by name. Modules add theirs when they are imported:

    ```python
    MEANINGS: Table[type[Node], Meaning] = Table("a meaning")

    @MEANINGS.entry(ReluOp)
    def relu(call: Call, x: np.ndarray) -> np.ndarray: ...
    ```
    """

    def __init__(self, what: str, inherited: bool = False):
        """
        `what` names an entry in error messages, with its article. With `inherited`, a class without
        an entry has that of its nearest base class with one.
        """
        self._what = what
        self._inherited = inherited
        self._entries: dict[K, V] = {}

    def entry(self, *keys: K) -> Callable[[V], V]:
        """Registers an entry under some keys. Raises ValueError if there is one already."""

        def add(value: V) -> V:
            for key in keys:
                self.add(key, value)
            return value

        return add

    def add(self, key: K, value: V) -> None:
        """Adds an entry. Raises ValueError if there is one already."""
        if key in self._entries:
            name = getattr(key, "name", getattr(key, "__name__", key))
            raise ValueError(f"{name} already has {self._what}")
        self._entries[key] = value

    @overload
    def get(self, key: Hashable, /) -> V | None: ...
    @overload
    def get(self, key: Hashable, default: V | T, /) -> V | T: ...
    def get(self, key: Hashable, default: Any = None, /) -> Any:
        """Returns the entry of a key; `default` if there is none."""
        entries: dict[Any, V] = self._entries
        found = entries.get(key)
        if found is None and self._inherited and isinstance(key, type):
            found = next((entries[c] for c in key.__mro__ if c in entries), None)
        return default if found is None else found

    def __getitem__(self, key: Hashable) -> V:
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def __contains__(self, key: object) -> bool:
        return isinstance(key, Hashable) and self.get(key) is not None

    def __iter__(self) -> Iterator[K]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
