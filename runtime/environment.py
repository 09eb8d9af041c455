"""
The environment variables for settings without an option: the place of the cache, its largest size,
and the verification of IR. An empty variable counts as unset.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..byte_sizes import bytes_of
from ..errors import GlowError

DEFAULT_LIMIT = 4 << 30
"""Bytes that the cache may hold."""
_TRUTHS = {"": False, "0": False, "false": False, "1": True, "true": True}


def cache_directory() -> Path:
    """
    Returns `$GLOW_CACHE_DIR`, or `glow` in the user's cache directory (`$XDG_CACHE_HOME`,
    `~/.cache`). Raises GlowError if the user has no home directory that would be needed.
    """
    if chosen := os.environ.get("GLOW_CACHE_DIR"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):  # the XDG specification tells programs to ignore a relative path
        return Path(base) / "glow"
    try:
        return Path("~/.cache").expanduser() / "glow"
    except RuntimeError:
        raise GlowError(
            "the user has no home directory for the cache: GLOW_CACHE_DIR can name a directory"
        ) from None


def cache_limit() -> int:
    """Returns `$GLOW_CACHE_SIZE` in bytes, by default 4 GiB. Raises GlowError if it is no size."""
    text = os.environ.get("GLOW_CACHE_SIZE", "").strip()
    if not text:
        return DEFAULT_LIMIT
    size = bytes_of(text)
    if size is None:
        raise GlowError(
            "GLOW_CACHE_SIZE: expected a number of bytes, or of K, M, G or T (KiB, MiB, GiB, TiB) "
            f"such as 512M, found {text!r}"
        )
    return size


def verifies() -> bool:
    """
    Returns whether `$GLOW_VERIFY` asks to verify everything. Raises GlowError for another value.
    """
    text = os.environ.get("GLOW_VERIFY", "").strip()
    found = _TRUTHS.get(text.lower())
    if found is None:
        raise GlowError(f"GLOW_VERIFY: expected 1 or true, 0 or false, found {text!r}")
    return found
