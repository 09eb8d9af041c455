"""
Random graphs for tests of partitioning: many small nodes, of which each depends on arguments.

Some are in quantized form: real numbers between conversions, where conversions of one tensor serve
several nodes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from glow.glow_dialects.glow import Node, activation, arithmetic
from glow.glow_dialects.glow.matrix import FullyConnectedOp
from glow.glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from glow.glow_dialects.glow.shape import ConcatOp, SliceOp
from glow.glow_dialects.operator import element_of, shape_of, with_shape
from glow.glow_dialects.quant import QuantizedType
from glow.semantics.arrays import make_constant
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, f32, i8
from xdsl.ir import Block, Region, SSAValue

STORED = QuantizedType(i8, f32, 2.0**-4)
UNARY = (activation.ReluOp, activation.TanhOp, arithmetic.AbsOp, arithmetic.NegOp)
BINARY = (arithmetic.MaximumOp, arithmetic.MinimumOp, arithmetic.AddOp)


class Layers:
    """A graph of nodes on rows [1, width], under construction."""

    def __init__(self, seed: int, width: int = 7):
        self.rng = np.random.default_rng(seed)
        self.width = width
        self.count = 0
        self.block = Block(arg_types=[with_shape(f32, (1, width))] * 2)
        self.values: list[SSAValue] = list(self.block.args)
        for i, argument in enumerate(self.block.args):
            argument.name_hint = f"x{i}"

    def add(self, node: Node) -> SSAValue:
        self.block.add_op(node)
        node.results[0].name_hint = f"v{self.count}"
        self.count += 1
        return node.results[0]

    def pick(self) -> SSAValue:
        """Returns a value, more likely a recent one."""
        age = min(int(self.rng.geometric(0.25)), len(self.values))
        return self.values[-age]

    def real(self, value: SSAValue) -> SSAValue:
        """Returns the value as floats: of a quantized one, what all its readers dequantize."""
        if not isinstance(element_of(value.type), QuantizedType):
            return value
        shared = [u.operation for u in value.uses if isinstance(u.operation, DequantizeOp)]
        return shared[0].result if shared else self.add(DequantizeOp.of(value))

    def constant(self, *shape: int) -> SSAValue:
        array = self.rng.uniform(-1, 1, shape).astype(np.float32)
        return self.add(make_constant(array))

    def step(self) -> None:
        kind = int(self.rng.integers(5))
        makers: list[Callable[[SSAValue], SSAValue]]
        makers = [self._unary, self._binary, self._product, self._halves, self._unary]
        result = makers[kind](self.real(self.pick()))
        if self.rng.integers(3) == 0:
            row = with_shape(STORED, shape_of(result.type))
            result = self.add(QuantizeOp.of(result, result_types=[row]))
        self.values.append(result)

    def _unary(self, x: SSAValue) -> SSAValue:
        return self.add(UNARY[int(self.rng.integers(len(UNARY)))].of(x))

    def _binary(self, x: SSAValue) -> SSAValue:
        y = self.real(self.pick())
        bounded = self.add(activation.TanhOp.of(y))
        return self.add(BINARY[int(self.rng.integers(len(BINARY)))].of(x, bounded))

    def _product(self, x: SSAValue) -> SSAValue:
        weights = self.constant(self.width, self.width)
        y = self.add(FullyConnectedOp.of(x, weights, self.constant(self.width)))
        return self.add(activation.TanhOp.of(y))

    def _halves(self, x: SSAValue) -> SSAValue:
        """Returns the row with two parts in another order."""
        at = int(self.rng.integers(1, self.width))
        cuts = ((at, self.width - at), (0, at))
        parts = [
            self.add(SliceOp.of(x, starts=[0, start], sizes=[1, size], strides=[1, 1]))
            for start, size in cuts
        ]
        return self.add(ConcatOp.of(*parts, axis=1))

    def finish(self) -> ModuleOp:
        results = [v for v in self.values if v.first_use is None][-5:] + self.values[:1]
        self.block.add_op(func.ReturnOp(*results))
        types = [a.type for a in self.block.args], [r.type for r in results]
        names = [
            ArrayAttr([DictionaryAttr({"glow.name": StringAttr(f"{k}{i}")}) for i in range(n)])
            for k, n in (("x", len(types[0])), ("y", len(types[1])))
        ]
        main = func.FuncOp(
            "main", types, Region(self.block), arg_attrs=names[0], res_attrs=names[1]
        )
        return ModuleOp([main])


def layered_graph(seed: int, steps: int, width: int = 7) -> ModuleOp:
    """
    Returns a module with one function `main` of about `3 * steps` nodes on f32[1, width], some of
    them between conversions to i8.
    """
    layers = Layers(seed, width)
    for _ in range(steps):
        layers.step()
    return layers.finish()


def layered_inputs(seed: int, width: int = 7) -> dict[str, np.ndarray]:
    """Returns two rows of random numbers."""
    rng = np.random.default_rng(seed)
    return {f"x{i}": rng.standard_normal((1, width)).astype(np.float32) for i in range(2)}
