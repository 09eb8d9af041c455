"""
The nodes of a graph that compute each image of a batch by itself.

Of operators that are stated as a formula, the formula tells. The operators in the first rule below
pay where images are computed in groups (`tile_batch.py`); a loop over the images
(`loop_batch.py`) takes all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from ...glow_dialects.formula.facts import divides
from ...glow_dialects.glow import NODES
from ...glow_dialects.glow.base import DataParallel, Node
from ...glow_dialects.glow.constant import SplatOp
from ...glow_dialects.glow.convolution import ConvolutionOp
from ...glow_dialects.glow.generic import GenericOp
from ...glow_dialects.glow.indexing import IntLookupTableOp
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
    LaneSumConvolutionOp,
    PackChannelsOp,
    UnpackChannelsOp,
)
from ...glow_dialects.glow_cpu.dot import DotConvolutionOp
from ...glow_dialects.glow_cpu.winograd import DotWinogradConvolutionOp, WinogradConvolutionOp
from ...glow_dialects.operator import element_of, shape_of, with_shape
from ...glow_dialects.python_values import to_attribute
from ...table import Table
from .rewriting import ignores_places

N = TypeVar("N", bound=Node)
Rule: TypeAlias = "Callable[[Graph, N], bool]"
_RULES: Table[type[Node], Rule[Any]] = Table("a rule for images")


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
    *(BlockedConvolutionOp, BlockedDepthwiseConvolutionOp, LaneSumConvolutionOp),
    *(LocalResponseNormOp, SoftmaxOp, TransposeOp, PadOp, IntLookupTableOp),
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
    return ignores_places(node) and all(graph.has_images(v) for v in node.operands)


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


def _with_batch(value: SSAValue, count: int) -> TensorType:
    return with_shape(element_of(value.type), [count, *shape_of(value.type)[1:]])


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
