"""
Files of schedules that were measured to be faster than those of the cost model.

A file is JSON: what it was measured with (version of the compiler, machine), and for each kernel
the texts of the schedules of some of its nests. `glow-tune` writes it, `glow-schedule-nests` and
the option `schedules` of the backend `cpu` read it.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..errors import GlowError
from ..glow_dialects.machine import MachineDescription

FORMAT = "glow schedules 2"


@dataclass(frozen=True)
class TunedKernel:
    """The schedules of one kernel, and how long it took, in seconds of one thread."""

    name: str
    nests: Mapping[str, str]
    """The text of the schedule of each nest that has another one, by the nest's number."""
    model_seconds: float = 0.0
    """With the schedules of the cost model."""
    tuned_seconds: float = 0.0


TunedSchedules = Mapping[str, TunedKernel]
"""The content of a file: kernels by their keys (`lowering.kernels.schedule_nests`)."""


def load_schedules(path: str | Path, machine: MachineDescription) -> TunedSchedules | None:
    """
    Returns the content of a file; None, with a warning, if it is for another machine or written by
    another version. Raises GlowError if the file is broken or cannot be read.
    """
    found = read_schedules(path, machine)
    if not isinstance(found, str):
        return found
    warnings.warn(
        f"{path} is ignored: {found}; run glow-tune to measure schedules here", stacklevel=2
    )
    return None


def read_schedules(path: str | Path, machine: MachineDescription) -> TunedSchedules | str:
    """
    Returns the content of a file, or the reason why it is not used here. Raises GlowError if it is
    broken.
    """
    header, kernels = _read(Path(path))
    if (reason := _foreign(header, machine)) is not None:
        return reason
    try:
        return {key: _kernel(each) for key, each in kernels.items()}
    except (TypeError, AttributeError, KeyError, ValueError):
        raise _broken(path, "a kernel has no table of schedules") from None


def schedules_directory(cache: Path) -> Path:
    """Returns the folder in which a cache keeps measured schedules."""
    return cache / "schedules"


def default_file(directory: Path, machine: MachineDescription) -> Path:
    """Returns the file of a machine in a directory of the cache."""
    facts = json.dumps(written_by(machine), sort_keys=True)
    return schedules_directory(directory) / f"{sha256(facts.encode()).hexdigest()[:16]}.tuned"


def _read(path: Path) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    if path.exists() and not path.is_file() and not path.is_dir():
        # a device may have no end
        raise GlowError(f"{path}: cannot read the schedules: it is no regular file")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise _broken(path, f"it is no JSON ({error})") from None
    except OSError as error:
        raise GlowError(f"{path}: cannot read the schedules: {error.strerror}") from None
    if not isinstance(content, dict) or not str(content.get("format")).startswith("glow schedules"):
        raise _broken(path, "it does not say that it is a file of schedules")
    kernels = content.get("kernels")
    if not isinstance(kernels, dict):
        raise _broken(path, "it has no table of kernels")
    return content, kernels


def _kernel(entry: Mapping[str, Any]) -> TunedKernel:
    found = TunedKernel(**entry)
    if not all(n.isdecimal() and isinstance(t, str) for n, t in found.nests.items()):
        raise ValueError
    return found


def _foreign(header: Mapping[str, Any], machine: MachineDescription) -> str | None:
    """Returns the difference to the machine or version that wrote a file; None if there is none."""
    if header["format"] != FORMAT:
        return f"its format is {header['format']!r}, not {FORMAT!r}"
    wanted = written_by(machine)
    if header.get("compiler") != wanted["compiler"]:
        return f"version {header.get('compiler')} of the compiler wrote it, not {_version()}"
    facts, found = wanted["machine"], header.get("machine")
    other = found if isinstance(found, dict) else {}
    name = next((n for n in {**facts, **other} if other.get(n) != facts.get(n)), None)
    return name and f"it is for another machine ({name} {other.get(name)}, here {facts.get(name)})"


def written_by(machine: MachineDescription) -> Mapping[str, Any]:
    """Returns what the header of a file says of where it was written."""
    facts = {n: list(v) if isinstance(v, tuple) else v for n, v in machine.facts().items()}
    return {"compiler": _version(), "machine": facts}


@cache
def _version() -> str:
    return version("glow-compiler")


def _broken(path: str | Path, what: str) -> GlowError:
    return GlowError(
        f"{path}: expected schedules that glow-tune wrote, but {what}; delete the file or run "
        "glow-tune again"
    )
