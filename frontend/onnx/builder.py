"""Emits graph nodes, folds constants, and offers functions that many converters need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr, StringAttr, TensorType, i64
from xdsl.ir import Attribute, Block, SSAValue

from ...glow_dialects.blob import BlobAttr
from ...glow_dialects.dims import is_symbolic
from ...glow_dialects.elements import WORD, is_float, is_integer, num_elements, tensor_type
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.constant import ConstantOp, SplatOp
from ...glow_dialects.glow.generic import GenericOp
from ...glow_dialects.glow.logic import CastOp, OrOp
from ...glow_dialects.glow.quantization import DequantizeOp, StorageCastOp
from ...glow_dialects.glow.shape import (
    BroadcastOp,
    ConcatOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from ...glow_dialects.operator import element_of, shape_of, to_attribute
from ...semantics import evaluate
from ...semantics.arrays import INLINE_ELEMENTS, constant_of, make_constant
from .checked_values import Counted, Exceeded, Indices, Verdict
from .element_types import check_shape
from .known_sizes import (
    array_of_sizes,
    broadcast_shape,
    folded_sizes,
    is_sizes,
    numbers_of,
    sizes_node,
)
from .problems import Unsupported

FOLD_ELEMENTS = 100_000
"""Nodes on constants are folded at import if no tensor involved has more elements than this: enough
for arithmetic on shapes, too little to copy weights."""
_FEW = 16
"""The most quantized numbers that are known as floats: too few for weights, which stay narrow."""

_SAME_EVERYWHERE = ReshapeOp | BroadcastOp | TransposeOp | SliceOp | StorageCastOp


Differentiate: TypeAlias = Callable[[Block, SSAValue, Sequence[SSAValue]], Sequence[SSAValue]]
"""
A function that appends nodes to a block which compute the gradient of a number of the block with
respect to some values, and returns the gradients.
"""


class GraphBuilder:
    """Appends nodes to a block."""

    def __init__(self, block: Block, max_elements: int):
        self.graph = block
        """The block whose arguments are the inputs of the model."""
        self.block = block
        """The block to which nodes are appended: the graph, or the body of a branch or loop."""
        self.max_elements = max_elements
        self.parameters: set[SSAValue] | None = None
        """
        The initializers of floats that stay as they are, because they are to be trained; None if
        all constants may be folded.
        """
        self._trainable: dict[str, Node] = {}
        """The nodes of these initializers by name."""
        self.differentiate: Differentiate | None = None
        """The function that differentiates; None if nobody can."""
        self.indices: list[Indices] = []
        """The indices that nodes of the block take."""
        self.unchecked: list[Indices] = []
        """Indices that follow from symbols alone, which are known when these are bound."""
        self.counted: dict[SSAValue, Counted] = {}
        """Values with a dimension that is not used as a whole."""
        self.verdicts: list[Verdict] = []
        """Those of the branches and loops of the block."""
        self.random: SSAValue | None = None
        """The argument that random numbers follow from, if there are any."""
        self.randoms = 0
        """The number of nodes with random numbers."""

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Notes indices and verdicts in lists of their own meanwhile."""
        outside = self.indices, self.verdicts
        self.indices, self.verdicts = [], []
        try:
            yield
        finally:
            self.indices, self.verdicts = outside

    def gradients(self, value: SSAValue, wrt: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Returns the gradients of a number with respect to values of the graph."""
        if self.differentiate is None or self.block is not self.graph:
            raise Unsupported("a gradient is computed outside of bodies and functions only")
        return self.differentiate(self.block, value, wrt)

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        """Appends nodes to a body meanwhile."""
        outside, self.block = self.block, block
        try:
            yield
        finally:
            self.block = outside

    def op(
        self,
        operator: type[Node],
        *operands: SSAValue,
        result: TensorType | None = None,
        **properties: Any,
    ) -> SSAValue:
        """
        Returns the result of a new node, or the constant that it evaluates to if all operands are
        small constants.

        Raises VerifyException if the operands do not fit, ModelError if the result is enormous.
        """
        node = operator.of(*operands, result_types=result and [result], **properties)
        (value,) = node.results
        check_shape(shape_of(value.type), node.name, self.max_elements)
        folded = self.folded(node)
        if folded is not None:
            node.erase()
            return self.add(folded)
        return self.add(node)

    def add(self, node: Node) -> SSAValue:
        """Appends a node with one result."""
        self.block.add_op(node)
        return node.results[0]

    def any_exceeded(self) -> Exceeded | None:
        """Returns what says whether one of the loops of the block had too many steps."""
        found = [each for each in self.verdicts if isinstance(each, Exceeded)]
        if not found:
            return None
        flags = [each.value for each in found]
        loops = ", ".join(each.loops for each in found)
        return Exceeded(self.reduce_pairwise(lambda a, b: self.op(OrOp, a, b), flags), loops)

    def add_constant(self, node: Node) -> SSAValue:
        """Appends a constant to the graph, where all bodies can use it."""
        with self.inside(self.graph):
            return self.add(node)

    def folded(self, node: Node) -> Node | None:
        """Returns the value of a node as a constant, if it has one that takes little memory."""
        if self.parameters and any(o in self.parameters for o in node.operands):
            return None
        owner = node.operands[0].owner if node.operands else None
        if isinstance(owner, SplatOp) and isinstance(node, _SAME_EVERYWHERE):
            return SplatOp.of(result_types=[node.result.type], value=owner.value)
        if isinstance(owner, ConstantOp) and isinstance(node, ReshapeOp | StorageCastOp):
            result = node.result.type
            assert isinstance(result, TensorType)
            return _retyped(owner, result)
        if isinstance(node, DequantizeOp):
            return None  # that it is quantized would be lost
        if any(map(is_sizes, node.operands)) and (found := folded_sizes(node)) is not None:
            return found
        if any(is_symbolic(v.type) for v in (*node.operands, *node.results)):
            return None  # perhaps when the symbols are bound
        if isinstance(node, BroadcastOp) and num_elements(shape(node.result)) > INLINE_ELEMENTS:
            return None  # repeats nothing in memory as it is; `known_array` sees through it
        sizes = [num_elements(shape(v)) for v in (*node.operands, *node.results)]
        if max(sizes) > FOLD_ELEMENTS:
            return None
        arrays = [known_array(o) for o in node.operands]
        known = [a for a in arrays if a is not None]
        if not known or len(known) < len(arrays):
            return None
        (array,) = evaluate(node.call, known)
        return make_constant(array, element=element(node.results[0]))

    def random_state(self) -> SSAValue:
        """Returns the argument ui32[3] with a key of two words, and the number of the call."""
        if self.random is None:
            t = tensor_type(WORD, [3])
            self.random = self.graph.insert_arg(t, len(self.graph.args))
        return self.random

    def next_random(self) -> int:
        """Returns a number that no other node with random numbers has."""
        self.randoms += 1
        return self.randoms

    def constant(self, array: np.ndarray) -> SSAValue:
        return self.add(make_constant(array))

    def sizes(self, numbers: Sequence[int], shape: Sequence[int]) -> SSAValue:
        """Returns integers of 64 bits, some of which may depend on symbols."""
        return self.add(sizes_node(array_of_sizes(numbers, shape), i64))

    def initializer(self, node: Node, name: str) -> SSAValue:
        """
        Appends the constant of an initializer. That of a body, which is read again in each step of
        an unrolled loop, is one parameter; of several bodies, they may have the same name.
        """
        if self.parameters is None:
            return self.add_constant(node)
        own = name
        while (known := self._trainable.get(own)) is not None:
            if known.properties == node.properties:
                return known.results[0]
            own += "_"
        value = self.add_constant(node)
        if is_float(element(value)) and shape(value):
            node.attributes["glow.name"] = StringAttr(own)
            self._trainable[own] = node
            self.parameters.add(value)
        return value

    def splat(self, number: bool | float, element: Attribute, shape: Sequence[int]) -> SSAValue:
        """Returns a tensor with `number` everywhere."""
        number = int(number) if is_integer(element) else float(number)
        return self.op(SplatOp, result=tensor_type(element, shape), value=number)

    def splat_like(self, number: bool | float, value: SSAValue) -> SSAValue:
        """Returns a tensor of the type of `value` with `number` everywhere."""
        return self.splat(number, element(value), shape(value))

    def reshape(self, value: SSAValue, target: Sequence[int]) -> SSAValue:
        if has_shape(value, target):
            return value
        return self.op(ReshapeOp, value, result=tensor_type(element(value), target))

    def broadcast(self, value: SSAValue, target: Sequence[int]) -> SSAValue:
        if has_shape(value, target):
            return value
        return self.op(BroadcastOp, value, result=tensor_type(element(value), target))

    def broadcast_all(self, *values: SSAValue) -> list[SSAValue]:
        """Returns all values with their common shape under numpy's rules."""
        try:
            target = broadcast_shape([shape(v) for v in values])
        except ValueError:
            found = ", ".join(str(v.type) for v in values)
            raise ValueError(
                f"expected shapes that broadcast to each other, found {found}"
            ) from None
        return [self.broadcast(v, target) for v in values]

    def elementwise(self, operator: type[Node], *values: SSAValue, **properties: Any) -> SSAValue:
        """Returns a data-parallel node on operands that are broadcast to each other."""
        return self.op(operator, *self.broadcast_all(*values), **properties)

    def with_number(self, operator: type[Node], value: SSAValue, number: float) -> SSAValue:
        """Returns a binary data-parallel node on a value and a number."""
        return self.op(operator, value, self.splat_like(number, value))

    def cast(self, value: SSAValue, target: Attribute, **properties: bool | str) -> SSAValue:
        if element(value) == target:
            return value
        return self.op(CastOp, value, result=tensor_type(target, shape(value)), **properties)

    def transpose(self, value: SSAValue, permutation: Sequence[int]) -> SSAValue:
        if list(permutation) == list(range(len(permutation))):
            return value
        return self.op(TransposeOp, value, permutation=permutation)

    def concat(self, values: Sequence[SSAValue], axis: int) -> SSAValue:
        return values[0] if len(values) == 1 else self.op(ConcatOp, *values, axis=axis)

    def slice(
        self,
        value: SSAValue,
        starts: Sequence[int],
        sizes: Sequence[int],
        strides: Sequence[int] | None = None,
    ) -> SSAValue:
        strides = [1] * len(starts) if strides is None else strides
        if all(s == 1 for s in strides) and has_shape(value, sizes):
            return value
        return self.op(SliceOp, value, starts=starts, sizes=sizes, strides=strides)

    def formula(
        self,
        text: str,
        *operands: SSAValue,
        shape: Sequence[int],
        element: Attribute | None = None,
        **constants: float,
    ) -> SSAValue:
        """
        Returns the result of a formula, which has this shape, on operands in the order in which it
        first reads them.
        """
        properties: dict[str, Attribute] = {"formula": to_attribute(text)}
        if constants:
            named = {name: to_attribute(value) for name, value in constants.items()}
            properties["constants"] = DictionaryAttr(named)
        types = [o.type for o in operands]
        result = GenericOp.result_type(types, properties, shape, element)
        return self.op(GenericOp, *operands, result=result, **properties)

    def chain(self, value: SSAValue, *steps: type[Node]) -> SSAValue:
        """Emits unary nodes, one after the other."""
        for step in steps:
            value = self.op(step, value)
        return value

    def reduce_pairwise(
        self, combine: Callable[[SSAValue, SSAValue], SSAValue], values: Sequence[SSAValue]
    ) -> SSAValue:
        """Combines any number of values from left to right."""
        result = values[0]
        for value in values[1:]:
            result = combine(result, value)
        return result


def _retyped(constant: ConstantOp, target: TensorType) -> Node | None:
    """Returns a constant with the same bytes under another type."""
    if not isinstance(constant.value, BlobAttr):
        array = constant_of(constant.result)
        assert array is not None
        reshaped = array.reshape(target.get_shape())
        return make_constant(reshaped, element=target.element_type)
    return ConstantOp.of(result_types=[target], value=constant.value)


def known_array(value: SSAValue) -> np.ndarray | None:
    """
    Returns the elements of a constant, of a constant that is broadcast, or of a few quantized
    numbers as floats; None for other values. Those that depend on symbols are decided.
    """
    if is_sizes(value):
        return numbers_of(value)
    if isinstance(value.owner, BroadcastOp):
        source = known_array(value.owner.input)
        if source is None or is_symbolic(value.type):
            return None
        return np.broadcast_to(source, shape(value))
    if isinstance(value.owner, DequantizeOp) and num_elements(shape(value)) <= _FEW:
        # quantizers also treat floats from which shapes follow as activations
        source = constant_of(value.owner.operands[0])
        return None if source is None else evaluate(value.owner.call, [source])[0]
    return constant_of(value)


def python_number(array: np.ndarray) -> bool | float:
    """Returns the only element of an array."""
    scalar = array.reshape(-1)[0]
    if array.dtype.kind in "biu":
        return scalar.item()
    return float(scalar)  # bf16 has no `item`


def shape(value: SSAValue) -> tuple[int, ...]:
    return shape_of(value.type)


def has_shape(value: SSAValue, target: Sequence[int]) -> bool:
    """Returns whether a value has a shape."""
    # without a look at sizes that depend on symbols, if the ranks say it
    return len(shape(value)) == len(target) and shape(value) == tuple(target)


def element(value: SSAValue) -> Attribute:
    return element_of(value.type)


def rank(value: SSAValue) -> int:
    return len(shape(value))


def size(value: SSAValue) -> int:
    return prod(shape(value))
