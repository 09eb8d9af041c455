"""
Merges matrix products with a common left operand.

Exporters write attention with a product each for queries, keys and values of the same input. Such
products become one, with the constant matrices side by side, and slices of its columns take their
places. A slice moves nothing: what reads it reads the larger matrix. One product starts once, and
so do its threads, which matters where products are small: where there are few rows, as in decoders
that compute one token at a time. A cost model tells where.

What follows each product and works on its elements (a bias, the scales of integers) has to be
merged as well, because it would be no epilogue of the product otherwise. So products are merged
only if the same operators follow them, whose other operands can be put side by side too: constants
with a number for each column, or tensors that repeat the same numbers in all columns.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import accumulate, chain
from math import prod
from operator import mul
from typing import TypeAlias

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...errors import CompileError
from ...glow_dialects import costs
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.constant import SplatOp
from ...glow_dialects.glow.machine import machine_of
from ...glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from ...glow_dialects.glow.narrow_weights import BlockQuantizedMatMulOp
from ...glow_dialects.glow.shape import BroadcastOp, ReshapeOp, SliceOp
from ...glow_dialects.operator import element_of, shape_of, with_shape
from ...glow_dialects.row_attributes import inputs_with_rows
from ...glow_dialects.timings import TIMINGS
from ...semantics.arrays import constant_of, constant_reader, lazy_constant
from ...table import Table
from ..levels import GRAPH
from ..visited_operation import visit
from .rewriting import (
    Build,
    defining_op,
    erase_if_dead,
    has_symbols,
    ignores_places,
    is_per_axis,
    replace_node,
    tensor_nodes,
)

_Axes: TypeAlias = Callable[[Node], Sequence["int | None"]]
_PRODUCTS: Table[type[Node], _Axes] = Table("axes of columns")
"""
For each operand of a product, the dimension that belongs to columns of the result; None for one
that products have to have in common.
"""


@_PRODUCTS.entry(MatMulOp)
def _matmul(node: Node) -> Sequence[int | None]:
    assert isinstance(node, MatMulOp)
    rank = len(shape_of(node.rhs.type))
    return None, rank - 2 if node.transpose_rhs.value.data else rank - 1


@_PRODUCTS.entry(FullyConnectedOp)
def _fully_connected(node: Node) -> Sequence[int | None]:
    return None, 0, 0


@_PRODUCTS.entry(BlockQuantizedMatMulOp)
def _block_quantized(node: Node) -> Sequence[int | None]:
    assert isinstance(node, BlockQuantizedMatMulOp)
    scales, zeros = shape_of(node.scales.type), shape_of(node.zero_points.type)
    return None, 0, 0, 0 if zeros == scales else None


def _keeps_columns(node: Node) -> bool:
    """Returns whether a node computes elements of each column from those of the same column."""
    if isinstance(node, ReshapeOp):
        before, after = shape_of(node.input.type), shape_of(node.result.type)
        return before[-1:] == after[-1:] != ()
    return ignores_places(node)


@dataclass(frozen=True)
class _Product:
    """A product with constant matrices."""

    node: Node
    epilogue: tuple[Node, ...]
    """The nodes that follow it, each of which alone uses the one before, and keep its columns."""

    @classmethod
    def of(cls, node: Node) -> _Product | None:
        """Returns the product that a node is; None for nodes that do not qualify."""
        axes = _PRODUCTS.get(type(node))
        if axes is None or has_symbols(node) or 0 in shape_of(node.results[0].type):
            return None
        if any(is_per_axis(value) for value in (*node.operands, *node.results)):
            return None
        columns = [v for v, axis in zip(node.operands, axes(node), strict=True) if axis is not None]
        if any(constant_reader(v) is None for v in columns):
            return None
        found = cls(node, _epilogue(node))
        return found if _is_read_in_place(found.last.results[0]) else None

    @property
    def last(self) -> Node:
        """The node whose result others use."""
        return self.epilogue[-1] if self.epilogue else self.node

    @property
    def axes(self) -> Sequence[int | None]:
        return _PRODUCTS[type(self.node)](self.node)

    @property
    def columns(self) -> int:
        return shape_of(self.node.results[0].type)[-1]

    @property
    def multiplications(self) -> int:
        return prod(shape_of(self.node.operands[0].type)) * self.columns

    @property
    def kind(self) -> Hashable:
        """A key that products have in common if they can be merged."""
        operands = [
            value if axis is None else (element_of(value.type), len(shape_of(value.type)))
            for value, axis in zip(self.node.operands, self.axes, strict=True)
        ]
        steps = [
            (type(node), *sorted(node.properties.items()), *_without_columns(node))
            for node in (self.node, *self.epilogue)
        ]
        return self.node.parent, *operands, *steps


def _without_columns(node: Node) -> tuple[Hashable, ...]:
    t = node.results[0].type
    return element_of(t), shape_of(t)[:-1]


def _epilogue(node: Node) -> tuple[Node, ...]:
    """Returns what follows a product; a reshape at the end is left to what uses the product."""
    found: list[Node] = []
    value = node.results[0]
    while len(users := {use.operation for use in value.uses}) == 1:
        (user,) = users
        if not isinstance(user, Node) or user.parent is not node.parent or has_symbols(user):
            break
        if not _keeps_columns(user):
            break
        found.append(user)
        value = user.results[0]
    while found and isinstance(found[-1], ReshapeOp):
        found.pop()
    return tuple(found)


def _is_read_in_place(value: SSAValue) -> bool:
    """
    Returns whether what uses a matrix could read it as columns of a larger one, without a copy: not
    the function's caller, nor a reshape that makes one dimension of rows and columns.
    """
    rows = prod(shape_of(value.type)[:-1])
    for user in (use.operation for use in value.uses):
        if not isinstance(user, Node):
            return False
        if isinstance(user, ReshapeOp):
            leads = accumulate(shape_of(user.result.type), mul, initial=1)
            if (rows != 1 and rows not in leads) or not _is_read_in_place(user.result):
                return False
    return True


def _row(value: SSAValue) -> np.ndarray | None:
    """Returns the constant row that a value repeats; None if it does not repeat one."""
    *_, columns = shape_of(value.type)
    repeated = defining_op(value, BroadcastOp)
    source = value if repeated is None else repeated.input
    if prod(shape_of(source.type)[:-1]) != 1 and not isinstance(source.owner, SplatOp):
        return None
    array = constant_of(source)
    return None if array is None else np.broadcast_to(array[(0,) * (array.ndim - 1)], (columns,))


@dataclass
class _Merger:
    """Makes one product of several, and one node of each that follows them."""

    products: Sequence[_Product]
    build: Build = field(default_factory=Build)

    def __post_init__(self) -> None:
        self.columns = [p.columns for p in self.products]
        self.total = sum(self.columns)
        self.known: dict[tuple[SSAValue, ...], SSAValue] = {}

    def merged(self, parts: tuple[SSAValue, ...]) -> SSAValue | None:
        """Returns a tensor with the columns of all `parts`; None if that takes a copy."""
        if parts not in self.known:
            found = self._columns_of(parts)
            if found is None:
                return None
            self.known[parts] = found
        return self.known[parts]

    def _columns_of(self, parts: tuple[SSAValue, ...]) -> SSAValue | None:
        shapes = [shape_of(p.type) for p in parts]
        if any(s != (*shapes[0][:-1], n) for s, n in zip(shapes, self.columns, strict=True)):
            return None
        if len({element_of(p.type) for p in parts}) > 1:
            return None
        if parts == tuple(p.node.results[0] for p in self.products):
            return self._product()
        shape = (*shapes[0][:-1], self.total)
        return (
            self._constant(parts, shape)
            or self._repeated(parts, shape)
            or self._computed(parts, shape)
        )

    def _product(self) -> SSAValue:
        first = self.products[0]
        operands = [
            parts[0] if axis is None else self._joined(parts, axis)
            for axis, *parts in zip(
                first.axes, *(p.node.operands for p in self.products), strict=True
            )
        ]
        t = first.node.results[0].type
        result = with_shape(element_of(t), (*shape_of(t)[:-1], self.total))
        return self.build(
            type(first.node), *operands, result_types=[result], **first.node.properties
        )

    def _joined(self, parts: Sequence[SSAValue], axis: int) -> SSAValue:
        """Returns constants side by side along a dimension."""
        readers = [read for v in parts if (read := constant_reader(v)) is not None]
        shape = list(shape_of(parts[0].type))
        shape[axis] = sum(shape_of(v.type)[axis] for v in parts)
        element, hint = element_of(parts[0].type), parts[0].name_hint or "weights"
        return self.build.add(
            lazy_constant(
                shape, element, hint, lambda: np.concatenate([read() for read in readers], axis)
            )
        )

    def _constant(self, parts: Sequence[SSAValue], shape: Sequence[int]) -> SSAValue | None:
        """Returns constant parts that are equal in all rows."""
        element = element_of(parts[0].type)
        if any(is_per_axis(v) for v in parts):
            return None
        numbers = {v.owner.value for v in parts if isinstance(v.owner, SplatOp)}
        if len(numbers) == 1 and all(isinstance(v.owner, SplatOp) for v in parts):
            return self.build(
                SplatOp, result_types=[with_shape(element, shape)], value=numbers.pop()
            )
        rows = [row for v in parts if (row := _row(v)) is not None]
        if len(rows) < len(parts):
            return None
        row = self.build.constant(np.concatenate(rows), parts[0].name_hint or "row", element)
        return self.build.broadcast(row, shape)

    def _repeated(self, parts: Sequence[SSAValue], shape: Sequence[int]) -> SSAValue | None:
        """Returns parts that repeat one number in each row."""
        sources = {op.input for v in parts if (op := defining_op(v, BroadcastOp)) is not None}
        if len(sources) != 1 or not all(isinstance(v.owner, BroadcastOp) for v in parts):
            return None
        (source,) = sources
        if shape_of(source.type)[-1:] not in ((), (1,)):
            return None
        return self.build.broadcast(source, shape)

    def _computed(self, parts: Sequence[SSAValue], shape: Sequence[int]) -> SSAValue | None:
        """Returns parts that the same operator computes from others that can be merged."""
        nodes = [v.owner for v in parts if isinstance(v.owner, Node) and _keeps_columns(v.owner)]
        if len({(type(n), *sorted(n.properties.items())) for n in nodes}) != 1:
            return None
        if len(nodes) < len(parts) or any(has_symbols(n) for n in nodes):
            return None
        operands = [self.merged(of) for of in zip(*(n.operands for n in nodes), strict=True)]
        known = [v for v in operands if v is not None]
        if len(known) < len(operands):
            return None
        if isinstance(nodes[0], ReshapeOp):
            return self.build.reshape(known[0], shape)
        return self.build.like(nodes[0], *known)


def merge(products: Sequence[_Product]) -> bool:
    """
    Replaces products of one kind by slices of their merged product; returns False, and changes
    nothing, if what follows them cannot be merged.
    """
    merger = _Merger(products)
    build = merger.build
    whole = merger.merged(tuple(p.last.results[0] for p in products))
    if whole is None:
        build.discard()
        return False
    first = reduce(lambda a, b: a if a.is_before_in_block(b) else b, (p.last for p in products))
    block = first.parent
    assert block is not None
    for op in build.ops:
        op.location = products[0].node.location
    block.insert_ops_before(build.ops, first)
    lead = shape_of(whole.type)[:-1]
    starts = accumulate(merger.columns, initial=0)
    for product, start in zip(products, starts, strict=False):
        part = SliceOp.of(
            whole,
            starts=[*([0] * len(lead)), start],
            sizes=[*lead, product.columns],
        )
        before = product.last.operands
        replace_node(product.last, [part], part.result)
        erase_if_dead(before)
    return True


def pays(products: Sequence[_Product], lanes: int, threads: int, most: int = 1) -> bool:
    """
    Returns whether one product is faster than several by enough to matter. In a program for any
    number of rows up to `most`, a single row decides, as many gain or lose nothing.
    """
    work = sum(p.multiplications for p in products) // most
    share = costs.merged_share(len(products), work, lanes, threads)
    return len(products) > 1 and share >= TIMINGS.least_merged_share


def _most_rows(module: ModuleOp) -> int:
    """Returns the most rows of a program for any number of them; 1 for others."""
    functions = [op for op in module.ops if isinstance(op, FuncOp)]
    for argument, (first, *_) in chain.from_iterable(map(inputs_with_rows, functions)):
        return shape_of(argument.type)[first]
    return 1


@dataclass(frozen=True)
class MergeProductsPass(ModulePass):
    """Makes one matrix product of several with a common left operand, where that pays."""

    name = "glow-merge-products"
    level = GRAPH

    threads: int = 1
    """The number of threads that will run the products."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.threads < 1:
            raise CompileError(f"expected threads of at least 1, found {self.threads}")
        lanes, most = machine_of(op).lanes(32), _most_rows(op)
        found: dict[Hashable, list[_Product]] = {}
        for node in tensor_nodes(op):
            product = _Product.of(node)
            if product is not None:
                found.setdefault(product.kind, []).append(product)
        for products in found.values():
            visit(products[0].node)
            if pays(products, lanes, self.threads, most):
                merge(products)
