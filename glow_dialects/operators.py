"""All operators of the tensor graph, whichever dialect they belong to."""

from __future__ import annotations

from .glow import NODES
from .glow.base import Node
from .glow_cpu import NODES as CPU_NODES

OPERATORS: list[type[Node]] = [*NODES, *CPU_NODES]
