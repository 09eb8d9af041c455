"""The facts about a model that a backend may use when it compiles a program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from .cache import Cache


class ModelSource(Protocol):
    """A model known by its content, so that its compiled program is found again."""

    external: set[str]
    """Paths of the other files that were read; whoever finds or imports them adds them."""

    @property
    def folder(self) -> Path:
        """The folder to which names of other files are relative."""
        ...

    def key(self, cache: Cache) -> str:
        """
        Returns the key of the model's file (not of others with its weights), of its import options,
        and of the compiler. Raises OSError if it cannot be read.
        """
        ...

    def with_files(self, key: str, names: Sequence[str], cache: Cache) -> str:
        """
        Returns the key with the contents of the other files that have weights. Raises OSError.
        """
        ...

    def other_files(self) -> list[str]:
        """Returns the files of external data, relative to the folder of the model."""
        ...

    def is_unchanged(self, names: Sequence[str]) -> bool:
        """
        Returns whether neither the model nor other files have changed since this object was made.
        """
        ...
