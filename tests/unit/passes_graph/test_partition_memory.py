"""Networks split over accelerators whose memory does not hold all that they can compute."""

from __future__ import annotations

import pytest
from glow.glow_dialects.glow import activation
from glow.passes.partition.devices import Configuration, Device
from glow.passes.partition.partition import partition
from glow.passes.partition.partitions import PartitionedNetwork, read_partitions
from glow.passes.partition.strategies import STRATEGIES
from glow.passes.partition.verify_partitions import verify_partitions
from glow.tests.support.graph_text import parse
from glow.tests.support.limited_backend import LimitedBackend
from glow.tests.unit.passes_graph.partition_problems import INTERPRETER

WIDE_AND_NARROW = """
    func.func @main(%x: tensor<7x13xf32>) -> tensor<7x1xf32> {
      %wide = glow.relu %x : (tensor<7x13xf32>) -> tensor<7x13xf32>
      %sums = glow.reduce_sum %wide axes [1] keep_dims true : (tensor<7x13xf32>) -> tensor<7x1xf32>
      %narrow = glow.relu %sums : (tensor<7x1xf32>) -> tensor<7x1xf32>
      func.return %narrow : tensor<7x1xf32>
    }"""
"""One relu reads and makes 728 bytes, and the other one 56."""


def split(memory: int, count: int, strategy: str) -> PartitionedNetwork:
    """Returns the network on `count` accelerators for relu with so many bytes, and a CPU."""
    backend = LimitedBackend([activation.ReluOp])
    small = [Device(f"small{i}", backend, memory) for i in range(count)]
    module = parse(WIDE_AND_NARROW)
    configuration = Configuration((Device("all", INTERPRETER), *small))
    partition(module, configuration, strategy)
    verify_partitions(module, configuration)
    return read_partitions(module)


def device_of(network: PartitionedNetwork, result: str) -> str:
    return next(
        p.device
        for p in network.partitions
        for op in p.function.body.block.ops
        if op.results and op.results[0].name_hint == result
    )


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("strategy", ["capability", "memory"])
def test_a_node_too_large_for_an_accelerator_goes_to_another_device(
    strategy: str, count: int
) -> None:
    network = split(100, count, strategy)
    assert device_of(network, "wide") == "all"
    assert device_of(network, "narrow").startswith("small")


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_accelerators_without_room_for_any_node_get_none(strategy: str) -> None:
    network = split(55, 2, strategy)
    assert {p.device for p in network.partitions} == {"all"}
