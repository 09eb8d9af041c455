"""
Whole programs in the cache, with which a process runs a network without compiling it.

An entry names the objects and the weight segment of a program, and describes its inputs, outputs
and memory. Its key is the content of the model (`model_source`) with everything else that a program
depends on, so a network is found before it is even parsed. Files other than the model that hold
weights are listed in an entry of their own, whose key is that of the model. Programs with equal
weights, for several batch sizes say, have one segment, whose key is the hash of its content.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..interface.index_range import IndexRange
from ..interface.memory_plan import Buffer, MemoryPlan
from ..interface.signature import Count, Signature, TensorInfo
from .object_cache import key_of
from .program_plan import LinkPlan

if TYPE_CHECKING:
    from ..interface.cache import Cache
    from ..interface.model_source import ModelSource


@dataclass(frozen=True)
class SavedProgram:
    """A program as the cache has it."""

    signature: Signature
    memory: MemoryPlan
    plan: LinkPlan
    weights: str
    """The key of its weight segment, which other programs may have too."""


def find_program(cache: Cache, source: ModelSource, details: Sequence[str]) -> SavedProgram | None:
    """
    Returns the program of a model.

    `details` are the options of the backend and the target. Raises OSError if the model cannot be
    read.
    """
    model = source.key(cache)
    files = cache.get(_files_key(model))
    if files is None:
        return None
    key = _key(source, model, json.loads(files), details, cache)
    source.external |= {str(source.folder / name) for name in json.loads(files)}
    found = cache.get(key)
    return None if found is None else _decoded(json.loads(found))


def store_program(
    cache: Cache,
    source: ModelSource,
    details: Sequence[str],
    program: SavedProgram,
    weights: memoryview,
) -> None:
    """
    Stores a program that was compiled from a model, unless one of its files may have changed since.
    """
    files = source.other_files()
    try:
        model = source.key(cache)
        key = _key(source, model, files, details, cache)
    except OSError:
        return
    if source.is_unchanged(files) and cache.put_weights(program.weights, weights):
        cache.put(key, json.dumps(_encoded(program)).encode())
        cache.put(_files_key(model), json.dumps(files).encode())


def find_signature(cache: Cache, source: ModelSource) -> Signature | None:
    """
    Returns the inputs and outputs of a model before sizes are given to its symbols. Raises OSError
    if it cannot be read.
    """
    found = cache.get(_signature_key(source, cache))
    return None if found is None else _decoded_signature(json.loads(found))


def store_signature(cache: Cache, source: ModelSource, signature: Signature) -> None:
    """
    Stores the inputs and outputs of a model, unless its file may have changed since it was read.
    """
    try:
        key = _signature_key(source, cache)
    except OSError:
        return
    if source.is_unchanged([]):
        cache.put(key, json.dumps(_encoded_signature(signature)).encode())


def _signature_key(source: ModelSource, cache: Cache) -> str:
    return key_of("signature of a model", source.key(cache))


def _files_key(model: str) -> str:
    return key_of("files of a model", model)


def _key(
    source: ModelSource,
    model: str,
    files: Sequence[str],
    details: Sequence[str],
    cache: Cache,
) -> str:
    return key_of("saved program", source.with_files(model, files, cache), *details)


def _encoded(program: SavedProgram) -> dict[str, object]:
    return {
        **_encoded_signature(program.signature),
        "memory": asdict(program.memory),
        "plan": asdict(program.plan),
        "weights": program.weights,
    }


def _encoded_signature(signature: Signature) -> dict[str, object]:
    def infos(of: Sequence[TensorInfo]) -> list[object]:
        return [
            [
                *(info.name, info.shape, info.dtype.name),
                [asdict(each) for each in info.ranges],
                *(None if info.count is None else asdict(info.count), info.is_random),
                *(info.state, info.limit),
            ]
            for info in of
        ]

    return {"inputs": infos(signature.inputs), "outputs": infos(signature.outputs)}


def _decoded(entry: Mapping[str, list]) -> SavedProgram:
    memory: dict = dict(entry["memory"])
    memory["buffers"] = tuple(Buffer(**buffer) for buffer in memory["buffers"])
    link: dict = dict(entry["plan"])
    signature, plan = _decoded_signature(entry), MemoryPlan(**memory)
    weights: str = entry["weights"]  # pyright: ignore[reportAssignmentType]
    return SavedProgram(signature, plan, LinkPlan(**link), weights)


def _decoded_signature(entry: Mapping[str, list]) -> Signature:
    def infos(of: Sequence[Sequence]) -> tuple[TensorInfo, ...]:
        return tuple(
            TensorInfo(
                *(name, shape, _dtype(dtype), tuple(map(_decoded_range, ranges))),
                *(None if count is None else Count(**count), is_random, state, limit),
            )
            for name, shape, dtype, ranges, count, is_random, state, limit in of
        )

    return Signature(infos(entry["inputs"]), infos(entry["outputs"]))


def _decoded_range(entry: Mapping[str, Any]) -> IndexRange:
    bounds = tuple(entry["low"]), tuple(entry["high"])
    return IndexRange(*bounds, entry["user"], entry["total"], entry["ascending"], entry["what"])


def _dtype(name: str) -> np.dtype:
    try:
        return np.dtype(name)
    except TypeError:
        # few programs have outputs of types that numpy lacks
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
