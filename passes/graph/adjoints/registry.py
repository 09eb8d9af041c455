"""The tables of rules that differentiate operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, TypeAlias

from xdsl.ir import SSAValue

from ....glow_dialects.glow.base import Node
from ....glow_dialects.glow.control import WithBodies
from ....table import Table
from ..rewriting import Build

AdjointRule: TypeAlias = Callable[[Any, SSAValue, AbstractSet[int], Build], Mapping[int, SSAValue]]
"""
`rule(node, seed, wanted, build)` returns the adjoints of the operands numbered `wanted`, each of
the type of its operand, for the adjoint `seed` of the node's result. An operand on which the result
does not depend smoothly is left out.
"""
TangentRule: TypeAlias = Callable[[Any, Mapping[int, SSAValue], Build], SSAValue | None]
"""
`rule(node, tangents, build)` returns the tangent of the node's result, for the tangents of some of
its operands by their numbers; None if it is zero.
"""
BodyAdjointRule: TypeAlias = Callable[
    [Any, Mapping[int, SSAValue], AbstractSet[int], Build], Mapping[int, SSAValue]
]
"""
`rule(op, seeds, wanted, build)` returns the adjoints of the operands numbered `wanted` of an
operation with bodies, for the adjoints of some of its results by their numbers.
"""
BodyTangentRule: TypeAlias = Callable[[Any, Mapping[int, SSAValue], Build], Mapping[int, SSAValue]]
"""
`rule(op, tangents, build)` returns the tangents of some results of an operation with bodies by
their numbers, for those of some operands; the others are zero.
"""

ADJOINTS: Table[type[Node], AdjointRule] = Table("an adjoint", inherited=True)
"""The rules of the reverse mode. The rule of a class holds for those derived from it, too."""
TANGENTS: Table[type[Node], TangentRule] = Table("a tangent", inherited=True)
"""The rules of the forward mode."""
BODY_ADJOINTS: Table[type[WithBodies], BodyAdjointRule] = Table("an adjoint")
BODY_TANGENTS: Table[type[WithBodies], BodyTangentRule] = Table("a tangent")
"""The rules of branches and loops."""

adjoint = ADJOINTS.entry
tangent = TANGENTS.entry
body_adjoint = BODY_ADJOINTS.entry
body_tangent = BODY_TANGENTS.entry
