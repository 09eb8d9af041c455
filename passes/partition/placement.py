"""The devices that can compute each unit of a graph, with times and annotations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf
from typing import TypeAlias, TypeVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue

from ...errors import CompileError, GlowError
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.constant import ConstantOp, SplatOp
from ...glow_dialects.glow.quantization import QuantizeOp
from ...glow_dialects.operator import Call
from ...wording import counted
from ..graph.lower_nodes import decompose
from ..graph.rewriting import Build, failure
from ..visited_operation import each, visit
from .devices import HOST, Configuration, Device
from .units import Unit, UnitGraph, bytes_of

DEVICE = "glow.device"
"""The attribute of a node with the device that it must be on, by its name or its backend."""
LISTED = 10
"""The number of nodes that an error names."""

CallKey: TypeAlias = "tuple[object, ...]"
T = TypeVar("T")


@dataclass(frozen=True)
class Value:
    """A tensor that one unit makes and others read."""

    bytes: int
    producer: int | None
    """The unit that makes it; None for an argument."""
    users: tuple[int, ...]
    returned: bool


@dataclass
class Problem:
    """A graph as the strategies see it: numbered units and devices."""

    graph: UnitGraph
    configuration: Configuration
    costs: list[list[float]]
    """Seconds of each unit on each device; infinite if it must not be there."""
    weights: list[int]
    """Bytes of the constants of each unit."""
    values: list[Value]
    reads: list[list[int]]
    """The values that each unit reads."""
    makes: list[list[int]]
    """The values that each unit makes."""

    def __post_init__(self) -> None:
        names = {None: HOST} | {i: d.name for i, d in enumerate(self.devices)}
        self.links: dict[tuple[int | None, ...], tuple[float, float]] = {}
        """Latency and bandwidth between devices by number, and the host, which is None."""
        for pair in product(names, repeat=2):
            link = self.configuration.link(*(names[d] for d in pair))
            self.links[pair] = link.latency, link.bandwidth

    @property
    def devices(self) -> Sequence[Device]:
        return self.configuration.devices

    def can(self, unit: int) -> list[int]:
        """Returns the devices on which a unit can be, in order."""
        return [d for d, seconds in enumerate(self.costs[unit]) if seconds < inf]

    def before(self, unit: int) -> Iterable[tuple[int, int]]:
        """Yields each value that a unit reads of another one, with the unit that makes it."""
        for value in self.reads[unit]:
            producer = self.values[value].producer
            if producer is not None:
                yield value, producer

    def after(self, unit: int) -> Iterable[tuple[int, int]]:
        """Yields each value that a unit makes, with a unit that reads it."""
        for value in self.makes[unit]:
            for user in self.values[value].users:
                yield value, user

    def link_seconds(self, value: int, a: int | None, b: int | None) -> float:
        """
        Returns the seconds of a value's transfer from one device to another; None is the host.
        """
        latency, bandwidth = self.links[a, b]
        return latency + self.values[value].bytes / bandwidth


def problem_of(graph: UnitGraph, configuration: Configuration) -> Problem:
    """
    Returns the problem that a strategy decides.

    Raises CompileError for nodes that no device can compute, and for annotations that are
    impossible.
    """
    required = required_devices(graph, configuration)
    rows: list[list[float]] = []
    nowhere: list[Unit] = []
    kinds = {device.kind: _Estimator(device) for device in configuration.devices}
    for unit, wanted in zip(graph.units, required, strict=True):
        visit(unit.nodes[0])
        seconds = {kind: estimator.seconds(unit) for kind, estimator in kinds.items()}
        row = [seconds[device.kind] for device in configuration.devices]
        if min(row) == inf:
            nowhere.append(unit)
        elif wanted:
            row = _only(unit, wanted, row, configuration)
        rows.append(row)
    if nowhere:
        raise _nowhere(nowhere, configuration)
    number: dict[SSAValue, int] = {}
    values: list[Value] = []
    returned = set(graph.returned)
    for value in dict.fromkeys((*graph.users, *graph.producer)):
        number[value] = len(values)
        users = tuple(graph.users.get(value, ()))
        producer = graph.producer.get(value)
        values.append(Value(bytes_of(value), producer, users, value in returned))
    return Problem(
        graph,
        configuration,
        rows,
        [sum(map(bytes_of, unit.constants)) for unit in graph.units],
        values,
        [[number[v] for v in unit.inputs] for unit in graph.units],
        [[number[v] for v in unit.outputs] for unit in graph.units],
    )


class _Estimator:
    """The units that a device can compute, with times. Equal calls are examined once."""

    def __init__(self, device: Device):
        self.device = device
        self._supported: dict[CallKey, bool] = {}
        self._seconds: dict[CallKey, float] = {}

    def seconds(self, unit: Unit) -> float:
        """Returns the seconds of a unit; infinity if the device cannot compute it."""
        if unit.stored is not None:
            calls = [unit.call(n) for n in unit.nodes if not isinstance(n, QuantizeOp)]
            if all(self._supports(call) for call in calls):
                return sum(self._cost(call) for call in calls)
        nodes = [*unit.conversions, *unit.nodes]
        if not all(self.computes(n) for n in nodes):
            return inf
        return sum(self._cost(n.call) for n in nodes)

    def computes(self, node: Node) -> bool:
        """
        Returns whether the device supports a node, or all nodes that `glow-lower-nodes` makes of
        it.
        """
        if self._supports(node.call):
            return True
        build = Build()
        found = decompose(node, build) is not None and all(
            isinstance(n, ConstantOp | SplatOp) or (isinstance(n, Node) and self.computes(n))
            for n in build.ops
        )
        build.discard()
        return found

    def _supports(self, call: Call) -> bool:
        return _remembered(self._supported, call, self.device.backend.supports)

    def _cost(self, call: Call) -> float:
        return _remembered(self._seconds, call, self.device.cost)


def _remembered(table: dict[CallKey, T], call: Call, compute: Callable[[Call], T]) -> T:
    key = (call.operator, call.operands, call.results, *sorted(call.properties.items()))
    if key not in table:
        table[key] = compute(call)
    return table[key]


# annotations


def required_devices(graph: UnitGraph, configuration: Configuration) -> list[list[str]]:
    """
    Returns the names of devices that are asked for each unit, by attribute or by the names of its
    results, which come first.

    Raises CompileError for devices that there are not, and GlowError for names of nodes that there
    are not.
    """
    place = dict(configuration.place)
    required: list[list[str]] = []
    for unit in graph.units:
        found: list[str] = []
        for node in each((*unit.nodes, *unit.conversions)):
            wanted = _wanted(node, configuration.place)
            if wanted is not None:
                _expect_device(node, wanted, configuration)
                found.append(wanted)
            for result in node.results:
                place.pop(result.name_hint or "", None)
        required.append(found)
    if place:
        raise GlowError(f"cannot place {', '.join(place)}: no node has a result of that name")
    return required


def _wanted(node: Node, place: Mapping[str, str]) -> str | None:
    for result in node.results:
        if (name := result.name_hint) is not None and name in place:
            return place[name]
    attribute = node.attributes.get(DEVICE)
    if attribute is None:
        return None
    if not isinstance(attribute, StringAttr):
        raise failure(node, f"expected {DEVICE} to be the name of a device, found {attribute}")
    return attribute.data


def _expect_device(node: Node, wanted: str, configuration: Configuration) -> None:
    if not any(d.is_called(wanted) for d in configuration.devices):
        raise failure(node, f"there is no device {wanted!r}; there are {configuration.names()}")


def _only(
    unit: Unit, wanted: Sequence[str], row: Sequence[float], configuration: Configuration
) -> list[float]:
    """Returns the costs with those of other devices infinite."""
    devices = configuration.devices
    asked = [all(d.is_called(name) for name in wanted) for d in devices]
    kept = [seconds if a else inf for a, seconds in zip(asked, row, strict=True)]
    if min(kept) < inf:
        return kept
    names = " and ".join(dict.fromkeys(wanted))
    if not any(asked):
        raise failure(unit.nodes[-1], f"its nodes move together, but are to be on {names}")
    able = ", ".join(d.name for d, seconds in zip(devices, row, strict=True) if seconds < inf)
    raise failure(
        unit.nodes[0], f"is to be on {names}, which cannot compute {_described(unit)}; {able} can"
    )


def _described(unit: Unit) -> str:
    """Returns the operators of a unit with their types."""
    node = next((n for n in unit.nodes if not isinstance(n, QuantizeOp)), unit.nodes[0])
    call = unit.call(node)
    operands, results = (", ".join(map(str, t)) for t in (call.operands, call.results))
    return f"{node.name} ({operands}) -> {results}"


def _nowhere(units: Sequence[Unit], configuration: Configuration) -> CompileError:
    listed = "; ".join(f"%{u.name}: {_described(u)}" for u in units[:LISTED])
    more = f" and {len(units) - LISTED} more" if len(units) > LISTED else ""
    return failure(
        units[0].nodes[0],
        f"none of the devices {configuration.names()} can compute {counted(len(units), 'node')}: "
        f"{listed}{more}",
    )
