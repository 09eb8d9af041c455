"""
Splits a graph over devices.

1. *Units.* Nodes that must stay together are found: real numbers between conversions (see
   `partitioning.units`).
2. *Capability.* For each unit, the devices whose backends claim its nodes, or all that these can be
   decomposed into. Annotations leave some of them.
3. *Choice.* A strategy gives each unit a device, within the memory of the devices
   (`partitioning.strategies`).
4. *Partitions.* Units on the same device become partitions that depend on each other without cycles
   (`partitioning.plans`).
5. *Functions.* Each partition becomes a private function that `@main` calls (`partitions`).

The time for all that is about linear in the number of nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...errors import CompileError, GlowError
from ..graph.rewriting import expect_static, failure
from ..levels import GRAPH
from .devices import Configuration, of_backends, read_configuration
from .outline import outline
from .partitions import MAIN, is_partitioned
from .placement import problem_of
from .strategies import STRATEGIES, solve
from .units import unit_graph


def partition(module: ModuleOp, configuration: Configuration, strategy: str = "time") -> None:
    """
    Splits the function @main of a graph over devices: `module` is changed.

    Raises CompileError if no device can compute a node, if an annotation is impossible, or if the
    memory of the devices is too small, and GlowError for an unknown strategy.
    """
    if strategy not in STRATEGIES:
        raise GlowError(f"expected strategy to be one of {', '.join(STRATEGIES)}, found {strategy}")
    main = _main(module)
    problem = problem_of(unit_graph(main.body.block), configuration)
    groups = solve(problem, strategy)
    outline(module, main, problem, groups)


def _main(module: ModuleOp) -> func.FuncOp:
    for op in module.ops:
        if isinstance(op, func.FuncOp) and op.sym_name.data == MAIN:
            if len(op.body.blocks) != 1:
                raise failure(op, "expected a function of one block")
            if is_partitioned(module):
                raise failure(op, "is split already; glow-inline-partitions undoes that")
            expect_static(op)
            return op
    raise CompileError("expected a module with a function @main")


@dataclass(frozen=True)
class PartitionPass(ModulePass):
    """Splits a graph over devices: a function for each part, and `@main` that calls them."""

    name = "glow-partition"
    level = GRAPH

    devices: tuple[str, ...] = ("cpu",)
    """The backends of the devices; a backend may repeat. Devices are called `cpu0`, `cpu1`."""
    memory: tuple[int, ...] = ()
    """The bytes of memory of each of these devices, in order, or one number for all."""
    config: str = ""
    """A file that describes devices and links, in TOML or JSON, instead of `devices`."""
    strategy: str = "time"
    """`time`, `memory` or `capability`."""
    place: tuple[str, ...] = ()
    """The nodes that must be on a device, as `"name=device"`, by the names of their results."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        configuration = (
            read_configuration(self.config)
            if self.config
            else of_backends(self.devices, self.memory)
        )
        pairs = dict(_pair(text) for text in self.place)
        configuration = replace(configuration, place={**configuration.place, **pairs})
        partition(op, configuration, self.strategy)


def _pair(text: str) -> tuple[str, str]:
    name, equals, device = text.partition("=")
    if not (name and equals and device):
        raise GlowError(f'expected place to be like "name=device", found {text!r}')
    return name.removeprefix("%"), device
