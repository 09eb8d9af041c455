"""Numbers for the tensors of a partitioned network, as the executor wants them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .network import NetworkPart, Plan

if TYPE_CHECKING:
    from ...interface.signature import TensorInfo
    from ...passes.partition.partitions import PartitionedNetwork, Source


def plan_of(
    network: PartitionedNetwork, inputs: int, outputs: Sequence[tuple[TensorInfo, ...]]
) -> Plan:
    """
    Returns the plan of a network with a number of inputs and the number of results of each
    partition. Tensors are numbered: first the inputs of the network, then the results of
    partitions, in their order.
    """
    first: list[int] = []
    """The number of the first output of each partition."""
    total = inputs
    for infos in outputs:
        first.append(total)
        total += len(infos)

    def number(source: Source) -> int:
        return source.index + (0 if source.partition is None else first[source.partition])

    parts = tuple(
        NetworkPart(
            each.name,
            tuple(map(number, each.inputs)),
            tuple(range(begin, begin + len(infos))),
            infos,
            each.dependencies,
        )
        for each, begin, infos in zip(network.partitions, first, outputs, strict=True)
    )
    return Plan(parts, tuple(map(number, network.outputs)), inputs, total)
