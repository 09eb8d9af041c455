"""
The number of steps of a loop that counts.

Exporters of TensorFlow write recurrent layers as loops without a trip count, whose condition
compares a counter with a number. What decides the condition is computed here for one step after the
other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import BlockArgument, SSAValue

from ...glow_dialects.glow.base import Node
from ...semantics import evaluate
from .bodies import ConvertedBody
from .builder import FOLD_ELEMENTS, known_array, size

MOST_EVALUATIONS = 2**16
"""Nodes that are evaluated, in all steps together, before the number counts as unknown."""


def known_steps(body: ConvertedBody, states: Sequence[SSAValue]) -> int | None:
    """
    Returns the number of steps of a loop whose first condition is true.

    `body` has the number of the step and the states as arguments; its results are the condition,
    the next states, and others. `states` are those before the first step. The number is unknown,
    which is None, if the condition depends on more than constants, or if the loop is too long.
    """
    nodes, deciding = _slice(body)
    first = {arg: known_array(states[arg.index - 1]) for arg in deciding if arg.index}
    if nodes is None or any(array is None for array in first.values()):
        return None
    values: dict[SSAValue, np.ndarray] = {k: a for k, a in first.items() if a is not None}
    for step in range(MOST_EVALUATIONS // max(1, len(nodes))):
        values |= {arg: np.array(step, np.int64) for arg in deciding if not arg.index}
        for node in nodes:
            operands = [_value(v, values) for v in node.operands]
            values[node.results[0]] = evaluate(node.call, operands)[0]
        if not _value(body.results[0], values).any():
            return step + 1
        values |= {arg: _value(body.results[arg.index], values) for arg in first}
    return None


def _value(value: SSAValue, values: dict[SSAValue, np.ndarray]) -> np.ndarray:
    found = values.get(value)
    if found is None:
        found = known_array(value)
        assert found is not None
        values[value] = found
    return found


def _slice(body: ConvertedBody) -> tuple[list[Node] | None, list[BlockArgument]]:
    """
    Returns the nodes that the condition depends on, in their order, and the arguments. There are no
    nodes if it depends on something that is not small, has a region, or is unknown.
    """
    nodes: set[Node] = set()
    arguments: dict[BlockArgument, None] = {}
    pending = [body.results[0]]
    while pending:
        value = pending.pop()
        if known_array(value) is not None:
            continue
        if isinstance(value, BlockArgument) and value.block is body.block:
            if value not in arguments:
                arguments[value] = None
                pending += [body.results[value.index]] if value.index else []
            continue
        node = value.owner
        if not isinstance(node, Node) or node.parent_block() is not body.block:
            return None, []
        if node.regions or len(node.results) != 1 or size(value) > FOLD_ELEMENTS:
            return None, []
        if node not in nodes:
            nodes.add(node)
            pending += node.operands
    return [op for op in body.block.ops if isinstance(op, Node) and op in nodes], [*arguments]
