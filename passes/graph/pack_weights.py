"""
Packs the constant right operands of matrix products into the panels that kernels read.

A product with a constant matrix becomes `glow_cpu.packed_matmul`, whose weights lie in memory in
the order in which its kernel needs them: panels of as many columns as a register tile has. A fully
connected layer of more than one row becomes one as well, and its bias a node of its own. One row
reads each weight once, for which the rows of a fully connected layer are as good an order; only the
columns of a matrix are packed. Where columns are so few that a panel would be nearly empty, the
matrix stays as it is.

A vector that is likely to have many zeros, because a rectifier made it, skips the rows of a large
matrix that meet them: `glow_cpu.sparse_vector_matmul`, whose matrix lies in memory row by row.
Nearly all the time goes into reading the matrix, so half of its rows take half the time. A matrix
with an element that is not finite is read whole, because zero times such an element is NaN.

Products of narrow integers become `glow_cpu.dot_matmul`, with rows of the matrix in pairs or quads
as the machine multiplies them, in panels of one vector. Where it multiplies quads of u8 only, i8
are multiplied as u8 that are larger by 128, and the difference is subtracted.

Weights that the states of recurrent layers meet are in panels as well. A matrix that a loop of many
steps reads is packed before the loop (`loop_panels`).

Weights of a few bits (`glow.block_quantized_matmul`) stay packed, as words of 32 bits in panels of
their columns: `glow_cpu.packed_block_quantized_matmul`.

A reshape after a product that keeps its columns moves before it, so that what follows works on the
product itself and can become its epilogue.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, i8, i32
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...glow_dialects.blob import release_files
from ...glow_dialects.elements import is_float, storage_type, type_bytes
from ...glow_dialects.glow.arithmetic import AddOp, SubOp
from ...glow_dialects.glow.constant import ConstantOp, SplatOp
from ...glow_dialects.glow.logic import CastOp
from ...glow_dialects.glow.machine import machine_of
from ...glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from ...glow_dialects.glow.narrow_weights import BlockQuantizedMatMulOp
from ...glow_dialects.glow.quantization import StorageCastOp
from ...glow_dialects.glow.recurrent import GruOp, LstmOp, RnnOp
from ...glow_dialects.glow.shape import PadOp, ReshapeOp
from ...glow_dialects.glow_cpu.dot import DotMatMulOp
from ...glow_dialects.glow_cpu.packed import PackedMatMulOp
from ...glow_dialects.glow_cpu.sparse import SparseVectorMatMulOp
from ...glow_dialects.glow_vec import dot_terms
from ...glow_dialects.integers import u8
from ...glow_dialects.machine import MachineDescription
from ...glow_dialects.operator import element_of, shape_of, with_shape
from ...glow_dialects.product_costs import repays_unpacking
from ...glow_dialects.timings import TIMINGS
from ...semantics.arrays import constant_array, constant_reader, lazy_constant, make_constant
from ...semantics.dot import group_rows
from ..levels import GRAPH
from .layouts.quads import are_factors
from .loop_panels import pack_before_loops
from .narrow_panels import packed_product
from .panels import packed, packed_parts, panel_width
from .rewriting import Build, RuleTable, apply_rules, defining_op, is_constant
from .zeros import is_rectified

_CHECKED = 1 << 16
"""The number of elements that are read before the next ones."""
_TURNED_ROWS = 64
_FEW_VECTORS = 2
"""A product of one row reads the matrix unpacked if its columns fill fewer vectors than this."""


def turn(matrix: np.ndarray, result: np.ndarray) -> None:
    """
    Copies a matrix to `result`, its transpose, in parts that stay in a cache. The memory of the
    file that it comes from is given back after each.
    """
    for start in range(0, len(matrix), _TURNED_ROWS):
        rows = slice(start, start + _TURNED_ROWS)
        result[:, rows] = matrix[rows].T
        release_files()


def turned(matrix: np.ndarray) -> np.ndarray:
    """Returns the transpose of a matrix, in row-major order."""
    result = np.empty(matrix.shape[::-1], matrix.dtype)
    turn(matrix, result)
    return result


def all_finite(read: Callable[[], np.ndarray]) -> bool:
    """Returns whether a constant can be read and has neither infinite elements nor NaN."""
    try:
        array = read().reshape(-1)
    except (OSError, ValueError):
        return False
    starts = range(0, array.size, _CHECKED)
    finite = all(np.isfinite(array[i : i + _CHECKED]).all() for i in starts)
    release_files()
    return finite


class _Rules:
    """The rules for a machine."""

    def __init__(self, machine: MachineDescription):
        self.machine = machine
        self.lanes = machine.lanes(32)
        self.table = RuleTable()
        self.table.rule(MatMulOp)(self.matmul)
        self.table.rule(FullyConnectedOp)(self.fully_connected)
        self.table.rule(BlockQuantizedMatMulOp)(self.narrow)
        self.table.rule(LstmOp, GruOp, RnnOp)(self.recurrent)
        self.table.rule(ReshapeOp)(reshape_of_product)

    def matmul(self, node: MatMulOp, build: Build) -> SSAValue | None:
        if node.transpose_lhs.value.data:
            return None
        transposed = node.transpose_rhs.value.data != 0
        product = self._skipping(node.lhs, node.rhs, transposed, build)
        if product is not None:
            return product
        return self._product(node.lhs, node.rhs, transposed, build)

    def fully_connected(self, node: FullyConnectedOp, build: Build) -> SSAValue | None:
        product = self._skipping(node.input, node.weights, True, build)
        few = shape_of(node.input.type)[0] < 2
        if product is None and (not few or _are_integers(node.input, node.weights)):
            product = self._product(node.input, node.weights, True, build)
        if product is None:
            product = self._packed_at_run_time(node, build)
        if product is None:
            return None
        return build(AddOp, product, build.broadcast(node.bias, shape_of(product.type)))

    def _packed_at_run_time(self, node: FullyConnectedOp, build: Build) -> SSAValue | None:
        """
        Returns the product with weights that are not constant, whose kernel packs them; None if
        there are too few rows or weights for that.
        """
        t = node.weights.type
        assert isinstance(t, TensorType)
        rows = shape_of(node.input.type)[0]
        if is_constant(node.weights) or not is_float(element_of(t)):
            return None
        if rows < TIMINGS.least_packed_rows or type_bytes(t) <= self.machine.l1_bytes:
            return None
        return build(MatMulOp, node.input, node.weights, transpose_rhs=True)

    def narrow(self, node: BlockQuantizedMatMulOp, build: Build) -> SSAValue | None:
        columns = shape_of(node.weights.type)[0]
        rows, input_bits = prod(shape_of(node.input.type)[:-1]), node.input_bits.value.data
        many = repays_unpacking(rows, input_bits, self.machine)
        vectors = self.machine.panel_vectors if many else TIMINGS.narrow_panel_vectors
        return packed_product(node, build, panel_width(columns, self.lanes, vectors))

    def recurrent(self, node: LstmOp | GruOp | RnnOp, build: Build) -> SSAValue | None:
        """Returns a layer whose weights are in panels."""
        x, weights, *others = node.operands
        if not _is_matrix(weights):
            return None
        operator, (hidden, columns) = type(node), shape_of(weights.type)
        width = self.machine.panel_vectors * self.lanes
        if columns <= width:
            return None
        read = constant_reader(weights)
        assert read is not None
        shape = [sum(operator.panels(hidden, width)), hidden, width]
        hint, sizes = weights.name_hint or "weights", operator.columns(hidden)

        def panels() -> np.ndarray:
            return packed_parts(read(), sizes, width)

        constant = build.add(lazy_constant(shape, element_of(weights.type), hint, panels))
        return build.like(node, x, constant, *others)

    def _skipping(
        self, x: SSAValue, weights: SSAValue, transposed: bool, build: Build
    ) -> SSAValue | None:
        """Returns the product of a vector that probably has zeros with large constant `weights`."""
        t = weights.type
        assert isinstance(t, TensorType)
        if not _is_matrix(weights) or type_bytes(t) < self.machine.l2_bytes:
            return None
        if prod(shape_of(x.type)[:-1]) != 1 or not is_float(element_of(t)) or not is_rectified(x):
            return None
        read = constant_reader(weights)
        assert read is not None
        if not all_finite(read):
            return None
        if transposed:
            hint, shape = weights.name_hint or "weights", shape_of(t)[::-1]
            compute, write = lambda: turned(read()), lambda target: turn(read(), target)
            weights = build.add(lazy_constant(shape, element_of(t), hint, compute, write))
        return build(SparseVectorMatMulOp, x, weights)

    def _product(
        self, x: SSAValue, weights: SSAValue, transposed: bool, build: Build
    ) -> SSAValue | None:
        """Returns the product with constant `weights`; None if they do not qualify."""
        if not _is_matrix(weights):
            return None
        if _are_integers(x, weights):
            return self._integers(x, weights, transposed, build)
        if not is_float(element_of(weights.type)):
            return None
        source, shape = weights.owner, shape_of(weights.type)
        assert isinstance(source, ConstantOp)
        inner, columns = reversed(shape) if transposed else shape
        one_row = prod(shape_of(x.type)[:-1]) == 1
        if one_row:
            stays = not transposed and columns < _FEW_VECTORS * self.lanes
        else:
            stays = columns <= TIMINGS.most_summed_columns and columns < self.lanes
        if stays:
            return None
        width = panel_width(columns, self.lanes, self.machine.panel_vectors)
        value, t = source.value, source.result.type

        def panels() -> np.ndarray:
            matrix = constant_array(value, t)
            return packed(matrix.T if transposed else matrix, width)

        constant = build.add(
            lazy_constant(
                [-(-columns // width), inner, width],
                element_of(weights.type),
                weights.name_hint or "weights",
                panels,
            )
        )
        return build(PackedMatMulOp, x, constant, columns=columns)

    def _has_unsigned_only(self, x: SSAValue) -> bool:
        """Returns whether `x` has signed bytes, of which the machine multiplies fewer at once."""
        signed, unsigned = (self.machine.byte_dot(unsigned=u) for u in (False, True))
        is_signed = storage_type(element_of(x.type)) == i8
        return is_signed and signed is None and unsigned is not None

    def _integers(self, x: SSAValue, weights: SSAValue, transposed: bool, build: Build) -> SSAValue:
        """Returns the product of narrow integers."""
        source, lanes = weights.owner, self.lanes
        assert isinstance(source, ConstantOp)
        value, t = source.value, source.result.type

        def matrix() -> np.ndarray:
            array = constant_array(value, t)
            return array.T if transposed else array

        shape = shape_of(weights.type)
        inner, columns = reversed(shape) if transposed else shape
        sums: SSAValue | None = None
        if self._has_unsigned_only(x):
            x = _unsigned(build, x)
            excess = (_SIGN * matrix().sum(0, np.int64)).astype(np.int32)
            sums = build.add(make_constant(excess, "excess", i32))
        terms = dot_terms(self.machine, element_of(x.type))
        groups = -(-inner // terms)
        if groups * terms > inner:
            high = [0] * (len(shape_of(x.type)) - 1) + [groups * terms - inner]
            x = build(PadOp, x, high=high, value=0.0)
        constant = build.add(
            lazy_constant(
                [-(-columns // lanes), groups, lanes, terms],
                storage_type(element_of(weights.type)),
                weights.name_hint or "weights",
                lambda: group_rows(packed(matrix(), lanes), 1, terms),
            )
        )
        product = build(DotMatMulOp, x, constant, columns=columns)
        if sums is None:
            return product
        return build(SubOp, product, build.broadcast(sums, shape_of(product.type)))


_SIGN = 128
"""The sign bit of a byte."""


def _is_matrix(weights: SSAValue) -> bool:
    """Returns whether a value is a constant matrix with elements."""
    shape = shape_of(weights.type)
    return len(shape) == 2 and 0 not in shape and isinstance(weights.owner, ConstantOp)


def _are_integers(x: SSAValue, weights: SSAValue) -> bool:
    return are_factors(element_of(x.type), element_of(weights.type))


def _unsigned(build: Build, x: SSAValue) -> SSAValue:
    """Returns signed bytes, or those that are stored, larger by 128 as unsigned ones."""
    shape = shape_of(x.type)
    if element_of(x.type) != i8:
        x = build(StorageCastOp, x, result_types=[with_shape(i8, shape)])
    wrapped = build(CastOp, x, result_types=[with_shape(u8, shape)])
    sign = build(SplatOp, result_types=[with_shape(u8, shape)], value=float(_SIGN))
    return build(AddOp, wrapped, sign)


def reshape_of_product(node: ReshapeOp, build: Build) -> SSAValue | None:
    """Returns the product of reshaped rows, where the reshape keeps the columns."""
    product = defining_op(node.input, PackedMatMulOp) or defining_op(node.input, DotMatMulOp)
    if product is None or not node.input.has_one_use():
        return None
    target = shape_of(node.result.type)
    if not target or target[-1] != product.columns.value.data:
        return None
    inner = shape_of(product.input.type)[-1]
    rows = build.reshape(product.input, [*target[:-1], inner])
    return build.like(product, rows, product.weights)


@dataclass(frozen=True)
class PackWeightsPass(ModulePass):
    """Packs the constant matrices of products, and those of products in loops."""

    name = "glow-pack-weights"
    level = GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(op)
        apply_rules(op, _Rules(machine).table)
        pack_before_loops(op, machine)
