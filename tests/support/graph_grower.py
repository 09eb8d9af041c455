"""The construction of random graphs: choices, nodes with bounds, and the finished module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from glow.glow_dialects.elements import is_float
from glow.glow_dialects.glow import Node, arithmetic
from glow.glow_dialects.glow.constant import SplatOp
from glow.glow_dialects.glow.shape import (
    BroadcastOp,
    ReshapeOp,
)
from glow.glow_dialects.operator import element_of, shape_of, with_shape
from glow.semantics.arrays import make_constant, numpy_dtype
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    i32,
)
from xdsl.ir import Attribute, Block, Region, SSAValue

LARGEST = 200.0
MOST_ELEMENTS = 2000
INPUT_BOUND = 3.0

Step = Callable[["Grower"], object]
STEPS: list[Step] = []


def step(function: Step) -> Step:
    STEPS.append(function)
    return function


class Refused(Exception):
    """A step found no operands that suit it."""


class Grower:
    """A graph under construction."""

    def __init__(self, seed: int, floats: Sequence[Attribute]):
        self.rng = np.random.default_rng(seed)
        self.floats = floats
        shapes = [(1, 6, 5, 7), (2, 4, 3), (3, 5), self.shape(4)]
        types: list[Attribute] = [TensorType(self.float(), s) for s in shapes]
        types.append(TensorType(i32, (3, 5)))
        self.block = Block(arg_types=types)
        self.values: list[SSAValue] = list(self.block.args)
        self.bounds: dict[SSAValue, float] = dict.fromkeys(self.values, INPUT_BOUND)

    # choices

    def float(self) -> Attribute:
        return self.floats[int(self.rng.integers(len(self.floats)))]

    def int(self, low: int, high: int) -> int:
        """Returns a number from `low` to `high`, both included."""
        return int(self.rng.integers(low, high + 1))

    def flip(self) -> bool:
        return bool(self.rng.integers(2))

    def shape(self, rank: int) -> tuple[int, ...]:
        return tuple(self.int(1, 6) for _ in range(rank))

    def pick(self, suits: Callable[[SSAValue], bool]) -> SSAValue:
        """Returns a value that suits, more likely a recent one."""
        found = [v for v in self.values if suits(v)]
        if not found:
            raise Refused
        age = min(int(self.rng.geometric(0.3)) - 1, len(found) - 1)
        return found[-1 - age]

    def floating(self, ranks: Sequence[int] = range(9), bound: float = LARGEST) -> SSAValue:
        def suits(v: SSAValue) -> bool:
            shape = shape_of(v.type)
            fits = len(shape) in ranks and 0 < prod(shape) <= MOST_ELEMENTS
            return fits and is_float(element_of(v.type)) and self.bounds[v] <= bound

        return self.pick(suits)

    def partner(self, value: SSAValue) -> SSAValue:
        """
        Returns another value of the same type: one that exists, a constant, a splat or a broadcast.
        """
        kind = self.int(0, 4)
        if kind == 0:
            return self.constant(shape_of(value.type), element_of(value.type))
        if kind == 1:
            return self.splat(self.rng.choice([0.0, 1.0, 2.0, 0.37, -1.5]), value.type)
        if kind == 2:
            return self.channels(value)
        return self.pick(lambda v: v.type == value.type)

    # nodes

    def emit(self, node: Node, bound: float) -> SSAValue:
        self.block.add_op(node)
        (result,) = node.results
        self.values.append(result)
        self.bounds[result] = bound
        return result

    def node(
        self, kind: type[Node], *operands: SSAValue, bound: float | None = None, **properties
    ) -> SSAValue:
        largest = max(self.bounds[o] for o in operands)
        bound = largest if bound is None else bound
        if bound > LARGEST:
            raise Refused
        return self.emit(kind.of(*operands, **properties), bound)

    def constant(self, shape: Sequence[int], element: Attribute, scale: float = 1.0) -> SSAValue:
        array = np.clip(self.rng.standard_normal(tuple(shape)), -3, 3) * scale
        return self.array(array.astype(numpy_dtype(element)))

    def array(self, array: np.ndarray) -> SSAValue:
        largest = float(np.abs(array.astype(np.float64)).max(initial=0))
        return self.emit(make_constant(array), largest)

    def splat(self, value: float, type: Attribute) -> SSAValue:
        return self.emit(SplatOp.of(result_types=[type], value=float(value)), abs(value))

    def reshape(self, x: SSAValue, shape: Sequence[int]) -> SSAValue:
        return self.node(ReshapeOp, x, result_types=[with_shape(element_of(x.type), shape)])

    def broadcast(self, x: SSAValue, shape: Sequence[int]) -> SSAValue:
        return self.node(BroadcastOp, x, result_types=[with_shape(element_of(x.type), shape)])

    def channels(self, like: SSAValue) -> SSAValue:
        """
        Returns a constant with one number for each index of dimension 1, broadcast to `like`'s
        type.
        """
        shape = shape_of(like.type)
        if len(shape) < 2:
            return self.constant(shape, element_of(like.type))
        flat = self.constant([shape[1]], element_of(like.type))
        return self.broadcast(self.reshape(flat, [shape[1]] + [1] * (len(shape) - 2)), shape)

    def positive(self, x: SSAValue) -> SSAValue:
        """Returns `|x| + 0.5`."""
        absolute = self.node(arithmetic.AbsOp, x)
        half = self.splat(0.5, x.type)
        return self.node(arithmetic.AddOp, absolute, half, bound=self.bounds[x] + 0.5)

    def permutation(self, rank: int) -> list[int]:
        return [int(p) for p in self.rng.permutation(rank)]

    # the end

    def finish(self) -> ModuleOp:
        results = [
            v
            for v in self.values
            if v.first_use is None and not isinstance(v.owner, Block | SplatOp)
        ][-8:] or self.values[-1:]
        self.block.add_op(func.ReturnOp(*results))
        names = [
            ArrayAttr([DictionaryAttr({"glow.name": StringAttr(f"{kind}{i}")}) for i in range(n)])
            for kind, n in (("x", len(self.block.args)), ("y", len(results)))
        ]
        function = func.FuncOp(
            "main",
            ([a.type for a in self.block.args], [r.type for r in results]),
            Region(self.block),
            arg_attrs=names[0],
            res_attrs=names[1],
        )
        return ModuleOp([function])
