"""
Draws a network that is split over devices, as SVG: a box for each partition in the colour of its
device, with its nodes, and an edge for the bytes that one partition reads from another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation

from ..glow_dialects.elements import type_bytes
from ..glow_dialects.glow.constant import ConstantOp, SplatOp
from ..glow_dialects.glow.quantization import DequantizeOp
from ..passes.partition.devices import Configuration, configuration_of
from ..passes.partition.partitions import Partition, PartitionedNetwork, Source, read_partitions
from ..svg import Picture, series, text_width
from ..wording import counted
from .layered_layout import Layout, Size, lay_out
from .report import size as size_text

LISTED = 8
"""A partition of more nodes has its operators counted instead."""
LINE, MARGIN = 16, 24
"""Pixels of a line of text, and around the picture."""
LEGEND = 28


@dataclass(frozen=True)
class Box:
    """The text of a box. The first line is a heading."""

    lines: tuple[str, ...]
    colour: str
    details: str = ""
    """The text that a pointer on the box shows."""

    @property
    def size(self) -> Size:
        widths = [text_width(line) * (1 if i else 1.08) for i, line in enumerate(self.lines)]
        return Size(max(widths) + 20, len(self.lines) * LINE + 14)


def draw_partitions(module: ModuleOp) -> str:
    """
    Returns the drawing of a partitioned network, as the text of an SVG file.

    Raises CompileError if the module is not a partitioned network.
    """
    network = read_partitions(module)
    configuration = configuration_of(module)
    names = _device_names(network, configuration)
    colours = {name: series(i) for i, name in enumerate(names)}
    inputs, outputs = Box(("inputs",), "grey"), Box(("outputs",), "grey")
    boxes = [inputs, *(_box(p, colours[p.device]) for p in network.partitions), outputs]
    edges = _edges(network)
    layout = lay_out([box.size for box in boxes], list(edges))
    legend = {_legend_entry(name, network, configuration): colours[name] for name in names}
    beyond = _beyond(layout, edges)
    width = max(layout.width + 2 * beyond, _legend_width(legend)) + 2 * MARGIN
    picture = Picture(
        width, layout.height + 2 * MARGIN + LEGEND, "Partitions of a network and their devices"
    )
    _draw_legend(picture, legend)
    placed = _moved(layout, (width - layout.width) / 2, MARGIN + LEGEND)
    for edge in edges:
        _draw_edge(picture, placed.edges[edge])
    for edge, sizes in edges.items():
        _draw_label(picture, placed.edges[edge], _label_text(sizes))
    for i, box in enumerate(boxes):
        _draw_box(picture, box, *placed.boxes[i])
    return str(picture)


def seconds_text(seconds: float) -> str:
    """Returns a time for people, in s, ms or µs."""
    for scale, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e6:.2g} µs"


# drawing


def _device_names(network: PartitionedNetwork, configuration: Configuration | None) -> list[str]:
    described = [d.name for d in configuration.devices] if configuration else []
    return list(dict.fromkeys((*described, *(p.device for p in network.partitions))))


def _box(partition: Partition, colour: str) -> Box:
    repeated = (ConstantOp, SplatOp, DequantizeOp, func.ReturnOp)
    nodes = [op for op in partition.function.body.block.ops if not isinstance(op, repeated)]
    memory = size_text(partition.weight_bytes), size_text(partition.activation_bytes)
    lines = (
        f"{partition.name} on {partition.device}",
        f"{seconds_text(partition.cost)}, {memory[0]} + {memory[1]}",
        *_listed(nodes),
    )
    return Box(lines, colour, "\n".join(map(_node_text, nodes)))


def _listed(nodes: Sequence[Operation]) -> list[str]:
    """Returns nodes by name; if there are many, the number of each operator."""
    if len(nodes) <= LISTED:
        return [_node_text(op) for op in nodes]
    counts = Counter(_operator(op) for op in nodes).most_common()
    shown = counts if len(counts) <= LISTED else counts[: LISTED - 1]
    lines = [f"{count} x {name}" for name, count in shown]
    more = sum(count for _, count in counts[len(shown) :])
    return [*lines, counted(more, "other")] if more else lines


def _operator(op: Operation) -> str:
    return op.name.removeprefix("glow.")


def _node_text(op: Operation) -> str:
    hint = op.results[0].name_hint if op.results else None
    return f"{_operator(op)} %{_cut(hint)}" if hint else _operator(op)


def _cut(name: str, longest: int = 24) -> str:
    return name if len(name) <= longest else f"…{name[1 - longest :]}"


def _edges(network: PartitionedNetwork) -> dict[tuple[int, int], list[int]]:
    """
    Returns the bytes of the tensors between boxes: inputs are 0, partitions from 1, outputs last.
    """
    last = len(network.partitions) + 1
    found: dict[tuple[int, int], list[int]] = {}

    def add(sources: Iterable[Source], user: int) -> None:
        for source in dict.fromkeys(sources):
            producer = 0 if source.partition is None else source.partition + 1
            found.setdefault((producer, user), []).append(_source_bytes(network, source))

    for partition in network.partitions:
        add(partition.inputs, partition.number + 1)
    add(network.outputs, last)
    return found


def _source_bytes(network: PartitionedNetwork, source: Source) -> int:
    if source.partition is not None:
        return network.partitions[source.partition].output_bytes[source.index]
    t = network.main.function_type.inputs.data[source.index]
    assert isinstance(t, TensorType)
    return type_bytes(t)


def _legend_entry(
    name: str, network: PartitionedNetwork, configuration: Configuration | None
) -> str:
    """Returns a device, its backend, and how much of its memory is used."""
    own = [p for p in network.partitions if p.device == name]
    described = [d for d in configuration.devices if d.name == name] if configuration else []
    used = sum(p.weight_bytes for p in own) + max((p.activation_bytes for p in own), default=0)
    backend = described[0].backend.name if described else own[0].backend
    memory = described[0].memory if described else None
    of = f" of {size_text(memory)}" if memory is not None else ""
    return f"{name} ({backend}): {size_text(used)}{of}"


# how it is drawn


def _legend_width(entries: Iterable[str]) -> float:
    return sum(text_width(entry) + 40 for entry in entries)


def _draw_legend(picture: Picture, entries: Mapping[str, str]) -> None:
    x = float(MARGIN)
    for entry, colour in entries.items():
        picture.rect(x, 16, 14, 14, colour, radius=3)
        picture.text(x + 20, 27, entry)
        x += text_width(entry) + 40


def _moved(layout: Layout, dx: float, dy: float) -> Layout:
    """Returns the layout with its upper left corner at another place."""
    boxes = {i: (x + dx, y + dy) for i, (x, y) in layout.boxes.items()}
    edges = {e: [(x + dx, y + dy) for x, y in points] for e, points in layout.edges.items()}
    return Layout(boxes, edges, layout.width, layout.height)


def _draw_box(picture: Picture, box: Box, x: float, y: float) -> None:
    size = box.size
    picture.rect(
        *(x, y, size.width, size.height, f"{box.colour}/18", box.colour),
        radius=6,
        thickness=1.5,
        tip=box.details,
    )
    for i, line in enumerate(box.lines):
        picture.text(x + 10, y + 18 + i * LINE, line, bold=not i)


def _draw_edge(picture: Picture, points: Sequence[tuple[float, float]]) -> None:
    (x, y), parts = points[0], []
    parts.append(f"M {x:.1f} {y:.1f}")
    for a, b in points[1:]:
        middle = (y + b) / 2
        parts.append(f"C {x:.1f} {middle:.1f} {a:.1f} {middle:.1f} {a:.1f} {b:.1f}")
        x, y = a, b
    tip = f"M {x - 4:.1f} {y - 7:.1f} L {x:.1f} {y:.1f} L {x + 4:.1f} {y - 7:.1f}"
    picture.path(f"{' '.join(parts)} {tip}", "none", "muted", 1.2)


def _label_text(sizes: Sequence[int]) -> str:
    """Returns the bytes that cross an edge."""
    text = size_text(sum(sizes))
    return f"{len(sizes)} tensors, {text}" if len(sizes) > 1 else text


def _label_place(points: Sequence[tuple[float, float]], text: str) -> tuple[float, float, float]:
    """
    Returns the middle of the last part of an edge, where its label is, and the width of the label.
    """
    (a, b), (x, y) = points[-2:]
    return (a + x) / 2, (b + y) / 2, text_width(text, 11) + 8


def _beyond(layout: Layout, edges: dict[tuple[int, int], list[int]]) -> float:
    """Returns the widest part of a label that lies outside of the layout, in pixels."""
    places = [_label_place(layout.edges[e], _label_text(sizes)) for e, sizes in edges.items()]
    sides = [w / 2 - min(x, layout.width - x) for x, _, w in places]
    return max([0.0, *sides])


def _draw_label(picture: Picture, points: Sequence[tuple[float, float]], text: str) -> None:
    x, y, width = _label_place(points, text)
    picture.rect(x - width / 2, y - 8, width, 16, "page")
    picture.text(x, y + 4, text, "muted", size=11, anchor="middle")
