"""Inserts quantization into a graph: the values and weights that a profile allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from xdsl.dialects import func
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ..errors import QuantizationError
from ..glow_dialects.elements import is_float
from ..glow_dialects.glow.base import DataParallel, Node
from ..glow_dialects.glow.constant import SplatOp
from ..glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from ..glow_dialects.glow.shape import BroadcastOp, ConcatOp
from ..glow_dialects.operator import Call, element_of, shape_of, with_shape
from ..glow_dialects.quant import QuantizedType
from ..interface.backend import Backend
from ..passes.graph.rewriting import is_constant, source_of
from ..passes.visited_operation import each
from ..semantics.arrays import constant_of, constant_reader, lazy_constant
from .calibration import calibrate, calibrate_weights
from .histogram import Histogram
from .options import Quantization
from .report import KEPT_OPERATOR, KEPT_VALUE, Report
from .roles import AVERAGES, MOVERS, Roles, moved, needs_integers, roles_of
from .schemas import bias_type, quantize_array, weights_beside_bias
from .storages import chosen_storages, origin, schema_for

_INFINITE = 1e30
"""Larger numbers stand for infinity, as the least number of f32 does in masks of attention."""


def why_kept(node: Node, options: Quantization, names: Mapping[SSAValue, str]) -> str:
    """Returns the reason why the options keep a node in float; "" if they do not."""
    keep = options.keep_float
    if node.name in keep or node.name.removeprefix("glow.") in keep:
        return KEPT_OPERATOR
    return KEPT_VALUE if options.keeps(names.get(node.results[0], "")) else ""


class Quantizer:
    """The quantization of one graph."""

    def __init__(
        self,
        block: Block,
        histograms: Mapping[SSAValue, Histogram],
        names: Mapping[SSAValue, str],
        options: Quantization,
        backend: Backend,
        report: Report,
    ):
        self.block = block
        self.nodes = [op for op in block.ops if isinstance(op, Node)]
        self.order: dict[Operation, int] = {op: i for i, op in enumerate(block.ops)}
        self.histograms = histograms
        self.names = names
        self.options = options
        self.backend = backend
        self.report = report
        self.storages = chosen_storages(self.nodes, names, options)
        self.types: dict[SSAValue, QuantizedType] = {}
        self.weights: dict[Node, tuple[Roles, QuantizedType | None]] = {}
        """Products to quantize, with the type of their constant weights, if they have such."""

    def choose(self) -> None:
        """Chooses products and values to quantize, with types, and leaves the graph as it is."""
        for node in each(self.nodes):
            self._consider(node)
        for node in each(self.nodes):
            self._consider_stored(node)
        if self.options.everything:
            for node in each(self.nodes):
                self._consider_everything(node)

    def run(self) -> None:
        self.choose()
        for value in self._typed_in_order():
            self._insert(value)
        for node, (roles, weights) in self.weights.items():
            self._quantize_weights(node, roles, weights)
            name = self.names[node.results[0]]
            self.report.quantized.append(name)
            self.report.kept.pop(name, None)  # it may be no product for dynamic quantization

    # which values, with which types

    def _consider(self, node: Node) -> None:
        """Quantizes a product, if nothing speaks against it."""
        roles = roles_of(node)
        if roles is None or not is_float(element_of(node.results[0].type)):
            return
        activations = [node.operands[i] for i in roles.activations]
        try:
            if why := why_kept(node, self.options, self.names):
                raise _StaysFloat(why)
            types = {v: self._type_of(v) for v in activations}
            weights = self._weight_type(node, roles, types[activations[0]])
            self._expect_supported(node, roles, types, weights)
        except _StaysFloat as reason:
            self.report.kept[self.names[node.results[0]]] = str(reason)
            return
        self.types |= types
        self.weights[node] = roles, weights

    def _type_of(self, value: SSAValue) -> QuantizedType:
        """
        Returns the type for an activation: the type of the value that it rearranges, or one for its
        range.
        """
        if value in self.types:
            return self.types[value]
        source = moved(value)
        if source is not None and source in self.types:
            return self.types[source]
        histogram = self.histograms.get(value)
        if histogram is None:
            raise _StaysFloat(f"the profile has no range of {self.names.get(value, '?')}")
        if histogram.infinities or max(-histogram.low, histogram.high) > _INFINITE:
            # a scale for the numbers of a mask leaves nothing of all others
            raise _StaysFloat(f"{self.names.get(value, '?')} has infinite numbers in the profile")
        o = self.options
        storage = self.storages.get(origin(value), o.activations)
        try:
            return calibrate(
                *(histogram, o.calibration, schema_for(storage, o), storage, o.percentile),
                expressed=element_of(value.type),
            )
        except QuantizationError as error:
            raise _StaysFloat(f"{self.names.get(value, '?')}: {error}") from None

    def _weight_type(
        self, node: Node, roles: Roles, activation: QuantizedType
    ) -> QuantizedType | None:
        if roles.weights is None:
            return None
        array = constant_of(source_of(node.operands[roles.weights]))
        assert array is not None
        o = self.options
        axis = roles.axis if o.per_channel else None
        element = element_of(node.operands[roles.weights].type)
        try:
            found = calibrate_weights(
                array, o.weight_calibration, o.weight_schema, o.weights, axis, expressed=element
            )
        except QuantizationError as error:
            raise _StaysFloat(str(error)) from None
        bias = None if roles.bias is None else constant_of(node.operands[roles.bias])
        return found if bias is None else weights_beside_bias(found, array, bias, activation)

    def _expect_supported(
        self,
        node: Node,
        roles: Roles,
        types: Mapping[SSAValue, QuantizedType],
        weights: QuantizedType | None,
    ) -> None:
        operands: list[Attribute] = [o.type for o in node.operands]
        for i in roles.activations:
            value = node.operands[i]
            operands[i] = with_shape(types[value], shape_of(value.type))
        if roles.weights is not None and weights is not None:
            operands[roles.weights] = with_shape(weights, shape_of(operands[roles.weights]))
            bias = self._bias_type(node, roles, types[node.operands[roles.activations[0]]], weights)
            if roles.bias is not None and bias is not None:
                operands[roles.bias] = with_shape(bias, shape_of(operands[roles.bias]))
        call = Call(
            type(node), tuple(operands), tuple(r.type for r in node.results), node.properties
        )
        if not self.backend.supports(call):
            raise _StaysFloat(f"{self.backend.name} does not compute {node.name} on these types")

    def _bias_type(
        self, node: Node, roles: Roles, activation: QuantizedType, weights: QuantizedType
    ) -> QuantizedType | None:
        """Returns the type that a bias is going to have; None if it stays float."""
        if roles.bias is None or self.options.bias == "float":
            return None
        array = constant_of(node.operands[roles.bias])
        if array is None:
            return None
        try:
            return bias_type(activation, weights, np.asarray(array), self.options.bias)
        except QuantizationError:
            return None

    def _consider_stored(self, node: Node) -> None:
        """Quantizes the operands that an elementwise operator after a product reads from memory."""
        if not isinstance(node, DataParallel | ConcatOp):
            return
        if isinstance(node, ConcatOp) and self._is_stored_whole(node.result):
            return  # the nodes that make the parts quantize them, once, to the type of the whole
        operands = [v for v in node.operands if not is_constant(v)]
        if len(operands) < 2 or not any(self._is_integer(v) for v in operands):
            return
        latest = max(operands, key=self._position)
        for value in operands:
            stays = value is latest and isinstance(node, DataParallel) and _uses(value) == 1
            if not stays and element_of(value.type) == element_of(latest.type):
                self._try(value)

    def _is_stored_whole(self, value: SSAValue) -> bool:
        """Returns whether a value, or the only rearrangement of it, is quantized for a product."""
        while value not in self.types and value.has_one_use():
            user = next(iter(value.uses)).operation
            if type(user) not in MOVERS:
                return False
            value = user.results[0]
        return value in self.types

    def _is_integer(self, value: SSAValue) -> bool:
        """
        Returns whether a value comes from a quantized product, perhaps over elementwise operators.
        """
        if value in self.types:
            return True
        owner = value.owner
        while isinstance(owner, DataParallel) and len(owner.operands) == 1:
            owner = owner.operands[0].owner
        return owner in self.weights

    def _position(self, value: SSAValue) -> int:
        return self.order[value.owner] if isinstance(value.owner, Operation) else -1

    def _consider_everything(self, node: Node) -> None:
        """Quantizes operands and results, except those that stay in the registers of a loop."""
        if type(node) not in MOVERS | AVERAGES and not isinstance(node, DataParallel | ConcatOp):
            self._consider_result(node)
            return
        for value in node.operands:
            if is_constant(value) or (isinstance(node, DataParallel) and _uses(value) == 1):
                continue
            self._try(value)
        self._consider_result(node)

    def _consider_result(self, node: Node) -> None:
        for result in node.results:
            users = [use.operation for use in result.uses]
            if not (len(users) == 1 and isinstance(users[0], DataParallel)):
                self._try(result)

    def _try(self, value: SSAValue) -> None:
        name = self.names.get(value, "?")
        if value in self.types or self.options.keeps(name) or is_constant(value):
            return
        if value not in self.histograms and moved(value) not in self.types:
            return
        try:
            self.types[value] = self._type_of(value)
        except _StaysFloat as reason:
            self.report.kept[name] = str(reason)

    # rewriting

    def _typed_in_order(self) -> Iterator[SSAValue]:
        """
        Yields values to quantize in program order, rearrangements with the type of their source.
        """
        values = sorted(self.types, key=self._position)
        for value in values:
            source = moved(value)
            if source is not None and source in self.types:
                self.types[value] = self.types[source]
            yield value

    def _insert(self, value: SSAValue) -> None:
        """
        Lets all users read the value quantized and dequantized; the function's result stays as it
        was computed, unless integers alone are to compute it.
        """
        t = self.types[value]
        whole = self.options.everything and needs_integers(value, self.types, self.weights)
        uses = [u for u in value.uses if whole or not isinstance(u.operation, func.ReturnOp)]
        q = QuantizeOp.of(value, result_types=[with_shape(t, shape_of(value.type))])
        d = DequantizeOp.of(q.result)
        for node in (q, d):
            node.result.name_hint = value.name_hint
        if isinstance(value, BlockArgument):
            first = self.block.first_op
            assert first is not None
            self.block.insert_ops_before([q, d], first)
        else:
            assert isinstance(value.owner, Operation)
            self.block.insert_ops_after([q, d], value.owner)
        for use in uses:
            use.operation.operands[use.index] = d.result
        self.report.types[self.names.get(value, "?")] = t

    def _quantize_weights(self, node: Node, roles: Roles, weights: QuantizedType | None) -> None:
        if roles.weights is None or weights is None:
            return
        node.operands[roles.weights] = self._constant(node, roles.weights, weights)
        if roles.bias is None or self.options.bias == "float":
            return
        bias = node.operands[roles.bias]
        array = constant_of(bias)
        zero = isinstance(bias.owner, SplatOp) and not np.any(array)
        if array is None or zero:
            return
        activation = _quantized_from(node.operands[roles.activations[0]])
        try:
            t = bias_type(activation, weights, np.asarray(array), self.options.bias)
        except QuantizationError as error:
            self.report.kept[f"the bias of {self.names[node.results[0]]}"] = str(error)
            return
        node.operands[roles.bias] = self._constant(node, roles.bias, t)

    def _constant(self, node: Node, operand: int, t: QuantizedType) -> SSAValue:
        """Returns the dequantized constant of an operand, in front of the node."""
        whole = node.operands[operand]
        value = source_of(whole)
        read = constant_reader(value)
        assert read is not None
        hint = value.name_hint or "weights"
        constant = lazy_constant(shape_of(value.type), t, hint, lambda: quantize_array(read(), t))
        back = DequantizeOp.of(constant.result)
        constant.result.name_hint = back.result.name_hint = value.name_hint
        self.block.insert_ops_before([constant, back], node)
        if isinstance(whole.owner, BroadcastOp):
            repeated = whole.owner.clone({value: back.result})
            self.block.insert_op_before(repeated, node)
            return repeated.result
        return back.result


class _StaysFloat(Exception):
    """The reason why a product or a value is not quantized."""


def _uses(value: SSAValue) -> int:
    return len(list(value.uses))


def _quantized_from(value: SSAValue) -> QuantizedType:
    """Returns the quantized type of the operand of a dequantization."""
    assert isinstance(value.owner, DequantizeOp)
    t = element_of(value.owner.input.type)
    assert isinstance(t, QuantizedType)
    return t
