"""
The cut of a model in two, at values that must be known to compile what follows.

The rest of the model is compiled when the first part has computed these values: its inputs are what
crosses the cut, and sizes that data decided are symbols of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import onnx
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from ...errors import CutNeededError, UnsupportedError
from .builder import Counted, element, known_array, shape
from .element_types import onnx_code
from .graph import Scope
from .load import Model
from .order import live_nodes, sort_nodes, used_names

Inputs = Mapping[str, TensorType | None]


def cut(
    model: Model,
    message: str,
    needing: Collection[tuple[str, ...]],
    scope: Scope,
    inputs: Inputs,
    counted: Mapping[SSAValue, Counted],
) -> CutNeededError:
    """
    Returns the error with both parts of a model.

    `needing` are the outputs of each node that needs values. `inputs` are the types of the
    graph's inputs. Raises UnsupportedError if nothing or something else than tensors crosses the
    cut.
    """
    graph = model.proto.graph
    nodes = sort_nodes(graph.node, [*inputs, *(t.name for t in graph.initializer)])
    live = live_nodes(nodes, [o.name for o in graph.output])
    first: list[NodeProto] = []
    rest: list[NodeProto] = []
    late: set[str] = set()
    for i, node in enumerate(nodes):
        if i not in live:
            continue
        is_late = tuple(node.output) in needing or not late.isdisjoint(used_names(node))
        (rest if is_late else first).append(node)
        late.update(node.output if is_late else ())
    early = {name for node in first for name in node.output if name}
    needed = dict.fromkeys(name for node in rest for name in used_names(node) if name)
    values = {name: _crossing(scope, name) for name in needed if name in early}
    known = {n: a for n, v in values.items() if (a := known_array(v)) is not None}
    crossing = [name for name in values if name not in known]
    if not crossing:
        raise UnsupportedError(message)
    outputs = [o for o in graph.output if o.name not in late and o.name not in crossing]
    ends = [*(ValueInfoProto(name=name) for name in crossing), *outputs]
    begins = [_input(name, values[name], counted.get(values[name])) for name in crossing]
    begins += [
        helper.make_tensor_value_info(name, onnx_code(t.element_type), t.get_shape())
        for name, t in inputs.items()
        if name in needed and t is not None
    ]
    constants = [numpy_helper.from_array(array.copy(), name) for name, array in known.items()]
    late_outputs = [o for o in graph.output if o.name in late]
    return CutNeededError(
        message,
        _part(model, first, list(graph.input), ends, ()),
        _part(model, rest, begins, late_outputs, constants),
    )


def _crossing(scope: Scope, name: str) -> SSAValue:
    value = scope.find(name)
    if value is None or not isinstance(value.type, TensorType):
        raise UnsupportedError(
            f"{name!r} is a sequence that has to be known, but the model computes what decides it"
        )
    return value


def _input(name: str, value: SSAValue, counted: Counted | None) -> ValueInfoProto:
    dims: list[int | str] = list(shape(value))
    if counted is not None:
        # values with one count have one symbol, so that they agree in size
        hint = counted.count.name_hint or name
        dims[counted.axis] = f"count_of_{hint}"
    return helper.make_tensor_value_info(name, onnx_code(element(value)), dims)


def _part(
    model: Model,
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    constants: Sequence[TensorProto],
) -> Model:
    """Returns a model of some nodes, whose weights stay where they are."""
    used = {name for node in nodes for name in used_names(node)}
    used.update(o.name for o in outputs)
    heavy = {t.name: t for t in (*model.initializers, *constants) if t.name in used}
    graph = GraphProto(name=model.proto.graph.name)
    graph.node.extend(nodes)
    graph.input.extend(inputs)
    graph.output.extend(outputs)
    graph.initializer.extend(TensorProto(name=name) for name in heavy)
    proto = onnx.ModelProto(ir_version=model.proto.ir_version, graph=graph)
    proto.opset_import.extend(model.proto.opset_import)
    proto.functions.extend(model.proto.functions)
    return replace(model, proto=proto, heavy=heavy)
