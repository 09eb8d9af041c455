"""
The cut of a model in two, at values that must be known to compile what follows.

The rest of the model is compiled when the first part has computed these values: its inputs are what
crosses the cut, and sizes that data decided are symbols of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from onnx import NodeProto, ValueInfoProto, helper, numpy_helper
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from ...errors import CutNeededError, LoopNeededError, PartsNeededError, UnsupportedError
from .builder import element, known_array, shape
from .checked_values import Counted
from .element_types import onnx_code
from .load import Model
from .order import live_nodes, sort_nodes, used_names
from .parts import inputs_used, part_of
from .scope import Scope
from .separate_loop import separate_loop

Inputs = Mapping[str, TensorType | None]


def cut(
    model: Model,
    message: str,
    needing: Collection[tuple[str, ...]],
    scope: Scope,
    inputs: Inputs,
    counted: Mapping[SSAValue, Counted],
) -> PartsNeededError:
    """
    Returns the error with both parts of a model, or with a loop and what is around it.

    `needing` are the outputs of each node that needs values. `inputs` are the types of the
    graph's inputs. A loop that nothing is computed for is a part of its own. Raises
    UnsupportedError if nothing else crosses the cut, or something that is not a tensor.
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
        loop = next((n for n in rest if n.op_type == "Loop" and tuple(n.output) in needing), None)
        if loop is None:
            raise UnsupportedError(message)
        others = [node for node in (*first, *rest) if node is not loop]
        return LoopNeededError(message, separate_loop(model, loop, others, scope, inputs))
    outputs = [o for o in graph.output if o.name not in late and o.name not in crossing]
    ends = [*(ValueInfoProto(name=name) for name in crossing), *outputs]
    begins = [_input(name, values[name], counted.get(values[name])) for name in crossing]
    begins += inputs_used(inputs, needed)
    constants = [numpy_helper.from_array(array.copy(), name) for name, array in known.items()]
    late_outputs = [o for o in graph.output if o.name in late]
    return CutNeededError(
        message,
        part_of(model, first, list(graph.input), ends, ()),
        part_of(model, rest, begins, late_outputs, constants),
    )


def _crossing(scope: Scope, name: str) -> SSAValue:
    value = scope.find(name)
    if value is None or not isinstance(value.type, TensorType):
        raise UnsupportedError(
            f"{name!r} is a sequence that has to be known, but the model computes what decides it"
        )
    if scope.holds_strings(value):
        raise UnsupportedError(f"{name!r} has strings, which cannot pass between parts of a model")
    return value


def _input(name: str, value: SSAValue, counted: Counted | None) -> ValueInfoProto:
    dims: list[int | str] = list(shape(value))
    if counted is not None:
        # values with one count have one symbol, so that they agree in size
        hint = counted.count.name_hint or name
        dims[counted.axis] = f"count_of_{hint}"
    return helper.make_tensor_value_info(name, onnx_code(element(value)), dims)
