"""Writes files of schedules: several processes may write to one, and nothing is lost."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from ..errors import GlowError
from ..glow_dialects.machine import MachineDescription
from ..lowering.tuned_schedules import (
    FORMAT,
    TunedKernel,
    TunedSchedules,
    read_schedules,
    written_by,
)
from ..whole_file import write_whole


def present_schedules(path: Path, machine: MachineDescription) -> TunedSchedules:
    """
    Returns the schedules that a file has already. Raises GlowError if it is of another machine, or
    broken.
    """
    if not path.exists():
        return {}
    found = read_schedules(path, machine)
    if isinstance(found, str):
        raise GlowError(f"{path}: {found}; write to another file, or delete this one")
    return found


def update_schedules(
    path: Path, changed: Mapping[str, TunedKernel | None], machine: MachineDescription
) -> None:
    """
    Writes the entries of some kernels, or delete those that are None, and leave all others in the
    file as they are. The file is replaced as a whole, so that whoever reads never sees half of it;
    without any entry there is no file.
    """
    with _locked(path.absolute().parent):
        known = {**present_schedules(path, machine), **changed}
        kernels = {key: asdict(each) for key, each in known.items() if each is not None}
        if not kernels:
            path.unlink(missing_ok=True)
            return
        content = {
            "format": FORMAT,
            **written_by(machine),
            "threads": 1,
            "kernels": kernels,
        }
        write_whole(path, (json.dumps(content, indent=1) + "\n").encode())


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Lets one process in at a time. The directory is locked, because the file is replaced."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
