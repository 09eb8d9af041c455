"""Recurrent layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.arithmetic import AddOp, MulOp, SubOp
from ....glow_dialects.glow.logic import LessOp, SelectOp
from ....glow_dialects.glow.matrix import FullyConnectedOp
from ....glow_dialects.glow.recurrent import GruOp, LstmOp, Recurrent, RnnOp, parameters_of
from ..builder import element, rank, shape
from ..node import CONTRIB, OnnxNode, Results, converter
from ..problems import Unsupported

_DEFAULTS: dict[str, tuple[float, float]] = {
    "Affine": (1.0, 0.0),
    "LeakyRelu": (0.01, 0.0),
    "ThresholdedRelu": (1.0, 0.0),
    "ScaledTanh": (1.0, 1.0),
    "HardSigmoid": (0.2, 0.5),
    "Elu": (1.0, 0.0),
}
"""Parameters of functions that are not given."""
_NAMES = {
    name.lower(): name for name in (*_DEFAULTS, "Relu", "Tanh", "Sigmoid", "Softsign", "Softplus")
}


@dataclass(frozen=True)
class _Sizes:
    directions: int
    gates: int
    steps: int
    batch: int
    hidden: int


class _Reader:
    """The inputs of a recurrent node, one direction at a time."""

    def __init__(self, node: OnnxNode, operator: type[Recurrent]):
        self.node = node
        self.build = node.build
        self.functions = operator.ACTIVATIONS
        self.batch_first = bool(node.attr("layout", 0))
        x, r = self._turned(node.input(0)), node.input(2)
        if rank(x) != 3 or rank(r) != 3:
            raise ModelError(f"expected inputs of rank 3, found {x.type} and {r.type}")
        self.x = x
        steps, batch, _ = shape(self.x)
        self.sizes = s = _Sizes(shape(r)[0], operator.gates(), steps, batch, shape(r)[2])
        for index, found in self._wanted(shape(x)[2]).items():
            value = node.optional(index)
            if value is not None and shape(value) != found:
                raise ModelError(
                    f"expected input {node.input_name(index)!r} of shape {found}, "
                    f"found {value.type}"
                )
        if 0 in (s.hidden, s.batch):
            raise Unsupported(f"an empty input, {x.type}")

    def _wanted(self, features: int) -> dict[int, tuple[int, ...]]:
        """Returns the shapes that inputs besides the first one have, if they are given."""
        s, rows = self.sizes, self.sizes.gates * self.sizes.hidden
        state = (s.batch, s.directions) if self.batch_first else (s.directions, s.batch)
        return {
            1: (s.directions, rows, features),
            2: (s.directions, rows, s.hidden),
            3: (s.directions, 2 * rows),
            4: (s.batch,),
            5: (*state, s.hidden),
            6: (*state, s.hidden),
            7: (s.directions, 3 * s.hidden),
        }

    def _turned(self, x: SSAValue) -> SSAValue:
        return self.build.transpose(x, [1, 0, 2]) if self.batch_first else x

    def part(self, value: SSAValue, d: int) -> SSAValue:
        """Returns the part of a value for a direction."""
        rest = shape(value)[1:]
        one = self.build.slice(value, [d, *[0] * len(rest)], [1, *rest])
        return self.build.reshape(one, list(rest))

    def zeros(self, *sizes: int) -> SSAValue:
        return self.build.splat(0, element(self.x), sizes)

    def results(self, states: SSAValue, last: Sequence[SSAValue]) -> list[SSAValue]:
        """Returns hidden states [T, D, B, H] and last states [D, B, H] in the node's layout."""
        if not self.batch_first:
            return [states, *last]
        turned = [self.build.transpose(state, [1, 0, 2]) for state in last]
        return [self.build.transpose(states, [2, 0, 1, 3]), *turned]

    def biases(self, d: int) -> tuple[SSAValue, SSAValue]:
        """Returns the biases of the input and of the state."""
        rows, b = self.sizes.gates * self.sizes.hidden, self.node.optional(3)
        if b is None:
            return self.zeros(rows), self.zeros(rows)
        both = self.part(b, d)
        first, second = (self.build.slice(both, [i * rows], [rows]) for i in range(2))
        return first, second

    def projected(self, d: int, bias: SSAValue) -> SSAValue:
        """Returns the products of all inputs with their weights, plus the bias."""
        s, build, w = self.sizes, self.build, self.part(self.node.input(1), d)
        flat = build.reshape(self.x, [s.steps * s.batch, shape(self.x)[2]])
        product = build.op(FullyConnectedOp, flat, w, bias)
        return build.reshape(product, [s.steps, s.batch, s.gates * s.hidden])

    def initial(self, d: int, *indices: int) -> SSAValue:
        """Returns the first states, [S, B, H]."""
        s, parts = self.sizes, []
        for index in indices:
            given = self.node.optional(index)
            if given is not None:
                given = self.part(self._turned(given), d)
            state = self.zeros(s.batch, s.hidden) if given is None else given
            parts.append(self.build.reshape(state, [1, s.batch, s.hidden]))
        return self.build.concat(parts, 0)

    def mask(self) -> SSAValue | None:
        """Returns the mask of steps [T, B] that each element of the batch has; None if all."""
        lengths, s, build = self.node.optional(4), self.sizes, self.build
        if lengths is None:
            return None
        steps = build.cast(build.constant(np.arange(s.steps, dtype=np.int32)), element(lengths))
        column = build.reshape(steps, [s.steps, 1])
        found = build.elementwise(LessOp, column, build.reshape(lengths, [1, s.batch]))
        assert element(found) == i1
        return found

    def activations(self, d: int, default: str) -> str:
        """Returns the functions of a direction, as the dialect writes them."""
        names = self.node.attr("activations")
        if names is None:
            return default
        if len(names) < self.sizes.directions * self.functions:
            raise ModelError(f"expected {self.functions} activations per direction, found {names}")
        alphas, betas = (iter(self.node.attr(f"activation_{n}") or ()) for n in ("alpha", "beta"))
        found = []
        for name in names:
            known = _NAMES.get(name.lower())
            if known is None:
                raise Unsupported(f"activations={names}")
            numbers = []
            for values, fallback in zip((alphas, betas), _DEFAULTS.get(known, ()), strict=False):
                if len(numbers) < (parameters_of(known) or 0):
                    numbers.append(float(next(values, fallback)))
            brackets = f"({','.join(map(repr, numbers))})" if numbers else ""
            found.append(known + brackets)
        return " ".join(found[d * self.functions :][: self.functions])


