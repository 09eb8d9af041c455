"""
Values that depend on constants only and are quicker to read than to compute.

Constant folding leaves a small constant that grows, such as a table of a sum of two vectors, to the
program: elementwise operators compute it on the way, while a large weight has to come from memory.
That is no gain for a table of sines, a row of which takes longer to compute than to read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from ...glow_dialects.elements import element_bytes, num_elements
from ...glow_dialects.glow.base import DataParallel, Node
from ...glow_dialects.glow.constant import ConstantOp
from ...glow_dialects.glow.shape import BroadcastOp
from ...glow_dialects.operator import Call, element_of, shape_of
from ...glow_dialects.scalar import weight_of
from ...glow_dialects.work import operations_of
from ...semantics.arrays import constant_reader, lazy_constant
from ...semantics.registry import evaluate
from .rewriting import is_constant, source_of

OPERATIONS_PER_BYTE = 4
"""Arithmetic operations that a core does in the time that it reads a byte of memory."""
MOST_ELEMENTS = 2**24
"""Elements of the largest value that is kept."""


def costly_constants(nodes: Iterable[Node]) -> Iterator[tuple[Node, ConstantOp]]:
    """
    Yields nodes that only depend on constants and that others use, with constants of the same
    values for those which are quicker to read.

    `nodes` are in program order, have one result each, and may be evaluated.
    """
    computable: dict[Operation | Block, Node] = {}
    for node in nodes:
        if isinstance(node, BroadcastOp) or not node.operands:
            continue
        if all(o.owner in computable or is_constant(o) for o in node.operands):
            computable[node] = node
    for node in computable.values():
        used = any(use.operation not in computable for use in node.results[0].uses)
        if not used or _elements(node) > MOST_ELEMENTS:
            continue
        needed = _needed(node, computable)
        size = _elements(node) * element_bytes(element_of(node.results[0].type))
        if sum(map(_operations, needed)) > OPERATIONS_PER_BYTE * size:
            yield node, _computed(needed)


def _elements(node: Node) -> int:
    return num_elements(shape_of(node.results[0].type))


def _needed(node: Node, computable: dict[Operation | Block, Node]) -> list[Node]:
    """Returns the nodes that a result takes, itself among them, in program order."""
    found: set[Node] = set()
    pending = [node]
    while pending:
        each = pending.pop()
        if each not in found:
            found.add(each)
            pending += [computable[o] for v in each.operands if (o := v.owner) in computable]
    return [each for each in computable.values() if each in found]


def _operations(node: Node) -> int:
    """Returns the operations of a node, as its kernel computes them."""
    call = node.call
    if isinstance(node, DataParallel) and not node.depends_on_place(call):
        return weight_of(node.scalar(call)) * _elements(node)
    return operations_of(call)


def _computed(nodes: Sequence[Node]) -> ConstantOp:
    """Returns the result of the last node as a constant that is computed when it is read."""
    readers: dict[SSAValue, Callable[[], np.ndarray]] = {}
    for value in (v for node in nodes for v in node.operands):
        reader = constant_reader(source_of(value))
        if reader is not None:
            readers[value] = _broadcast(reader, shape_of(value.type))
    places = {value: i for i, value in enumerate(readers)}
    steps: list[tuple[Call, list[int]]] = []
    for i, node in enumerate(nodes):
        steps.append((node.call, [places[v] for v in node.operands]))
        places[node.results[0]] = len(readers) + i
    given = list(readers.values())

    def compute() -> np.ndarray:
        arrays = [read() for read in given]
        for call, operands in steps:
            arrays += evaluate(call, [arrays[i] for i in operands])
        return arrays[-1]

    result = nodes[-1].results[0]
    hint = result.name_hint or "computed"
    return lazy_constant(shape_of(result.type), element_of(result.type), hint, compute)


def _broadcast(read: Callable[[], np.ndarray], shape: Sequence[int]) -> Callable[[], np.ndarray]:
    return lambda: np.broadcast_to(read(), shape)
