"""
Devices for tests of the host manager that do what a test says: wait, count, or raise.

They compute with numpy. A test holds them with gates instead of waiting for some time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from glow.glow_dialects.claims import Claim
from glow.interface.backend import Backend, Stage
from glow.interface.program import Program
from glow.passes.partition.devices import Configuration, Device
from glow.runtime.interpreter_backend import InterpretedProgram, InterpreterBackend
from xdsl.dialects.builtin import ModuleOp

SECONDS = 60
"""After so long a test fails instead of waiting on."""


class Gate:
    """Whoever comes waits until it is open."""

    def __init__(self, opened: bool = True):
        self._open = threading.Event()
        self._arrived = threading.Semaphore(0)
        if opened:
            self._open.set()

    def open(self) -> None:
        self._open.set()

    def close(self) -> None:
        self._open.clear()

    def wait_for_arrival(self) -> None:
        """Waits until one more has come."""
        assert self._arrived.acquire(timeout=SECONDS)

    def pass_through(self) -> None:
        self._arrived.release()
        assert self._open.wait(SECONDS)


class GatedBackend(Backend):
    """Its programs pass a gate, and then do what a test wants before they run."""

    name = "gated"

    def __init__(self) -> None:
        super().__init__()
        self.gate = Gate()
        """For runs."""
        self.compiling = Gate()
        """For compilations."""
        self.before: Callable[[Sequence[np.ndarray]], None] = lambda inputs: None
        self.after: Callable[[list[np.ndarray]], list[np.ndarray]] = lambda outputs: outputs
        self.compiled = 0
        self._interpreter = InterpreterBackend()

    def claims(self) -> Sequence[Claim]:
        return self._interpreter.claims()

    def stages(self) -> Sequence[Stage]:
        return ()

    def compile(self, stages: Mapping[str, ModuleOp]) -> Program:
        self.compiled += 1
        self.compiling.pass_through()
        return _GatedProgram(self, InterpretedProgram(stages["imported"]))


class _GatedProgram:
    def __init__(self, backend: GatedBackend, program: Program):
        self._backend = backend
        self._program = program

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        self._backend.gate.pass_through()
        self._backend.before(inputs)
        return self._backend.after(self._program.run(inputs))


def gated_devices(count: int, memory: int | None = None) -> Configuration:
    """Returns devices `d0`, `d1`, ... with backends of their own."""
    return Configuration(tuple(Device(f"d{i}", GatedBackend(), memory) for i in range(count)))


def backend_of(configuration: Configuration, number: int) -> GatedBackend:
    """Returns the backend of a device, to hold it."""
    backend = configuration.devices[number].backend
    assert isinstance(backend, GatedBackend)
    return backend
