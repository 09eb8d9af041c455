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

Nodes qualify that compute each image by itself. Of operators that are stated as a formula, the
formula tells, if they are in the first rule below; those that are not do not pay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, BlockArgument, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from ...errors import CompileError
from ...glow_dialects.elements import type_bytes
from ...glow_dialects.formula.facts import divides
from ...glow_dialects.glow import NODES
from ...glow_dialects.glow.base import DataParallel, Node
from ...glow_dialects.glow.constant import SplatOp
from ...glow_dialects.glow.control import WithBodies
from ...glow_dialects.glow.convolution import ConvolutionOp
from ...glow_dialects.glow.generic import GenericOp
from ...glow_dialects.glow.machine import machine_of
from ...glow_dialects.glow.normalization import LocalResponseNormOp, SoftmaxOp
from ...glow_dialects.glow.pooling import AvgPoolOp, MaxPoolOp
from ...glow_dialects.glow.reduction import (
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceSumOp,
)
from ...glow_dialects.glow.shape import (
    BroadcastOp,
    ConcatOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from ...glow_dialects.glow.structured import Structured
from ...glow_dialects.glow_cpu.blocked import (
    BlockedAvgPoolOp,
    BlockedConvolutionOp,
    BlockedDepthwiseConvolutionOp,
    BlockedMaxPoolOp,
    PackChannelsOp,
    UnpackChannelsOp,
)
from ...glow_dialects.glow_cpu.dot import DotConvolutionOp
from ...glow_dialects.glow_cpu.winograd import DotWinogradConvolutionOp, WinogradConvolutionOp
from ...glow_dialects.operator import element_of, shape_of, with_shape
from ...glow_dialects.python_values import to_attribute
from ...table import Table
from ..levels import GRAPH
from ..visited_operation import each
from .rewriting import erase_if_dead

N = TypeVar("N", bound=Node)
Rule: TypeAlias = "Callable[[Graph, N], bool]"
_RULES: Table[type[Node], Rule[Any]] = Table("a rule for images")
_VIEWS = (ReshapeOp, SliceOp, BroadcastOp)
_MOST_GROUPS = 16


def rule(*operators: type[N]) -> Callable[[Rule[N]], Rule[N]]:
    """
    Registers whether a node, one of whose operands has images, computes each image by
    itself.
    """
    return _RULES.entry(*operators)


@dataclass
class Graph:
    """
    The values whose dimension 0 is the batch, or has the same number of rows for each image, one
    image after the other.
    """

    batch: int
    images: set[SSAValue] = field(default_factory=set)
    """Computed from the images."""
    same: set[SSAValue] = field(default_factory=set)
    """The same for all images."""
    everything: bool = False
    """
    Whether what does not pay qualifies, too: any operator with a formula, and several rows for each
    image.
    """

    def rows(self, value: SSAValue) -> int:
        """Returns the rows of dimension 0 for each image; 0 if they are no whole number."""
        size = shape_of(value.type)[:1]
        if size == (self.batch,):
            return 1
        several = self.everything and size and size[0] % self.batch == 0
        return size[0] // self.batch if several else 0

    def visit(self, node: Node) -> bool:
        """Visits a node. Returns False if it does not compute each image by itself."""
        has_batch = self.rows(node.results[0]) > 0
        if not any(v in self.images for v in node.operands):
            if has_batch and _repeats(node):
                self.same.add(node.results[0])
            return True
        holds: Rule[Any] | None = _RULES.get(type(node))
        if holds is None and self.everything:
            holds = _has_dividing_formula
        if holds is None or not has_batch or not self._keeps_rows(node) or not holds(self, node):
            return False
        self.images.add(node.results[0])
        return True

    def _keeps_rows(self, node: Node) -> bool:
        """Returns whether the result has as many rows for each image as the operands."""
        if isinstance(node, ReshapeOp):
            return True
        rows = self.rows(node.results[0])
        return all(self.rows(v) == rows for v in node.operands if v in self.images)

    def has_images(self, value: SSAValue) -> bool:
        return value in self.images or value in self.same

    def in_groups(self, node: Node, value: SSAValue) -> bool:
        """
        Returns whether a node reads an operand for a group of images; it does not read a bias so.
        """
        return value in self.images or (
            value in self.same and isinstance(node, DataParallel | ConcatOp)
        )


def _repeats(node: Node) -> bool:
    """Returns whether a node on constants gives the same for each index of dimension 0."""
    if isinstance(node, SplatOp):
        return True
    if not isinstance(node, BroadcastOp):
        return False
    source, target = shape_of(node.input.type), shape_of(node.result.type)
    return len(source) < len(target) or source[0] == 1


@rule(
    *(ConvolutionOp, MaxPoolOp, AvgPoolOp, BlockedMaxPoolOp, BlockedAvgPoolOp, GenericOp),
    *(BlockedConvolutionOp, BlockedDepthwiseConvolutionOp),
    *(LocalResponseNormOp, SoftmaxOp, TransposeOp, PadOp),
    *(ReduceSumOp, ReduceMeanOp, ReduceMaxOp, ReduceMinOp),
)
def _by_formula(graph: Graph, node: Structured) -> bool:
    return _divides(graph, node)


def _has_dividing_formula(graph: Graph, node: Node) -> bool:
    return isinstance(node, Structured) and _divides(graph, node)


def _divides(graph: Graph, node: Structured) -> bool:
    """
    Decides by the formula. A formula with the number of images in it holds for that number only.
    """
    images = {i for i, v in enumerate(node.operands) if v in graph.images}
    if not divides(node.statement(node.call), images):
        return False
    return not isinstance(node, GenericOp) or _holds_for_one(graph, node, images)


def _holds_for_one(graph: Graph, node: GenericOp, images: AbstractSet[int]) -> bool:
    rows = graph.rows(node.result)
    types = [_with_batch(v, rows) if i in images else v.type for i, v in enumerate(node.operands)]
    try:
        return node.result_type(types, node.properties) == _with_batch(node.result, rows)
    except VerifyException:
        return False


@rule(
    *(DotConvolutionOp, DotWinogradConvolutionOp, WinogradConvolutionOp),
    *(PackChannelsOp, UnpackChannelsOp),
)
def _by_image(graph: Graph, node: Node) -> bool:
    return not any(v in graph.images for v in node.operands[1:])


@rule(*[node for node in NODES if issubclass(node, DataParallel)])
def _by_element(graph: Graph, node: DataParallel) -> bool:
    return all(graph.has_images(v) for v in node.operands)


@rule(ConcatOp)
def _concat(graph: Graph, node: ConcatOp) -> bool:
    return node.axis.value.data != 0 and all(graph.has_images(v) for v in node.operands)


@rule(ReshapeOp)
def _reshape(graph: Graph, node: ReshapeOp) -> bool:
    """Accepts a reshape that keeps the elements of each image together."""
    return graph.rows(node.input) > 0


@rule(SliceOp)
def _slice(graph: Graph, node: SliceOp) -> bool:
    """Accepts a slice with all images, which begins with the first one."""
    return node.call.ints("strides")[0] == 1


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
    stay within `cache` bytes. The number is below 0 if the node has more weights than that.
    """
    if isinstance(node, _VIEWS):
        return 0
    operands = set(node.operands)
    read = [v for v in operands if v in graph.images]
    images = sum(_bytes(v) for v in (*read, *node.results))
    weights = sum(_bytes(v) for v in operands if not graph.has_images(v))
    saved = 0
    if images * groups.each // graph.batch <= cache < images + weights:
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


def _with_batch(value: SSAValue, count: int) -> TensorType:
    return with_shape(element_of(value.type), [count, *shape_of(value.type)[1:]])


def _part(value: SSAValue, first: int, count: int) -> SliceOp:
    """Returns some images of an argument."""
    shape = shape_of(value.type)
    rest = [0] * (len(shape) - 1)
    strides = [1] * len(shape)
    node = SliceOp.of(value, starts=[first, *rest], sizes=[count, *shape[1:]], strides=strides)
    node.results[0].name_hint = value.name_hint
    return node


def for_images(graph: Graph, node: Node, operands: Sequence[SSAValue], count: int) -> Node:
    """Returns the node for `count` images."""
    properties, result = dict(node.properties), node.results[0]
    size = count * graph.rows(result)
    if isinstance(node, SliceOp):
        _, *rest = node.call.ints("sizes")
        properties["sizes"] = to_attribute([size, *rest])
    made = type(node).create(
        operands=operands, result_types=[_with_batch(result, size)], properties=properties
    )
    made.location = node.location
    made.results[0].name_hint = result.name_hint
    return made


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


def batch_of(function: func.FuncOp) -> int | None:
    """
    Returns the size of dimension 0 of all arguments, if it is the same number and above 1.
    """
    shapes = [shape_of(t) for t in function.function_type.inputs if isinstance(t, TensorType)]
    sizes = {shape[:1] for shape in shapes}
    if len(shapes) != len(function.function_type.inputs) or len(sizes) != 1:
        return None
    size = sizes.pop()
    return size[0] if size and isinstance(size[0], int) and size[0] > 1 else None


@dataclass(frozen=True)
class TileBatchPass(ModulePass):
    """Compute the first nodes of graphs for a few images of a batch at a time, where that pays."""

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
