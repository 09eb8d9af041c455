"""
Takes a batch through the first nodes of a graph a few images at a time.

The result of a node for one image may still be in a core's cache when the next node reads it; the
result for a whole batch is not. So the nodes up to some place in their order are computed for the
first images, then for the next ones, and the results are put together where later nodes use them.
Weights are read once for each group of images instead of once, so it does not pay where these are
larger than what images would otherwise move: the place is the one at which most bytes are saved.
Networks for images begin with few weights and large images, and end the other way round.

Each group has code of its own, so there are not more than a few: large batches, which may be the
rows of a matrix, come in groups of more images, if so many still fit into the cache.

Nodes qualify that compute each image by itself (`images.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, BlockArgument, SSAValue
from xdsl.passes import ModulePass

from ...errors import CompileError
from ...glow_dialects.elements import type_bytes
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.control import WithBodies
from ...glow_dialects.glow.machine import machine_of
from ...glow_dialects.glow.shape import (
    BroadcastOp,
    ConcatOp,
    ReshapeOp,
    SliceOp,
)
from ...glow_dialects.operator import shape_of
from ..levels import GRAPH
from ..visited_operation import each
from .images import Graph, batch_of, for_images
from .rewriting import erase_if_dead

_VIEWS = (ReshapeOp, SliceOp, BroadcastOp)
_MOST_GROUPS = 16


def _bytes(value: SSAValue) -> int:
    return type_bytes(value.type) if isinstance(value.type, TensorType) else 0


@dataclass(frozen=True)
class Groups:
    """A batch in groups."""

    count: int
    images: int
    """The number of images in a group."""
    each: int
    """The number of images of a group that one thread computes."""

    @classmethod
    def of(cls, batch: int, images: int) -> Groups:
        """
        Returns groups of `images` images; of a multiple of that if there would be too many groups.
        """
        each = -(-batch // (images * _MOST_GROUPS))
        return cls(-(-batch // (images * each)), images * each, each)


def saved_bytes(graph: Graph, node: Node, groups: Groups, cache: int) -> int:
    """
    Returns the bytes that a node saves if images come in `groups`: its operands and results then
    stay within `cache` bytes of a core, which those of a thread's part of the batch do not. The
    number is below 0 if the node has more weights than that.
    """
    if isinstance(node, _VIEWS):
        return 0
    operands = set(node.operands)
    read = [v for v in operands if v in graph.images]
    images = sum(_bytes(v) for v in (*read, *node.results))
    weights = sum(_bytes(v) for v in operands if not graph.has_images(v))
    saved, of_thread = 0, images * groups.each // groups.images
    if images * groups.each // graph.batch <= cache < of_thread + weights:
        saved = sum(_bytes(v) for v in read if not isinstance(v, BlockArgument))
        saved += sum(_bytes(v) for v in node.results)
    return saved - weights * (groups.count - 1)


def best_place(graph: Graph, nodes: Sequence[Node], groups: Groups, cache: int) -> int:
    """
    Returns the number of nodes to compute for a group of images at a time: none, or two and more.
    """
    total = best = place = computed = 0
    for number, node in enumerate(each(nodes)):
        if not graph.visit(node):
            break
        if node.results[0] in graph.images:
            total += saved_bytes(graph, node, groups, cache)
            computed += not isinstance(node, _VIEWS)
        if total > best and computed > 1:
            best, place = total, number + 1
    return place


def _part(value: SSAValue, first: int, count: int) -> SliceOp:
    """Returns some images of an argument."""
    shape = shape_of(value.type)
    rest = [0] * (len(shape) - 1)
    node = SliceOp.of(value, starts=[first, *rest], sizes=[count, *shape[1:]])
    node.results[0].name_hint = value.name_hint
    return node


def split(block: Block, batch: int, images: int, cache: int) -> None:
    """
    Computes the first nodes of a graph for `images` of the `batch` at a time, or a multiple, if
    that pays.
    """
    ops = list(block.ops)
    # a branch or loop may use all that stands before it
    control = next((op for op in ops if isinstance(op, WithBodies)), None)
    nodes = [op for op in ops[: ops.index(control) if control else None] if isinstance(op, Node)]
    graph = Graph(batch, set(block.args))
    groups = Groups.of(batch, images)
    place = best_place(graph, nodes, groups, cache)
    if not place:
        return
    # only nodes before that place count from now on
    first = nodes[:place]
    moved = [n for n in first if n.results[0] in graph.images]
    again = [n for n in first if n.results[0] in graph.same]
    before = nodes[place] if place < len(nodes) else control or block.last_op
    assert before is not None
    parts: dict[SSAValue, list[SSAValue]] = {n.results[0]: [] for n in moved}
    same: dict[int, dict[SSAValue, SSAValue]] = {}
    for start in range(0, batch, groups.images):
        count = min(groups.images, batch - start)
        if count not in same:
            same[count] = {}
            for node in each(again):
                made = for_images(graph, node, node.operands, count)
                block.insert_op_before(made, before)
                same[count][node.results[0]] = made.results[0]
        known = dict(same[count])
        for argument in block.args:
            made = _part(argument, start, count)
            block.insert_op_before(made, before)
            known[argument] = made.results[0]
        for node in each(moved):
            operands = [known[v] if graph.in_groups(node, v) else v for v in node.operands]
            made = for_images(graph, node, operands, count)
            block.insert_op_before(made, before)
            known[node.results[0]] = made.results[0]
            parts[node.results[0]].append(made.results[0])
    _join(block, moved, parts)
    for node in reversed(moved):
        node.detach()
        node.erase()
    erase_if_dead([n.results[0] for n in again])


def _join(block: Block, moved: Sequence[Node], parts: dict[SSAValue, list[SSAValue]]) -> None:
    """Puts the images together where later nodes use them."""
    inside = set(moved)
    for node in each(moved):
        value = node.results[0]
        later = [use for use in value.uses if use.operation not in inside]
        if not later:
            continue
        whole = ConcatOp.of(*parts[value], axis=0)
        whole.results[0].name_hint = value.name_hint
        last = parts[value][-1].owner
        assert isinstance(last, Node)
        block.insert_op_after(whole, last)
        for use in later:
            use.operation.operands[use.index] = whole.results[0]


@dataclass(frozen=True)
class TileBatchPass(ModulePass):
    """Computes the first nodes of graphs for a few images of a batch at a time, where that pays."""

    name = "glow-tile-batch"
    level = GRAPH

    images: int = 1
    """
    The number of images at a time: the number of threads, or a multiple of it for large batches.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.images < 1:
            raise CompileError(f"expected images of at least 1, found {self.images}")
        cache = machine_of(op).l2_bytes
        for function in each(op.ops):
            if not isinstance(function, func.FuncOp) or len(function.body.blocks) != 1:
                continue
            batch = batch_of(function)
            if batch is not None and batch > self.images:
                split(function.body.block, batch, self.images, cache)
