"""
Places for the boxes and edges of a drawing of a graph without cycles, layer by layer from top to
bottom.

After Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of Hierarchical System
Structures" (1981): a box is in the layer below the last box before it; edges that pass layers get
a joint in each; boxes and joints of a layer are sorted by the mean place of their neighbours; then
they move towards these as far as their order and size allow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

SWEEPS = 12
GAP = 28.0
"""Pixels between the boxes of a layer."""
LAYER_GAP = 64.0
JOINT = 60.0
"""The width that an edge takes where it passes a layer."""


@dataclass(frozen=True)
class Size:
    """Pixels."""

    width: float
    height: float


@dataclass
class Layout:
    """The places of boxes and edges, in pixels; y grows downwards."""

    boxes: dict[int, tuple[float, float]] = field(default_factory=dict)
    """The upper left corner of each box."""
    edges: dict[tuple[int, int], list[tuple[float, float]]] = field(default_factory=dict)
    """The points of each edge: it ends at the first and last one, and is vertical at all."""
    width: float = 0.0
    height: float = 0.0


@dataclass
class _Item:
    """A box, or the joint of an edge in a layer."""

    layer: int
    size: Size
    x: float = 0.0
    """The x of the middle."""
    up: list[_Item] = field(default_factory=list)
    down: list[_Item] = field(default_factory=list)


def lay_out(sizes: Sequence[Size], edges: Sequence[tuple[int, int]]) -> Layout:
    """
    Returns a layout of boxes of these sizes, for edges between them by number. Edges go from lower
    to higher numbers.
    """
    items = [_Item(layer, size) for layer, size in zip(_layers(sizes, edges), sizes, strict=True)]
    paths = {edge: _path(items[edge[0]], items[edge[1]]) for edge in edges}
    joints = [item for path in paths.values() for item in path[1:-1]]
    count = 1 + max((i.layer for i in items), default=-1)
    layers = [[i for i in (*items, *joints) if i.layer == layer] for layer in range(count)]
    _place(layers)
    tops, height = _tops(layers)
    left = min((i.x - i.size.width / 2 for layer in layers for i in layer), default=0.0)
    for layer in layers:
        for item in layer:
            item.x -= left
    layout = Layout(height=height)
    layout.width = max((i.x + i.size.width / 2 for layer in layers for i in layer), default=0.0)
    for number, item in enumerate(items):
        layout.boxes[number] = item.x - item.size.width / 2, tops[item.layer]
    layout.edges = _lines(items, paths, layers, tops)
    return layout


def _layers(sizes: Sequence[Size], edges: Sequence[tuple[int, int]]) -> list[int]:
    """Returns the number of boxes on the longest way to each one."""
    layers = [0] * len(sizes)
    for source, target in sorted(edges):
        layers[target] = max(layers[target], layers[source] + 1)
    return layers


def _path(source: _Item, target: _Item) -> list[_Item]:
    """Returns an edge with its joints."""
    between = range(source.layer + 1, target.layer)
    path = [source, *(_Item(layer, Size(JOINT, 0)) for layer in between), target]
    for upper, lower in pairwise(path):
        upper.down.append(lower)
        lower.up.append(upper)
    return path


def _place(layers: Sequence[list[_Item]]) -> None:
    """Sorts all layers and finds the x of their items, from above and from below in turn."""
    for layer in layers:
        _settle(layer, [0.0] * len(layer))
    for sweep in range(2 * SWEEPS):
        downwards = sweep % 2 == 0
        for layer in layers if downwards else reversed(layers):
            wanted = [_mean(i.up if downwards else i.down, i.x) for i in layer]
            if sweep < SWEEPS:
                order = sorted(range(len(layer)), key=wanted.__getitem__)
                layer[:] = [layer[i] for i in order]
                wanted = [wanted[i] for i in order]
            _settle(layer, wanted)


def _mean(neighbours: Sequence[_Item], otherwise: float) -> float:
    return sum(n.x for n in neighbours) / len(neighbours) if neighbours else otherwise


def _settle(layer: Sequence[_Item], wanted: Sequence[float]) -> None:
    """
    Returns the places nearest to the wanted ones, by least squares, at which items keep their order
    and do not overlap: an isotonic regression, by pooling adjacent violators.
    """
    offset = 0.0
    offsets: list[float] = []
    for i, item in enumerate(layer):
        if i:
            offset += (layer[i - 1].size.width + item.size.width) / 2 + GAP
        offsets.append(offset)
    pools: list[tuple[float, int]] = []
    for place, shift in zip(wanted, offsets, strict=True):
        total, count = place - shift, 1
        while pools and pools[-1][0] / pools[-1][1] >= total / count:
            before = pools.pop()
            total, count = total + before[0], count + before[1]
        pools.append((total, count))
    means = [total / count for total, count in pools for _ in range(count)]
    for item, mean, shift in zip(layer, means, offsets, strict=True):
        item.x = mean + shift


def _tops(layers: Sequence[Sequence[_Item]]) -> tuple[list[float], float]:
    """Returns the top of each layer, and the whole height."""
    tops: list[float] = []
    y = 0.0
    for layer in layers:
        tops.append(y)
        y += max(i.size.height for i in layer) + LAYER_GAP
    return tops, max(0.0, y - LAYER_GAP)


def _lines(
    items: Sequence[_Item],
    paths: Mapping[tuple[int, int], list[_Item]],
    layers: Sequence[Sequence[_Item]],
    tops: Sequence[float],
) -> dict[tuple[int, int], list[tuple[float, float]]]:
    """
    Returns the points of all edges. Those of one box begin and end at different places of its
    sides.
    """
    starts, ends = _ports(items, paths, True), _ports(items, paths, False)
    found: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for edge, path in paths.items():
        source, target = path[0], path[-1]
        points = [(starts[edge], tops[source.layer] + source.size.height)]
        bottoms = [tops[i.layer] + max(j.size.height for j in layers[i.layer]) for i in path]
        if points[0][1] < bottoms[0]:
            points.append((starts[edge], bottoms[0]))
        for joint, bottom in zip(path[1:-1], bottoms[1:-1], strict=True):
            points += [(joint.x, tops[joint.layer]), (joint.x, bottom)]
        found[edge] = [*points, (ends[edge], tops[target.layer])]
    return found


def _ports(
    items: Sequence[_Item], paths: Mapping[tuple[int, int], list[_Item]], leaving: bool
) -> dict[tuple[int, int], float]:
    """Returns the x at which each edge leaves or meets its box."""
    found: dict[tuple[int, int], float] = {}
    for number, item in enumerate(items):
        own = [edge for edge in paths if edge[0 if leaving else 1] == number]
        own.sort(key=lambda edge: paths[edge][1 if leaving else -2].x)
        step = item.size.width / (len(own) + 1)
        for i, edge in enumerate(own):
            found[edge] = item.x - item.size.width / 2 + step * (i + 1)
    return found
