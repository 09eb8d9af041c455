"""
Compiles the partitions of a network for their devices, and loads them there.

A partition becomes a network of its own, which the backend of its device compiles. A device holds
equal partitions once, with their weights, also those of different networks.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...errors import CompileError, DeviceMemoryError, GlowError, ModelError
from ...passes.partition import partition
from ...passes.partitioning.devices import Configuration
from ...passes.partitions import (
    Partition,
    PartitionedNetwork,
    Source,
    is_partitioned,
    read_partitions,
)
from ..signature import signature_of
from ..stages import Stages
from .device import DeviceManager, Prepared
from .digest import digest
from .footprint import footprint_of
from .network import Network, NetworkInfo, Part, PartitionInfo, Plan

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


ROUNDS = 8
"""How often a network is split at most, with less memory each time."""


def provision(
    name: str,
    module: ModuleOp,
    configuration: Configuration,
    strategy: str | None,
    devices: Mapping[str, DeviceManager],
) -> Network:
    """
    Split a network over the devices of `configuration`, unless it is partitioned already, and load
    it. The module must not be changed any more.

    Programs need more memory than the partitioner knows: for padding, and for what a backend makes
    of weights. If it does not suffice, the network is split again with less memory on that device.

    Raises what `partition` does, CompileError if a backend cannot compile a partition, GlowError
    for devices that do not exist, and DeviceMemoryError. Then nothing of it remains loaded.
    """
    if is_partitioned(module):
        return _provision(name, module, devices)
    given = {} if strategy is None else {"strategy": strategy}
    lacking: DeviceMemoryError | None = None
    for _ in range(ROUNDS):
        split = module.clone()
        try:
            partition(split, configuration, **given)
        except CompileError as error:
            if lacking is None:
                raise
            raise lacking from error
        try:
            return _provision(name, split, devices)
        except DeviceMemoryError as error:
            lacking = error
            configuration = _with_less(configuration, error.device, error.lacking)
    assert lacking is not None
    raise lacking


def _with_less(configuration: Configuration, name: str, size: int) -> Configuration:
    """The configuration with `size` bytes less on a device."""
    devices = (
        replace(d, memory=max(0, d.memory - size)) if d.name == name and d.memory is not None else d
        for d in configuration.devices
    )
    return replace(configuration, devices=tuple(devices))


def _provision(name: str, module: ModuleOp, devices: Mapping[str, DeviceManager]) -> Network:
    """Load a partitioned network."""
    start = time.perf_counter()
    found = read_partitions(module)
    for each in found.partitions:
        _check_device(each, devices)
    signature = signature_of(module)
    loaded: list[Part] = []
    infos: list[PartitionInfo] = []
    numbers = _Numbers(len(signature.inputs))
    try:
        for each in found.partitions:
            part, info = _load(name, each, devices[each.device], numbers)
            loaded.append(part)
            infos.append(info)
    except BaseException:
        for part in loaded:
            part.device.evict(part.key)
        raise
    seconds = time.perf_counter() - start
    about = NetworkInfo(name, signature.inputs, signature.outputs, tuple(infos), seconds)
    return Network(signature, _plan(found, loaded, numbers), about)


def _check_device(partition: Partition, devices: Mapping[str, DeviceManager]) -> None:
    device = devices.get(partition.device)
    if device is None:
        raise GlowError(
            f"{partition.name} is for device {partition.device}; the devices are "
            f"{', '.join(devices)}"
        )
    if device.backend.name != partition.backend:
        raise GlowError(
            f"{partition.name} is for backend {partition.backend}, but device {device.name} has "
            f"{device.backend.name}"
        )


class _Numbers:
    """The numbers of tensors: first the inputs of the network, then what partitions make."""

    def __init__(self, inputs: int):
        self.inputs = inputs
        self.first: list[int] = []
        """For each partition, the number of what it makes first."""
        self.total = inputs

    def of(self, source: Source) -> int:
        first = 0 if source.partition is None else self.first[source.partition]
        return first + source.index

    def add(self, count: int) -> tuple[int, ...]:
        """Numbers for what the next partition makes."""
        self.first.append(self.total)
        self.total += count
        return tuple(range(self.total - count, self.total))


def _load(
    network: str, partition: Partition, device: DeviceManager, numbers: _Numbers
) -> tuple[Part, PartitionInfo]:
    module = partition.module()
    what = f"{partition.name} of network {network!r}"
    try:
        key = digest(module)
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read a weight in {what}: {error}") from error

    def prepare() -> Prepared:
        stages = Stages(module, device.backend.stages())
        return footprint_of(stages, partition), lambda: device.backend.compile(stages)

    try:
        program, footprint = device.load(key, prepare, what)
    except DeviceMemoryError:
        raise
    except GlowError as error:
        raise type(error)(f"{what}, on device {device.name}: {error}") from error
    except Exception as error:
        said = f"{what}, on device {device.name}: {type(error).__name__}: {error}"
        raise CompileError(said) from error
    inputs = tuple(map(numbers.of, partition.inputs))
    outputs = signature_of(module).outputs
    part = Part(
        partition.name,
        device,
        key,
        program,
        inputs,
        numbers.add(len(outputs)),
        outputs,
        partition.dependencies,
    )
    return part, PartitionInfo(partition.name, device.name, footprint)


def _plan(found: PartitionedNetwork, parts: Sequence[Part], numbers: _Numbers) -> Plan:
    outputs = tuple(map(numbers.of, found.outputs))
    return Plan(tuple(parts), outputs, numbers.inputs, numbers.total)
