"""Networks that run as several programs."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NoReturn, TypeAlias

from ..errors import GlowError
from ..interface.backend import Backend
from ..interface.memory_plan import MemoryPlan
from ..interface.program import Program
from ..interface.signature import Signature
from .compiled_model import CompiledModel, ProgramCall

if TYPE_CHECKING:
    import numpy as np

    from ..interface.time_profile import TimeProfile
    from ..runtime.stages import Stages

Run: TypeAlias = Callable[[CompiledModel, "Sequence[np.ndarray]"], "list[np.ndarray]"]
"""Returns the answer of a model."""


class SeveralPrograms(CompiledModel, abc.ABC):
    """
    A network with a program for each of its specializations or parts.

    The facts about a program (`stages`, `memory`, `times`, `from_cache`, `dump_stages`) are those
    of the only one. If there are several, they raise GlowError, which says how to choose one.
    """

    def __init__(
        self,
        backend: Backend,
        program: Program,
        signature: Signature,
        sizes: Mapping[str, int] | None = None,
    ):
        super().__init__(lambda: self.stages, backend, program, signature, {}, sizes=sizes)

    @abc.abstractmethod
    def _only(self, what: str) -> CompiledModel:
        """
        Returns the model of the only program. Raises GlowError about the fact `what` if there is
        another number of programs.
        """

    def profile(self, /, *args: object, repeat: int = 20, **kwargs: object) -> TimeProfile:
        # only a profile needs what joins several
        from ..interface.time_profile import joined

        calls = self.program_calls(self.arrays(self._signature.bind(args, kwargs)))
        if not calls:
            raise GlowError("no program runs for these inputs, so there is nothing to measure")
        return joined([model.profile(*inputs, repeat=repeat) for model, inputs in calls])

    def _results(self, inputs: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        return self._program.run(inputs)  # the models of the programs check theirs

    @abc.abstractmethod
    def program_calls(self, inputs: Sequence[np.ndarray]) -> list[ProgramCall]: ...

    @property
    def stages(self) -> Stages:
        return self._only("stages").stages

    @property
    def memory(self) -> MemoryPlan | None:
        return self._only("memory").memory

    @property
    def times(self) -> dict[str, float]:
        return self._only("times").times

    @property
    def from_cache(self) -> bool:
        return self._only("from_cache").from_cache

    def dump_stages(self, directory: str | Path) -> list[Path]:
        return self._only("dump_stages(...)").dump_stages(directory)


class Turns(abc.ABC):
    """Programs that run one after the other as one."""

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        return self.run_with(CompiledModel.answer, inputs)

    @abc.abstractmethod
    def run_with(self, run: Run, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Returns the results of a call in which `run` runs each program."""


class ProgramsInTurn(SeveralPrograms):
    """A network whose parts are programs that run one after the other."""

    PLACES: ClassVar[tuple[str, ...]]
    """Expressions for the programs, whose facts are those of the parts."""

    def __init__(
        self,
        backend: Backend,
        program: Turns,
        signature: Signature,
        sizes: Mapping[str, int],
    ):
        self._turns = program
        super().__init__(backend, program, signature, sizes)

    def _only(self, what: str) -> NoReturn:
        places = " or ".join(f"{place}.{what}" for place in self.PLACES)
        raise GlowError(
            f"{what} is that of one program, and this model has one for each of its parts: use "
            f"{places}"
        )

    def program_calls(self, inputs: Sequence[np.ndarray]) -> list[ProgramCall]:
        found: list[ProgramCall] = []

        def run(model: CompiledModel, given: Sequence[np.ndarray]) -> list[np.ndarray]:
            found.extend(model.program_calls(given))
            return model.answer(given)

        self._turns.run_with(run, inputs)
        return found

    @property
    def from_cache(self) -> bool:
        """Whether nothing was compiled: never, since the model is read to find its parts."""
        return False
