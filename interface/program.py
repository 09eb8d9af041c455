"""Programs, the results of backends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np

    from .memory_plan import MemoryPlan
    from .signature import Signature


class Program(Protocol):
    """A network that is ready to run. Calls from several threads at once are safe."""

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """
        Runs once on contiguous arrays of the exact shapes and dtypes that the network declares, in
        the order of its arguments, and returns fresh arrays in the order of its results.
        """
        ...


@runtime_checkable
class InPlaceProgram(Program, Protocol):
    """A program that writes into memory of the caller. It is optional."""

    def run_into(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        """
        Runs once as `run` does, and writes the results into `outputs`, C-contiguous arrays of the
        exact shapes and dtypes, which share no memory with each other or with inputs. The output
        of a state may be the array of its input: then the state changes in place.
        """
        ...


@dataclass(frozen=True)
class ProgramMemory:
    """Bytes of a device that a program takes as long as it is loaded."""

    weights: int
    """The bytes that all runs share: weights, tables, code in the device's memory."""
    arena: int
    """The bytes that one run needs in addition to inputs and outputs, kept from run to run."""


@runtime_checkable
class MeasuredProgram(Program, Protocol):
    """A program that knows its memory, which a host manager asks for. It is optional."""

    @property
    def memory(self) -> ProgramMemory: ...


@dataclass(frozen=True)
class Restored:
    """A program that was compiled before, found in a cache."""

    program: Program
    signature: Signature
    memory: MemoryPlan | None
