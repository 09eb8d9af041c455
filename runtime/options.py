"""Checks of the types of options, whose errors name the wrong option."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from numbers import Integral
from types import NoneType
from typing import Any

from ..errors import GlowError


def option(default: object, help: str, **about: object) -> Any:
    """
    Returns a field of a dataclass of options, with the data of its command-line flag: help, and
    perhaps `metavar` and `choices`.
    """
    return field(default=default, metadata={"help": help, **about})


def expect_boolean(name: str, value: object) -> None:
    """Raises GlowError unless an option is True or False."""
    if not isinstance(value, bool):
        raise GlowError(f"expected {name} to be True or False, found {value!r}")


def expect_text(name: str, value: object) -> None:
    """Raises GlowError unless an option is a string without a NUL character, or None."""
    if not isinstance(value, str | NoneType):
        raise GlowError(f"expected {name} to be a string, found {value!r}")
    if "\0" in str(value):
        raise GlowError(f"expected {name} without a NUL character, found {value!r}")


def expect_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raises GlowError unless an option is one of some strings."""
    if value not in choices:
        listed = " or ".join(choices) if len(choices) == 2 else f"one of {', '.join(choices)}"
        raise GlowError(f"expected {name} to be {listed}, found {value!r}")


def expect_verify(value: object) -> None:
    """Raises GlowError unless `value` is True, False or None."""
    if not isinstance(value, bool | NoneType):
        raise GlowError(f"expected verify to be True, False or None, found {value!r}")


def at_least(name: str, value: object, low: int) -> int:
    """
    Returns `value` as an integer of at least `low`. Raises GlowError, naming the option, for
    others.
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < low:
        raise GlowError(f"expected {name} to be an integer of at least {low}, found {value!r}")
    return int(value)


def at_least_one(name: str, value: object) -> int:
    """Returns what `at_least` returns for 1."""
    return at_least(name, value, 1)


def threads_of(value: object, most: int) -> int:
    """Returns `value` as a number of threads, at most `most`. Raises GlowError for others."""
    threads = at_least_one("threads", value)
    if threads > most:
        raise GlowError(f"expected threads to be 1 to {most}, found {threads}")
    return threads


def pipeline_text(quantize: object) -> str | None:
    """
    Returns the pass pipeline of the option `quantize`: text, or an object with a `pipeline`, such
    as `quantization.Quantization`. Raises GlowError for other values.
    """
    text = getattr(quantize, "pipeline", quantize)
    if text is not None and not (isinstance(text, str) and text.strip()):
        raise GlowError(
            "expected quantize to be a glow.quantization.Quantization, or a pass with its options "
            f"as text, found {quantize!r}"
        )
    return text
