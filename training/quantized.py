"""
Quantization-aware training: a network that rounds its values as its integer program will.

Values that the rules of `glow.quantization` choose go through `glow.fake_quantize` (Jacob et al.,
"Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference",
2018, section 3). Weights are rounded by their own ranges in each step, activations by moving
averages of theirs, which are states of the training as running statistics are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import Block, SSAValue

from ..errors import GlowError
from ..glow_dialects.glow.base import Node
from ..interface.backend import Backend
from ..nn.arguments import Spec
from ..nn.tensor import Graph, Tensor
from ..quantization.histogram import Histogram
from ..quantization.options import Quantization
from ..quantization.quantizer import Quantizer
from ..quantization.report import Report
from ..quantization.roles import moved
from ..quantization.sites import BiasSite, Site, Sites, find_sites
from .networks import Network, frozen
from .ranges import asymmetric, fake_quantized, moved_range, product_scale, range_of, symmetric

RANGE = "range."
"""Before the name of an activation, the name of the state with its range. If the name of a
parameter begins like that, `trainer.` is in front of it."""
_BITS = (4, 8)


@dataclass(frozen=True)
class QuantizationAware:
    """
    Choices of quantization-aware training. Raises GlowError for those that are out of range.

    Activations have one scale and a zero point, weights have scales without zero points.
    """

    weights: int = 8
    """The bits of weights, 8 or 4."""
    activations: int = 8
    """The bits of activations, 8 or 4."""
    per_channel: bool = True
    """Whether each output channel of weights has a scale of its own."""
    momentum: float = 0.01
    """The share of a batch in the moving averages of ranges, above 0 and up to 1."""
    keep_float: tuple[str, ...] = ()
    """Patterns of names of weights whose products stay float, such as `fc.*`."""

    def __post_init__(self) -> None:
        for name in ("weights", "activations"):
            if (bits := getattr(self, name)) not in _BITS:
                raise GlowError(f"expected {name} of 8 or 4 bits, found {bits!r}")
        if not 0 < self.momentum <= 1:
            raise GlowError(f"expected a momentum above 0 and up to 1, found {self.momentum!r}")
        if not isinstance(self.per_channel, bool):
            found = self.per_channel
            raise GlowError(f"expected per_channel to be True or False, found {found!r}")
        if not isinstance(self.keep_float, tuple):
            raise GlowError(f"expected a tuple of patterns to keep, found {self.keep_float!r}")

    def options(self, kept: Sequence[str]) -> Quantization:
        """Returns the choices of the integer program, in which some products stay float."""
        return Quantization(
            activations=f"i{self.activations}",
            weights=f"i{self.weights}",
            per_channel=self.per_channel,
            keep_float=tuple(kept),
        )


class QuantizedNetwork(Network):
    """A network with rounded values. Ranges of activations are parameters that it updates."""

    def __init__(self, network: Network, choices: QuantizationAware, backend: Backend):
        if not isinstance(choices, QuantizationAware):
            raise GlowError(f"expected quantization to be a QuantizationAware, found {choices!r}")
        self._network, self._choices, self._backend = network, choices, backend
        self._options = choices.options(sorted(frozen(set(network.values), choices.keep_float)))
        self.ranges = RANGE
        """The beginning of the names of ranges; those of parameters begin otherwise."""
        while any(name.startswith(self.ranges) for name in network.values):
            self.ranges = f"trainer.{self.ranges}"
        self.names = network.names
        self.trainable = network.trainable
        self.values = dict(network.values)
        self.updated = set(network.updated)

    def input_names(self, count: int) -> list[str]:
        return self._network.input_names(count)

    def keep(self, values: Mapping[str, np.ndarray]) -> None:
        self._network.keep(values)
        ranges = {n: array.copy() for n, array in values.items() if n.startswith(self.ranges)}
        self.values = {**self._network.values, **ranges}
        self.updated = {*self._network.updated, *ranges}

    def outputs(self, graph: Graph, inputs: Sequence[Tensor]) -> dict[str, Tensor]:
        """Appends the network; its values are rounded, and ranges move during training."""
        outputs, nodes = self._appended(graph, inputs)
        sites = self._sites(inputs)
        _expect_alike(nodes, sites.nodes)
        rounding = _Rounding(graph, nodes)
        for site in sites.activations:
            new = rounding.activation(site, self._range(graph, site), self._choices.momentum)
            if new is not None:
                graph.updates[self.ranges + site.name] = new
        for site in sites.weights:
            rounding.weights(site)
        for bias in sites.biases:
            rounding.bias(bias)
        return outputs

    def final_outputs(self, graph: Graph, inputs: Sequence[Tensor]) -> dict[str, Tensor]:
        """Appends the network with quantized types: `quantize` and `dequantize` of its values."""
        outputs, nodes = self._appended(graph, inputs)
        sites = self._sites_of(graph, nodes)
        histograms = {
            value: Histogram.of(self._known_range(site), 2)
            for value, site in sites.by_value.items()
        }
        parts = (graph.block, histograms, sites.names, self._options, self._backend)
        Quantizer(*parts, Report()).run()
        return outputs

    def _appended(
        self, graph: Graph, inputs: Sequence[Tensor]
    ) -> tuple[dict[str, Tensor], list[Node]]:
        """Appends the network. Returns its outputs, and the nodes that it has after training."""
        before = set(graph.block.ops)
        outputs = self._network.outputs(graph, inputs)
        added = [op for op in graph.block.ops if op not in before]
        nodes = [op for op in added if isinstance(op, Node) and op not in graph.only_for_training]
        return outputs, nodes

    def _sites(self, inputs: Sequence[Tensor]) -> Sites:
        """Returns the sites of the network after training, for inputs like some others."""
        graph = Graph(names=self.names)
        given = [graph.input(f"input{i}", Spec(t.shape, t.dtype)) for i, t in enumerate(inputs)]
        for name, array in self._network.values.items():
            graph.parameters[name] = graph.array(array, name)
        _, nodes = self._appended(graph, given)
        return self._sites_of(graph, nodes)

    def _sites_of(self, graph: Graph, nodes: Sequence[Node]) -> Sites:
        parameters = {t.value: name for name, t in graph.parameters.items()}
        return find_sites(graph.block, nodes, parameters, self._options, self._backend)

    def _range(self, graph: Graph, site: Site) -> Tensor:
        """Returns the state with the range of an activation."""
        name = self.ranges + site.name
        if not graph.training:
            self._known_range(site)
        if name not in self.values:
            self.values[name] = np.zeros(2, np.float32)
            self.updated.add(name)
        if name not in graph.parameters:
            graph.parameters[name] = graph.input(name, self.values[name])
        return graph.parameters[name]

    def _known_range(self, site: Site) -> np.ndarray:
        found = self.values.get(self.ranges + site.name)
        if found is None:
            raise GlowError(
                f"the range of {site.name} is not known before the first step of a training with "
                "quantization: call `fit` or `train_step` first"
            )
        return found


class _Rounding:
    """Rounds the values of a graph that is being built."""

    def __init__(self, graph: Graph, nodes: Sequence[Node]):
        self._graph, self._nodes = graph, nodes
        self._scales: dict[SSAValue, SSAValue] = {}
        """The scales of rounded values."""

    def activation(self, site: Site, kept: Tensor, momentum: float) -> Tensor | None:
        """Rounds by a range that is kept. Returns the range after the step during training."""
        parameters, after = tuple[SSAValue, ...](), None
        for x, uses in self._values(site):
            aside = x.graph
            if not parameters:
                range = Tensor(aside, kept.value)
                if self._graph.training:
                    range = moved_range(range, range_of(x), momentum)
                    after = Tensor(self._graph, range.value)
                parameters = tuple(t.value for t in asymmetric(range, site.storage))
            scale, zero_point = (Tensor(aside, v) for v in parameters)
            self._replace(uses, fake_quantized(x, scale, zero_point, site.storage), scale)
        return after

    def weights(self, site: Site) -> None:
        """Rounds by the range of the weights themselves."""
        for x, uses in self._values(site):
            scale = symmetric(x, site.storage, site.axis)
            zero_point = x.graph.number(0.0, scale)
            rounded = fake_quantized(x, scale, zero_point, site.storage, site.axis)
            self._replace(uses, rounded, scale)

    def bias(self, site: BiasSite) -> None:
        """Rounds to the scale of the products of an activation and weights that are rounded."""
        node = self._nodes[site.node]
        x = Tensor(Graph(Block()), node.operands[site.operand])
        factors = (self._scale(node.operands[i]) for i in (site.activation, site.weights))
        scale = product_scale(*(Tensor(x.graph, f) for f in factors))
        rounded = fake_quantized(x, scale, x.graph.number(0.0, scale), i32, 0)
        self._replace([(node, site.operand)], rounded, scale)

    def _values(self, site: Site) -> Iterator[tuple[Tensor, list[tuple[Node, int]]]]:
        """
        Yields the values of a site, each in a graph for new nodes, and the operands that read it.
        Dropout makes several values of one.
        """
        found: dict[SSAValue, list[tuple[Node, int]]] = {}
        for n, i in site.uses:
            found.setdefault(self._nodes[n].operands[i], []).append((self._nodes[n], i))
        for value, uses in found.items():
            yield Tensor(Graph(Block()), value), uses

    def _scale(self, value: SSAValue) -> SSAValue:
        """Returns the scale of a rounded value, or of the one that a value rearranges."""
        while value not in self._scales:
            source = moved(value)
            assert source is not None, "a value is rounded before its readers"
            value = source
        return self._scales[value]

    def _replace(self, uses: Sequence[tuple[Node, int]], by: Tensor, scale: Tensor) -> None:
        """Lets operands read a rounded value, whose nodes move in front of the first reader."""
        first, _ = uses[0]
        ops = list(by.graph.block.ops)
        for op in ops:
            op.detach()
        assert first.parent is not None
        first.parent.insert_ops_before(ops, first)
        for node, i in uses:
            node.operands[i] = by.value
        self._scales[by.value] = scale.value


def _expect_alike(found: Sequence[Node], expected: Sequence[Node]) -> None:
    """Raises GlowError unless the nodes in training are those after it."""
    pairs = zip_longest((n.name for n in found), (n.name for n in expected), fillvalue="nothing")
    for have, want in pairs:
        if have != want:
            raise GlowError(
                f"the network has {have} in training where it has {want} afterwards; append nodes "
                "that only training needs within `graph.for_training()`"
            )
