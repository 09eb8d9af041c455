"""Runs the programs of a training on the arrays of its state."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ..compiler import compile
from ..errors import InputError
from ..interface.backend import find_backend
from ..models.compiled_model import CompiledModel
from .data import Batch, arrays_of, parts_of
from .step import NEW


def with_precision(precision: str | None, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """
    Returns options of `glow.compile` with a precision, if one is given. Raises GlowError if the
    backend lacks it.
    """
    if precision is None:
        return options
    backend = options["backend"]
    known = find_backend(backend).option_defaults()
    own = {name: value for name, value in options.items() if name in known}
    find_backend(backend, **{**own, "precision": precision}).stages()
    return {**options, "precision": precision}


def reporting(backend: str) -> Mapping[str, object]:
    """Returns options for programs that say which outputs are complete, if a backend has any."""
    return {"reports": True} if "reports" in find_backend(backend).option_defaults() else {}


class Execution:
    """
    The compiled programs of a training, and its state.

    A program changes its states in place. Other new values, such as first sums of gradients, are in
    arrays of their own until `accept`; then the two change places, so that nothing is copied.
    """

    def __init__(self, state: Callable[[], Mapping[str, np.ndarray]], options: Mapping[str, Any]):
        """`state` returns the first values of all states; a graph that is made may add some."""
        self.arrays = dict(state())
        """The state by name, and sums of gradients."""
        self._state = state
        self._spare: dict[str, np.ndarray] = {}
        self._options = options
        self._programs: dict[Hashable, tuple[ModuleOp, CompiledModel]] = {}

    def program(
        self,
        key: Hashable,
        batch: Batch,
        graph: Callable[..., ModuleOp],
        *arguments: object,
        **options: object,
    ) -> tuple[ModuleOp, CompiledModel]:
        """
        Returns the graph and the program for batches like one, compiled if it is the first one of
        its kind `key` and its shapes. `graph(inputs, targets, *arguments)` makes the graph.
        `options` are further ones of `glow.compile`. Raises InputError for what is no batch.
        """
        inputs, targets = parts_of(batch)
        shapes = tuple((a.shape, a.dtype) for a in (*inputs, *targets))
        if (key, shapes) not in self._programs:
            module = graph(inputs, targets, *arguments)
            self.arrays = {**self._state(), **self.arrays}
            self._programs[key, shapes] = module, compile(module, **{**self._options, **options})
        return self._programs[key, shapes]

    def timed(self, module: ModuleOp) -> CompiledModel:
        """
        Returns a program that can be profiled. Raises GlowError for a backend that has none.
        """
        return compile(module, **{**self._options, "timed": True})

    def outputs(self, feed: Mapping[str, np.ndarray], module: ModuleOp) -> list[np.ndarray]:
        """Returns the outputs of a graph, compiled as all programs are, for inputs by name."""
        return compile(module, **self._options).run(None, dict(feed))

    def restart(self, state: Mapping[str, np.ndarray]) -> None:
        """Takes another state. Programs have frozen parameters as constants: they are dropped."""
        self.arrays = dict(state)
        self._programs.clear()

    def feed(
        self, model: CompiledModel, batch: Batch, others: Mapping[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Returns the inputs of a program by name: a batch, other arrays, and the state."""
        given = [array for part in batch for array in arrays_of(part)]
        feed: dict[str, np.ndarray] = {}
        for i, info in enumerate(model.get_inputs()):
            if i < len(given):
                feed[info.name] = given[i]
            else:
                feed[info.name] = (
                    others[info.name] if info.name in others else self.arrays[info.name]
                )
        return feed

    def run(
        self,
        model: CompiledModel,
        feed: Mapping[str, np.ndarray],
        complete: Callable[[str, np.ndarray], object] | None = None,
    ) -> Mapping[str, np.ndarray]:
        """
        Runs a program, which changes its states. Returns its outputs; those that are no states
        count only after `accept`. Calls `complete` with the name and the memory of each output that
        the program needs no more.
        """
        outputs: dict[str, np.ndarray] = {}
        states = _states(model)
        for info in model.get_outputs():
            name = info.name.removeprefix(NEW)
            if info.name in states:
                outputs[info.name] = self.arrays[name]
                continue
            if name not in self._spare:
                self._spare[name] = np.empty(info.shape, info.dtype)
            outputs[info.name] = self._spare[name]
        if complete is None:
            model.run_into(outputs, feed)
        else:
            model.run_reporting(outputs, feed, lambda name: complete(name, outputs[name]))
        return outputs

    @contextmanager
    def undone(self, unless: Callable[[], bool], names: Callable[[], Iterable[str]]):
        """
        Gives the states of some `names` the values from before if an error ends what is done
        meanwhile, `unless` that is complete.
        """
        before = {name: self.arrays[name].copy() for name in names() if name in self.arrays}
        try:
            yield
        except BaseException:
            if not unless():
                first = {**self._state(), **before}
                for name in names():
                    self.arrays[name][...] = first[name]
            raise

    def accept(self, model: CompiledModel) -> None:
        """Makes what the last run wrote besides its states the state."""
        states = _states(model)
        for info in model.get_outputs():
            if info.name.startswith(NEW) and info.name not in states:
                name = info.name.removeprefix(NEW)
                written, old = self._spare.pop(name), self.arrays.get(name)
                self.arrays[name] = written
                if old is not None:
                    self._spare[name] = old


def _states(model: CompiledModel) -> set[str]:
    """Returns the names of the outputs that are the next values of states."""
    outputs = model.get_outputs()
    return {outputs[i.state].name for i in model.get_inputs() if i.state is not None}


def examples(batch: Batch) -> int:
    """Returns the number of examples in a batch. Raises InputError if there is none."""
    first = arrays_of(batch[0])
    if not first or not first[0].ndim:
        raise InputError("expected a batch of arrays whose first dimension counts examples")
    return len(first[0])