@converter("LSTM")
def lstm(node: OnnxNode) -> list[SSAValue]:
    def layer(reader: _Reader, d: int) -> tuple[list[SSAValue], dict[str, Any]]:
        bias = reader.build.op(AddOp, *reader.biases(d))
        given, hidden = node.optional(7), reader.sizes.hidden
        peepholes = reader.zeros(3, hidden)
        if given is not None:
            peepholes = reader.build.reshape(reader.part(given, d), [3, hidden])
        operands = [reader.projected(d, bias), _weights(reader, d), reader.initial(d, 5, 6)]
        forget = bool(node.attr("input_forget", 0))
        activations = reader.activations(d, "Sigmoid Tanh Tanh")
        return [*operands, peepholes], {"activations": activations, "input_forget": forget}

    return _layers(node, LstmOp, layer)


@converter("DynamicQuantizeLSTM", domain=CONTRIB)
def lstm_of_quantized_weights(node: OnnxNode) -> Results:
    """
    Converts an LSTM whose weights are integers, [D, I, 4H] and [D, H, 4H], with a scale and a zero
    point for each direction or column. Its products are of reals, not of inputs in 8 bits.
    """
    build, inputs = node.build, node.inputs[:8]
    for index, scale in ((1, 8), (2, 10)):
        reals = build.cast(node.input(index), element(node.input(scale)))
        terms = [(SubOp, node.optional(scale + 1)), (MulOp, node.input(scale))]
        for operator, term in terms:
            if term is not None:
                sizes = [shape(term)[0], 1, *(shape(term)[1:] or [1])]
                term = build.cast(build.reshape(term, sizes), element(reals))
                reals = build.elementwise(operator, reals, term)
        inputs[index] = build.transpose(reals, [0, 2, 1])
    return lstm(OnnxNode(node.proto, node.schema, node.opset, inputs, build, node.weights))


