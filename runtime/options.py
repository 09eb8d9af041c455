"""Checks of the types of options, so that a wrong one is an error that says which it is."""

from __future__ import annotations

import os
from numbers import Integral
from types import NoneType

from ..errors import GlowError
from .object_cache import ObjectCache

_BOOLEAN = (bool,), "True or False"
_TEXT = (str, NoneType), "a string"
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "cache": (
        (bool, str, os.PathLike, ObjectCache),
        "True, False or a directory",
    ),
    "verify": ((bool, NoneType), "True, False or None"),
    "target_cpu": _TEXT,
    "target_features": _TEXT,
    "conv_algorithm": _TEXT,
    "precision": _TEXT,
    "pin": _BOOLEAN,
    "timed": _BOOLEAN,
}
"""Options of `glow.compile` by name, with their types, and these in words."""


def expect_types(**options: object) -> None:
    """Raises GlowError, naming it, for an option of a wrong type or with a NUL character."""
    for name, value in options.items():
        types, words = _KINDS[name]
        if not isinstance(value, types):
            raise GlowError(f"expected {name} to be {words}, found {value!r}")
        if "\0" in str(value):
            raise GlowError(f"expected {name} without a NUL character, found {value!r}")


def at_least_one(name: str, value: object) -> int:
    """`value` as an integer of at least 1. Raises GlowError, naming the option, for others."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise GlowError(f"expected {name} to be an integer of at least 1, found {value!r}")
    return int(value)


def pipeline_text(quantize: object) -> str | None:
    """
    The passes of the option `quantize`: text, or an object with a `pipeline`, as
    `quantization.Quantization` has. Raises GlowError for anything else.
    """
    text = getattr(quantize, "pipeline", quantize)
    if text is not None and not (isinstance(text, str) and text.strip()):
        raise GlowError(
            "expected quantize to be a glow.quantization.Quantization, or a pass with its options "
            f"as text, found {quantize!r}"
        )
    return text
