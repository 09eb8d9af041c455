"""Checkpoints: the state of a training in one file, which is written as a whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from ..errors import GlowError
from ..whole_file import write_whole

_KEY = "glow.training"
PROGRESS = ("step", "epoch", "batch", "seed")
"""The names of the numbers in a checkpoint, integers of at least 0."""
_MOST = 5
"""The number of differences that an error lists."""


def write_checkpoint(
    path: Path, arrays: Mapping[str, np.ndarray], progress: Mapping[str, int]
) -> None:
    """
    Writes arrays and numbers to a file. The file is written under another name and then renamed, so
    that an older one with this name stays whole whatever happens.

    Raises GlowError if it cannot be written.
    """
    try:
        write_whole(path, save(dict(arrays), {_KEY: json.dumps(dict(progress))}))
    except OSError as error:
        last = "the checkpoint that was there before is unchanged" if path.is_file() else "none"
        raise GlowError(
            f"cannot write the checkpoint {path}: {error.strerror or error}; last good one: {last}"
        ) from error


def read_checkpoint(
    path: Path, expected: Mapping[str, np.ndarray], optional: str | None = None
) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """
    Returns the arrays and numbers of a file. Raises GlowError for a file that is no checkpoint, or
    one whose arrays have other names, shapes or dtypes than the `expected` ones. Those whose names
    begin with `optional` may be there or not.
    """
    try:
        with safe_open(path, "numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}
    except (OSError, SafetensorError) as error:
        raise GlowError(f"{path}: cannot be read as a checkpoint: {error}") from error
    progress = _progress(path, metadata)
    free = {n for n in {*arrays} ^ {*expected} if optional is not None and n.startswith(optional)}
    compared = ({n: a for n, a in side.items() if n not in free} for side in (arrays, expected))
    problems = _differences(*compared)
    if problems:
        shown = "".join(f"\n  {p}" for p in problems[:_MOST])
        more = f"\n  and {len(problems) - _MOST} more" if len(problems) > _MOST else ""
        raise GlowError(f"{path}: is the checkpoint of another network or optimizer:{shown}{more}")
    return arrays, progress


def _progress(path: Path, metadata: Mapping[str, str]) -> dict[str, int]:
    """Returns the numbers of a file. Raises GlowError if it has none, or others."""
    if _KEY not in metadata:
        raise GlowError(f"{path}: is no checkpoint of a training")
    try:
        found = json.loads(metadata[_KEY])
    except ValueError:
        found = None
    numbers = found if isinstance(found, dict) else {}
    if any(type(n := numbers.get(name)) is not int or n < 0 for name in PROGRESS):
        raise GlowError(
            f"{path}: expected the numbers {', '.join(PROGRESS)} of a training, found "
            f"{metadata[_KEY]}; the file is damaged, or no checkpoint of Trainer.save"
        )
    return {name: numbers[name] for name in PROGRESS}


def _differences(found: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> list[str]:
    problems: list[str] = []
    for name in sorted({*found, *expected}):
        have, want = found.get(name), expected.get(name)
        if have is None or want is None:
            problems.append(f"{name}: is {'missing' if have is None else 'unknown'}")
        elif (have.shape, have.dtype) != (want.shape, want.dtype):
            problems.append(
                f"{name}: expected {want.dtype.name}{list(want.shape)}, "
                f"found {have.dtype.name}{list(have.shape)}"
            )
    return problems
