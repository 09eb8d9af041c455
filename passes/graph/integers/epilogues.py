"""
Moves the division by the scale of a result into constants of the nodes before, where it costs
nothing.

`quantize(acc * m)` is a product and a quotient for each element; `quantize'(acc * (m / s))`, whose
type has scale 1, is one product. This goes through sums, bounds and dequantized operands as long as
constants take in the quotient everywhere. The result is rounded in `m / s` instead of in the
quotient, as in onnxruntime.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, TypeAlias, TypeVar

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ....glow_dialects.elements import is_integer
from ....glow_dialects.glow.activation import ClipOp, ReluOp
from ....glow_dialects.glow.arithmetic import AddOp, MaximumOp, MinimumOp, MulOp, SubOp
from ....glow_dialects.glow.base import Node
from ....glow_dialects.glow.constant import ConstantOp, SplatOp
from ....glow_dialects.glow.elementwise import Binary
from ....glow_dialects.glow.logic import CastOp
from ....glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from ....glow_dialects.glow.shape import BroadcastOp
from ....glow_dialects.operator import element_of, shape_of
from ....glow_dialects.python_values import to_python
from ....glow_dialects.quant import QuantizedType
from ....semantics.arrays import constant_of
from ....table import Table
from ..canonicalization.bounds import interval_of
from ..rewriting import Build, is_constant
from .grids import bounds, dequantize, per_tensor, quantize, scale_of, storage_cast, zero_of
from .table import epilogue

N = TypeVar("N", bound=Node)
Divide: TypeAlias = Callable[[N, "Division"], "SSAValue | None"]
_DIVIDERS: Table[type[Node], Divide[Any]] = Table("a way to be divided")
_DEEPEST = 8
"""The largest number of nodes between a quantization and the products before it."""


def divider(*operators: type[N]) -> Callable[[Divide[N]], Divide[N]]:
    """
    Registers how constants divide the result of an operator; the function returns None if
    they cannot.
    """
    return _DIVIDERS.entry(*operators)


class Division:
    """Values divided by a scale."""

    def __init__(self, build: Build, scale: float):
        self.build = build
        self.scale = np.float32(scale)
        self.saves = False
        """Whether an accumulator is scaled or a sum computed, where other constants divide too."""
        self._depth = 0

    def of(self, value: SSAValue) -> SSAValue | None:
        """Returns `value / scale`; None if that would be work when the network runs."""
        if is_constant(value):
            return self.constant(value)
        owner = value.owner
        divide = _DIVIDERS.get(type(owner))
        if divide is None or self._depth == _DEEPEST:
            return None
        if not value.has_one_use() and not isinstance(owner, DequantizeOp):
            return None
        self._depth += 1
        result = divide(owner, self)
        self._depth -= 1
        return result

    def constant(self, value: SSAValue) -> SSAValue | None:
        match value.owner:
            case BroadcastOp(input=source):
                inner = self.constant(source)
                return inner and self.build.broadcast(inner, shape_of(value.type))
            case SplatOp(value=number):
                quotient = float(np.float32(to_python(number)) / self.scale)
                return self.build.splat(quotient, value.type)
            case ConstantOp():
                array = constant_of(value)
                assert array is not None
                return self.build.constant(array.astype(np.float32) / self.scale, "scales")
            case _:
                return None


@divider(MulOp)
def divide_product(node: MulOp, by: Division) -> SSAValue | None:
    """Returns the constant factor of a product, as a rule that of an accumulator."""
    if not is_constant(node.rhs):
        return None
    owner = node.lhs.owner
    by.saves |= isinstance(owner, CastOp) and is_integer(element_of(owner.input.type))
    factor = by.constant(node.rhs)
    return factor and by.build(MulOp, node.lhs, factor)


@divider(AddOp, SubOp, MaximumOp, MinimumOp)
def divide_both(node: Binary, by: Division) -> SSAValue | None:
    lhs = by.of(node.lhs)
    rhs = None if lhs is None else by.of(node.rhs)
    if lhs is None or rhs is None:
        return None
    by.saves = True
    return by.build(type(node), lhs, rhs)


@divider(BroadcastOp)
def divide_repeated(node: BroadcastOp, by: Division) -> SSAValue | None:
    inner = by.of(node.input)
    return inner and by.build.broadcast(inner, shape_of(node.result.type))


@divider(ReluOp, ClipOp)
def divide_bounds(node: ReluOp | ClipOp, by: Division) -> SSAValue | None:
    inner, interval = by.of(node.input), interval_of(node.result)
    if inner is None or interval is None:
        return None
    if isinstance(node, ReluOp):
        return by.build(ReluOp, inner)
    limits = zip(("min", "max"), interval, strict=True)
    finite = {name: float(np.float32(b) / by.scale) for name, b in limits if abs(b) != inf}
    return by.build(ClipOp, inner, result_types=None, **finite)


@divider(DequantizeOp)
def divide_scale(node: DequantizeOp, by: Division) -> SSAValue | None:
    q = per_tensor(node.input.type)
    if q is None or q.expressed != f32:
        return None
    scale = float(np.float32(scale_of(q)) / by.scale)
    return dequantize(by.build, storage_cast(by.build, node.input, with_scale(q, scale)))


def with_scale(q: QuantizedType, scale: float) -> QuantizedType:
    return QuantizedType(q.storage, q.expressed, scale, zero_of(q), None, bounds(q))


@epilogue(QuantizeOp)
def divide_before(node: QuantizeOp, build: Build) -> SSAValue | None:
    q = per_tensor(node.result.type)
    if q is None or scale_of(q) == 1 or element_of(node.input.type) != f32:
        return None
    division = Division(build, scale_of(q))
    value = division.of(node.input)
    if value is None or not division.saves:
        return None
    return storage_cast(build, quantize(build, value, with_scale(q, 1.0)), q)
