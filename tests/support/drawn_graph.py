"""
Random graphs over all operators: choices, values with what rounding makes of them, and nodes.

Every value is computed when its node is added, for the inputs that the graph runs on, and beside it
for `RUNS` more runs in which each float that is computed is moved by some units in the last place.
So a node is only taken if it is defined there (finite, not too large), and if rounding cannot
change its integers, or its floats by much. The largest change of a result is what two correct
computations of the graph may differ by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from glow.glow_dialects.elements import (
    is_narrow_storage,
    storage_type,
    stored_values,
)
from glow.glow_dialects.glow.base import DataParallel, Node
from glow.glow_dialects.glow.constant import SplatOp
from glow.glow_dialects.operator import element_of, shape_of, with_shape
from glow.glow_dialects.quant import QuantizedType
from glow.semantics import evaluate, make_constant, numpy_dtype
from glow.semantics.arrays import MINIFLOATS, splat_array
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerType,
    ModuleOp,
    Signedness,
    StringAttr,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue

FLOATS = (f32, f16, bf16, f64)
UNSIGNED = tuple(IntegerType(n, Signedness.UNSIGNED) for n in (8, 16, 32, 64))
INTEGERS = (i32, i64, i8, i16, *UNSIGNED)
INDICES = (i64, i32)
NARROW = (*(IntegerType(n) for n in (2, 4)), *(IntegerType(n, Signedness.UNSIGNED) for n in (2, 4)))
ELEMENTS = (*FLOATS, *INTEGERS, i1, *NARROW, *MINIFLOATS)
"""The element types that values have; quantized ones are drawn besides."""
STORAGE = (i8, UNSIGNED[0], i16, NARROW[1], i32, UNSIGNED[1])
"""The types that quantized numbers are stored in."""
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 13, 17, 31, 33)
"""Sizes of dimensions: few are multiples of vectors."""
MOST_ELEMENTS = 1500
LARGEST = 1e4
"""No float is larger, so that all are finite in 16 bits."""
RUNS = 4
UNITS = 3
"""By how many units in the last place floats are moved."""
STABLE = 0.05
"""The part of the largest element that rounding may change an element by."""
RANGES = ((-3.0, 3.0), (0.1, 3.0), (1.05, 4.0), (-0.9, 0.9))
"""Of floats: functions are defined on one of them."""
OLD_VALUE, NEW_ARGUMENT, NEW_CONSTANT, NEW_SPLAT = range(4)


class Refused(Exception):
    """No node of an operator was found that suits the graph."""


class DrawnGraph:
    """A graph under construction. `choose` returns a number between two, both included."""

    def __init__(self, choose: Callable[[int, int], int]):
        self._choose = choose
        self.rng = np.random.default_rng(self.int(0, 2**32 - 1))
        self.block = Block()
        self.values: list[SSAValue] = []
        self.runs: dict[SSAValue, list[np.ndarray]] = {}
        """Of each value, its array, and those of the runs that round otherwise."""

    # choices

    def int(self, low: int, high: int) -> int:
        """Returns a number from `low` to `high`, both included; shrinking makes it smaller."""
        return self._choose(low, high)

    def flip(self) -> bool:
        return bool(self.int(0, 1))

    def pick(self, choices: Sequence):
        """Returns one of several things; shrinking moves to the first one."""
        return choices[self.int(0, len(choices) - 1)]

    def shape(self, rank: int) -> tuple[int, ...]:
        """Returns a shape, now and then of a tensor without elements."""
        shape = [self.pick(SIZES) for _ in range(rank)]
        while prod(shape) > MOST_ELEMENTS:
            shape[shape.index(max(shape))] = self.int(1, 3)
        if rank and self.int(0, 39) == 39:
            shape[self.int(0, rank - 1)] = 0
        return tuple(shape)

    def element(self, allowed: Sequence[Attribute] = ELEMENTS) -> Attribute:
        """Returns an element type, in half of the cases the first that is allowed."""
        return allowed[0] if self.flip() else self.pick(allowed)

    def quantized(self, shape: Sequence[int] = (), expressed: Attribute = f32) -> QuantizedType:
        """Returns a quantized type, in some cases with a scale for each index of a dimension."""
        storage = self.pick(STORAGE)
        low, high = (int(v) for v in stored_values(storage))
        point = min(max(low, self.int(-3, 5)), high) if storage.width.data < 32 else 0
        axes = [d for d, size in enumerate(shape) if size]
        if axes and self.int(0, 3) == 3:
            axis = self.pick(axes)
            scales = self.rng.uniform(0.02, 0.2, shape[axis]).astype(np.float16).tolist()
            return QuantizedType(storage, expressed, scales, [point] * len(scales), axis)
        return QuantizedType(storage, expressed, self.pick([0.0625, 0.1, 0.03]), point)

    # values

    def add(self, value: SSAValue, runs: list[np.ndarray]) -> SSAValue:
        self.values.append(value)
        self.runs[value] = runs
        return value

    def numbers(
        self, element: Attribute, shape: Sequence[int], low: float | None, high: float | None
    ) -> np.ndarray:
        """Returns random elements; in a range that is drawn unless it is given."""
        dtype, shape = numpy_dtype(element), tuple(shape)
        if dtype.kind == "b":
            return self.rng.integers(0, 2, shape).astype(dtype)
        if dtype.kind in "iu":
            least, most = (int(v) for v in stored_values(storage_type(element)))
            if isinstance(element, QuantizedType):
                least, most = element.storage_min.data, element.storage_max.data
            if low is None and not is_narrow_storage(element) and self.int(0, 3) < 3:
                low, high = -9, 9
            if low is not None and high is not None:
                least, most = max(least, int(low)), min(most, int(high))
            wide = np.int64 if least < 0 else np.uint64
            return self.rng.integers(least, most, shape, wide, endpoint=True).astype(dtype)
        if low is None or high is None:
            least, most = self.pick(RANGES)
            return self.rng.uniform(least, most, shape).astype(dtype)
        return self.rng.uniform(low, high, shape).astype(dtype)

    def operand(
        self,
        element: Attribute,
        shape: Sequence[int],
        low: float | None = None,
        high: float | None = None,
    ) -> SSAValue:
        """
        Returns a value of a type: one that exists, an argument, a constant or a splat. All its
        elements lie in a range, if one is given.
        """
        t, kind = with_shape(element, shape), self.int(OLD_VALUE, NEW_SPLAT)
        if kind == OLD_VALUE:
            found = [v for v in self.values if v.type == t and self._within(v, low, high)]
            if found:
                return found[-1 - self.int(0, len(found) - 1)]
        array = self.numbers(element, shape, low, high)
        if kind == NEW_SPLAT and not isinstance(element, QuantizedType) and array.size:
            exact = array.dtype.kind in "iub"
            number = array.flat[0].item() if exact else float(array.flat[0])
            if not (exact and number >= 2**63):
                node = SplatOp.of(result_types=[t], value=number)
                self.block.add_op(node)
                return self.add(node.result, [splat_array(node)] * (1 + RUNS))
        if kind == NEW_CONSTANT:
            return self.constant(array, element)
        return self.add(self.block.insert_arg(t, len(self.block.args)), [array] * (1 + RUNS))

    def constant(self, array: np.ndarray, element: Attribute | None = None) -> SSAValue:
        """Returns a constant with the elements of an array."""
        node = make_constant(array, element=element)
        self.block.add_op(node)
        return self.add(node.result, [array] * (1 + RUNS))

    def _within(self, value: SSAValue, low: float | None, high: float | None) -> bool:
        if low is None or high is None:
            return True
        arrays = [a.astype(np.float64) for a in self.runs[value]]
        return all(bool(((a >= low) & (a <= high)).all()) for a in arrays)

    def some(self, elements: Sequence[Attribute], ranks: Sequence[int] = range(5)) -> SSAValue:
        """Returns a value of one of several element types, and of one of several ranks."""
        if self.int(0, 2) < 2:
            found = [
                v
                for v in self.values
                if len(shape_of(v.type)) in ranks and element_of(v.type) in elements
            ]
            if found:
                return found[-1 - self.int(0, min(len(found), 6) - 1)]
        rank = self.pick([r for r in (2, 3, 1, 4, 0, 5) if r in ranks])
        return self.operand(self.element(elements), self.shape(rank))

    # nodes

    def node(self, node: Node) -> SSAValue:
        """
        Adds a node. Raises Refused if its results are not finite, or depend too much on rounding.
        """
        try:
            runs = self._runs(node)
        except Refused:
            node.erase()
            raise
        self.block.add_op(node)
        return self.add(node.results[0], runs)

    def _runs(self, node: Node) -> list[np.ndarray]:
        """Returns the result of a node in all runs. Raises Refused as `node` does."""
        if prod(shape_of(node.results[0].type)) > 4 * MOST_ELEMENTS:
            raise Refused("too large")
        runs: list[np.ndarray] = []
        inside = not isinstance(node, DataParallel) and self._rounds_inside(node)
        rounds = inside
        for run in range(1 + RUNS):
            arrays = [self.runs[o][run] for o in node.operands]
            if run and inside:
                arrays = [_moved(a, run - 1, self.rng) for a in arrays]
            (array,) = evaluate(node.call, arrays)
            runs.append(array)
            rounds = rounds or _rounds(array, arrays)
        _expect_stable(runs)
        if rounds:
            runs = [runs[0], *(_moved(a, i, self.rng) for i, a in enumerate(runs[1:]))]
        return runs

    def _rounds_inside(self, node: Node) -> bool:
        """
        Returns whether a node computes floats from several elements. Its own operands do not tell:
        the mean of equal numbers is one of them.
        """
        arrays = [_moved(self.runs[o][0], RUNS, self.rng) for o in node.operands]
        (array,) = evaluate(node.call, arrays)
        return _rounds(array, arrays)

    def step(self, make: Callable[[DrawnGraph], Node]) -> bool:
        """Adds the node that a function makes; returns whether the graph took it."""
        arguments, known = len(self.block.args), len(self.values)
        last = self.block.last_op
        try:
            self.node(make(self))
        except Refused:
            self._remove(arguments, known, last)
            return False
        return True

    def _remove(self, arguments: int, known: int, last: object) -> None:
        for value in self.values[known:]:
            del self.runs[value]
        del self.values[known:]
        while self.block.last_op is not last:
            assert self.block.last_op is not None
            self.block.erase_op(self.block.last_op)
        for argument in self.block.args[arguments:]:
            self.block.erase_arg(argument)

    # the end

    def finish(self) -> FinishedGraph:
        """Returns the graph as a module: values without a use are its results, and some others."""
        made = [v for v in self.values if isinstance(v.owner, Node) and v.owner.operands]
        results = [v for v in made if v.first_use is None][-8:]
        used = [v for v in made if v.first_use is not None]
        if used and self.int(0, 3) == 3:
            results.append(self.pick(used))
        self.block.add_op(func.ReturnOp(*results))
        arguments = list(self.block.args)
        names = [
            ArrayAttr([DictionaryAttr({"glow.name": StringAttr(f"{kind}{i}")}) for i in range(n)])
            for kind, n in (("x", len(arguments)), ("y", len(results)))
        ]
        types = [a.type for a in arguments], [r.type for r in results]
        main = func.FuncOp(
            "main", types, Region(self.block), arg_attrs=names[0], res_attrs=names[1]
        )
        return FinishedGraph(
            ModuleOp([main]),
            [self.runs[a][0] for a in arguments],
            [self.runs[r] for r in results],
        )


class FinishedGraph:
    """A module, arrays for its arguments, and what its results are by several ways to round."""

    def __init__(self, module: ModuleOp, inputs: list[np.ndarray], results: list[list[np.ndarray]]):
        self.module = module
        self.inputs = inputs
        self.wanted = [runs[0] for runs in results]
        self.slack = [_effect(runs) for runs in results]

    def __repr__(self) -> str:
        return str(self.module)


def _effect(runs: Sequence[np.ndarray]) -> float:
    """Returns the largest change of a float from one run to the others."""
    if runs[0].dtype.kind in "iub" or not runs[0].size:
        return 0.0
    first, *others = (a.astype(np.float64) for a in runs)
    return max(float(np.abs(a - first).max()) for a in others)


def _expect_stable(runs: Sequence[np.ndarray]) -> None:
    first = runs[0]
    if not first.size:
        return
    exact = first.dtype.kind in "iub" or first.dtype.itemsize == 1
    if exact:
        if any((a.astype(np.float64) != first.astype(np.float64)).any() for a in runs[1:]):
            raise Refused("integers depend on rounding")
        if first.dtype.kind in "iub":
            return
    wide = [a.astype(np.float64) for a in runs]
    if not all(np.isfinite(a).all() for a in wide) or np.abs(wide[0]).max() > LARGEST:
        raise Refused("not finite")
    if _effect(runs) > STABLE * max(1e-3, float(np.abs(wide[0]).max())):
        raise Refused("depends on rounding")


def _rounds(result: np.ndarray, operands: Sequence[np.ndarray]) -> bool:
    """Returns whether floats are computed, and not only moved."""
    if result.dtype.kind in "iub" or result.dtype.itemsize == 1 or not result.size:
        return False
    same = [o.reshape(-1).astype(np.float64) for o in operands if o.dtype == result.dtype]
    known = np.concatenate([np.zeros(1), *same])
    return not bool(np.isin(result.astype(np.float64), known).all())


def _moved(array: np.ndarray, run: int, rng: np.random.Generator) -> np.ndarray:
    """Returns floats some units up, in the next run down, in all others either."""
    if array.dtype.kind in "iub" or array.dtype.itemsize == 1:
        return array
    if run < 2:
        ends = np.full(array.shape, np.inf if run else -np.inf)
    else:
        ends = np.where(rng.integers(0, 2, array.shape), np.inf, -np.inf)
    for _ in range(UNITS):
        array = np.nextafter(array, ends.astype(array.dtype))
    return array
