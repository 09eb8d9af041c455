"""
The work of operators: arithmetic operations, and bytes that they read and write.

The work of a data-parallel operator follows from its scalar expression, which counts once for each
element. An operator that only moves data computes nothing. For other operators, or for their base
classes, a decorator registers a function `(call) -> count` here. Without one, the work of an
operator that is stated as a formula follows from the formula, and others count one operation for
each element of their largest tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import MemRefType, TensorType
from xdsl.ir import Attribute

from ..table import Table
from .elements import element_bytes
from .formula import facts
from .formula.problem import FormulaError
from .formula.statement import Statement
from .glow.base import DataParallel, Node, OnlyMovesData
from .glow.constant import ConstantOp, SplatOp
from .glow.indexing import Cumulative
from .glow.normalization import (
    BatchNormOp,
    GroupNormOp,
    LayerNormOp,
    LocalResponseNormOp,
    LogSoftmaxOp,
    RmsNormOp,
    SoftmaxOp,
)
from .glow.quantization import StorageCastOp
from .glow.recurrent import Recurrent
from .glow.shape import BroadcastOp, ReshapeOp, SliceOp
from .glow.structured import Structured
from .glow.transposed import TransposedConvolutionOp
from .glow_cpu.dot import DotConvolutionOp
from .glow_cpu.sparse import SparseVectorMatMulOp
from .glow_cpu.winograd import (
    DotWinogradConvolutionOp,
    WinogradConvolutionOp,
    axes_of_call,
    kernel_parts,
    tile_elements,
    window_of,
)
from .operator import Call, element_of, shape_of, with_shape
from .quant import real_type
from .scalar import Expr

Count = Callable[[Call], int]
_OPERATIONS: Table[type[Node], Count] = Table("a number of operations", inherited=True)
_PRODUCTS: Table[type[Node], Count] = Table("a number of products", inherited=True)
_BYTES: Table[type[Node], Count] = Table("a number of bytes", inherited=True)
_FREE = frozenset({ConstantOp, SplatOp, ReshapeOp, BroadcastOp, SliceOp, StorageCastOp})
"""Nodes that are known at compile time, or another view of the same bytes."""


@dataclass(frozen=True)
class OperatorWork:
    """The work of one call of an operator."""

    operations: int
    """Additions, multiplications, comparisons, and so on; a function such as exp counts as one."""
    bytes: int
    """
    The bytes of operands, as far as they are read, and of results, each once, if nothing is cached.
    """


def operations(*operators: type[Node]) -> Callable[[Count], Count]:
    """Registers the number of operations of a call of `operators`."""
    return _OPERATIONS.entry(*operators)


def products(*operators: type[Node]) -> Callable[[Count], Count]:
    """
    Registers the number of products that a call of `operators` sums. A product and its
    addition are two operations.
    """
    return _PRODUCTS.entry(*operators)


def moved(*operators: type[Node]) -> Callable[[Count], Count]:
    """
    Registers the number of bytes that a call of `operators`, which do not read all
    operands, moves.
    """
    return _BYTES.entry(*operators)


def products_of(call: Call) -> int:
    """Returns how many products a convolution or matrix product sums; 0 for other operators."""
    count = _PRODUCTS.get(call.operator)
    if count is not None:
        return count(_with_results(call))
    stated = _stated(call)
    return 0 if stated is None else facts.products(stated)


def known_bytes(call: Call) -> int | None:
    """Returns bytes that a call moves if it does not read all of its operands; None if it does."""
    count = _BYTES.get(call.operator)
    if count is not None:
        return count(_with_results(call))
    stated = _stated(call)
    gathered = {} if stated is None else facts.gathered(stated)
    if not gathered:
        return None
    full = _with_results(call)
    of = [gathered.get(i, _elements(t)) for i, t in enumerate(full.operands)]
    sizes = (n * element_bytes(element_of(t)) for n, t in zip(of, full.operands, strict=True))
    return sum(sizes) + _bytes(full.results[0])


def operations_of(call: Call) -> int:
    """
    Returns how many operations a call of tensors takes. Its results may be left out if they follow.
    """
    if count := products_of(call):
        return 2 * count
    full = _with_results(call)
    registered = _OPERATIONS.get(call.operator)
    if registered is not None:
        return registered(full)
    if call.operator.has_trait(OnlyMovesData):
        return 0
    if issubclass(call.operator, DataParallel) and not call.operator.depends_on_place(full):
        return _primitives(call.operator.scalar(full)) * _elements(call.operands[0])
    if (stated := _stated(full)) is not None and (count := facts.operations(stated)):
        return count
    return max(_elements(t) for t in (*full.operands, *full.results))


def work_of(call: Call) -> OperatorWork:
    """
    Returns the work of a call on tensors. Its results may be left out if they follow from operands.
    """
    if call.operator in _FREE:
        return OperatorWork(0, 0)
    full = _with_results(call)
    known = known_bytes(full)
    if known is None:
        known = sum(map(_bytes, (*full.operands, *full.results)))
    return OperatorWork(operations_of(full), known)


def _stated(call: Call) -> Statement | None:
    if not issubclass(call.operator, Structured) or call.operator.has_trait(OnlyMovesData):
        return None
    try:
        return call.operator.statement(call)
    except FormulaError:
        real = _between_conversions(call)
        if real == call:
            raise
        # a float operator with its quantized operands and results counts as that of floats
        return call.operator.statement(real)


def _between_conversions(call: Call) -> Call:
    """Returns a call with the real numbers in place of quantized ones."""
    operands, results = (tuple(map(_real, side)) for side in (call.operands, call.results))
    return Call(call.operator, operands, results, call.properties)


def _real(t: Attribute) -> Attribute:
    return with_shape(real_type(element_of(t)), shape_of(t))


def _with_results(call: Call) -> Call:
    if call.results:
        return call
    results = tuple(call.operator.infer(call))
    return Call(call.operator, call.operands, results, call.properties)


def _elements(t: Attribute) -> int:
    return prod(shape_of(t))


def _bytes(t: Attribute) -> int:
    """Returns the bytes of a dense tensor; for a view, the bytes that it shows."""
    shaped = isinstance(t, TensorType | MemRefType)
    return _elements(t) * element_bytes(element_of(t)) if shaped else 0


def _primitives(expr: Expr) -> int:
    """Returns the primitives in an expression; shared ones count once."""
    seen: set[Expr] = set()
    pending = [expr]
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            pending += node.args
    return sum(node.kind is not None for node in seen)


@products(DotConvolutionOp)
def _with_bias(call: Call) -> int:
    """Counts as many products for each output as a filter has elements for an output channel."""
    channels = _elements(call.operands[2])
    return _elements(call.results[0]) * _elements(call.operands[1]) // max(1, channels)


@products(TransposedConvolutionOp)
def _transposed(call: Call) -> int:
    """Counts a product of each element of the input with each element of its filter."""
    return _elements(call.operands[0]) * prod(call.shape(1)[1:])


@products(SparseVectorMatMulOp)
def _packed(call: Call) -> int:
    return _elements(call.results[0]) * call.shape(0)[-1]


@products(Recurrent)
def _recurrent(call: Call) -> int:
    """Counts the products of the states before all steps with the weights of the gates."""
    return _elements(call.operands[0]) * shape_of(call.results[0])[-1]


@products(WinogradConvolutionOp, DotWinogradConvolutionOp)
def _winograd(call: Call) -> int:
    """Returns the operations of transformed tiles, without the transforms."""
    _, inputs, *_, lanes = call.shape(0)
    batch, blocks, *sizes, block = shape_of(call.results[0])
    of_floats = issubclass(call.operator, WinogradConvolutionOp)
    pool, group = (call.int("pool"), call.int("group")) if of_floats else (1, 1)
    axes, (_, dilations, _) = axes_of_call(call), window_of(call)
    points = batch * tile_elements(axes)
    for count, axis, dilation in zip(sizes, axes, dilations, strict=True):
        points *= axis.tiles(count * pool, dilation)
    return points * inputs * lanes * blocks * block * kernel_parts(axes) // group


@operations(LocalResponseNormOp)
def _local(call: Call) -> int:
    """Counts the square, the sum over the window, and `x / (k + a * sum)**beta`."""
    return _elements(call.operands[0]) * (call.int("size") + 5)


@operations(Cumulative)
def _cumulative(call: Call) -> int:
    """Returns one for each element."""
    return _elements(call.operands[0])


@operations(SoftmaxOp, LogSoftmaxOp)
def _softmax(call: Call) -> int:
    """Counts the maximum, difference, exp, sum, and the quotient or difference."""
    return 5 * _elements(call.operands[0])


@operations(BatchNormOp)
def _batch_norm(call: Call) -> int:
    """Counts a product and a sum, after the rest is folded into its parameters."""
    return 2 * _elements(call.operands[0])


@operations(LayerNormOp, RmsNormOp, GroupNormOp)
def _row_norm(call: Call) -> int:
    """
    Returns sums, difference, square, sum of squares, and product by the deviation, scale, and bias.
    """
    return 7 * _elements(call.operands[0])
