"""
Decomposes the nodes that a backend does not implement into nodes that it does.

Each node that the backend does not keep is replaced by its decomposition, whose nodes are visited
in turn, until only kept nodes remain. A composite operator has a rule in `passes/graph/lowerings/`;
a data-parallel operator is made of the primitives in its scalar expression. Nodes that are neither
kept nor decomposable are collected, so that one error lists all of them.

A decomposition only has simpler nodes than the node it replaces, so this ends after a number of
steps that is linear in the nodes that result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...errors import CompileError
from ...glow_dialects.extents import UndecidedSizeError
from ...glow_dialects.glow.base import DataParallel, Node, short_name
from ...glow_dialects.glow.machine import machine_of
from ...glow_dialects.operator import Call
from ...glow_dialects.operators import OPERATORS
from ...interface.backend import find_backend
from ...wording import counted
from ..levels import GRAPH
from .lowerings import LOWERINGS, lower_data_parallel
from .lowerings.data_parallel import is_primitive
from .rewriting import (
    Build,
    attempt,
    check_type,
    erase_if_dead,
    failure,
    has_symbols,
    replace_node,
    tensor_nodes,
)

Keeps: TypeAlias = Callable[[Call], bool]

NO_BACKEND = "none"
"""The name of no backend: keep exactly the nodes that cannot be decomposed."""

LISTED = 10
"""The number of nodes of one operator that an error names."""


def is_composite(operator: type[Node]) -> bool:
    """Returns whether there is a decomposition of an operator."""
    if issubclass(operator, DataParallel) and not LOWERINGS.get(operator):
        return not is_primitive(operator)
    return bool(LOWERINGS.get(operator))


def decompose(node: Node, build: Build) -> SSAValue | None:
    """Returns the value of `node` in other nodes; None if there is no decomposition."""
    if isinstance(node, DataParallel) and not node.depends_on_place(node.call):
        return lower_data_parallel(node, build)
    rules = LOWERINGS.get(type(node))
    return rules[0](node, build) if rules else None


def lower_nodes(module: ModuleOp, keeps: Keeps) -> None:
    """
    Decomposes every node for which `keeps(node.call)` is false, and the nodes of its decomposition.

    Raises CompileError that lists all nodes that are neither kept nor decomposable.
    """
    stuck: list[Node] = []
    for root in tensor_nodes(module):
        pending: list[Node] = [root]
        while pending:
            node = pending.pop()
            if node.parent is None or _stays(node, keeps):
                continue
            build = Build()
            value = attempt(decompose, node, build)
            if value is None and has_symbols(node):
                continue  # perhaps it can be told when the symbols are bound
            if value is None:
                stuck.append(node)
                continue
            check_type(node, value)
            operands = list(node.operands)
            replace_node(node, build.ops, value)
            erase_if_dead(operands)
            pending += [op for op in reversed(build.ops) if isinstance(op, Node)]
    if stuck:
        raise _cannot_lower(stuck)


def _stays(node: Node, keeps: Keeps) -> bool:
    """Returns whether a node is kept, or sizes that depend on symbols leave that open."""
    try:
        return keeps(node.call)
    except UndecidedSizeError:
        return True


def _cannot_lower(stuck: Sequence[Node]) -> CompileError:
    counts = Counter(node.name for node in stuck)
    lines: list[str] = []
    for name, count in counts.items():
        nodes = [n for n in stuck if n.name == name][:LISTED]
        described = [f"%{n.results[0].name_hint or '?'} : {n.results[0].type}" for n in nodes]
        more = f" and {count - LISTED} more" if count > LISTED else ""
        lines.append(f"{name} ({', '.join(described)}{more})")
    return failure(
        stuck[0],
        f"neither implemented by the backend nor decomposable: {counted(len(stuck), 'node')}: "
        + "; ".join(lines),
    )


def _operators(names: Sequence[str]) -> frozenset[type[Node]]:
    """
    Returns the classes of the operators called `names`, with or without the name of the dialect.
    """
    known = {node.name: node for node in OPERATORS}
    known |= {short_name(node): node for node in OPERATORS}
    if unknown := [n for n in names if n not in known]:
        raise CompileError(f"cannot keep {', '.join(unknown)}: there is no such node")
    return frozenset(known[n] for n in names)


@dataclass(frozen=True)
class LowerNodesPass(ModulePass):
    """Decomposes the nodes that the backend does not implement on the machine of the module."""

    name = "glow-lower-nodes"
    level = GRAPH

    backend: str = "cpu"
    """
    The name of an installed backend, or `none` to keep only what cannot be decomposed.
    """
    keep: tuple[str, ...] = ()
    """Operators to keep besides those of the backend, such as `relu,softmax`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kept = _operators(self.keep)
        if self.backend == NO_BACKEND:
            lower_nodes(op, lambda call: call.operator in kept or not is_composite(call.operator))
            return
        backend = find_backend(self.backend).on(machine_of(op))
        lower_nodes(op, lambda call: call.operator in kept or backend.keeps(call))
