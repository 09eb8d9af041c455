"""
A loop whose steps are runs of a program of their own.

The shapes of values that such a loop carries differ from step to step, or nothing limits the number
of rows that its outputs get. Its body is a model, and so is what follows the loop; both are
compiled for the shapes that they meet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from onnx import GraphProto, NodeProto, ValueInfoProto, helper, numpy_helper
from xdsl.dialects.builtin import TensorType

from ...errors import UnsupportedError
from ...wording import free_name
from .builder import known_array
from .load import Model
from .node import node_label
from .order import used_names
from .parts import like, part_of
from .scope import Scope
from .subgraphs import LIMIT


@dataclass(frozen=True)
class SeparateLoop:
    """A Loop (ONNX operator specification) and what follows it, each a model."""

    label: str
    """The operator and the name of the node, for messages."""
    limit: int
    """Steps after which the loop ends with an error."""
    trips: str
    """The value that bounds the number of steps; empty for none."""
    going: str
    """The condition before the first step; empty for true."""
    states: tuple[str, ...]
    """The values that the first step gets."""
    captured: tuple[str, ...]
    """The inputs of the whole model that its steps use."""
    results: tuple[str, ...]
    """The last states, and outputs with a row for each step; empty for those that nothing uses."""
    known: Mapping[str, np.ndarray]
    """Values before the loop that are known."""
    _model: Model
    _body: GraphProto
    _others: Sequence[NodeProto]
    _types: Mapping[str, TensorType | None]

    @property
    def step_inputs(self) -> tuple[str, ...]:
        """The inputs of a step: its number, the states, and what it captures."""
        number, _, *states = [i.name for i in self._body.input]
        return (number, *states, *self.captured)

    def step(self, inputs: Mapping[str, np.ndarray]) -> Model:
        """
        Returns the model of a step for inputs like these. Its outputs are the next condition, the
        next states, and a row of each output with rows.
        """
        going = self._body.input[1].name
        constants = [numpy_helper.from_array(np.array(True), going), *self._body.initializer]
        taken = {name for node in self._body.node for name in (*used_names(node), *node.output)}
        weights = {t.name for t in self._model.proto.graph.initializer}
        constants += [
            numpy_helper.from_array(array.copy(), name)
            for name, array in self.known.items()
            if name in taken and name not in inputs and name not in weights
        ]
        # an output may be an input, or be there twice
        names = [free_name(f"result {i}", taken) for i in range(len(self._body.output))]
        copies = [
            helper.make_node("Identity", [o.name], [name])
            for o, name in zip(self._body.output, names, strict=True)
        ]
        types = [like(name, array) for name, array in inputs.items()]
        outputs = [ValueInfoProto(name=name) for name in names]
        return part_of(self._model, [*self._body.node, *copies], types, outputs, constants)

    def rest(self, values: Mapping[str, np.ndarray]) -> Model | None:
        """
        Returns the model of all but the loop for values like these: results of the loop, inputs of
        the whole model, and what is known. It is None if there is nothing else.
        """
        if not self._others:
            return None
        made = {name for node in self._others for name in node.output}
        used = {name for node in self._others for name in used_names(node)}
        given = {*self.results, *self._types} & used
        types = [like(name, array) for name, array in values.items() if name in given]
        outputs = [o for o in self._model.proto.graph.output if o.name in made]
        return part_of(self._model, self._others, types, outputs, ())


def separate_loop(
    model: Model,
    loop: NodeProto,
    others: Sequence[NodeProto],
    scope: Scope,
    inputs: Mapping[str, TensorType | None],
) -> SeparateLoop:
    """
    Returns a loop that uses inputs of the model and known values only. `others` are the other nodes
    that the outputs need. Raises UnsupportedError for states that are no tensors,
    and for strings.
    """
    trips, going, *states = [*loop.input, ""][: max(2, len(loop.input))]
    body = next(a.g for a in loop.attribute if a.name == "body")
    known: dict[str, np.ndarray] = {}
    names = used_names(loop)
    for name in dict.fromkeys(filter(None, names)):
        value = scope.find(name)
        if value is None or not isinstance(value.type, TensorType):
            raise UnsupportedError(f"{node_label(loop)}: {name!r} is a sequence")
        if scope.holds_strings(value):
            raise UnsupportedError(f"{node_label(loop)}: {name!r} has strings")
        array = known_array(value)
        if array is not None:
            known[name] = array
    captured = dict.fromkeys(n for n in names[len(loop.input) :] if n not in known)
    return SeparateLoop(
        node_label(loop),
        LIMIT,
        trips,
        going,
        tuple(states),
        tuple(captured),
        tuple(loop.output),
        known,
        model,
        body,
        others,
        inputs,
    )
