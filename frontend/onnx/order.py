"""The order in which nodes are converted."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence

from onnx import GraphProto, NodeProto

from ...errors import ModelError
from .node import node_label
from .problems import some


def sort_nodes(nodes: Sequence[NodeProto], defined: Iterable[str]) -> list[NodeProto]:
    """
    Returns the nodes in an order in which values are defined before they are used, as near to the
    given order as that allows. `defined` are the values that exist before.

    Raises ModelError if a value is defined twice, or if nodes depend on each other in a cycle.
    """
    producer = _producers(nodes, set(defined))
    users: list[list[int]] = [[] for _ in nodes]
    missing = [0] * len(nodes)
    for i, node in enumerate(nodes):
        for source in {producer[n] for n in used_names(node) if n in producer}:
            users[source].append(i)
            missing[i] += 1
    ready = [i for i, count in enumerate(missing) if not count]
    order: list[int] = []
    while ready:
        order.append(heapq.heappop(ready))
        for user in users[order[-1]]:
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(ready, user)
    if len(order) < len(nodes):
        raise ModelError(_cycle_message(nodes, producer, missing))
    return [nodes[i] for i in order]


def subgraphs_of(node: NodeProto) -> list[GraphProto]:
    """Returns the graphs in the attributes of a node."""
    each = ([a.g] if a.HasField("g") else a.graphs for a in node.attribute)
    return [graph for graphs in each for graph in graphs]


def used_names(node: NodeProto) -> list[str]:
    """
    Returns the values that a node uses: its inputs, and those that its subgraphs take from outside.
    """
    found = [*node.input]
    for graph in subgraphs_of(node):
        own = {i.name for i in (*graph.input, *graph.initializer)}
        own.update(name for inner in graph.node for name in inner.output)
        used = [name for inner in graph.node for name in used_names(inner)]
        used += [o.name for o in graph.output]
        found += [name for name in used if name not in own]
    return found


def check_defined(nodes: Sequence[NodeProto], defined: Iterable[str]) -> None:
    """Raises ModelError if a node uses a value that nothing defines."""
    known = {*defined, *(name for node in nodes for name in node.output)}
    for node in nodes:
        for name in node.input:
            if name and name not in known:
                raise ModelError(
                    f"{node_label(node)}: its input {name!r} is defined nowhere: it is no input or "
                    "initializer of the graph and no output of a node"
                )


def _producers(nodes: Sequence[NodeProto], defined: set[str]) -> dict[str, int]:
    producer: dict[str, int] = {}
    for i, node in enumerate(nodes):
        for name in filter(None, node.output):
            if name in producer or name in defined:
                raise ModelError(f"{node_label(node)}: its output {name!r} is defined twice")
            producer[name] = i
    return producer


def _cycle_message(
    nodes: Sequence[NodeProto], producer: Mapping[str, int], missing: Sequence[int]
) -> str:
    """Names the nodes of one cycle: from any node that waits, go back until one repeats."""
    at = next(i for i, count in enumerate(missing) if count)
    trail: dict[int, None] = {}
    while at not in trail:
        trail[at] = None
        sources = (producer[n] for n in used_names(nodes[at]) if n in producer)
        at = next(s for s in sources if missing[s])
    path = list(trail)
    cycle = [node_label(nodes[i]) for i in reversed(path[path.index(at) :])]
    return f"the graph is cyclic: {some([*cycle, cycle[0]])} depend on each other in this order"


def live_nodes(nodes: Sequence[NodeProto], outputs: Iterable[str]) -> set[int]:
    """Returns the positions of the sorted `nodes` on which the values called `outputs` depend."""
    wanted = set(outputs)
    live = set()
    for i in range(len(nodes) - 1, -1, -1):
        if wanted.intersection(filter(None, nodes[i].output)):
            live.add(i)
            wanted.update(used_names(nodes[i]))
    return live
