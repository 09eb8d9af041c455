"""
Checks networks that are split over devices.

- `@main` consists of calls of private functions, each called once, with operands that were computed
  before: so the partitions depend on each other without cycles, and every node is in one of them.
- Each partition is a graph of nodes, with the attributes of a device.
- If the module describes its devices: each partition is on one of them, whose backend can compute
  all its nodes; what partitions say of their memory is true, and all partitions of a device fit
  into its memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..graph.rewriting import failure
from ..levels import GRAPH
from ..visited_operation import visit
from .devices import Configuration, Device, configuration_of
from .partitions import Partition, PartitionedNetwork, read_partitions
from .placement import problem_of
from .plans import activation_bytes, weight_bytes
from .units import unit_graph


def verify_partitions(module: ModuleOp, configuration: Configuration | None = None) -> None:
    """
    Checks a partitioned network, by default with the devices that its attributes describe.

    Raises CompileError with the operation at fault.
    """
    network = read_partitions(module)
    configuration = configuration or configuration_of(module)
    for partition in network.partitions:
        visit(partition.function)
        graph = unit_graph(partition.function.body.block)
        if configuration is None:
            continue
        device = _device(partition, configuration)
        alone = replace(configuration, devices=(device,), links={}, place={})
        problem = problem_of(graph, alone)
        units = range(len(graph.units))
        found = weight_bytes(problem, units), activation_bytes(problem, units)
        stated = partition.weight_bytes, partition.activation_bytes
        if found != stated:
            raise failure(
                partition.function,
                f"states {stated[0]} bytes of weights and {stated[1]} of activations, "
                f"but has {found[0]} and {found[1]}",
            )
    if configuration is not None:
        for device in configuration.devices:
            _check_memory(network, device)


def _device(partition: Partition, configuration: Configuration) -> Device:
    found = [d for d in configuration.devices if d.name == partition.device]
    if not found:
        raise failure(
            partition.function,
            f"is on {partition.device}, but the devices are {configuration.names()}",
        )
    if found[0].backend.name != partition.backend:
        raise failure(
            partition.function,
            f"is for the backend {partition.backend}, but {partition.device} has the backend "
            f"{found[0].backend.name}",
        )
    return found[0]


def _check_memory(network: PartitionedNetwork, device: Device) -> None:
    own = [p for p in network.partitions if p.device == device.name]
    if not own or device.memory is None:
        return
    used = sum(p.weight_bytes for p in own) + max(p.activation_bytes for p in own)
    if used > device.memory:
        raise failure(
            own[-1].function,
            f"the partitions on {device.name} need {used} bytes, but it has {device.memory}",
        )


@dataclass(frozen=True)
class VerifyPartitionsPass(ModulePass):
    """Checks a network that is split over devices, and changes nothing."""

    name = "glow-verify-partitions"
    level = GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_partitions(op)
