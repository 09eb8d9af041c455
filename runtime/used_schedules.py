"""The file of measured schedules that a compilation uses."""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ..errors import GlowError
from ..glow_dialects.machine import MachineDescription
from ..lowering.tuned_schedules import default_file, load_schedules, schedules_directory
from .private_files import expect_private_directory

NONE = "none"
"""The option that asks for the cost model alone."""


@dataclass(frozen=True)
class UsedSchedules:
    path: str
    content: str
    """The hash of the content of the file."""


def used_schedules(
    option: str | None, cache: Path | None, machine: MachineDescription
) -> UsedSchedules | None:
    """
    Returns the file for the option `schedules`: a file, `none`, or by default the file of this
    machine in the directory of the cache. Returns None if there is no file, or if it is of another
    machine. Raises GlowError for a broken file and for a wrong option.
    """
    if option == NONE or (option is None and cache is None):
        return None
    if option is not None:
        path = Path(option)
        if '"' in option or "\\" in option:
            raise GlowError(f"{option}: expected a file of schedules without quotes in its name")
    else:
        assert cache is not None
        # programs start faster where nothing was tuned if they need not know the file's name
        if not os.path.isdir(schedules_directory(cache)):  # it may be out of reach
            return None
        path = default_file(cache, machine)
        if not _may_use(path):
            return None
    if load_schedules(path, machine) is None:
        return None
    return UsedSchedules(os.fspath(path), sha256(path.read_bytes()).hexdigest())


def _may_use(path: Path) -> bool:
    """Returns whether there is a file that only this user can have written."""
    if not os.path.exists(path):
        return False
    try:
        expect_private_directory(path.parent.parent)
        expect_private_directory(path.parent)
    except OSError:
        return False
    return True
