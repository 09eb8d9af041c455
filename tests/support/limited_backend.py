"""A device for tests of partitioning: it computes with numpy, but claims what a test says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from glow.glow_dialects.claims import Claim, claims
from glow.glow_dialects.glow import Node
from glow.glow_dialects.operator import Call
from glow.glow_dialects.operators import OPERATORS
from glow.interface.backend import Backend, DeviceMemory, Rates, Stage
from glow.interface.program import Program
from glow.runtime.interpreter_backend import InterpretedProgram
from glow.semantics import has_meaning
from xdsl.dialects.builtin import ModuleOp


class LimitedBackend(Backend):
    """A backend that claims some operators, with rates and a memory that a test gives it."""

    name = "limited"

    def __init__(
        self,
        operators: Iterable[type[Node]] | None = None,
        rates: Rates | None = None,
        memory: int | None = None,
        claimed: Sequence[Claim] | None = None,
    ):
        """`claimed` takes the place of claims of `operators` on all types, by default all."""
        some = filter(has_meaning, OPERATORS) if operators is None else operators
        self._claims = claims(*some) if claimed is None else claimed
        self._rates = rates or Rates(1e9, 1e9)
        self._memory = memory

    def claims(self) -> Sequence[Claim]:
        return self._claims

    def stages(self) -> Sequence[Stage]:
        return ()

    def compile(self, stages: Mapping[str, ModuleOp]) -> Program:
        return InterpretedProgram(stages["imported"])

    def memories(self) -> Sequence[DeviceMemory]:
        return (DeviceMemory("words", self._memory),)

    def rates(self, call: Call) -> Rates:
        return self._rates
