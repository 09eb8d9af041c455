"""
The identity of a model by its content: the key of its compiled program in the cache.

The bytes of a file are hashed, which takes a second for one or two gigabytes, so the hash is
remembered in the cache for the file's identity (`file_identity`).
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ModelError
from .file_identity import identity, is_older
from .fingerprint import COMPILER, source_hash
from .object_cache import key_of

if TYPE_CHECKING:
    import numpy as np

    from ..interface.cache import Cache

_PACKAGES = ("numpy", "ml_dtypes", "onnx", "xdsl")


class OnnxSource:
    """
    An ONNX model, as a file or as bytes, with the options that its import depends on. It implements
    `interface.model_source.ModelSource`.
    """

    def __init__(
        self,
        model: Path | bytes,
        symbols: Mapping[str, int] | None = None,
        max_elements: int | None = None,
        values: Mapping[str, np.ndarray] | None = None,
        states: Mapping[str, str] | None = None,
        form: str = "",
    ):
        """
        The arguments are the model and the options of its import. `form` says what is made of its
        graph before it is compiled, if anything is.
        """
        self._model = Path(os.path.abspath(model)) if isinstance(model, Path) else model
        self.symbols = symbols
        self.max_elements = max_elements
        self._values = [
            (name, array.dtype.str, array.shape, array.tobytes().hex())
            for name, array in sorted((values or {}).items())
        ]
        self._states = sorted((states or {}).items())
        self._form = form
        self._start = time.time_ns()
        self._status: tuple[int, ...] | None = None
        self.external: set[str] = set()

    def key(self, cache: Cache) -> str:
        if isinstance(self._model, Path):
            self._status = identity(self._model)
            content = file_hash(self._model, cache)
        else:
            content = hashlib.sha256(self._model).hexdigest()
        sizes = sorted((self.symbols or {}).items())
        details = json.dumps([sizes, self.max_elements, self._values, self._states, self._form])
        return key_of("model", content, details, source_hash(COMPILER), *_versions())

    def with_files(self, key: str, names: Sequence[str], cache: Cache) -> str:
        hashes = [file_hash(self.folder / name, cache) for name in names]
        return key_of("model with files", key, *names, *hashes)

    def other_files(self) -> list[str]:
        return sorted(os.path.relpath(path, self.folder) for path in self.external)

    def is_unchanged(self, names: Sequence[str]) -> bool:
        if not isinstance(self._model, Path):
            return not names
        paths = [self._model, *(self.folder / name for name in names)]
        try:
            if identity(self._model) != self._status:
                return False
            return all(is_older(identity(path), self._start) for path in paths)
        except OSError:
            return False

    @property
    def folder(self) -> Path:
        return self._model.parent if isinstance(self._model, Path) else Path(os.path.abspath(""))


class ModelFiles:
    """The files of a model, which must stay as they were when they were first met."""

    def __init__(self, model: Path | None):
        self._met: dict[str, tuple[int, ...] | None] = {}
        self._model = model
        self.expect_unchanged()

    def expect_unchanged(self, others: Iterable[str] = ()) -> None:
        """
        Looks at the model's file and `others`, which have its weights. Raises ModelError if one has
        changed.
        """
        for path in (*([] if self._model is None else [str(self._model)]), *others):
            try:
                found = identity(Path(path))
            except (OSError, ValueError):
                found = None
            if self._met.setdefault(path, found) != found:
                raise ModelError(
                    f"{path} has changed since its program was loaded; compile it again"
                )


def file_hash(path: Path, cache: Cache) -> str:
    """Returns SHA-256 of a file's content, from the cache if it knows the file. Raises OSError."""
    if not path.is_file():
        raise OSError(f"{path} is no file")
    before = identity(path)
    key = key_of("file", str(path), *map(str, before))
    if (found := cache.get(key)) is not None:
        return found.decode()
    moment = time.time_ns()
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if identity(path) == before and is_older(before, moment):
        # no warning if a cache that can be read cannot be written
        cache.put(key, digest.encode(), warn=False)
    return digest


@cache
def _versions() -> tuple[str, ...]:
    found: list[str] = []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(name)
    return tuple(found)
