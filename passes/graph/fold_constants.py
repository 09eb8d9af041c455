"""
Evaluates nodes that depend on constants only at compile time.

One walk in program order. A node whose operands are all known is evaluated with numpy and replaced
by a constant, which makes its users foldable in turn. Nodes that become unused are erased on the
way.

- A result that is the same everywhere becomes a `glow.splat`, and a data-parallel node on splats is
  evaluated on one element, so such values never take memory.
- A result whose bytes lie in one of the operands (a reshape, a contiguous slice) becomes a constant
  with a reference to the same bytes; nothing is read or copied.
- A broadcast is free when the program runs (a view with stride 0), so it stays unless its result is
  uniform; nodes that use it are folded through it.
- A node whose sizes depend on symbols stays.
- A result with more elements than its operands hold in memory is materialised only up to
  `max-elements`, so that small inputs do not become large weights, unless it is quicker to read
  than to compute (`costly_constants.py`).
- A result of more than `LARGE` elements is computed when its bytes are needed (`lazy_constant`), so
  it is not found out whether it is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    TensorType,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from ...glow_dialects.blob import Blob, BlobAttr
from ...glow_dialects.elements import num_elements, storage_type
from ...glow_dialects.glow.base import DataParallel, Node, OnlyMovesData
from ...glow_dialects.glow.constant import ConstantOp, SplatOp
from ...glow_dialects.glow.quantization import DequantizeOp
from ...glow_dialects.glow.shape import BroadcastOp, ReshapeOp
from ...glow_dialects.operator import element_of, shape_of
from ...semantics.arrays import (
    constant_of,
    constant_reader,
    lazy_constant,
    make_constant,
    numpy_dtype,
)
from ...semantics.registry import evaluate
from ..levels import GRAPH
from .costly_constants import costly_constants
from .rewriting import (
    erase_if_dead,
    failure,
    has_symbols,
    is_constant,
    replace_node,
    source_of,
    tensor_nodes,
)

LARGE = 65536


def known_array(value: SSAValue) -> np.ndarray:
    """Returns the elements of a constant, a splat, or a broadcast of one, without a copy."""
    array = constant_of(source_of(value))
    assert array is not None
    return np.broadcast_to(array, shape_of(value.type))


def stored_elements(values: Sequence[SSAValue]) -> int:
    """
    Returns the number of elements that the constants of `values` hold in memory; a splat holds one.
    """
    total = 0
    for value in values:
        source = source_of(value)
        splat = isinstance(source.owner, SplatOp)
        total += 1 if splat else num_elements(shape_of(source.type))
    return total


def is_uniform(array: np.ndarray) -> bool:
    """
    Returns whether all elements have the same bytes. It reads only one copy of a broadcast view.
    """
    if array.size == 0:
        return False
    once = array[tuple(slice(0, 1) if s == 0 else slice(None) for s in array.strides)]
    flat = once.reshape(-1)
    if once.size > 1 and flat[:1].tobytes() != flat[-1:].tobytes():
        return False
    bits = np.ascontiguousarray(flat).view(f"u{array.dtype.itemsize}")
    return bool((bits == bits[0]).all())


def splat_attribute(number: np.generic) -> Attribute | None:
    """Returns the value of a splat of `number`; None if i64 and f64 cannot hold it."""
    if number.dtype.kind == "b":
        return IntegerAttr(int(number), i1)
    if number.dtype.kind in "iu":
        value = int(number)
        return IntegerAttr(value, i64) if value < 2**63 else None
    return FloatAttr(float(number), f64)


def part_of(op: ConstantOp, array: np.ndarray) -> BlobAttr | None:
    """
    Returns a reference to those bytes of a constant that `array` is a dense view of, if it is one.
    """
    if not isinstance(op.value, BlobAttr) or op.value.data.is_computed:
        return None
    if not array.size or not array.flags.c_contiguous:
        return None
    whole = constant_of(op.result)
    assert whole is not None
    start = array.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    if not 0 <= start <= whole.nbytes - array.nbytes:
        return None
    blob = op.value.data
    return BlobAttr(Blob(blob.path, blob.offset + start, array.nbytes, blob.source))


def constant_node(node: Node, array: np.ndarray) -> Node:
    """Returns a splat or constant with the elements of `array`, which is the result of `node`."""
    result = node.results[0].type
    assert isinstance(result, TensorType)
    if is_uniform(array) and (value := splat_attribute(array.flat[0])) is not None:
        return SplatOp.of(result_types=[result], value=value)
    part = reference_to(node, array)
    hint = node.results[0].name_hint or "folded"
    return part if part is not None else make_constant(array, hint, result.element_type)


def reference_to(node: Node, array: np.ndarray) -> Node | None:
    """
    Returns a constant of those bytes of an operand of `node` that `array` is a dense view of, if
    any.
    """
    for operand in node.operands:
        if isinstance(operand.owner, ConstantOp) and (part := part_of(operand.owner, array)):
            return ConstantOp.of(result_types=[node.results[0].type], value=part)
    return None


def is_affordable(node: Node, max_elements: int) -> bool:
    """Returns whether the result may be materialised."""
    size = num_elements(shape_of(node.results[0].type))
    return size <= max(max_elements, stored_elements(node.operands))


def moves_one_value(node: Node, arrays: Sequence[np.ndarray]) -> bool:
    """
    Returns whether the node only rearranges elements that are all equal, which is cheap to
    evaluate.
    """
    return node.has_trait(OnlyMovesData) and all(not any(a.strides) for a in arrays)


def fold_on_one_element(node: Node, arrays: Sequence[np.ndarray]) -> np.ndarray | None:
    """Returns the result of a data-parallel node on splats as a broadcast view of one element."""
    splats = all(not any(a.strides) for a in arrays)
    shape = shape_of(node.results[0].type)
    if not isinstance(node, DataParallel) or not splats or 0 in shape:
        return None
    if node.depends_on_place(node.call):
        return None
    (one,) = evaluate(node.on_elements(node.call), [a[(0,) * a.ndim] for a in arrays])
    return np.broadcast_to(one, shape)


def reshaped_constant(node: Node) -> Node | None:
    """
    Returns a constant for the reshape of one: the same bytes under another type, without reading
    them.
    """
    if not isinstance(node, ReshapeOp) or not isinstance(node.input.owner, ConstantOp):
        return None
    result, value = node.result.type, node.input.owner.value
    if isinstance(value, DenseIntOrFPElementsAttr):
        stored = TensorType(storage_type(element_of(result)), shape_of(result))
        value = DenseIntOrFPElementsAttr(stored, value.data)  # pyright: ignore[reportArgumentType]
    return ConstantOp.of(result_types=[result], value=value)


def is_computed(value: SSAValue) -> bool:
    """Returns whether reading the bytes of a known value is work."""
    owner = source_of(value).owner
    return (
        isinstance(owner, ConstantOp)
        and isinstance(owner.value, BlobAttr)
        and owner.value.data.is_computed
    )


def large_constant(node: Node, max_elements: int) -> Node | None:
    """
    Returns the constant that takes the place of a node with a large result that is no broadcast
    view.
    """
    if isinstance(node, BroadcastOp) or num_elements(shape_of(node.results[0].type)) <= LARGE:
        return None
    if not all(is_constant(operand) for operand in node.operands):
        return None
    if all(isinstance(source_of(operand).owner, SplatOp) for operand in node.operands):
        return None
    if not is_affordable(node, max_elements):
        return None
    return part_of_operand(node) or computed_when_read(node)


def part_of_operand(node: Node) -> Node | None:
    """
    Returns a reference into the bytes of an operand, if a node that moves data only selects them.
    """
    if not node.has_trait(OnlyMovesData) or any(is_computed(o) for o in node.operands):
        return None
    (array,) = evaluate(node.call, [known_array(operand) for operand in node.operands])
    return reference_to(node, array)


def computed_when_read(node: Node) -> Node:
    """
    Returns the result of a node on constants as a constant that is computed each time it is read.
    """
    call = node.call
    readers = [constant_reader(source_of(operand)) for operand in node.operands]
    shapes = [shape_of(operand.type) for operand in node.operands]

    def compute() -> np.ndarray:
        arrays = [
            np.broadcast_to(read(), shape)
            for read, shape in zip(readers, shapes, strict=True)
            if read is not None
        ]
        (result,) = evaluate(call, arrays)
        return result

    t = node.results[0].type
    return lazy_constant(shape_of(t), element_of(t), node.results[0].name_hint or "folded", compute)


def folded(node: Node, max_elements: int) -> Node | None:
    """
    Returns the constant that takes the place of `node`, if its operands are known and it may fold.
    """
    if has_symbols(node):
        return None
    if (reshaped := reshaped_constant(node)) is not None:
        return reshaped
    if (large := large_constant(node, max_elements)) is not None:
        return large
    array = fold(node, max_elements)
    return None if array is None else constant_node(node, array)


def fold(node: Node, max_elements: int) -> np.ndarray | None:
    """
    Returns the result of `node` if all operands are known and it may be folded; otherwise None.
    """
    if not all(is_constant(operand) for operand in node.operands):
        return None
    arrays = [known_array(operand) for operand in node.operands]
    if (uniform := fold_on_one_element(node, arrays)) is not None:
        return uniform
    if isinstance(node, BroadcastOp):
        result = np.broadcast_to(arrays[0], shape_of(node.result.type))
        return result if result.size == arrays[0].size or is_uniform(arrays[0]) else None
    if not is_affordable(node, max_elements) and not moves_one_value(node, arrays):
        return None
    (result,) = evaluate(node.call, arrays)
    return result


def is_foldable(node: Node) -> bool:
    """Constants are folded already; the result must be storable."""
    if isinstance(node, ConstantOp | SplatOp) or len(node.results) != 1:
        return False
    return numpy_dtype(element_of(node.results[0].type)).itemsize > 0


@dataclass(frozen=True)
class FoldConstantsPass(ModulePass):
    """Replaces nodes whose operands are all constant by constants."""

    name = "glow-fold-constants"
    level = GRAPH

    max_elements: int = 65536
    """
    The largest number of elements by which a result may exceed the elements that its operands hold
    in memory.
    """

    keep_quantized: bool = False
    """Keep the dequantization of constants, whose types give the meaning of their integers."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for node in filter(self._may_fold, tensor_nodes(op)):
            try:
                new = folded(node, self.max_elements)
            except (OSError, ValueError) as e:
                raise failure(node, f"cannot read a constant: {e}") from e
            if new is None:
                continue
            _replace(node, new)
        nodes = (n for n in tensor_nodes(op) if self._may_fold(n) and not has_symbols(n))
        for node, constant in costly_constants(nodes):
            _replace(node, constant)

    def _may_fold(self, node: Node) -> bool:
        kept = self.keep_quantized and isinstance(node, DequantizeOp)
        return is_foldable(node) and not kept


def _replace(node: Node, new: Node) -> None:
    operands = list(node.operands)
    replace_node(node, [new], new.results[0])
    erase_if_dead(operands)
