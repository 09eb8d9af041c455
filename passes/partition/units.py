"""
Units: the nodes that move together when a graph is split.

In a quantized graph, real numbers stand between `glow.dequantize` and `glow.quantize`. The nodes
between them are one unit with their conversions, so that what crosses from one device to another
is quantized, and a backend sees all that it turns into integers. Every other node is a unit of its
own.

Some nodes are not placed but repeated wherever they are used: constants (of which only references
are copied), what is computed from constants alone, and `glow.dequantize`, because what it reads is
smaller than what it makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...glow_dialects.elements import is_float, type_bytes
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.constant import ConstantOp
from ...glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from ...glow_dialects.operator import Call, element_of, shape_of, with_shape
from ...glow_dialects.quant import QuantizedType
from ..graph.rewriting import failure
from ..visited_operation import each


@dataclass
class Unit:
    """The nodes that must be on the same device."""

    nodes: list[Node]
    """
    The nodes in the order of the graph. They are repeated ones only if the graph returns such.
    """
    stored: QuantizedType | None = None
    """The type in which results are stored, if real numbers are computed between conversions."""
    inputs: tuple[SSAValue, ...] = ()
    """The arguments of the graph and the results of other units that it reads, each once."""
    outputs: tuple[SSAValue, ...] = ()
    """The values that other units read or that the graph returns."""
    constants: tuple[SSAValue, ...] = ()
    """The constants from which operands come, each once."""
    conversions: tuple[DequantizeOp, ...] = ()
    """The conversions of operands that are not constant."""

    @property
    def name(self) -> str:
        """The name in messages and drawings: that of a result, or of the operator."""
        node = next((n for n in self.nodes if not isinstance(n, QuantizeOp)), self.nodes[0])
        return node.results[0].name_hint or node.name

    def call(self, node: Node) -> Call:
        """
        Returns a node as a backend claims it: between conversions, with quantized operands and
        results.
        """
        if self.stored is None:
            return node.call
        operands = tuple(map(self._stored_type, node.operands))
        results = tuple(map(self._stored_type, node.results))
        return Call(type(node), operands, results, node.properties)

    def _stored_type(self, value: SSAValue) -> Attribute:
        if isinstance(value.owner, DequantizeOp):
            return value.owner.input.type
        if value.owner not in self.nodes or not is_float(element_of(value.type)):
            return value.type
        assert self.stored is not None
        return with_shape(self.stored, shape_of(value.type))


@dataclass
class UnitGraph:
    """All units of a graph, in an order in which they can run."""

    units: list[Unit]
    producer: dict[SSAValue, int] = field(default_factory=dict)
    """The unit that makes each value that is read elsewhere."""
    users: dict[SSAValue, list[int]] = field(default_factory=dict)
    """The units that read each such value, and each argument; in order."""
    returned: list[SSAValue] = field(default_factory=list)
    """The values that the graph returns, in order."""
    constant: set[Operation] = field(default_factory=set)
    """The nodes that depend only on constants."""
    repeated: set[Operation] = field(default_factory=set)
    """These, and `glow.dequantize`."""


def bytes_of(value: SSAValue) -> int:
    """Returns the bytes of a tensor."""
    assert isinstance(value.type, TensorType)
    return type_bytes(value.type)


def unit_graph(block: Block) -> UnitGraph:
    """
    Returns the units of the body of a function.

    Raises CompileError unless it consists of graph nodes and `func.return`.
    """
    *ops, last = [*block.ops] or [block.parent_op()]
    if not isinstance(last, func.ReturnOp):
        assert last is not None
        raise failure(last, "expected a function that ends with func.return")
    nodes = [_expect_node(op) for op in each(op for op in ops if op is not None)]
    constant = _constant(nodes)
    repeated = constant | {n for n in nodes if isinstance(n, DequantizeOp)}
    graph = UnitGraph([], returned=list(last.operands), constant=constant, repeated=repeated)
    placed = [n for n in nodes if n not in graph.repeated]
    groups = _groups(placed, graph.repeated)
    # of a repeated node that is returned, one copy is placed
    returned = dict.fromkeys(v.owner for v in last.operands if v.owner in graph.repeated)
    groups += [[owner] for owner in returned if isinstance(owner, Node)]
    position = {node: i for i, node in enumerate(nodes)}
    groups.sort(key=lambda group: _ready(group, position))
    graph.units = [_unit(group) for group in groups]
    _connect(graph)
    return graph


def _expect_node(op: Operation) -> Node:
    if not isinstance(op, Node):
        raise failure(op, "expected a graph of nodes, which alone can be split over devices")
    return op


def _ready(group: Sequence[Node], position: dict[Node, int]) -> int:
    """
    Returns the place at which the first result that others read is made. It comes after all
    operands.
    """
    first = next((n for n in group if isinstance(n, QuantizeOp)), group[-1])
    return position[first]


def _constant(nodes: Sequence[Node]) -> set[Operation]:
    """Returns constants, and nodes that depend only on constants."""
    constant: set[Operation] = set()
    for node in each(nodes):
        if all(v.owner in constant for v in node.operands):
            constant.add(node)
    return constant


def _groups(placed: Sequence[Node], repeated: set[Operation]) -> list[list[Node]]:
    """
    Returns nodes by unit. From the last node to the first, `glow.quantize` begins a unit, and a
    node that makes floats for one such unit alone joins it. If a unit reads more than conversions
    and constants, its nodes become separate units.
    """
    unit_of: dict[Operation, int] = {}
    members: dict[int, list[Node]] = {}
    by_source: dict[SSAValue, int] = {}
    for node in each(reversed(placed)):
        unit = _unit_to_join(node, unit_of, by_source)
        if unit is None:
            unit = len(members)
        if isinstance(node, QuantizeOp):
            by_source[node.input] = unit
            unit_of[node] = unit
        elif unit in members:
            unit_of[node] = unit
        members.setdefault(unit, []).append(node)
    groups = [list(reversed(group)) for group in members.values()]
    return [part for group in groups for part in _apart(group, repeated)]


def _unit_to_join(
    node: Node, unit_of: dict[Operation, int], by_source: dict[SSAValue, int]
) -> int | None:
    """
    Returns the unit that begins with `glow.quantize` and alone reads the floats that a node makes.
    """
    if isinstance(node, QuantizeOp):
        return by_source.get(node.input)
    if not all(is_float(element_of(r.type)) for r in node.results):
        return None
    units = {unit_of.get(use.operation) for r in node.results for use in r.uses}
    return units.pop() if len(units) == 1 else None


def _apart(group: list[Node], repeated: set[Operation]) -> list[list[Node]]:
    members = set(group)
    outside = (v for node in group for v in node.operands if v.owner not in members)
    if len(group) == 1 or all(v.owner in repeated for v in outside):
        return [group]
    return [[node] for node in group]


def _unit(group: list[Node]) -> Unit:
    """Returns a unit with the storage types of its results, if it computes between conversions."""
    ends = [n for n in group if isinstance(n, QuantizeOp)]
    if not ends or len(ends) == len(group):
        return Unit(group)
    stored = element_of(ends[0].result.type)
    assert isinstance(stored, QuantizedType)
    return Unit(group, None if stored.is_per_axis else stored)


def _connect(graph: UnitGraph) -> None:
    """Finds the values that units read and make."""
    for i, unit in enumerate(graph.units):
        _read(unit, graph)
        for value in unit.inputs:
            graph.users.setdefault(value, []).append(i)
    returned = set(graph.returned)
    for i, unit in enumerate(graph.units):
        made = [r for node in unit.nodes for r in node.results]
        unit.outputs = tuple(v for v in made if v in graph.users or v in returned)
        graph.producer |= dict.fromkeys(unit.outputs, i)


def _read(unit: Unit, graph: UnitGraph) -> None:
    """Follows operands through repeated nodes."""
    inputs: dict[SSAValue, None] = {}
    constants: dict[SSAValue, None] = {}
    conversions: dict[DequantizeOp, None] = {}
    members = set(unit.nodes)
    pending = [v for node in reversed(unit.nodes) for v in reversed(node.operands)]
    constants |= {r: None for n in unit.nodes if isinstance(n, ConstantOp) for r in n.results}
    seen: set[SSAValue] = set()
    while pending:
        value = pending.pop()
        owner = value.owner
        if value in seen or owner in members:
            continue
        seen.add(value)
        if owner not in graph.repeated:
            inputs[value] = None
            continue
        assert isinstance(owner, Node)
        if isinstance(owner, ConstantOp):
            constants[value] = None
        pending += reversed(owner.operands)
        if isinstance(owner, DequantizeOp) and owner not in graph.constant:
            conversions[owner] = None
    unit.inputs, unit.constants = tuple(inputs), tuple(constants)
    unit.conversions = tuple(conversions)
