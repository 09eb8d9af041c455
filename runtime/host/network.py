"""
A network that is loaded, once or in replicas: its partitions on their devices, and its requests.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ...errors import RejectedError
from ...interface.signature import Signature, TensorInfo
from ...lazy import lazy_property
from .statistics import Counts, NetworkStatistics, Outcome

if TYPE_CHECKING:
    from .device import DeviceManager, Loaded
    from .footprint import Footprint


@dataclass(frozen=True)
class NetworkPart:
    """A partition. Tensors of the network have numbers."""

    name: str
    inputs: tuple[int, ...]
    """The tensors that it reads, in order."""
    outputs: tuple[int, ...]
    """The tensors that the partition makes, in order."""
    infos: tuple[TensorInfo, ...]
    """The names, shapes and types of the outputs."""
    dependencies: tuple[int, ...]
    """The parts that make the inputs, each once."""


@dataclass(frozen=True)
class PartitionPlacement:
    """The device and the program of a loaded partition."""

    device: DeviceManager
    key: str
    """The key of the program on the device."""
    loaded: Loaded

    @property
    def footprint(self) -> Footprint:
        assert self.loaded.footprint is not None
        return self.loaded.footprint


@dataclass(frozen=True)
class Replica:
    """All partitions of a network, each on a device. Replicas may share devices, but not all."""

    number: int
    places: tuple[PartitionPlacement, ...]
    """The places in the order of the partitions."""

    @lazy_property
    def devices(self) -> tuple[DeviceManager, ...]:
        """Each once."""
        return tuple(dict.fromkeys(place.device for place in self.places))

    def rank(self, now: float) -> tuple[bool, float, int]:
        """
        Returns the order of replicas for the next request, the least first: whether one of its
        programs raised a while ago, then the estimated seconds that are queued at its devices.
        """
        avoided = any(place.loaded.avoided > now for place in self.places)
        return avoided, sum(device.backlog() for device in self.devices), self.number


@dataclass(frozen=True)
class Plan:
    """The plan of the executor. The first tensors are the inputs of the network."""

    parts: tuple[NetworkPart, ...]
    outputs: tuple[int, ...]
    """The tensors that are the results, in order."""
    inputs: int
    """The number of tensors that are inputs."""
    tensors: int
    """The number of tensors."""

    @lazy_property
    def users(self) -> tuple[tuple[int, ...], ...]:
        """The parts that read the outputs of each part."""
        found: list[list[int]] = [[] for _ in self.parts]
        for number, part in enumerate(self.parts):
            for dependency in part.dependencies:
                found[dependency].append(number)
        return tuple(map(tuple, found))

    @lazy_property
    def sources(self) -> tuple[int, ...]:
        """The parts that need nothing but inputs."""
        return tuple(n for n, part in enumerate(self.parts) if not part.dependencies)

    @lazy_property
    def missing(self) -> tuple[int, ...]:
        """The number of parts that must run before each part."""
        return tuple(len(part.dependencies) for part in self.parts)

    @lazy_property
    def readers(self) -> tuple[int, ...]:
        """The number of reads of each tensor, by parts and as a result."""
        counts = [0] * self.tensors
        for number in (*(n for part in self.parts for n in part.inputs), *self.outputs):
            counts[number] += 1
        return tuple(counts)

    @lazy_property
    def copied(self) -> tuple[bool, ...]:
        """Whether each result must be copied so that all results are fresh arrays."""
        return tuple(
            number < self.inputs or number in self.outputs[:i]
            for i, number in enumerate(self.outputs)
        )


@dataclass(frozen=True)
class PartitionInfo:
    """The device of a partition, and the memory that it takes there."""

    name: str
    device: str
    memory: Footprint
    replica: int = 0


@dataclass(frozen=True)
class NetworkInfo:
    """The description of a network that was added."""

    name: str
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    partitions: tuple[PartitionInfo, ...]
    """The partitions of each replica, in an order in which they can run."""
    replicas: int
    """The number of times that it is loaded."""
    seconds: float
    """The seconds that it took to compile and load it."""
    idle: Mapping[str, str] = field(default_factory=dict)
    """The reasons why devices got no partition, by their names."""


class Submitted(Protocol):
    """The requests of a network."""

    @property
    def number(self) -> int:
        """Requests are numbered in the order of their submission."""
        ...

    def reject(self, why: str) -> None:
        """Ends it with a RejectedError, unless a device works on it already."""
        ...


class Network:
    """A network that is loaded."""

    def __init__(
        self, signature: Signature, plan: Plan, replicas: Sequence[Replica], info: NetworkInfo
    ):
        """`signature` is that of the whole program, with outputs that callers do not see."""
        self.name = info.name
        self.signature = signature.visible
        self.used = signature.used
        """Returns the visible results, given all of the program."""
        self.plan = plan
        self.replicas = replicas
        self.info = info
        self._changed = threading.Condition()
        self._requests: set[Submitted] = set()
        """Those that are not ended, or that a device is still working on."""
        self._closed = False
        self._counts = Counts([[d.name for d in r.devices] for r in replicas])

    def choose(self, now: float) -> Replica:
        """
        Returns the replica for a request that goes to devices at a time: the one with the shortest
        queue. All its programs are expected to run once.
        """
        chosen = self.replicas[0]
        if len(self.replicas) > 1:
            chosen = min(self.replicas, key=lambda r: r.rank(now))
        for place in chosen.places:
            place.device.expect(place.loaded, now)
        return chosen

    def enter(self, request: Submitted) -> None:
        """Notes that a request begins. Raises RejectedError if the network is being removed."""
        with self._changed:
            if self._closed:
                raise RejectedError(f"network {self.name!r} is being removed")
            self._requests.add(request)
            self._counts.accepted += 1

    def refuse(self, request: Submitted) -> None:
        """Notes that a request which began was not accepted after all."""
        with self._changed:
            self._counts.accepted -= 1
            self._counts.refused += 1
        self.leave(request)

    def end(self, outcome: Outcome, latency: float, queued: float, replica: int | None) -> None:
        """
        Counts the end of a request, after seconds since it began and on the way to a device of a
        replica, if it got that far.
        """
        with self._changed:
            self._counts.end(outcome, latency, queued, replica)

    def leave(self, request: Submitted) -> None:
        """Notes that no device works on the request any more."""
        with self._changed:
            self._requests.discard(request)
            if not self._requests:
                self._changed.notify_all()

    def close(self) -> Sequence[Submitted]:
        """Accepts no more requests. Returns those that are not ended, in order."""
        with self._changed:
            self._closed = True
            return sorted(self._requests, key=lambda r: r.number)

    def wait(self) -> None:
        """Waits until there are no requests, after `close`."""
        with self._changed:
            self._changed.wait_for(lambda: not self._requests)

    def evict(self) -> None:
        """Gives back the memory on all devices."""
        for replica in self.replicas:
            for place in replica.places:
                place.device.evict(place.key)

    def statistics(self) -> NetworkStatistics:
        with self._changed:
            return self._counts.statistics()
