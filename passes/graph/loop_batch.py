"""
One program for batches of any size up to a maximum: a loop over the images of the batch.

The graph states the maximum. Its nodes move into the body of a loop that computes one image in
each step, and the number of steps is an input of the program. So the size of a batch may change
with every call. Memory is planned for the maximum of inputs and results, and for the activations of
one image. Products read their weights once for each image: the loop suits networks whose images
have many rows for each weight, such as convolutions, and not perceptrons.

Nodes qualify that compute each image by itself, as `images.py` decides it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from ...errors import CompileError, at_operation
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.control import STEP, LoopOp
from ...glow_dialects.glow.shape import GatherOp
from ...glow_dialects.glow_inst.memory import NAME
from ...glow_dialects.operator import shape_of
from ..levels import GRAPH
from ..visited_operation import each
from .adjoints.control import BodyBuilder
from .images import Graph, batch_of, for_images
from .inputs import with_input
from .rewriting import expect_static, failure


@dataclass(frozen=True)
class LoopBatchPass(ModulePass):
    """
    Computes the images of a batch one after the other in a loop, as many as an input says.

    Dimension 0 of all inputs of `main` is the batch, and its size the largest that there may be.
    Results are 0 behind the last image that is computed. A graph whose batch has one image stays as
    it is.
    """

    name = "glow-loop-batch"
    level = GRAPH

    count: str = "images"
    """The name of the input, an i64, with the number of images to compute."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in each(op.ops):
            if not isinstance(function, func.FuncOp) or function.sym_name.data != "main":
                continue
            expect_static(function)
            batch = batch_of(function) if len(function.body.blocks) == 1 else None
            if batch is not None:
                _loop(function, batch, self.count)


def _loop(function: func.FuncOp, batch: int, name: str) -> None:
    """Moves the nodes of a graph into a loop over the images of the batch."""
    block = function.body.block
    end = block.last_op
    assert end is not None
    nodes, graph = _separate(block, batch)
    results = list(end.operands)
    if together := [v for v in results if v not in graph.images or graph.rows(v) != 1]:
        found = ", ".join(str(v.type) for v in together)
        raise at_operation(
            CompileError(f"expected results with a part for each image, found {found}"), end
        )
    arguments = list(block.args)
    trips = with_input(function, STEP, {NAME: StringAttr(name)})
    body = BodyBuilder([STEP])
    place = body.reshape(body.block.args[0], [1])
    image: dict[SSAValue, SSAValue] = {
        a: body(GatherOp, body.read(a), place, axis=0) for a in arguments
    }
    whole: dict[SSAValue, SSAValue] = {}
    for node in each(nodes):
        if graph.has_images(node.results[0]):
            operands = [(image if graph.in_groups(node, v) else whole)[v] for v in node.operands]
            made = for_images(graph, node, operands, 1)
            body.append(made)
            image[node.results[0]] = made.results[0]
        if node.results[0] not in graph.images:
            copy = node.clone(whole)
            body.append(copy)
            whole |= dict(zip(node.results, copy.results, strict=True))
    rows = [body.reshape(image[v], shape_of(v.type)[1:]) for v in results]
    region = body.finish(rows)
    loop = LoopOp(batch, [], list(body.reads.values()), region, trips)
    block.insert_op_before(loop, end)
    end.operands = loop.stacked
    for node in reversed(nodes):
        node.detach()
        node.erase()


def _separate(block: Block, batch: int) -> tuple[Sequence[Node], Graph]:
    """
    Returns the nodes of a graph, and which of its values have images. Raises CompileError for a
    node that does not compute each image by itself.
    """
    graph = Graph(batch, set(block.args), everything=True)
    nodes: list[Node] = []
    for op in each(list(block.ops)[:-1]):
        if not isinstance(op, Node) or not graph.visit(op) or _has_more(graph, op):
            raise failure(
                op,
                f"expected a node that computes each of the {batch} images by itself: without "
                "this pass, the network is compiled for each size of its batch",
            )
        nodes.append(op)
    return nodes, graph


def _has_more(graph: Graph, node: Node) -> bool:
    """Returns whether a node has images and several results, of which only one is known."""
    return len(node.results) > 1 and node.results[0] in graph.images
