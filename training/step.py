"""
The programs of training: one step, one part of a step, an update alone, and evaluation.

A step is one function. Its inputs are a batch, the numbers of the optimizer, and the state:
parameters and what the optimizer keeps. Its outputs are the loss and the new state. Passes see
forward pass, backward pass and update together, and the program changes the state in place. If the
loss is not finite, the new state is the old one, to the bit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ..errors import GlowError
from ..glow_dialects.elements import is_float
from ..glow_dialects.glow.arithmetic import AbsOp
from ..glow_dialects.glow.logic import AndOp, LessOp, SelectOp
from ..nn.arguments import Spec
from ..nn.tensor import Graph, Tensor, elementwise
from ..wording import counted, free_name
from .calls import called
from .names import OwnNames
from .networks import Network
from .optimizers import Optimizer
from .verdicts import is_valid

Loss: TypeAlias = Callable[..., Tensor]
"""`loss(*outputs, *targets)` is a tensor of one element."""
LOSS = "loss"
NEW = "new."
"""Before the name of a state, the name of its new value."""


@dataclass(frozen=True)
class Kind:
    """The use of gradients in a program."""

    reads_sum: bool = False
    """Whether it adds gradients to the sums of earlier batches."""
    updates: bool = True
    """Whether it updates parameters. If not, its outputs are sums of gradients."""
    parts: int = 1
    """The number of batches whose mean gradient a step uses."""
    shared: bool = False
    """Whether other processes have other examples of the batch. Then an input is the share of
    those of this one, by which the loss is multiplied before its gradients."""


class Programs:
    """Builds the graphs of a network's programs."""

    def __init__(self, network: Network, trained: Sequence[str], loss: Loss, optimizer: Optimizer):
        if not callable(loss):
            raise GlowError(f"expected a loss that is a function of tensors, found {loss!r}")
        if not isinstance(optimizer, Optimizer):
            raise GlowError(f"expected an optimizer, such as Adam(1e-3), found {optimizer!r}")
        self.network, self.loss, self.optimizer = network, loss, optimizer
        self.trained = list(trained)
        """The names of the parameters that have gradients."""
        self.number = Spec((), _widest(network.values[name].dtype for name in trained))
        """A number of the optimizer, as an input of a program."""
        self.own = OwnNames(network.values, trained, optimizer.numbers(1), optimizer.STATE)
        self._warned: set[str] = set()

    def numbers(self, step: int) -> dict[str, np.ndarray]:
        """
        Returns the numbers that a step takes from the optimizer, by the names of inputs. Raises
        GlowError if one is not finite.
        """
        found: dict[str, np.ndarray] = {}
        for name, value in self.optimizer.numbers(step).items():
            if not isinstance(value, int | float | np.number) or not np.isfinite(value):
                raise GlowError(
                    f"expected a finite number as the {name} of step {step}, found {value!r}"
                )
            found[self.own.number(name)] = np.array(value, self.number.dtype)
        return found

    def state(self) -> dict[str, np.ndarray]:
        """Returns the first values of what a step changes, by name."""
        values = self.network.values
        changing = [*self.trained, *sorted(self.network.updated)]
        kept = {
            self.own.of(kind, name): np.zeros_like(values[name])
            for name in self.trained
            for kind in self.optimizer.STATE
        }
        return {**{name: values[name].copy() for name in changing}, **kept}

    def step(
        self, inputs: Sequence[np.ndarray], targets: Sequence[np.ndarray], kind: Kind
    ) -> ModuleOp:
        """Returns the graph of a step for batches like this one."""
        graph = Graph(training=True, names=self.network.names, random=self.own.random)
        outputs, wanted = self._forward(graph, inputs, targets)
        loss = self._scalar("loss", self.loss, outputs, wanted)
        found: dict[str, Tensor] = {LOSS: loss.reshape()}
        gradients = self._gradients(graph, loss, kind)
        if kind.updates:
            found |= self._updated(graph, gradients)
        else:
            found |= {NEW + self.own.gradient(name): g for name, g in gradients.items()}
        found |= {NEW + name: value for name, value in graph.updates.items()}
        if kind.shared:  # whether all processes have a finite loss is known only after the step
            return graph.finish(found, "training step")
        found = _kept_unless_valid(loss, found)
        return graph.finish(found, "training step", _states(graph, found))

    def update(self) -> ModuleOp:
        """Returns the graph of an update by gradients that are inputs."""
        graph, gradients = Graph(training=True, names=self.network.names), dict[str, Tensor]()
        for name in self.trained:
            array = self.network.values[name]
            graph.parameters[name] = graph.input(name, array)
            gradients[name] = graph.input(self.own.gradient(name), array)
        found = self._updated(graph, gradients)
        return graph.finish(found, "update", _states(graph, found))

    def evaluation(
        self,
        inputs: Sequence[np.ndarray],
        targets: Sequence[np.ndarray],
        metrics: Mapping[str, Loss],
    ) -> ModuleOp:
        """Returns the graph of loss and metrics for batches like this one."""
        graph = Graph(names=self.network.names)
        outputs, wanted = self._forward(graph, inputs, targets)
        chosen = {LOSS: self.loss, **metrics}
        found = {
            name: self._scalar(
                "metric" if name in metrics else "loss", f, outputs, wanted
            ).reshape()
            for name, f in chosen.items()
        }
        return graph.finish(found, "evaluation")

    def _forward(
        self, graph: Graph, inputs: Sequence[np.ndarray], targets: Sequence[np.ndarray]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """
        Appends the network; returns its outputs and the targets. A batch is given by position, so
        that its inputs have other names where parameters, or what a trainer adds, have theirs.
        """
        names = self.network.input_names(len(inputs))
        taken = {*self.network.values, *self.own.all}
        given = [
            graph.input(free_name(name, {*taken, *graph.inputs}), array)
            for name, array in zip(names, inputs, strict=True)
        ]
        wanted = [
            graph.input(free_name(f"target{i}", {*taken, *graph.inputs}), array)
            for i, array in enumerate(targets)
        ]
        changing = {*self.trained, *self.network.updated}
        for name, array in self.network.values.items():
            if name in changing:
                graph.parameters[name] = graph.input(name, array)
            else:
                graph.parameters[name] = graph.array(array, name)
        return list(self.network.outputs(graph, given).values()), wanted

    @staticmethod
    def _scalar(
        kind: str, function: Loss, outputs: Sequence[Tensor], targets: Sequence[Tensor]
    ) -> Tensor:
        """Returns the loss, or a metric, of outputs and targets."""
        given = f"{counted(len(outputs), 'output')} and {counted(len(targets), 'target')}"
        loss = called(function, [*outputs, *targets], f"a {kind} that is a function of {given}")
        if not isinstance(loss, Tensor) or not is_float(loss.element) or prod(loss.shape) != 1:
            raise GlowError(
                f"expected a loss or metric of one float, found {loss!r}; reduce it, with `mean()` "
                "for example"
            )
        return loss

    def _gradients(self, graph: Graph, loss: Tensor, kind: Kind) -> dict[str, Tensor]:
        """Returns the gradients of all trained parameters."""
        wanted = {name: graph.parameters[name] for name in self.trained}
        # the loss is multiplied instead of each gradient, which then is complete at once
        if kind.shared:
            loss = loss * graph.input(self.own.share, Spec(())).cast(loss.dtype)
        if kind.parts > 1:
            loss = loss * (1 / kind.parts)
        found = graph.gradients(loss, wanted)
        missing = [name for name in self.trained if name not in found]
        if new := [name for name in missing if name not in self._warned]:
            self._warned |= set(new)
            warnings.warn(
                f"the loss does not depend on {', '.join(new)}: the gradient is zero", stacklevel=2
            )
        gradients: dict[str, Tensor] = {}
        for name in self.trained:
            gradient = found.get(name) or graph.number(0.0, wanted[name])
            if kind.reads_sum:
                before = graph.input(self.own.gradient(name), self.network.values[name])
                gradient = before + gradient
            gradients[name] = gradient
        return gradients

    def _updated(self, graph: Graph, gradients: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Returns the new parameters and what the optimizer keeps."""
        optimizer, found = self.optimizer, dict[str, Tensor]()
        clipped = optimizer.clipped(gradients)
        given = {
            key: graph.input(self.own.number(key), self.number) for key in optimizer.numbers(1)
        }
        for name, gradient in clipped.items():
            numbers = {key: number.cast(gradient.dtype) for key, number in given.items()}
            state = {
                key: graph.input(self.own.of(key, name), self.network.values[name])
                for key in optimizer.STATE
            }
            value, new = optimizer.update(graph.parameters[name], gradient, state, numbers)
            found[NEW + name] = value
            found |= {NEW + self.own.of(key, name): tensor for key, tensor in new.items()}
        return found


def _widest(dtypes: Iterable[np.dtype]) -> np.dtype:
    """Returns f32, or f64 if one of some types is."""
    return np.result_type(np.float32, *(t for t in dtypes if t == np.float64))


def _states(graph: Graph, outputs: Mapping[str, Tensor]) -> dict[str, str]:
    """Returns the inputs whose new values are outputs, with the names of these outputs."""
    return {name: NEW + name for name in graph.inputs if NEW + name in outputs}


def _kept_unless_valid(loss: Tensor, outputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """
    Returns outputs whose new values are the old ones if the loss is not finite, or an index that
    the network computes is out of range.
    """
    inputs = loss.graph.inputs
    kept = elementwise(LessOp, elementwise(AbsOp, loss.reshape()), float("inf"))
    for verdict, about in loss.graph.verdicts:
        kept = elementwise(AndOp, kept, is_valid(verdict, about))
    found = dict(outputs)
    for name, new in outputs.items():
        old = inputs.get(name.removeprefix(NEW))
        if name.startswith(NEW) and old is not None:
            found[name] = elementwise(SelectOp, kept, new, old)
    return found


def random_state(seed: int, step: int) -> np.ndarray:
    """Returns what the random numbers of a step follow from, ui32[3]."""
    return np.array([seed % 2**32, seed >> 32, step % 2**32], np.uint32)
