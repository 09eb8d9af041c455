"""A network with a loop whose steps are runs of a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from ..errors import LimitError
from ..interface.backend import Backend
from ..interface.signature import Signature
from .compiled_model import CompiledModel
from .programs_by_form import ProgramsByForm
from .several_programs import ProgramsInTurn, Run, Turns

STEP_PROGRAMS = 256
"""
The number of programs of steps that are kept at least. Each call meets the shapes of its steps in
the same order, in which the program used last is the one that is needed last.
"""

Arrays = Mapping[str, np.ndarray]


class Loop(Protocol):
    """A loop, and what follows it, as a frontend describes them."""

    @property
    def label(self) -> str: ...

    @property
    def limit(self) -> int:
        """Steps after which the loop ends with an error."""
        ...

    @property
    def trips(self) -> str:
        """The value that bounds the number of steps; empty for none."""
        ...

    @property
    def going(self) -> str:
        """The condition before the first step; empty for true."""
        ...

    @property
    def states(self) -> tuple[str, ...]:
        """The values that the first step gets."""
        ...

    @property
    def captured(self) -> tuple[str, ...]:
        """The inputs of the whole model that its steps use."""
        ...

    @property
    def results(self) -> tuple[str, ...]:
        """The last states, and outputs with a row for each step."""
        ...

    @property
    def known(self) -> Arrays:
        """Values before the loop that are known."""
        ...

    @property
    def step_inputs(self) -> tuple[str, ...]:
        """The inputs of a step: its number, the states, and what it captures."""
        ...

    def step(self, inputs: Arrays) -> object:
        """Returns the model of a step for inputs like these."""
        ...

    def rest(self, results: Arrays) -> object | None:
        """Returns the model of all but the loop for results like these; None if there is none."""
        ...


class _Programs(Turns):
    """The programs of the steps and of what follows the loop as one."""

    def __init__(
        self,
        loop: Loop,
        signature: Signature,
        compile: Callable[[object, Arrays], CompiledModel],
        limit: int,
    ):
        self._loop = loop
        self._inputs = [info.name for info in signature.inputs]
        self._outputs = [info.name for info in signature.outputs]
        self.steps: ProgramsByForm[np.ndarray] = ProgramsByForm(
            lambda given, known: compile(loop.step(given), known), max(limit, STEP_PROGRAMS)
        )
        self.rests: ProgramsByForm[np.ndarray] = ProgramsByForm(
            lambda given, known: compile(loop.rest(given), known), limit
        )

    def run_with(self, run: Run, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        values = {**self._loop.known, **dict(zip(self._inputs, inputs, strict=True))}
        found = self._run_loop(run, values)
        values |= zip(self._loop.results, found, strict=True)
        if any(name not in values for name in self._outputs):
            values |= self._run_rest(run, values)
        return [values[name] for name in self._outputs]

    def _run_loop(self, run: Run, values: Arrays) -> list[np.ndarray]:
        """Returns the last states, and the stacked rows behind them."""
        loop = self._loop
        trips = int(values[loop.trips].reshape(())) if loop.trips else None
        going = not loop.going or bool(values[loop.going].reshape(()))
        states = [values[name] for name in loop.states]
        captured = [values[name] for name in loop.captured]
        rows: list[list[np.ndarray]] = []
        while going and (trips is None or len(rows) < trips):
            if len(rows) == loop.limit:
                raise LimitError(f"{loop.label}: not at its end after {loop.limit} steps")
            given = self._given(len(rows), states, captured)
            step = self.steps.for_inputs(given, given)
            again, *results = run(step, step.arrays(given))
            going = bool(again.reshape(()))
            states = results[: len(states)]
            rows.append(results[len(states) :])
        if rows:
            return [*states, *map(np.stack, zip(*rows, strict=True))]
        return [*states, *self._rows_of_none(states, captured)]

    def _given(
        self, step: int, states: Sequence[np.ndarray], captured: Sequence[np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Returns the inputs of a step."""
        values = [np.array(step, np.int64), *states, *captured]
        return dict(zip(self._loop.step_inputs, values, strict=True))

    def _rows_of_none(
        self, states: Sequence[np.ndarray], captured: Sequence[np.ndarray]
    ) -> list[np.ndarray]:
        """Returns the stacked rows of a loop without steps, from the types of the first step."""
        if len(states) == len(self._loop.results):
            return []
        given = self._given(0, states, captured)
        infos = self.steps.for_inputs(given, given).get_outputs()[1 + len(states) :]
        return [np.empty((0, *info.shape), info.dtype) for info in infos]

    def _run_rest(self, run: Run, values: Arrays) -> dict[str, np.ndarray]:
        """Returns the results of what follows the loop."""
        model = self.rests.for_inputs(values, values)
        infos = model.get_inputs()
        given = model.arrays({info.name: values[info.name] for info in infos})
        names = [info.name for info in model.get_outputs()]
        return dict(zip(names, run(model, given), strict=True))


class LoopedModel(ProgramsInTurn):
    """
    A network with a loop whose carried values change their shapes from step to step, or with rows
    of results that nothing limits.

    Each step is a run of a program, and so is what follows the loop; these programs are made for
    the shapes that they meet. Facts about a program belong to one of them.
    """

    PLACES = ("model.steps[0]", "model.rest[0]")

    def __init__(
        self,
        backend: Backend,
        signature: Signature,
        loop: Loop,
        compile: Callable[[object, Arrays], CompiledModel],
        limit: int,
        sizes: Mapping[str, int],
    ):
        """
        `compile` compiles a model that the loop describes, for values of some of its inputs. At
        most `limit` programs are kept of the rest, and of the steps as many or `STEP_PROGRAMS`.
        `sizes` are those of symbols.
        """
        self._label = loop.label
        self._programs = _Programs(loop, signature, compile, limit)
        super().__init__(backend, self._programs, signature, sizes)

    @property
    def steps(self) -> list[CompiledModel]:
        """The programs of steps, the latest used last."""
        return self._programs.steps.kept.values()

    @property
    def rest(self) -> list[CompiledModel]:
        """The programs of what follows the loop, the latest used last."""
        return self._programs.rests.kept.values()

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}; each step of {self._label} is a run>"

    def activation_bytes(self) -> int:
        return sum(model.activation_bytes() for model in (*self.steps, *self.rest))
