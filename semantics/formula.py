"""
The meaning of a formula in numpy: each term over the whole space of its loops at once.

Each loop is an axis of every array; an axis along which a term does not change has size 1. This is
slow and takes much memory beside a meaning made for one operator, but there is little that could be
wrong with it, so that it checks the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from ..glow_dialects.formula.statement import (
    Apply,
    Constant,
    Convert,
    IndexOp,
    Loop,
    LoopValue,
    NumberKind,
    Read,
    Reduce,
    Stage,
    Statement,
    Term,
    Type,
    walk,
)
from ..glow_dialects.scalar import Primitive
from .arrays import highest, lowest, number, numpy_dtype
from .numpy_algebra import NumpyAlgebra, convert

_MOST_POINTS = 1 << 22
"""
The number of points that are computed at once; a larger space is divided along the first loop.
"""
_REDUCTIONS: Mapping[Primitive, Callable[..., np.ndarray]] = {
    Primitive.ADD: np.add.reduce,
    Primitive.MUL: np.multiply.reduce,
    Primitive.MAXIMUM: np.maximum.reduce,
    Primitive.MINIMUM: np.minimum.reduce,
}


def evaluate_statement(statement: Statement, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Returns the result for arrays that have the types of the operands."""
    values: dict[Stage, np.ndarray] = {}
    for stage in statement.stages:
        values[stage] = _stage(stage, arrays, values)
    return convert(values[statement.result], numpy_dtype(statement.element))


def _stage(
    stage: Stage, arrays: Sequence[np.ndarray], values: Mapping[Stage, np.ndarray]
) -> np.ndarray:
    over = [loop for t in walk(stage.value) if isinstance(t, Reduce) for loop in t.over]
    loops = list(dict.fromkeys([*stage.loops, *over]))
    result = np.empty(stage.shape, dtype_of(stage.value.type))
    if not result.size:
        return result
    points = prod(loop.size for loop in loops)
    first = stage.loops[0] if stage.loops else None
    step = first.size if first else 1
    if first and points > _MOST_POINTS:
        step = max(1, _MOST_POINTS // (points // first.size))
    for start in range(0, first.size if first else 1, step):
        part = range(start, min(first.size, start + step)) if first else range(1)
        space = _Space(loops, first, part, arrays, values)
        found = space.evaluate(stage.value)
        sizes = [len(part) if loop is first else loop.size for loop in stage.loops]
        whole = np.broadcast_to(found, [*sizes, *[1] * (len(loops) - len(sizes))])
        axis = stage.places.index(first) if first else 0
        target = result[(*[slice(None)] * axis, slice(part.start, part.stop))] if first else result
        target[...] = whole.reshape(target.shape)
    return result


def dtype_of(t: Type) -> np.dtype:
    if isinstance(t, Attribute):
        return numpy_dtype(t)
    return np.dtype(np.int64 if t is NumberKind.INTEGER else np.float64)


class _Space:
    """The points of some loops, or of a part of the first loop."""

    def __init__(
        self,
        loops: Sequence[Loop],
        first: Loop | None,
        part: range,
        arrays: Sequence[np.ndarray],
        values: Mapping[Stage, np.ndarray],
    ):
        self._axes = {loop: axis for axis, loop in enumerate(loops)}
        self._first = first
        self._part = part
        self._arrays = arrays
        self._values = values

    def _along(self, loop: Loop) -> np.ndarray:
        values = self._part if loop is self._first else range(loop.size)
        shape = [1] * len(self._axes)
        shape[self._axes[loop]] = len(values)
        return np.arange(values.start, values.stop, dtype=np.int64).reshape(shape)

    def evaluate(self, term: Term) -> np.ndarray:
        """Returns an array with an axis for each loop."""
        match term:
            case Constant():
                value = number(term.value, dtype_of(term.type))
                return np.asarray(value).reshape([1] * len(self._axes))
            case LoopValue():
                return self._along(term.loop)
            case Read():
                return self._read(term)
            case Convert():
                return convert(self.evaluate(term.operand), dtype_of(term.type))
            case Reduce():
                return self._reduce(term)
            case Apply():
                return self._apply(term)

    def _apply(self, term: Apply) -> np.ndarray:
        arguments = [self.evaluate(a) for a in term.arguments]
        if isinstance(term.kind, IndexOp):
            operation = np.floor_divide if term.kind is IndexOp.FLOOR_DIV else np.mod
            return operation(*arguments)
        found = _ALGEBRA.apply(term.kind, arguments)
        # a rounding of reals gives an index
        return found.astype(dtype_of(term.type), copy=False)

    def _read(self, term: Read) -> np.ndarray:
        source = term.source
        array = self._values[source] if isinstance(source, Stage) else self._arrays[source]
        array = convert(array, dtype_of(term.type))
        indices = [self.evaluate(i) for i in term.indices]
        if term.outside is None:
            return array[tuple(indices)] if indices else array.reshape([1] * len(self._axes))
        inside = np.ones([1] * len(self._axes), np.bool_)
        for index, size in zip(indices, term.shape, strict=True):
            inside = inside & (index >= 0) & (index < size)
        beyond = self.evaluate(term.outside)
        if not array.size:
            return np.broadcast_to(beyond, np.broadcast_shapes(inside.shape, beyond.shape))
        sizes = zip(indices, term.shape, strict=True)
        clamped = tuple(np.clip(index, 0, size - 1) for index, size in sizes)
        return np.where(inside, array[clamped] if clamped else array, beyond)

    def _reduce(self, term: Reduce) -> np.ndarray:
        body = self.evaluate(term.body)
        shape = list(body.shape)
        for loop in term.over:
            shape[self._axes[loop]] = loop.size
        axes = tuple(self._axes[loop] for loop in term.over)
        reduce = _REDUCTIONS[term.combine]
        initial = _identity(term.combine, body.dtype)
        whole = np.broadcast_to(body, shape)
        return reduce(whole, axis=axes, keepdims=True, dtype=body.dtype, initial=initial)


def _identity(combine: Primitive, dtype: np.dtype) -> float:
    match combine:
        case Primitive.MAXIMUM:
            return lowest(dtype)
        case Primitive.MINIMUM:
            return highest(dtype)
        case _:
            return 1 if combine is Primitive.MUL else 0


_ALGEBRA = NumpyAlgebra(f32)
