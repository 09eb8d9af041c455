"""Checks of the types of options, so that a wrong one is an error that says which it is."""

from __future__ import annotations

import os
from numbers import Integral
from types import NoneType

from ..errors import GlowError
from ..wording import did_you_mean
from .object_cache import ObjectCache

_BOOLEAN = (bool,), "True or False"
_TEXT = (str, NoneType), "a string"
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "target_cpu": _TEXT,
    "target_features": _TEXT,
    "conv_algorithm": _TEXT,
    "precision": _TEXT,
    "pin": _BOOLEAN,
    "timed": _BOOLEAN,
}
"""Options of `glow.compile` that are the backend's, with their types, and these in words."""


_SHORT = {"target_cpu": "cpu", "target_features": "features"}
"""What the backend `cpu` calls options of `glow.compile`."""


def backend_options(**options: object) -> dict[str, object]:
    """
    Options of `glow.compile` as a backend's constructor takes them; those that are None or False
    are left out. Raises GlowError, naming it, for an unknown one, one of a wrong type, or one with
    a NUL character.
    """
    given: dict[str, object] = {}
    for name, value in options.items():
        if name == "quantize":
            value = pipeline_text(value)
        elif name == "threads":
            value = at_least_one(name, value)
        else:
            _expect_type(name, value)
        if value is not None and value is not False:
            given[_SHORT.get(name, name)] = value
    return given


def _expect_type(name: str, value: object) -> None:
    if name not in _KINDS:
        known = sorted([*_KINDS, "quantize", "threads"])
        raise GlowError(
            f"there is no option {name!r}{did_you_mean(name, known)}; there are {', '.join(known)}"
        )
    types, words = _KINDS[name]
    if not isinstance(value, types):
        raise GlowError(f"expected {name} to be {words}, found {value!r}")
    if "\0" in str(value):
        raise GlowError(f"expected {name} without a NUL character, found {value!r}")


def expect_cache(value: object) -> None:
    """Raises GlowError unless `value` says where a cache is."""
    if not isinstance(value, bool | str | os.PathLike | ObjectCache):
        raise GlowError(f"expected cache to be True, False or a directory, found {value!r}")
    if "\0" in str(value):
        raise GlowError(f"expected cache without a NUL character, found {value!r}")


def expect_verify(value: object) -> None:
    """Raises GlowError unless `value` is True, False or None."""
    if not isinstance(value, bool | NoneType):
        raise GlowError(f"expected verify to be True, False or None, found {value!r}")


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