@converter("GRU")
def gru(node: OnnxNode) -> list[SSAValue]:
    def layer(reader: _Reader, d: int) -> tuple[list[SSAValue], dict[str, Any]]:
        build, h = reader.build, reader.sizes.hidden
        of_input, of_state = reader.biases(d)
        gates, own = build.slice(of_state, [0], [2 * h]), build.slice(of_state, [2 * h], [h])
        bias = build.op(AddOp, of_input, build.concat([gates, reader.zeros(h)], 0))
        operands = [reader.projected(d, bias), _weights(reader, d), reader.initial(d, 5)]
        after = bool(node.attr("linear_before_reset", 0))
        activations = reader.activations(d, "Sigmoid Tanh")
        return [*operands, build.reshape(own, [1, h])], {
            "activations": activations,
            "reset_after": after,
        }

    return _layers(node, GruOp, layer)


@converter("RNN")
def rnn(node: OnnxNode) -> list[SSAValue]:
    def layer(reader: _Reader, d: int) -> tuple[list[SSAValue], dict[str, Any]]:
        bias = reader.build.op(AddOp, *reader.biases(d))
        operands = [reader.projected(d, bias), _weights(reader, d), reader.initial(d, 5)]
        return operands, {"activations": reader.activations(d, "Tanh")}

    return _layers(node, RnnOp, layer)


def _weights(reader: _Reader, d: int) -> SSAValue:
    """Returns the weights of the state, [H, gates]."""
    return reader.build.transpose(reader.part(reader.node.input(2), d), [1, 0])


def _layers(
    node: OnnxNode,
    operator: type[Recurrent],
    layer: Callable[[_Reader, int], tuple[list[SSAValue], dict[str, Any]]],
) -> list[SSAValue]:
    """Returns all directions: their hidden states, and the last states."""
    reader, build = _Reader(node, operator), node.build
    s, direction = reader.sizes, node.attr("direction", "forward")
    backwards = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
    if direction not in backwards or len(backwards[direction]) != s.directions:
        raise ModelError(f"expected weights for direction {direction!r}, found {s.directions}")
    if not s.steps:
        return _of_no_steps(reader, operator.STATES)
    mask, all_states, last = reader.mask(), [], [[] for _ in range(operator.STATES)]
    for d, reverse in enumerate(backwards[direction]):
        operands, properties = layer(reader, d)
        operands += [] if mask is None else [mask]
        states = build.op(
            operator,
            *operands,
            reverse=reverse,
            clip=float(node.attr("clip", 0.0)),
            **properties,
        )
        part = build.slice(states, [0, 0 if reverse else 1, 0, 0], [1, s.steps, s.batch, s.hidden])
        all_states.append(build.reshape(part, [s.steps, 1, s.batch, s.hidden]))
        for i, found in enumerate(last):
            row = 0 if reverse else s.steps
            one = build.slice(states, [i, row, 0, 0], [1, 1, s.batch, s.hidden])
            found.append(build.reshape(one, [1, s.batch, s.hidden]))
    whole = _padded(node, build.concat(all_states, 1), mask)
    return reader.results(whole, [build.concat(found, 0) for found in last])


def _of_no_steps(reader: _Reader, count: int) -> list[SSAValue]:
    """Returns the results without a step: no hidden states, and the first states as the last."""
    s, build = reader.sizes, reader.build
    firsts = [
        build.concat([reader.initial(d, 5 + state) for d in range(s.directions)], 0)
        for state in range(count)
    ]
    return reader.results(reader.zeros(0, s.directions, s.batch, s.hidden), firsts)


def _padded(node: OnnxNode, states: SSAValue, mask: SSAValue | None) -> SSAValue:
    """States [T, D, B, H], with zeros for steps that are not taken."""
    if mask is None:
        return states
    steps, batch = shape(mask)
    kept = node.build.reshape(mask, [steps, 1, batch, 1])
    zeros = node.build.splat_like(0, states)
    return node.build.elementwise(SelectOp, kept, states, zeros)
