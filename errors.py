"""The exceptions of the public interface. A message states the error, its place, and the remedy."""

from __future__ import annotations

from typing import TypeVar

E = TypeVar("E", bound=Exception)


class GlowError(Exception):
    """Base of every error that a user can cause: bad models, bad inputs, bad options."""


class ModelError(GlowError):
    """
    A model file that cannot be read: malformed bytes, a cyclic graph, missing or unsafe external
    data.
    """


class TextError(ModelError):
    """
    MLIR text that cannot be read or is not valid. The message is complete: it begins with the file,
    and the line and column if they are known, and ends with that line.
    """


class UnsupportedError(GlowError):
    """A valid model that needs something the compiler lacks. Lists every unsupported node."""


class ValuesNeededError(UnsupportedError):
    """A model whose shapes follow from the values of some inputs, which a compilation lacks."""

    def __init__(self, message: str, inputs: tuple[str, ...]):
        super().__init__(message)
        self.inputs = inputs
        """The names of these inputs, in their order; there may be more."""


class PartsNeededError(UnsupportedError):
    """A model that is no single program. It is compiled in parts."""


class CutNeededError(PartsNeededError):
    """
    A model some of whose shapes follow from values that it computes. It is compiled in two parts,
    the second one when these values are known.
    """

    def __init__(self, message: str, first: object, rest: object):
        super().__init__(message)
        self.first = first
        """The model up to these values, as the frontend loads models."""
        self.rest = rest
        """The model from these values on, which are its first inputs."""


class LoopNeededError(PartsNeededError):
    """A model with a loop whose steps are runs of a program, as their shapes differ."""

    def __init__(self, message: str, loop: object):
        super().__init__(message)
        self.loop = loop
        """The loop and what follows it, as the frontend describes them."""


class InputError(GlowError):
    """Wrong arguments to a compiled model: an unknown or missing name, a wrong shape or dtype."""


class LimitError(GlowError):
    """A loop of a network that has not ended after as many steps as a loop may have."""


class IndexRangeError(GlowError):
    """An index that a network computes and that is out of its range. The outputs are not valid."""


class SanitizerError(GlowError):
    """A kernel that reads or writes beyond a buffer: a bug of the compiler."""


class CompileError(GlowError):
    """A module that a pass or a lowering cannot handle."""


class QuantizationError(GlowError):
    """A profile, a range of numbers, or a choice that quantization cannot use."""


class DeviceError(GlowError):
    """A device failed while it ran a part of a network; `__cause__` is the original error."""


class DeviceMemoryError(GlowError):
    """A part of a network does not fit into the free memory of a device."""

    def __init__(self, message: str, device: str = "", lacking: int = 0):
        super().__init__(message)
        self.device = device
        """The name of the device."""
        self.lacking = lacking
        """The number of missing bytes."""


class RejectedError(GlowError):
    """A request that is not run: its network was removed, or the host manager shut down."""


class QueueFullError(RejectedError):
    """A request that is not accepted because too many are waiting."""


class DeadlineError(GlowError, TimeoutError):
    """A request that could not be finished in the time that its caller gave."""


def one_line(error: Exception) -> str:
    """Returns the message of an error that a tool prints; other errors than ours in one line."""
    if isinstance(error, GlowError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())


def described(error: BaseException) -> str:
    """Returns the type and the text of an error that code of others raised."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # an error in `str(error)` must not hide the first one
        return type(error).__name__


def at_operation(error: E, operation: object) -> E:
    """Returns an error about an operation, which messages then name as its place."""
    error.operation = operation  # pyright: ignore[reportAttributeAccessIssue]
    return error
