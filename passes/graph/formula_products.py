"""
Formulas that are products of matrices, as matrix products.

```
y[b, i, j] = sum(t) x[b, i, t] * w[b, j, t]
```

Each index of such a formula is one of a batch (in both operands and the result), of rows (in the
left operand and the result), of columns (in the right one and the result), or it is summed (in both
operands). Indices of each kind lie together, so that a reshape makes one of them. As a matrix
product, the formula gets what is made for those: packed weights, and products of bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from ...glow_dialects.elements import compute_type
from ...glow_dialects.formula.statement import (
    Apply,
    Convert,
    Loop,
    LoopValue,
    Read,
    Reduce,
    Term,
)
from ...glow_dialects.glow.generic import GenericOp
from ...glow_dialects.glow.matrix import MatMulOp
from ...glow_dialects.glow.shape import TransposeOp
from ...glow_dialects.operator import element_of, is_narrow_integer, shape_of
from ...glow_dialects.scalar import Primitive
from .permutations import is_identity
from .rewriting import Build, is_constant

_MOST_DIMENSIONS = 8


@dataclass(frozen=True)
class _Factor:
    """An operand with an index of its own in each dimension."""

    value: SSAValue
    loops: tuple[Loop, ...]

    def grouped(self, *groups: Sequence[Loop]) -> tuple[int, ...] | None:
        """
        Returns the dimensions in the order of groups; None if that takes a transpose at run time.
        """
        order = tuple(self.loops.index(loop) for group in groups for loop in group)
        return order if is_identity(order) or is_constant(self.value) else None


def matrix_product(node: GenericOp, build: Build) -> SSAValue | None:
    """Returns the matrix product that a formula is, if it is one."""
    said = node.statement(node.call)
    term, places = said.result.value, [p for p in said.result.places if p is not None]
    if len(said.stages) > 1 or len(places) < len(said.result.places):
        return None
    factors = _factors(node, term)
    if factors is None or len(places) > _MOST_DIMENSIONS:
        return None
    assert isinstance(term, Reduce)
    for lhs, rhs in (factors, factors[::-1]):
        product = _product(build, lhs, rhs, places, term.over)
        if product is not None and element_of(product.type) == said.element:
            return build.reshape(product, said.result.shape)
        build.discard()
    return None


def _factors(node: GenericOp, term: Term) -> tuple[_Factor, _Factor] | None:
    """Returns the two operands of which products are summed."""
    if not (isinstance(term, Reduce) and term.combine is Primitive.ADD):
        return None
    if not (isinstance(term.body, Apply) and term.body.kind is Primitive.MUL):
        return None
    a, b = (_factor(node, part) for part in term.body.arguments)
    if a is None or b is None or not set(term.over) == set(a.loops) & set(b.loops) & set(term.over):
        return None
    return a, b


def _factor(node: GenericOp, term: Term) -> _Factor | None:
    read = term.operand if isinstance(term, Convert) else term
    if not (isinstance(read, Read) and isinstance(read.source, int)) or read.outside is not None:
        return None
    value = node.operands[read.source]
    element = element_of(value.type)
    if term.type != (i32 if is_narrow_integer(element) else compute_type(element)):
        return None
    loops = tuple(i.loop for i in read.indices if isinstance(i, LoopValue))
    distinct = len(set(loops)) == len(read.indices)
    whole = tuple(loop.size for loop in loops) == shape_of(value.type)
    return _Factor(value, loops) if distinct and whole else None


def _product(
    build: Build, lhs: _Factor, rhs: _Factor, places: Sequence[Loop], over: Sequence[Loop]
) -> SSAValue | None:
    """Returns `lhs` times `rhs`, with rows and columns as one dimension each."""
    batch = [p for p in places if p in lhs.loops and p in rhs.loops]
    rows = [p for p in places if p in lhs.loops and p not in rhs.loops]
    columns = [p for p in places if p in rhs.loops and p not in lhs.loops]
    if [*batch, *rows, *columns] != list(places) or not (rows and columns and over):
        return None
    reference = rhs if is_constant(lhs.value) else lhs
    inner = [loop for loop in reference.loops if loop in over]
    left = _matrices(build, lhs, batch, rows, inner)
    right = None if left is None else _matrices(build, rhs, batch, inner, columns)
    if left is None or right is None:
        return None
    (a, turned_a), (b, turned_b) = left, right
    return build(MatMulOp, a, b, transpose_lhs=turned_a, transpose_rhs=turned_b)


def _matrices(
    build: Build,
    factor: _Factor,
    batch: Sequence[Loop],
    first: Sequence[Loop],
    second: Sequence[Loop],
) -> tuple[SSAValue, bool] | None:
    """Returns an operand as matrices, and whether their dimensions are the other way round."""
    groups, turned = (batch, first, second), False
    order = factor.grouped(*groups)
    if order is None or not is_identity(order):
        as_it_is = factor.grouped(batch, second, first)
        if as_it_is is not None and is_identity(as_it_is):
            groups, order, turned = (batch, second, first), as_it_is, True
    if order is None:
        return None
    value = factor.value
    if not is_identity(order):
        value = build(TransposeOp, value, permutation=order)
    sizes = [prod(loop.size for loop in group) for group in groups[1:]]
    return build.reshape(value, [*(loop.size for loop in batch), *sizes]), turned
