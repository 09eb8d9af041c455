"""
The features of this processor that this process may use.

LLVM reports the features of the processor. AMX tiles need the permission of Linux as well, because
a thread that uses them has 8 KiB more to save. A process asks for it once, before its first tile,
and its threads and forked children have it too.

Source: Linux, Documentation/arch/x86/xstate.rst.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Mapping
from functools import cache

import llvmlite.binding as llvm

_ARCH_PRCTL = 158
_REQUEST_PERMISSION = 0x1023
_TILE_DATA = 18


@cache
def host_features() -> Mapping[str, bool]:
    """
    Returns LLVM's features of the processor by name; those of tiles are False if Linux forbids
    them.
    """
    found = {**llvm.get_host_cpu_features()}
    if found.get("amx-tile") and not request_tiles():
        found.update({name: False for name in found if name.startswith("amx-")})
    return found


@cache
def request_tiles() -> bool:
    """Asks Linux to let this process use AMX tiles. Returns whether it may."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    try:
        arguments = (_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA)
        return ctypes.CDLL(None).syscall(*map(ctypes.c_long, arguments)) == 0
    except (OSError, AttributeError):
        return False


def flattened(features: Mapping[str, bool]) -> str:
    """Returns features in LLVM's format: `+sse2,-avx`."""
    return ",".join(f"{'+' if features[name] else '-'}{name}" for name in sorted(features))
