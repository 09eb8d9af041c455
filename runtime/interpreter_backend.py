"""The interpreter as a backend: keeps every operator and runs the graph as it was imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from ..backend import Backend, Stage
from ..glow_dialects.operator import Call

if TYPE_CHECKING:
    import numpy as np
    from xdsl.dialects.builtin import ModuleOp


class InterpreterBackend(Backend):
    """
    Runs networks with numpy: slow, simple, and independent of every pass.

    `threads` and `cache` mean nothing to it.
    """

    name: ClassVar[str] = "interpreter"

    def __init__(self, threads: int = 1, cache: object = True):
        pass

    def keeps(self, call: Call) -> bool:
        return True

    def stages(self) -> Sequence[Stage]:
        return ()

    def load(self, stages: Mapping[str, ModuleOp]) -> InterpretedProgram:
        return InterpretedProgram(stages["imported"])


class InterpretedProgram:
    """The function @main of a graph, which `execute` runs."""

    def __init__(self, module: ModuleOp):
        from .signature import main_function

        self._main = main_function(module)

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """See `glow.backend.Program`."""
        from .interpreter import execute

        return execute(self._main, inputs)
