"""
The places where a graph of floats will have integers, by the rules of `glow.quantization`, before
the ranges of its values are known.

Graphs that differ only in nodes for training have the same places, so these are numbers of nodes
and of their operands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import IntAttr, IntegerType
from xdsl.ir import Block, Operation, SSAValue

from ..errors import QuantizationError
from ..glow_dialects.elements import is_float
from ..glow_dialects.glow.base import Node
from ..glow_dialects.glow.constant import ConstantOp
from ..glow_dialects.operator import element_of
from ..interface.backend import Backend
from ..passes.graph.rewriting import is_constant
from .histogram import Histogram
from .options import Quantization
from .quantizer import Quantizer
from .report import Report
from .roles import moved, roles_of


@dataclass(frozen=True)
class Site:
    """A value that becomes integers."""

    name: str
    uses: tuple[tuple[int, int], ...]
    """The operands that read it: the number of the node, and that of its operand."""
    storage: IntegerType
    axis: int | None = None
    """The dimension of weights along which there is one scale for each index."""


@dataclass(frozen=True)
class BiasSite:
    """A bias that becomes integers in the scale of the products to which it is added."""

    node: int
    operand: int
    activation: int
    weights: int
    """The numbers of the node and of its operands."""


@dataclass(frozen=True)
class Sites:
    """The values of a graph that become integers."""

    nodes: list[Node]
    """The nodes of the graph."""
    names: Mapping[SSAValue, str]
    """The names of all values. A product is called as its weights are."""
    activations: list[Site]
    """Values with ranges of their own."""
    weights: list[Site]
    biases: list[BiasSite]
    by_value: Mapping[SSAValue, Site]
    """Activations by each value that has their range: rearrangements of them, too."""


def find_sites(
    block: Block,
    nodes: Sequence[Node],
    parameters: Mapping[SSAValue, str],
    options: Quantization,
    backend: Backend,
) -> Sites:
    """
    Returns the sites of the `nodes` of a block, whose `parameters` are constants with names.

    `options.keep_float` has names of weights whose products stay float, or operators. Raises
    QuantizationError, with the reasons, if nothing becomes integers.
    """
    names = _names(block, nodes, parameters)
    floats = [v for v in names if is_float(element_of(v.type)) and not is_constant(v)]
    # any range serves to choose which values are quantized
    some = Histogram.of(np.array([-1.0, 1.0]), 2)
    report = Report()
    quantizer = Quantizer(block, dict.fromkeys(floats, some), names, options, backend, report)
    quantizer.choose()
    if not quantizer.types:
        report.expect_success(options, profiled=True, replaced=False)
    numbers: dict[Operation, int] = {node: i for i, node in enumerate(nodes)}
    own = {v: t for v, t in quantizer.types.items() if moved(v) not in quantizer.types}
    sites: dict[SSAValue, Site] = {}
    for i, (value, t) in enumerate(own.items()):
        uses = sorted((numbers[u.operation], u.index) for u in value.uses if u.operation in numbers)
        sites[value] = Site(_site_name(nodes, uses, parameters, i), tuple(uses), t.storage)
    weights, biases = list[Site](), list[BiasSite]()
    for node, (roles, t) in quantizer.weights.items():
        if roles.weights is None or t is None:
            continue
        axis = t.axis.data if isinstance(t.axis, IntAttr) else None
        use = (numbers[node], roles.weights)
        weights.append(Site(names[node.results[0]], (use,), t.storage, axis))
        if roles.bias is not None and isinstance(node.operands[roles.bias].owner, ConstantOp):
            biases.append(BiasSite(numbers[node], roles.bias, roles.activations[0], roles.weights))
    of = {v: sites[_source(v, own.__contains__)] for v in quantizer.types}
    return Sites(list(nodes), names, list(sites.values()), weights, biases, of)


def _source(value: SSAValue, has_range: Callable[[SSAValue], bool]) -> SSAValue:
    """Returns the value whose range a quantized value has."""
    while not has_range(value):
        source = moved(value)
        if source is None:
            raise QuantizationError(f"{value.name_hint}: a value without a range; please report it")
        value = source
    return value


def _names(
    block: Block, nodes: Sequence[Node], parameters: Mapping[SSAValue, str]
) -> dict[SSAValue, str]:
    values = [*block.args, *(r for op in block.ops for r in op.results)]
    names = {v: v.name_hint or f"value {i}" for i, v in enumerate(values)}
    for node in nodes:
        if (weights := _weights(node, parameters)) is not None:
            names[node.results[0]] = weights
    return names


def _weights(node: Node, parameters: Mapping[SSAValue, str]) -> str | None:
    """Returns the name of the weights of a product, if they are a parameter."""
    roles = roles_of(node)
    if roles is None or roles.weights is None:
        return None
    return parameters.get(node.operands[roles.weights])


def _site_name(
    nodes: Sequence[Node],
    uses: Sequence[tuple[int, int]],
    parameters: Mapping[SSAValue, str],
    number: int,
) -> str:
    """Returns a name after the weights of the first product that reads a value."""
    named = (_weights(nodes[n], parameters) for n, _ in uses)
    first = next((name for name in named if name is not None), None)
    return f"value{number}" if first is None else f"{first.removesuffix('.weight')}.input"
