"""
Draws a network that is split over devices, as SVG: a box for each partition in the colour of its
device, with its nodes, and an edge for what one partition reads of another, with bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation

from ..glow_dialects.elements import type_bytes
from ..glow_dialects.glow.constant import ConstantOp, SplatOp
from ..glow_dialects.glow.quantization import DequantizeOp
from ..passes.partition.devices import Configuration, configuration_of
from ..passes.partition.partitions import Partition, PartitionedNetwork, Source, read_partitions
from ..wording import counted
from .layered_layout import Layout, Size, lay_out
from .report import size as size_text

COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#76b7b2", "#edc948", "#9c755f")
"""Of devices, in order; they repeat."""
LISTED = 8
"""A partition of more nodes has its operators counted instead."""
LINE, MARGIN, FONT = 16, 24, 12
"""Pixels."""
CHARACTER = 6.6
"""The mean width of a character, in pixels."""
LEGEND = 28


@dataclass(frozen=True)
class Box:
    """What stands in a box; the first line is a heading."""

    lines: tuple[str, ...]
    colour: str
    details: str = ""
    """What is shown when the pointer is on it."""

    @property
    def size(self) -> Size:
        longest = max(len(line) * (1.08 if not i else 1) for i, line in enumerate(self.lines))
        return Size(longest * CHARACTER + 20, len(self.lines) * LINE + 14)


def draw_partitions(module: ModuleOp) -> str:
    """
    The drawing of a partitioned network, as the text of an SVG file.

    Raises CompileError if the module is not a partitioned network.
    """
    network = read_partitions(module)
    configuration = configuration_of(module)
    names = _device_names(network, configuration)
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    inputs, outputs = Box(("inputs",), "#777777"), Box(("outputs",), "#777777")
    boxes = [inputs, *(_box(p, colours[p.device]) for p in network.partitions), outputs]
    edges = _edges(network)
    layout = lay_out([box.size for box in boxes], list(edges))
    legend = [_legend_entry(name, network, configuration) for name in names]
    beyond = _beyond(layout, edges)
    width = max(layout.width + 2 * beyond, _legend_width(legend)) + 2 * MARGIN
    height = layout.height + 2 * MARGIN + LEGEND
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="{FONT}">',
        '<rect width="100%" height="100%" fill="white"/>',
        *_draw_legend(legend, [colours[name] for name in names]),
        f'<g transform="translate({(width - layout.width) / 2:.1f} {MARGIN + LEGEND})">',
        *_draw_edges(layout, edges),
        *(_draw_box(box, *layout.boxes[i]) for i, box in enumerate(boxes)),
        "</g>",
        "</svg>",
    ]
    return "\n".join(drawn) + "\n"


def seconds_text(seconds: float) -> str:
    """A time for people, in s, ms or µs."""
    for scale, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e6:.2g} µs"


# what is drawn


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
    """Nodes by name; of many, how many of each operator there are."""
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
    """The bytes of the tensors between boxes: inputs are 0, partitions from 1, outputs last."""
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
    """A device, its backend, and how much of its memory is used."""
    own = [p for p in network.partitions if p.device == name]
    described = [d for d in configuration.devices if d.name == name] if configuration else []
    used = sum(p.weight_bytes for p in own) + max((p.activation_bytes for p in own), default=0)
    backend = described[0].backend.name if described else own[0].backend
    memory = described[0].memory if described else None
    of = f" of {size_text(memory)}" if memory is not None else ""
    return f"{name} ({backend}): {size_text(used)}{of}"


# how it is drawn


def _legend_width(entries: Sequence[str]) -> float:
    return sum(len(entry) * CHARACTER + 40 for entry in entries)


def _draw_legend(entries: Sequence[str], colours: Sequence[str]) -> list[str]:
    drawn: list[str] = []
    x = float(MARGIN)
    for entry, colour in zip(entries, colours, strict=True):
        drawn.append(
            f'<rect x="{x:.1f}" y="16" width="14" height="14" rx="3" fill="{colour}"/>'
            f'<text x="{x + 20:.1f}" y="27">{escape(entry)}</text>'
        )
        x += len(entry) * CHARACTER + 40
    return drawn


def _draw_box(box: Box, x: float, y: float) -> str:
    size = box.size
    weights = [' font-weight="bold"', *[""] * len(box.lines)]
    texts = [
        f'<text x="{x + 10:.1f}" y="{y + 18 + i * LINE:.1f}"{weight}>{escape(line)}</text>'
        for i, (line, weight) in enumerate(zip(box.lines, weights, strict=False))
    ]
    title = f"<title>{escape(box.details)}</title>" if box.details else ""
    return (
        f"<g>{title}"
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{size.width:.1f}" height="{size.height:.1f}" '
        f'rx="6" fill="white"/>'
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{size.width:.1f}" height="{size.height:.1f}" '
        f'rx="6" fill="{box.colour}" fill-opacity="0.18" stroke="{box.colour}" stroke-width="1.5"/>'
        f"{''.join(texts)}</g>"
    )


def _draw_edges(layout: Layout, edges: dict[tuple[int, int], list[int]]) -> list[str]:
    """Curves, and above all of them their labels."""
    curves = [_curve(layout.edges[edge]) for edge in edges]
    labels = [_label(layout.edges[edge], sizes) for edge, sizes in edges.items()]
    return curves + labels


def _curve(points: Sequence[tuple[float, float]]) -> str:
    (x, y), parts = points[0], []
    parts.append(f"M {x:.1f} {y:.1f}")
    for a, b in points[1:]:
        middle = (y + b) / 2
        parts.append(f"C {x:.1f} {middle:.1f} {a:.1f} {middle:.1f} {a:.1f} {b:.1f}")
        x, y = a, b
    tip = f"M {x - 4:.1f} {y - 7:.1f} L {x:.1f} {y:.1f} L {x + 4:.1f} {y - 7:.1f}"
    return f'<path d="{" ".join(parts)} {tip}" fill="none" stroke="#555555" stroke-width="1.2"/>'


def _label_text(sizes: Sequence[int]) -> str:
    """How much crosses an edge."""
    text = size_text(sum(sizes))
    return f"{len(sizes)} tensors, {text}" if len(sizes) > 1 else text


def _label_place(points: Sequence[tuple[float, float]], text: str) -> tuple[float, float, float]:
    """The middle of the last part of an edge, where its label is, and the width of that."""
    (a, b), (x, y) = points[-2:]
    return (a + x) / 2, (b + y) / 2, len(text) * CHARACTER * 0.95


def _beyond(layout: Layout, edges: dict[tuple[int, int], list[int]]) -> float:
    """How far labels of edges stand out of the layout, at the side where they do most."""
    places = [_label_place(layout.edges[e], _label_text(sizes)) for e, sizes in edges.items()]
    sides = [w / 2 - min(x, layout.width - x) for x, _, w in places]
    return max([0.0, *sides])


def _label(points: Sequence[tuple[float, float]], sizes: Sequence[int]) -> str:
    text = _label_text(sizes)
    x, y, width = _label_place(points, text)
    return (
        f'<rect x="{x - width / 2:.1f}" y="{y - 8:.1f}" width="{width:.1f}" height="16" '
        f'fill="white" fill-opacity="0.85"/><text x="{x:.1f}" y="{y + 4:.1f}" '
        f'text-anchor="middle" font-size="11" fill="#333333">{escape(text)}</text>'
    )
