"""
Facts about a model in the cache: what was found out about its graphs, so that another process need
not import them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

import ml_dtypes  # noqa: F401  names of dtypes
import numpy as np

from .object_cache import key_of

if TYPE_CHECKING:
    from ..interface.cache import Cache
    from ..interface.model_source import ModelSource

_HEADER_BYTES = 8


@dataclass(frozen=True)
class Facts:
    """The facts about a graph that are stored beside its program."""

    values: Any
    """Data for JSON."""
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)


def kept_facts(cache: Cache, source: ModelSource, make: Callable[[], object]) -> Any:
    """
    Returns data for JSON about a model's file, from the cache or else made, and stored there.
    """
    try:
        key = key_of("facts", source.key(cache))
    except OSError:
        return make()  # the import reports the error of the file
    found = cache.get(key)
    if found is not None:
        return json.loads(found)
    made = make()
    if source.is_unchanged([]):
        cache.put(key, json.dumps(made).encode())
    return made


def find_facts(cache: Cache, source: ModelSource) -> Facts | None:
    """
    Returns the facts about a model and its files with weights, which `source` names; None if the
    cache has none.
    """
    try:
        found = cache.get(_key(cache, source))
    except OSError:
        return None
    return None if found is None else _decoded(found)


def store_facts(cache: Cache, source: ModelSource, facts: Facts) -> None:
    """Stores facts about a model, unless one of its files may have changed since."""
    try:
        key = _key(cache, source)
    except OSError:
        return
    if source.is_unchanged(source.other_files()):
        cache.put(key, _encoded(facts))


def _key(cache: Cache, source: ModelSource) -> str:
    files = source.other_files()
    return key_of("facts with arrays", source.with_files(source.key(cache), files, cache))


def _encoded(facts: Facts) -> bytes:
    about = {name: (a.dtype.name, a.shape) for name, a in facts.arrays.items()}
    header = json.dumps([facts.values, about]).encode()
    data = [np.ascontiguousarray(a).tobytes() for a in facts.arrays.values()]
    return b"".join([len(header).to_bytes(_HEADER_BYTES, "little"), header, *data])


def _decoded(data: bytes) -> Facts:
    start = _HEADER_BYTES + int.from_bytes(data[:_HEADER_BYTES], "little")
    values, about = json.loads(data[_HEADER_BYTES:start])
    arrays: dict[str, np.ndarray] = {}
    for name, (dtype, shape) in about.items():
        array = np.frombuffer(data, dtype, prod(shape), start)
        arrays[name] = array.reshape(shape)
        start += array.nbytes
    return Facts(values, arrays)
