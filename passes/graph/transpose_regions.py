"""
Orders of dimensions for the values between transposes.

Networks for channels-last layouts have each convolution between two transposes. Where the values
between convolutions have several users, as in residual networks, no transpose can move below one of
these alone, because the others need it. So the values are looked at together: each node between
transposes by `p` computes its result either as it is, or before the transpose by `p`. Where one
node needs what another has in the other order, and for each transpose that stays, the bytes
that are moved are the cost. The choice of least cost is a minimum cut (Greig, Porteous and Seheult
1989).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...glow_dialects.elements import element_bytes
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.shape import BroadcastOp, TransposeOp
from ...glow_dialects.glow.structured import Structured
from ...glow_dialects.operator import element_of, shape_of
from .minimum_cut import CutGraph
from .permutations import Permutation, compose, inverse, is_identity, moves_only_ones, permuted
from .reordering import (
    can_reorder,
    can_untranspose,
    moved_properties,
    permutation_of,
    reorderings,
    transpose,
    untransposed,
)
from .rewriting import Build, check_type, is_constant, replace_node, tensor_nodes

_Label: TypeAlias = "SSAValue | str | tuple[SSAValue, str]"
_MOVED, _AS_IS = "moved", "as it is"
_NEVER = 1 << 62
"""A cost beyond all others."""


def reorder_regions(module: ModuleOp) -> None:
    """Computes nodes between transposes in the orders in which fewest bytes are moved."""
    found: dict[tuple[Block, Permutation], None] = {}
    for node in tensor_nodes(module):
        if isinstance(node, TransposeOp) and not is_constant(node.input) and node.parent:
            found[node.parent, permutation_of(node)] = None
    for block, p in found:
        _Region(block, p).move()


@dataclass(frozen=True)
class _Move:
    """The change of a node that computes its result before a transpose."""

    operands: Sequence[int]
    """The numbers of the operands that it reads before a transpose, too."""
    properties: Mapping[str, Attribute]


class _Region:
    """The values of a block that could be moved by `p`, and the nodes that make them."""

    def __init__(self, block: Block, p: Permutation):
        self.p = p
        self.values: set[SSAValue] = set()
        self.transposes: list[TransposeOp] = []
        self.moves: dict[Node, _Move] = {}
        """The nodes that can compute moved results."""
        self.readers: set[Operation] = set()
        """The nodes that have the same result of a moved operand."""
        for op in block.ops:
            if isinstance(op, TransposeOp):
                self._add_transpose(op)
            elif isinstance(op, Node) and len(op.results) == 1:
                move = self._move_of(op)
                if move is not None:
                    self.moves[op] = move
                    self.values.add(op.results[0])

    def _add_transpose(self, op: TransposeOp) -> None:
        is_after = op.input in self.values  # it reads what may be moved
        if permutation_of(op) == self.p and not is_after and not is_constant(op.input):
            self.transposes.append(op)
            self.values.add(op.result)

    def _move_of(self, node: Node) -> _Move | None:
        read = [i for i, o in enumerate(node.operands) if o in self.values]
        if not read:
            return None
        if (alike := moved_properties(node, self.p)) is not None:
            return _Move(range(len(node.operands)), alike)
        if len(read) == 1 and isinstance(node, Structured) and can_reorder(type(node)):
            for properties, order in reorderings(node, {read[0]: self.p}):
                if order == self.p:
                    return _Move(read, properties)
                if is_identity(order):
                    self.readers.add(node)
        return None

    def move(self) -> None:
        """Moves the values by which the fewest bytes are transposed, if that saves any."""
        if not self.moves:
            return
        graph = CutGraph[_Label](_MOVED, _AS_IS)
        now = self._add_savings(graph)
        for value in self.values:
            self._add_uses(graph, value)
        for node, move in self.moves.items():
            for operand in self._others(node, move):
                graph.add(node.results[0], _AS_IS, self._cost(operand))
        cost, moved = graph.cut()
        if cost < now:
            for node, move in self.moves.items():
                if node.results[0] in moved:
                    self._replace(node, move)

    def _add_savings(self, graph: CutGraph[_Label]) -> int:
        """Adds the costs of transposes that vanish next to moved values; returns their sum."""
        saved: list[SSAValue] = [op.result for op in self.transposes]
        for value in self.values:
            for use in value.uses:
                if isinstance(use.operation, TransposeOp) and self._cancels(use.operation):
                    saved.append(value)
        for value in saved:
            graph.add(_MOVED, value, self._cost(value))
        return sum(map(self._cost, saved))

    def _cancels(self, after: TransposeOp) -> bool:
        return is_identity(compose(self.p, permutation_of(after)))

    def _add_uses(self, graph: CutGraph[_Label], value: SSAValue) -> None:
        """Adds the costs of one transpose of a value for users in the other order."""
        as_is, moved = (value, _AS_IS), (value, _MOVED)
        graph.add(value, as_is, self._cost(value))
        graph.add(moved, value, self._cost(value))
        for user in {use.operation for use in value.uses}:
            if isinstance(user, Node) and user in self.moves:
                graph.add(as_is, user.results[0], _NEVER)
                graph.add(user.results[0], moved, _NEVER)
            elif not isinstance(user, TransposeOp) and user not in self.readers:
                graph.add(as_is, _AS_IS, _NEVER)

    def _others(self, node: Node, move: _Move) -> Iterator[SSAValue]:
        """Yields the operands that are transposed if a node is moved, and only then."""
        for operand in (node.operands[i] for i in move.operands):
            if operand not in self.values and not can_untranspose(operand, self.p):
                yield operand.owner.input if isinstance(operand.owner, BroadcastOp) else operand

    def _cost(self, value: SSAValue) -> int:
        """Returns the bytes that a transpose of a value moves; of symbolic sizes, the least."""
        shape = shape_of(value.type)
        if len(shape) == len(self.p) and moves_only_ones(self.p, permuted(shape, inverse(self.p))):
            return 0
        sizes = (s if isinstance(s, int) else max(1, s.interval[0]) for s in shape)
        return prod(sizes) * element_bytes(element_of(value.type))

    def _replace(self, node: Node, move: _Move) -> None:
        """Replaces a node by one with a moved result, and a transpose."""
        build, operands = Build(), list(node.operands)
        for i in move.operands:
            operands[i] = untransposed(build, operands[i], self.p)
        made = build.like(node, *operands, **move.properties)  # pyright: ignore[reportArgumentType]
        value = transpose(build, made, self.p)
        check_type(node, value)
        replace_node(node, build.ops, value)
