"""Checks that the compiler's sources stay unchanged during a test of several processes."""

from __future__ import annotations

import pytest
from glow.runtime.fingerprint import COMPILER, source_hash


def sources() -> str:
    """Returns the hash of the compiler's sources now."""
    return source_hash.__wrapped__(COMPILER)


def skip_if_changed(before: str) -> None:
    """Skips a test whose processes ran different compilers, as somebody edits this one."""
    if sources() != before:
        pytest.skip("the sources of the compiler were changed meanwhile")
