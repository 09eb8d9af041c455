"""
The description of a processor from the features that LLVM reports and the caches that Linux
reports; no table of machines is involved.

LLVM reports the features of the processor. AMX tiles need the permission of Linux as well, because
a thread that uses them has 8 KiB more to save. A process asks for it once, before its first tile,
and its threads and forked children have it too.

Source: Linux, Documentation/arch/x86/xstate.rst.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TypeVar

import llvmlite.binding as llvm

from ..glow_dialects.instruction_kinds import DotKind, LookupKind
from ..glow_dialects.machine import MachineDescription

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def describe(features: Mapping[str, bool]) -> MachineDescription:
    """
    Returns the description of a processor with these features, in LLVM's names. Features that are
    not given count as absent. Caches are as large as those of the usual processors with such
    features.
    """
    has_fma = bool(features.get("fma"))
    if features.get("avx512f") and features.get("avx512bw") and features.get("avx512vl"):
        return MachineDescription(
            512,
            32,
            has_fma,
            int8_dots=_present(features, {"avx512vnni": DotKind.VPDPBUSD}),
            byte_lookups=_present(
                features, {"avx512vbmi": LookupKind.VPERMI2B, "ssse3": LookupKind.PSHUFB}
            ),
            has_bf16_dot=bool(features.get("avx512bf16")),
            has_int8_tiles=bool(features.get("amx-tile") and features.get("amx-int8")),
            has_bf16_tiles=bool(features.get("amx-tile") and features.get("amx-bf16")),
        )
    if features.get("avx2"):
        return MachineDescription(
            256,
            16,
            has_fma,
            int8_dots=_present(features, {"avxvnni": DotKind.VPDPBUSD}),
            byte_lookups=(LookupKind.PSHUFB,),
            l2_bytes=512 << 10,
        )
    if features.get("neon"):
        dots = _present(features, {"dotprod": DotKind.SDOT, "i8mm": DotKind.USDOT})
        return MachineDescription(128, 32, True, int8_dots=dots, byte_lookups=(LookupKind.TBL,))
    lookups = _present(features, {"ssse3": LookupKind.PSHUFB})
    return MachineDescription(128, 16, has_fma, byte_lookups=lookups, l2_bytes=256 << 10)


_Kind = TypeVar("_Kind", DotKind, LookupKind)


def _present(features: Mapping[str, bool], kinds: Mapping[str, _Kind]) -> tuple[_Kind, ...]:
    """Returns the kinds of instructions whose features are present."""
    return tuple(kind for feature, kind in kinds.items() if features.get(feature))


def with_host_caches(machine: MachineDescription) -> MachineDescription:
    """Returns the description with the caches of this machine, as far as Linux reports them."""
    found = cache_sizes(_CACHES)
    return replace(machine, **{f"l{n}_bytes": found[n] for n in (1, 2, 3) if n in found})


@cache
def cache_sizes(folder: Path) -> Mapping[int, int]:
    """Returns the bytes of data caches by level, as Linux reports them; empty if it does not."""
    sizes: dict[int, int] = {}
    for index in sorted(folder.glob("index*")):
        try:
            kind, level, size = (
                (index / name).read_text(encoding="ascii").strip()
                for name in ("type", "level", "size")
            )
            if kind != "Instruction":
                sizes[int(level)] = int(size.rstrip("KMG")) * _UNITS.get(size[-1:], 1)
        except (OSError, ValueError):
            continue
    return sizes


def usable_cores() -> int:
    """Returns how many processors this process may run on."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def host_machine() -> MachineDescription:
    """
    Returns the description of this processor. It assumes SSE2 if LLVM does not report features.
    """
    return with_host_caches(describe(host_features()))


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
