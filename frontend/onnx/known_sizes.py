"""
Integers that depend on symbols, in the arithmetic on shapes that models contain.

Such integers are the elements of a `glow.sizes`. Nodes on them are folded with the arithmetic of
extents, as nodes on constants are with that of numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from ...glow_dialects.dims import is_symbolic
from ...glow_dialects.elements import num_elements, tensor_type
from ...glow_dialects.extents import Extent, Size
from ...glow_dialects.extremes import greatest, least
from ...glow_dialects.glow import arithmetic as g
from ...glow_dialects.glow import logic
from ...glow_dialects.glow.base import Node, OnlyMovesData
from ...glow_dialects.glow.reduction import ReduceProdOp
from ...glow_dialects.glow.sizes import SizesOp
from ...glow_dialects.operator import element_of, shape_of
from ...semantics import evaluate, make_constant, numpy_dtype
from ...semantics.arrays import constant_of

_MOST = 64
"""The number of elements up to which integers are kept as sizes."""
_WIDTH = 32
"""The bits of integers from which on no size overflows."""
_Numbers: TypeAlias = "Callable[..., np.ndarray]"


def _each(function: Callable[..., object], count: int = 2) -> _Numbers:
    """Returns a function of arrays of sizes that applies another one to their elements."""
    return np.frompyfunc(function, count, 1)


def _quotient(a: Size, b: Size) -> Size:
    """Returns the quotient of integers as ONNX defines it, rounded towards zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


_MEANINGS: dict[type[Node], _Numbers] = {
    g.AddOp: _each(lambda a, b: a + b),
    g.SubOp: _each(lambda a, b: a - b),
    g.MulOp: _each(lambda a, b: a * b),
    g.DivOp: _each(_quotient),
    g.NegOp: _each(lambda a: -a, 1),
    g.MaximumOp: _each(greatest),
    g.MinimumOp: _each(least),
    logic.EqualOp: _each(lambda a, b: bool(a == b)),
    logic.LessOp: _each(lambda a, b: bool(a < b)),
    logic.LessEqualOp: _each(lambda a, b: bool(a <= b)),
    logic.SelectOp: _each(lambda c, a, b: a if c else b, 3),
    logic.CastOp: _each(lambda a: a, 1),
}
"""Elementwise operators on whole numbers."""


def broadcast_shape(shapes: Sequence[Sequence[Size]]) -> tuple[int, ...]:
    """Returns the common shape under numpy's rules. Raises ValueError if there is none."""
    rank = max(map(len, shapes))
    found: list[Any] = [1] * rank
    for shape in shapes:
        for i, size in enumerate(shape, rank - len(shape)):
            if found[i] == 1:
                found[i] = size
            elif size != 1 and size != found[i]:
                raise ValueError(f"{found[i]} and {size} do not broadcast to each other")
    return tuple(found)


def is_sizes(value: SSAValue) -> bool:
    """Returns whether a value has elements that depend on symbols."""
    return isinstance(value.owner, SizesOp)


def follows_from_sizes(value: SSAValue) -> bool:
    """Returns whether a value follows from constants and sizes alone."""
    owner = value.owner
    return isinstance(owner, Node) and all(map(follows_from_sizes, owner.operands))


def sizes_of(value: SSAValue) -> np.ndarray | None:
    """
    Returns the elements of a constant, or of sizes as an array of objects: integers and extents.
    """
    if not isinstance(value.owner, SizesOp):
        return constant_of(value)
    return array_of_sizes(value.owner.call.get("values"), shape_of(value.type))


def array_of_sizes(sizes: Sequence[Any], shape: Sequence[int]) -> np.ndarray:
    """Returns integers and extents as an array of objects."""
    found = np.empty(len(sizes), object)
    found[:] = sizes
    return found.reshape(shape)


def numbers_of(value: SSAValue) -> np.ndarray:
    """Returns sizes as the numbers that they are decided to be."""
    found = sizes_of(value)
    assert found is not None
    numbers = [int(size) for size in found.reshape(-1)]
    return np.array(numbers, numpy_dtype(element_of(value.type))).reshape(found.shape)


def sizes_node(sizes: np.ndarray, element: IntegerType) -> Node:
    """Returns a constant of integers, or sizes if some depend on symbols."""
    flat = [size if isinstance(size, Extent) else int(size) for size in sizes.reshape(-1)]
    if any(isinstance(size, Extent) for size in flat):
        return SizesOp.of(result_types=[tensor_type(element, sizes.shape)], values=flat)
    array = np.array(flat, numpy_dtype(element)).reshape(sizes.shape)
    return make_constant(array, element=element)


def folded_sizes(node: Node) -> Node | None:
    """
    Returns the result of a node on constants and sizes as such; None if that is not a whole number
    of enough bits, or if there are many of them.
    """
    result = node.results[0].type
    element = element_of(result)
    values = [*node.operands, *node.results]
    if not isinstance(element, IntegerType) or any(is_symbolic(v.type) for v in values):
        return None
    if any(num_elements(shape_of(v.type)) > _MOST for v in values):
        return None
    arrays = [sizes_of(operand) for operand in node.operands]
    known = [array for array in arrays if array is not None]
    if len(known) < len(arrays) or not all(map(_is_whole, node.operands)):
        return None
    found = _folded(node, known)
    if found is None or (element.width.data < _WIDTH and any(map(_is_extent, found.flat))):
        return None
    return sizes_node(found.reshape(shape_of(result)), element)


def _is_whole(value: SSAValue) -> bool:
    return isinstance(element_of(value.type), IntegerType)


def _is_extent(size: object) -> bool:
    return isinstance(size, Extent)


def _folded(node: Node, arrays: Sequence[np.ndarray]) -> np.ndarray | None:
    if type(node) in _MEANINGS:
        return np.asarray(_MEANINGS[type(node)](*arrays), object)
    if isinstance(node, ReduceProdOp) and len(node.call.ints("axes")) == arrays[0].ndim:
        return np.asarray(np.prod(arrays[0].astype(object)), object)
    if node.has_trait(OnlyMovesData):
        return _moved(node, arrays)
    return None


def _moved(node: Node, arrays: Sequence[np.ndarray]) -> np.ndarray | None:
    """Returns the result of a node that moves elements, for which numbers stand meanwhile."""
    places = [
        np.arange(array.size, dtype=np.int64).reshape(array.shape) + 1 + start
        for array, start in zip(
            arrays, np.cumsum([0, *(array.size for array in arrays)]), strict=False
        )
    ]
    elements = [numpy_dtype(element_of(o.type)) for o in node.operands]
    if len(set(elements)) > 1:
        return None  # some of the operands are indices
    given = [p.astype(e) for p, e in zip(places, elements, strict=True)]
    (found,) = evaluate(node.call, given)
    everything = np.concatenate([[0], *(array.reshape(-1).astype(object) for array in arrays)])
    return np.asarray(everything[found.astype(np.int64)], object)
