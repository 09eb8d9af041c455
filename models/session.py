"""Sessions: runs of a model that keep values from call to call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from ..errors import GlowError, InputError
from ..interface.destinations import Outputs, destinations
from ..interface.signature import Signature, TensorInfo
from ..interface.symbols import Binding


class StatefulModel(Protocol):
    """The part of `glow.CompiledModel` that a session needs."""

    def get_inputs(self) -> list[TensorInfo]: ...

    def get_outputs(self) -> list[TensorInfo]: ...

    def for_inputs(self, inputs: Sequence[np.ndarray]) -> StatefulModel: ...

    def compute_into(self, inputs: Sequence[np.ndarray], outputs: Outputs) -> None: ...

    def compute_apart(self, inputs: Sequence[np.ndarray], memory: Sequence[np.ndarray]) -> None: ...


class Session:
    """
    The state of a model for one caller, and calls that change it.

    Sessions of one model share its program and weights; each has only its own state, and an arena
    while it runs. Several threads may use a session each at the same time; one session is for one
    thread at a time. `CompiledModel.session` makes sessions.
    """

    def __init__(self, model: StatefulModel, state: Mapping[str, object] | None = None):
        """See `CompiledModel.session`."""
        self._model = model
        inputs, outputs = model.get_inputs(), model.get_outputs()
        kept = {i: info.state for i, info in enumerate(inputs) if info.state is not None}
        if not kept:
            raise GlowError(
                "the model has no states: name inputs and the outputs that are their next values, "
                'as glow.compile(..., states={"past": "present"})'
            )
        self._states = {inputs[i].name: o for i, o in kept.items()}
        self._kept = {o: name for name, o in self._states.items()}
        self._all = Signature(tuple(inputs), tuple(outputs))
        self._rest = Signature(
            tuple(info for i, info in enumerate(inputs) if i not in kept),
            tuple(info for o, info in enumerate(outputs) if o not in kept.values()),
        )
        self._first = self._expected({} if state is None else state)
        self._state: dict[str, np.ndarray] = {}
        self.reset()

    @property
    def state(self) -> dict[str, np.ndarray]:
        """
        The values of all states by the names of their inputs: copies. Before the first call, it
        lacks states that begin as zeros.
        """
        return {name: array.copy() for name, array in self._state.items()}

    def reset(self) -> None:
        """Gives all states the values that they had when the session began."""
        self._state = {name: array.copy() for name, array in self._first.items()}

    def fork(self) -> Session:
        """Returns another session that has the same state now, and changes it on its own."""
        other = Session(self._model, self._first)
        other._state = self.state
        return other

    def __call__(self, /, *args: object, **kwargs: object) -> list[np.ndarray]:
        """
        Runs the model on the inputs that are no states, by position or by name, and returns the
        outputs that are no states. Raises InputError.
        """
        return self.run(None, self._rest.bind(args, kwargs))

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, object]
    ) -> list[np.ndarray]:
        """
        Runs the model as `CompiledModel.run` does, without states among inputs and outputs. The
        states change, unless it raises InputError.
        """
        wanted = self._rest.select(output_names)
        with self._only_if_it_runs():
            arrays = self._arrays(input_feed)
            model = self._model.for_inputs(arrays)
            outputs = [
                np.empty(info.shape, info.dtype)
                for o, info in enumerate(model.get_outputs())
                if o not in self._kept
            ]
            model.compute_apart(arrays, self._with_states(outputs))
        return [outputs[o] for o in wanted]

    def run_into(self, outputs: Outputs, input_feed: Mapping[str, object]) -> None:
        """Runs the model as `CompiledModel.run_into` does, without states."""
        memory = destinations(self._rest, outputs)
        with self._only_if_it_runs():
            arrays = self._arrays(input_feed)
            self._model.for_inputs(arrays).compute_into(arrays, self._with_states(memory))

    @contextmanager
    def _only_if_it_runs(self) -> Iterator[None]:
        """Lets states that begin as zeros have the sizes of a call only if it is not refused."""
        before = dict(self._state)
        try:
            yield
        except GlowError:
            self._state = before
            raise

    def _with_states(self, outputs: Iterable[np.ndarray]) -> list[np.ndarray]:
        """Returns memory for all outputs, given that for those that are no states."""
        rest, kept = iter(outputs), self._kept
        count = len(self._all.outputs)
        return [self._state[kept[o]] if o in kept else next(rest) for o in range(count)]

    def _arrays(self, feed: Mapping[str, object]) -> list[np.ndarray]:
        """Returns all inputs in order. Makes states that are still missing."""
        given = dict(zip((i.name for i in self._rest.inputs), self._rest.arrays(feed), strict=True))
        if len(self._state) < len(self._states):
            self._begin(given)
        return [
            self._state[info.name] if info.name in self._states else given[info.name]
            for info in self._all.inputs
        ]

    def _begin(self, given: Mapping[str, np.ndarray]) -> None:
        """Makes states of zeros, whose symbolic sizes are those of the inputs."""
        arrays = {**self._state, **given}
        sizes = Binding(self._all.inputs).known(
            {name: array.shape for name, array in arrays.items()}
        )
        for info in self._all.inputs:
            if info.name not in self._states or info.name in self._state:
                continue
            given_sizes = [sizes.get(d, d) for d in info.shape]
            shape = [d for d in given_sizes if isinstance(d, int)]
            if unknown := [d for d in given_sizes if not isinstance(d, int)]:
                raise InputError(
                    f"state {info.name!r} has the symbol {unknown[0]}, which follows from no other "
                    "input: give its first value, as model.session({...}), or the symbol's size"
                )
            self._state[info.name] = np.zeros(shape, info.memory_dtype)

    def _expected(self, state: Mapping[str, object]) -> dict[str, np.ndarray]:
        """Returns first values of states as arrays of their own. Raises InputError."""
        if not isinstance(state, Mapping):
            raise InputError(
                f"expected a dictionary of first values by state, found {type(state).__name__}"
            )
        for name in state:
            if name not in self._states:
                known = ", ".join(map(repr, self._states))
                raise InputError(f"no state is called {name!r}; the states are {known}")
        known = Signature(tuple(info for info in self._all.inputs if info.name in state), ())
        arrays = known.arrays(state)
        return {info.name: a.copy() for info, a in zip(known.inputs, arrays, strict=True)}
