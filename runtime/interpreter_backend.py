"""The interpreter as a backend: computes every operator, and runs the graph as it was imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from ..glow_dialects.claims import claims
from ..glow_dialects.operators import OPERATORS
from ..glow_dialects.work import products_of
from ..interface.backend import Backend, Rates, Stage
from ..semantics import has_meaning
from .interpreter import execute
from .signature import main_function

if TYPE_CHECKING:
    import numpy as np
    from xdsl.dialects.builtin import ModuleOp

    from ..glow_dialects.claims import Claim
    from ..glow_dialects.operator import Call

PRODUCTS, OPERATIONS, BYTES, OVERHEAD = 1e11, 5e8, 6e9, 2e-5
"""
The speed of numpy on one core with AVX-512: operations per second in products, for which it calls a
library, and in others; bytes per second; and seconds for each node.
"""


class InterpreterBackend(Backend):
    """
    Runs networks with numpy: slow, simple, and independent of every pass.

    `threads` and `cache` mean nothing to it.
    """

    name: ClassVar[str] = "interpreter"

    def claims(self) -> Sequence[Claim]:
        """Returns claims of all operators that have a meaning in numpy, on all types."""
        return claims(*filter(has_meaning, OPERATORS))

    def stages(self) -> Sequence[Stage]:
        return ()

    def compile(self, stages: Mapping[str, ModuleOp]) -> InterpretedProgram:
        return InterpretedProgram(stages["imported"])

    def rates(self, call: Call) -> Rates:
        return Rates(PRODUCTS if products_of(call) else OPERATIONS, BYTES, OVERHEAD)


class InterpretedProgram:
    """The function @main of a graph, which `execute` runs."""

    def __init__(self, module: ModuleOp):
        self._main = main_function(module)

    def __repr__(self) -> str:
        return f"<InterpretedProgram: {len(self._main.body.block.ops)} operations>"

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Runs the program; see `glow.interface.program.Program`."""
        return execute(self._main, inputs)
