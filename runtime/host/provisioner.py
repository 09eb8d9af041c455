"""
Compiles the partitions of a network for their devices, and loads them there.

A partition becomes a network of its own, which the backend of its device compiles. A device holds
equal partitions once, with their weights, also those of different networks and replicas.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from xdsl.transforms.dead_code_elimination import dce

from ...errors import CompileError, DeviceMemoryError, GlowError, ModelError, described
from ...interface.signature import TensorInfo
from ...passes.partition.idle import idle_devices
from ...passes.partition.partition import partition
from ...passes.partition.partitions import Partition, is_partitioned, read_partitions
from ...passes.partition.strategies import NoRoomError
from ..backend_results import expect_program, stages_of
from ..gil_switch import python_lock
from ..signature import signature_of
from ..stages import Stages
from .digest import digest
from .footprint import footprint_of
from .network import Network, NetworkInfo, PartitionInfo, PartitionPlacement, Replica
from .pending import SharedExclusiveLock
from .planning import plan_of
from .replicas import (
    Slots,
    TooFewDevicesError,
    configuration_for,
    expect_different,
    most_replicas,
    slots_for,
    slots_of,
)

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ...interface.backend import Backend
    from ...passes.partition.devices import Configuration, Device
    from .device import DeviceManager, Prepared

ROUNDS = 8
"""The largest number of times that a network is split, with less memory each time."""
DOES_NOT_FIT = (DeviceMemoryError, NoRoomError, TooFewDevicesError)


@dataclass(frozen=True)
class Order:
    """The program that is to be loaded."""

    name: str
    module: ModuleOp
    """It must not be changed any more."""
    configuration: Configuration
    """The devices that may be used."""
    strategy: str | None
    replicas: int | None
    """The number of replicas; None for as many as fit."""
    expect_wanted: Callable[[], None]
    """Raises if the network is to be given up."""


class Provisioner:
    """Loads networks on devices. Several threads may do so at once."""

    def __init__(self, devices: Mapping[str, DeviceManager]):
        self._devices = devices
        self._turns = SharedExclusiveLock()

    def provision(self, order: Order) -> Network:
        """
        Splits a network over devices, unless it is partitioned already, and loads it.

        Programs need more memory than the partitioner knows: for padding, and for the backend's
        form of weights. If it does not suffice, the network is split again with less memory on that
        device. What is loaded at the same time may take memory that it gives back, or that another
        order of loading would leave, so if it does not suffice beside others, it is tried once more
        alone.

        Raises what `partition` does, CompileError if a backend cannot compile a partition,
        GlowError for devices that do not exist, DeviceMemoryError, and what `order.expect_wanted`
        raises. Then nothing of it remains loaded.
        """
        with self._turns.together() as turn:
            try:
                return self._attempt(order)
            except DOES_NOT_FIT as error:
                if not turn.had_company:
                    self._explain(order, error)
        with self._turns.alone():
            try:
                return self._attempt(order)
            except DOES_NOT_FIT as error:
                self._explain(order, error)

    def _attempt(self, order: Order) -> Network:
        if order.replicas is not None:
            return self._fit(order, order.replicas)
        for count in range(most_replicas(order.configuration.devices), 1, -1):
            try:
                return self._fit(order, count)
            except DOES_NOT_FIT:
                continue
        return self._fit(order, 1)

    def _explain(self, order: Order, error: GlowError) -> NoReturn:
        """Raises an error again, with how many replicas do fit."""
        count = order.replicas
        if count is None or count == 1:
            raise error
        possible = self._possible(order, count - 1)
        said = f"{count} replicas of network {order.name!r} do not fit, at most {possible}: {error}"
        if isinstance(error, DeviceMemoryError):
            raise DeviceMemoryError(said, error.device, error.lacking) from error
        raise type(error)(said) from error

    def _possible(self, order: Order, most: int) -> int:
        """Returns the number of replicas that fit, up to a limit."""
        for count in range(most, 0, -1):
            try:
                self._fit(order, count).evict()
            except DOES_NOT_FIT:
                continue
            return count
        return 0

    def _fit(self, order: Order, count: int) -> Network:
        """Loads a number of replicas."""
        if is_partitioned(order.module):
            used = list(dict.fromkeys(p.device for p in read_partitions(order.module).partitions))
            slots = slots_of(order.configuration, used, count, self._free({}))
            return self._load(order, order.module, slots, count)
        given = {} if order.strategy is None else {"strategy": order.strategy}
        lacking: DeviceMemoryError | None = None
        less: dict[str, int] = {}
        for _ in range(ROUNDS):
            order.expect_wanted()
            free = self._free(less)
            slots = slots_for(order.configuration, count, free)
            split = order.module.clone()
            try:
                with python_lock:
                    dce(split)  # such as conversions that quantization made and nobody reads
                    partition(split, configuration_for(slots, order.configuration, free), **given)
            except CompileError as error:
                if lacking is None:
                    raise
                raise lacking from error
            try:
                return self._load(order, split, slots, count)
            except DeviceMemoryError as error:
                lacking = error
                less[error.device] = less.get(error.device, 0) + error.lacking
        assert lacking is not None
        raise lacking

    def _free(self, less: Mapping[str, int]) -> Callable[[Device], int | None]:
        """Returns the free memory of devices now, with less on some."""
        sizes = {name: device.free for name, device in self._devices.items()}

        def free(device: Device) -> int | None:
            size = sizes[device.name]
            return None if size is None else max(0, size - less.get(device.name, 0))

        return free

    def _load(self, order: Order, module: ModuleOp, slots: Slots, count: int) -> Network:
        """Loads replicas of a partitioned network."""
        start = time.perf_counter()
        found = read_partitions(module)
        for each in found.partitions:
            self._check_device(each, slots)
        if count > 1:
            expect_different(slots, {p.device for p in found.partitions}, order.configuration)
        pieces = [_Piece(order.name, each, count > 1) for each in found.partitions]
        devices = {device.name: device for device in order.configuration.devices}
        loaded: list[tuple[_Piece, int, PartitionPlacement]] = []
        try:
            for number in range(count):
                for piece in pieces:
                    order.expect_wanted()
                    name = slots[piece.partition.device][number]
                    place = piece.load(self._devices[name], devices[name], number)
                    loaded.append((piece, number, place))
        except BaseException:
            for _, _, place in loaded:
                place.device.evict(place.key)
            raise
        rows = [[place for _, n, place in loaded if n == number] for number in range(count)]
        infos = tuple(
            PartitionInfo(piece.partition.name, place.device.name, place.footprint, number)
            for piece, number, place in loaded
        )
        signature = signature_of(module)
        seconds = time.perf_counter() - start
        ends = signature.visible.inputs, signature.visible.outputs
        about = NetworkInfo(order.name, *ends, infos, count, seconds, idle_devices(module))
        plan = plan_of(found, len(signature.inputs), [piece.outputs for piece in pieces])
        replicas = [Replica(number, tuple(row)) for number, row in enumerate(rows)]
        return Network(signature, plan, replicas, about)

    def _check_device(self, partition: Partition, slots: Slots) -> None:
        device = self._devices.get(partition.device)
        if device is None:
            raise GlowError(
                f"{partition.name} is for device {partition.device}; the devices are "
                f"{', '.join(self._devices)}"
            )
        if partition.device not in slots:
            raise GlowError(
                f"{partition.name} is for device {partition.device}, which is not among those that "
                "the network may use"
            )
        if device.backend.name != partition.backend:
            raise GlowError(
                f"{partition.name} is for backend {partition.backend}, but device {device.name} "
                f"has {device.backend.name}"
            )


class _Piece:
    """A partition that is being loaded, on one device after the other."""

    def __init__(self, network: str, partition: Partition, numbered: bool):
        """Takes a partition of a network. With `numbered`, errors name the replica."""
        self.partition = partition
        self._module = partition.module()
        self._what = f"{partition.name} of network {network!r}"
        self._numbered = numbered
        self._stages: dict[int, Stages] = {}
        """The stages by backend, for devices that share one."""
        self.outputs: tuple[TensorInfo, ...] = signature_of(self._module).outputs
        try:
            with python_lock:
                self._key = digest(self._module)
        except (OSError, ValueError) as error:
            raise ModelError(f"cannot read a weight in {self._what}: {error}") from error

    def load(self, device: DeviceManager, about: Device, replica: int) -> PartitionPlacement:
        """
        Loads it on a device, which may have it already, with the backend that belongs to this
        network.
        """
        backend = about.backend

        def prepare() -> Prepared:
            stages = self._stages_of(backend)
            footprint = footprint_of(stages, self.partition)
            return footprint, lambda: expect_program(backend, backend.compile(stages))

        own = backend is device.backend
        key = self._key if own else f"{self._key} {sorted(about.options.items())}"
        what = f"{self._what} (replica {replica})" if self._numbered else self._what
        try:
            loaded = device.load(key, prepare, what, self.partition.cost)
        except DeviceMemoryError:
            raise
        except GlowError as error:
            raise type(error)(f"{what}, on device {device.name}: {error}") from error
        except Exception as error:
            said = f"{what}, on device {device.name}: {described(error)}"
            raise CompileError(said) from error
        return PartitionPlacement(device, key, loaded)

    def _stages_of(self, backend: Backend) -> Stages:
        if id(backend) not in self._stages:
            self._stages[id(backend)] = Stages(self._module, stages_of(backend))
        return self._stages[id(backend)]
