"""
Adjoints and tangents of a graph from those of its nodes.

In the reverse mode, the adjoint of a value is the sum of what the nodes that use it give to it, so
nodes are visited from the last to the first one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, SSAValue

from ....errors import CompileError
from ....glow_dialects.elements import is_float
from ....glow_dialects.glow.arithmetic import AddOp
from ....glow_dialects.glow.base import Node
from ....glow_dialects.glow.control import WithBodies
from ....glow_dialects.operator import element_of
from ...visited_operation import each
from ..rewriting import Build, failure
from .registry import ADJOINTS, BODY_ADJOINTS, BODY_TANGENTS, TANGENTS


@dataclass(frozen=True)
class Parameter:
    """A value with respect to which a program is differentiated."""

    name: str
    value: SSAValue


def is_of_floats(value: SSAValue) -> bool:
    """Returns whether a value is a tensor of floats."""
    return isinstance(value.type, TensorType) and is_float(element_of(value.type))


def dependents(block: Block, values: Collection[SSAValue]) -> set[SSAValue]:
    """Returns the values of floats that depend on some values, through values of floats."""
    found = set(values)
    for node in _nodes(block):
        if any(v in found for v in node.operands):
            found.update(r for r in node.results if is_of_floats(r))
    return found


def _nodes(block: Block) -> list[Node | WithBodies]:
    return [op for op in block.ops if isinstance(op, Node | WithBodies)]


def _without_rule(
    node: Node | WithBodies, dependent: set[SSAValue], parameters: Sequence[Parameter]
) -> CompileError:
    """Returns an error with the values from a node's result to a parameter."""
    names = {p.value: p.name for p in parameters}
    value = next(r for r in node.results if r in dependent)
    steps: list[str] = []
    while value not in names and isinstance(value.owner, Node | WithBodies):
        steps.append(f"{value.owner.name} %{value.name_hint or '?'}")
        value = next(v for v in value.owner.operands if v in dependent)
    path = " <- ".join([*steps, names.get(value, "")])
    return failure(node, f"has no rule for its derivative; it is on the path {path}")


def gradients(
    block: Block,
    seeds: Sequence[tuple[SSAValue, SSAValue]],
    parameters: Sequence[Parameter],
    build: Build,
) -> list[SSAValue | None]:
    """
    Builds and returns the adjoint of each parameter, for pairs of a value of a block and its
    adjoint; None for parameters on which these values do not depend. Raises CompileError for an
    operator without a rule.
    """
    dependent = dependents(block, [p.value for p in parameters])
    adjoints: dict[SSAValue, SSAValue] = {}
    for value, seed in seeds:
        _accumulate(adjoints, value, seed, build)
    for node in each(reversed(_nodes(block))):
        wanted = {i for i, v in enumerate(node.operands) if v in dependent}
        found = {i: adjoints[r] for i, r in enumerate(node.results) if r in adjoints}
        if not wanted or not found:
            continue
        parts = _parts(node, found, wanted, build)
        if parts is None:
            raise _without_rule(node, dependent, parameters)
        for i, part in parts.items():
            if part.type != node.operands[i].type:
                raise failure(
                    node,
                    f"a rule made {part.type} as adjoint of {node.operands[i].type}; "
                    "please report this",
                )
            _accumulate(adjoints, node.operands[i], part, build)
    return [adjoints.get(parameter.value) for parameter in parameters]


def _accumulate(
    adjoints: dict[SSAValue, SSAValue], value: SSAValue, part: SSAValue, build: Build
) -> None:
    old = adjoints.get(value)
    adjoints[value] = part if old is None else build(AddOp, old, part)


def _parts(
    node: Node | WithBodies,
    seeds: Mapping[int, SSAValue],
    wanted: AbstractSet[int],
    build: Build,
) -> Mapping[int, SSAValue] | None:
    """Returns what a node adds to the adjoints of its operands; None if it has no rule."""
    if isinstance(node, WithBodies):
        of_bodies = BODY_ADJOINTS.get(type(node))
        return None if of_bodies is None else of_bodies(node, seeds, wanted, build)
    rule = ADJOINTS.get(type(node))
    return None if rule is None else rule(node, seeds[0], wanted, build)


def directional(
    block: Block, given: Mapping[Parameter, SSAValue], build: Build
) -> dict[SSAValue, SSAValue]:
    """
    Builds and returns the tangents of values of a block for those of parameters; what is left out
    is zero. Raises CompileError for an operator without a rule.
    """
    parameters = list(given)
    dependent = dependents(block, [p.value for p in parameters])
    tangents = {p.value: tangent for p, tangent in given.items()}
    for node in each(_nodes(block)):
        known = {i: tangents[v] for i, v in enumerate(node.operands) if v in tangents}
        if not known or not any(r in dependent for r in node.results):
            continue
        if isinstance(node, WithBodies):
            of_bodies = BODY_TANGENTS.get(type(node))
            if of_bodies is None:
                raise _without_rule(node, dependent, parameters)
            for i, tangent in of_bodies(node, known, build).items():
                tangents[node.results[i]] = tangent
            continue
        rule = TANGENTS.get(type(node))
        if rule is None:
            raise _without_rule(node, dependent, parameters)
        found = rule(node, known, build)
        if found is not None:
            tangents[node.results[0]] = found
    return tangents
