"""The store of results of compilations."""

from __future__ import annotations

import mmap
from typing import Protocol


class Cache(Protocol):
    """Entries by key; a key identifies content. Safe to use from several threads at once."""

    def get(self, key: str) -> bytes | None:
        """Returns the bytes stored under `key`, or None if there are none or they are damaged."""
        ...

    def put(self, key: str, payload: bytes, warn: bool = True) -> None:
        """Stores `payload` under `key`, if it can be stored. With `warn`, it warns if it cannot."""
        ...

    def map_weights(self, key: str, size: int) -> mmap.mmap | None:
        """
        Returns the weight segment stored under `key`, mapped into memory after a header of a page;
        None if there is none of `size` bytes.
        """
        ...

    def put_weights(self, key: str, segment: memoryview) -> bool:
        """Stores a weight segment under `key`; whether it is there now."""
        ...
