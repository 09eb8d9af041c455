"""The exceptions of the public interface. A message says what is wrong, where, and what to do."""

from __future__ import annotations


class GlowError(Exception):
    """Base of every error that a user can cause: bad models, bad inputs, bad options."""


class ModelError(GlowError):
    """
    A model file that cannot be read: malformed bytes, a cyclic graph, missing or unsafe external
    data.
    """


class UnsupportedError(GlowError):
    """A valid model that needs something the compiler lacks. Lists every unsupported node."""


class InputError(GlowError):
    """Wrong arguments to a compiled model: an unknown or missing name, a wrong shape or dtype."""


class CompileError(GlowError):
    """A module that a pass or a lowering cannot handle."""


class QuantizationError(GlowError):
    """A profile, a range of numbers, or a choice that quantization cannot use."""
