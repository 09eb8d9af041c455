"""Recurrent layers, with the parameters that PyTorch gives them."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Sequence
from typing import ClassVar

from ..errors import GlowError
from ..glow_dialects.glow.recurrent import GruOp, LstmOp
from . import functions as f
from .modules import Module
from .parameters import Parameter, uniform
from .tensor import Tensor


class Recurrent(Module, abc.ABC):
    """
    Layers that go through the positions of x [N, positions, `inputs`] one after the other, from
    states of zeros; with `bidirectional`, from both ends. The result has the hidden states of the
    last layer, [N, positions, `hidden`] or [N, positions, 2 `hidden`].

    Each layer and direction has `weight_ih` [gates * `hidden`, inputs], `weight_hh` [gates *
    `hidden`, `hidden`], `bias_ih` and `bias_hh` [gates * `hidden`], whose names end in `_l` and the
    number of the layer, then in `_reverse` for the second direction.
    """

    GATES: ClassVar[Sequence[int]]
    """The gates of parameters, in the order in which the operator has them."""

    def __init__(self, inputs: int, hidden: int, layers: int = 1, bidirectional: bool = False):
        if hidden < 1 or layers < 1:
            raise GlowError(
                f"expected a hidden size and layers of at least 1, found {hidden} and {layers}"
            )
        self.hidden = hidden
        self.layers: list[list[dict[str, Parameter]]] = []
        for _ in range(layers):
            self.layers.append([self._parameters(inputs) for _ in range(1 + bidirectional)])
            inputs = hidden * (1 + bidirectional)

    def _parameters(self, inputs: int) -> dict[str, Parameter]:
        rows, draw = len(self.GATES) * self.hidden, uniform(self.hidden**-0.5)
        shapes = {
            "weight_ih": (rows, inputs),
            "weight_hh": (rows, self.hidden),
            "bias_ih": (rows,),
            "bias_hh": (rows,),
        }
        return {name: Parameter(shape, draw) for name, shape in shapes.items()}

    def children(self) -> Iterable[tuple[str, object]]:
        for i, directions in enumerate(self.layers):
            for suffix, parameters in zip(("", "_reverse"), directions, strict=False):
                for name, parameter in parameters.items():
                    yield f"{name}_l{i}{suffix}", parameter

    def __call__(self, x: Tensor) -> Tensor:
        x = x.transpose(1, 0, 2)
        for directions in self.layers:
            found = [
                self._direction(x, parameters, reverse=bool(i))
                for i, parameters in enumerate(directions)
            ]
            x = found[0] if len(found) == 1 else f.concat(found, 2)
        return x.transpose(1, 0, 2)

    def _direction(self, x: Tensor, parameters: dict[str, Parameter], reverse: bool) -> Tensor:
        """Returns the hidden states of x [T, N, inputs], [T, N, `hidden`]."""
        ordered = {n: self._ordered(x.graph.parameter(p)) for n, p in parameters.items()}
        states = self._states(x, ordered, reverse)
        steps, batch, _ = x.shape
        after = states.slice([0, int(not reverse), 0, 0], [1, steps, batch, self.hidden])
        return after.reshape(steps, batch, self.hidden)

    def _ordered(self, value: Tensor) -> Tensor:
        """Returns a parameter with its gates in the order of the operator."""
        return f.concat([self._gate(value, g) for g in self.GATES], 0)

    def _gate(self, value: Tensor, number: int) -> Tensor:
        rest = value.shape[1:]
        return value.slice([number * self.hidden, *[0] * len(rest)], [self.hidden, *rest])

    @abc.abstractmethod
    def _states(self, x: Tensor, parameters: dict[str, Tensor], reverse: bool) -> Tensor:
        """Returns the states of the operator, hidden ones first."""


class LSTM(Recurrent):
    """Long short-term memory (Hochreiter and Schmidhuber 1997); the base class has the details."""

    GATES: ClassVar[Sequence[int]] = (0, 3, 1, 2)

    def _states(self, x: Tensor, parameters: dict[str, Tensor], reverse: bool) -> Tensor:
        bias = parameters["bias_ih"] + parameters["bias_hh"]
        given = f.linear(x, parameters["weight_ih"], bias)
        initial = x.graph.number(0, x, [2, x.shape[1], self.hidden])
        peepholes = x.graph.number(0, x, [3, self.hidden])
        weights = parameters["weight_hh"].transpose(1, 0)
        return x.graph.node(LstmOp, given, weights, initial, peepholes, reverse=reverse)


class GRU(Recurrent):
    """
    Gated recurrent units (Cho et al. 2014), whose reset gate applies to the product of the state
    with its weights; the base class has the details.
    """

    GATES: ClassVar[Sequence[int]] = (1, 0, 2)

    def _states(self, x: Tensor, parameters: dict[str, Tensor], reverse: bool) -> Tensor:
        graph, of_state = x.graph, parameters["bias_hh"]
        own = self._gate(of_state, 2)
        gates = of_state.slice([0], [2 * self.hidden])
        bias = parameters["bias_ih"] + f.concat([gates, graph.number(0, own)], 0)
        given = f.linear(x, parameters["weight_ih"], bias)
        initial = graph.number(0, x, [1, x.shape[1], self.hidden])
        weights = parameters["weight_hh"].transpose(1, 0)
        row = own.reshape(1, self.hidden)
        return graph.node(*(GruOp, given, weights, initial, row), reset_after=True, reverse=reverse)
