"""
Embedding tables of 8 or 4 bits, with a scale and an offset for each row.

A lookup of rows of a constant f32 table [rows, columns] becomes a lookup of rows of bytes, and of
their scales and offsets: `stored * scale + offset`, with the scale and zero point of the row from
its smallest and largest number (Guan et al., Post-Training 4-bit Quantization on Embedding Tables,
2019). Of 4 bits, a byte holds a number of the first half of the columns, and, above it, one of the
second half.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ..errors import QuantizationError
from ..glow_dialects.glow.arithmetic import AddOp, MulOp
from ..glow_dialects.glow.base import Node
from ..glow_dialects.glow.constant import ConstantOp
from ..glow_dialects.glow.logic import AndOp, CastOp, ShiftRightOp
from ..glow_dialects.glow.shape import ConcatOp, GatherOp, SliceOp
from ..glow_dialects.integers import u8
from ..glow_dialects.operator import element_of, shape_of, with_shape
from ..passes.graph.rewriting import Build, replace_node
from ..passes.visited_operation import each
from ..semantics.arrays import constant_reader, lazy_constant
from .calibration import calibrate_rows

BITS: Mapping[str, int] = {"u8": 8, "u4": 4}
_BYTE = u8
_LEAST_COLUMNS = 8
"""The least width of a table. In narrower tables, scales and offsets would be the larger part."""


def quantize_embeddings(
    main: func.FuncOp, storage: str, is_kept: Callable[[Node], bool]
) -> dict[SSAValue, SSAValue]:
    """
    Rewrites all lookups in constant f32 tables, except those to keep in float; `storage` is a key
    of BITS. Returns the replacement of each result. Raises QuantizationError for a table with NaN
    or infinity.
    """
    replaced: dict[SSAValue, SSAValue] = {}
    tables: dict[SSAValue, _Table] = {}
    for node in each(list(main.body.block.ops)):
        if not isinstance(node, GatherOp) or not _is_lookup(node) or is_kept(node):
            continue
        build = Build()
        if node.data not in tables:
            tables[node.data] = _Table(node.data, BITS[storage], build)
        value = tables[node.data].rows(node, build)
        replaced[node.result] = value
        replace_node(node, build.ops, value)
    return replaced


def _is_lookup(node: GatherOp) -> bool:
    shape = shape_of(node.data.type)
    constant = isinstance(node.data.owner, ConstantOp) and element_of(node.data.type) == f32
    return constant and node.axis.value.data == 0 and len(shape) == 2 and shape[1] >= _LEAST_COLUMNS


class _Table:
    """The constants that take the place of a table."""

    def __init__(self, data: SSAValue, bits: int, build: Build):
        read = constant_reader(data)
        assert read is not None
        rows, self.columns = shape_of(data.type)
        self.bits = bits
        try:
            t = calibrate_rows(read(), bits)
        except QuantizationError as error:
            raise QuantizationError(f"{data.name_hint or 'a table'}: {error}") from None
        scales = np.array(t.scale_values(), np.float32)[:, None]
        points = np.array(t.zero_point_values(), np.float32)[:, None]
        width = self.columns if bits == 8 else -(-self.columns // 2)

        def stored() -> np.ndarray:
            steps = np.rint(read() / scales) + points
            numbers = np.clip(steps, 0, 2**bits - 1).astype(np.uint8)
            if bits == 8:
                return numbers
            high = np.zeros((rows, width), np.uint8)
            high[:, : self.columns - width] = numbers[:, width:]
            return numbers[:, :width] | high << 4

        hint = data.name_hint or "table"
        self.stored = build.add(lazy_constant((rows, width), _BYTE, hint, stored))
        self.scales = build.constant(scales, f"{hint}.scales")
        self.offsets = build.constant(-points * scales, f"{hint}.offsets")

    def rows(self, node: GatherOp, build: Build) -> SSAValue:
        """Returns the rows that a lookup asks for, in f32."""
        shape = shape_of(node.result.type)

        def looked_up(table: SSAValue) -> SSAValue:
            return build(GatherOp, table, node.indices, axis=0)

        numbers = looked_up(self.stored)
        if self.bits == 4:
            numbers = self._unpacked(numbers, build)
        result = with_shape(f32, shape)
        real = build(CastOp, numbers, result_types=[result])
        scales, offsets = (
            build.broadcast(looked_up(table), shape) for table in (self.scales, self.offsets)
        )
        return build(AddOp, build(MulOp, real, scales), offsets)

    def _unpacked(self, packed: SSAValue, build: Build) -> SSAValue:
        low = build(AndOp, packed, build.splat(15, packed.type))
        high = build(ShiftRightOp, packed, build.splat(4, packed.type))
        shape = list(shape_of(packed.type))
        both = build(ConcatOp, low, high, axis=len(shape) - 1)
        if self.columns == 2 * shape[-1]:
            return both
        return build(SliceOp, both, sizes=[*shape[:-1], self.columns])
