"""
The number of channels in the blocks of values around integer convolutions.

The block of such a convolution need not be one vector: where a cache line holds more channels, so
may a block. Values that share a layout (those of a chain, the parts of a concatenation) have the
same block: the largest multiple of a vector that divides the channels of all of them, counted in
vectors. So a block is never filled up with vectors of no channel. What float convolutions read or
write keeps blocks of one vector.
"""

from __future__ import annotations

from math import gcd

from xdsl.ir import Block, Operation, SSAValue

from ....glow_dialects.glow.constant import ConstantOp, SplatOp
from ....glow_dialects.glow.convolution import ConvolutionOp
from ....glow_dialects.glow_cpu.blocked import num_blocks
from ....glow_dialects.operator import shape_of
from ...visited_operation import each
from .convolutions import ConvolutionKind, convolution_kind, is_integer
from .elements import works_on_blocks
from .state import CHANNEL, Layouts


class _Classes:
    """
    Classes of values that share a block size. The first value of each class has the facts about it.
    """

    def __init__(self, unit: int):
        self.unit = unit
        self._parents: dict[SSAValue, SSAValue] = {}
        self._vectors: dict[SSAValue, int] = {}
        self._wanted: set[SSAValue] = set()
        self._fixed: set[SSAValue] = set()

    def find(self, value: SSAValue) -> SSAValue:
        while (parent := self._parents.get(value, value)) is not value:
            value = parent
        return value

    def join(self, a: SSAValue, b: SSAValue) -> None:
        self._parents[self.find(a)] = self.find(b)

    def see(self, value: SSAValue, channels: int) -> None:
        """Notes that the blocks of a value together hold that many channels."""
        vectors = num_blocks(channels, self.unit)
        self._vectors[value] = gcd(self._vectors.get(value, 0), vectors)

    def want(self, value: SSAValue) -> None:
        self._wanted.add(value)

    def fix(self, value: SSAValue) -> None:
        self._fixed.add(value)

    def blocks(self, most: int) -> dict[SSAValue, int]:
        """
        Returns the block sizes of the wanted values, and of the values that share a block with
        them.
        """
        wanted, fixed = ({self.find(v) for v in s} for s in (self._wanted, self._fixed))
        vectors: dict[SSAValue, int] = {}
        for value, count in self._vectors.items():
            root = self.find(value)
            vectors[root] = gcd(vectors.get(root, 0), count)
        found: dict[SSAValue, int] = {}
        for value in self._vectors:
            root = self.find(value)
            if root in wanted and root not in fixed:
                sizes = range(1, most // self.unit + 1)
                found[value] = self.unit * max(d for d in sizes if vectors[root] % d == 0)
        return found


def block_sizes(block: Block, layouts: Layouts, most: int) -> dict[SSAValue, int]:
    """
    Returns the channels of blocks, at most `most`, of values for which they are not one vector.
    """
    if most < 2 * layouts.block:
        return {}
    classes = _Classes(layouts.block)
    for op in each(block.ops):
        if isinstance(op, ConvolutionOp):
            _convolution(op, layouts, classes)
        elif works_on_blocks(op, layouts.block):
            _neighbours(op, classes)
    return classes.blocks(most)


def _convolution(node: ConvolutionOp, layouts: Layouts, classes: _Classes) -> None:
    kind = convolution_kind(layouts, node)
    if kind in (None, ConvolutionKind.FEW_OUTPUTS):
        return
    group = node.group.value.data
    for value in (node.input, node.result):
        channels = shape_of(value.type)[CHANNEL]
        classes.see(value, channels // group if kind is ConvolutionKind.GROUPED else channels)
        (classes.want if is_integer(node) else classes.fix)(value)
    if kind.keeps_channels:
        classes.join(node.input, node.result)


def _neighbours(op: Operation, classes: _Classes) -> None:
    """
    Joins the operands and results of an operator on blocked tensors, which get the same blocks.
    """
    (result,) = op.results
    if len(shape_of(result.type)) < 3:
        return
    values = [v for v in op.operands if not isinstance(v.owner, ConstantOp | SplatOp)]
    values = [v for v in values if len(shape_of(v.type)) >= 3]
    for value in (*values, result):
        classes.see(value, shape_of(value.type)[CHANNEL])
        classes.join(value, result)
