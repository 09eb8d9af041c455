"""The counts of a host manager. All times are in seconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

WINDOW = 4096
"""The number of the latest requests of a network over which percentiles are computed."""


@dataclass(frozen=True)
class Percentiles:
    """Percentiles of numbers of seconds; zero if there are no numbers."""

    count: int
    p50: float
    p99: float
    highest: float


@dataclass(frozen=True)
class ReplicaStatistics:
    """The requests that one replica of a network got."""

    devices: tuple[str, ...]
    """The devices of its partitions."""
    completed: int
    failed: int


@dataclass(frozen=True)
class NetworkStatistics:
    """The requests of one network since it was added."""

    accepted: int
    """The number of accepted requests, including those that are not finished."""
    completed: int
    failed: int
    """A device raised."""
    late: int
    """The number of requests whose deadline passed."""
    cancelled: int
    dropped: int
    """Accepted, but not run because the network was removed or the host manager shut down."""
    refused: int
    """The number of requests that were not accepted because the queue was full."""
    latency: Percentiles
    """The seconds of the latest completed requests, from their submission."""
    queued: Percentiles
    """The seconds of the same requests until a device began with them."""
    replicas: tuple[ReplicaStatistics, ...]

    @property
    def unfinished(self) -> int:
        """Accepted, and not yet ended."""
        ended = self.completed + self.failed + self.late + self.cancelled + self.dropped
        return self.accepted - ended


@dataclass(frozen=True)
class DeviceStatistics:
    """The statistics of a device since the host manager was made."""

    runs: int
    """The number of runs of partitions, with failed ones."""
    failures: int
    busy: float
    """Seconds in which it ran partitions."""
    queue: int
    """The number of partitions that are ready and wait for it."""
    longest_queue: int
    programs: int
    """The number of loaded programs. Equal partitions share one."""
    memory: int
    """Bytes that loaded programs take."""
    limit: int | None
    """Bytes; None for as much as is needed."""


@dataclass(frozen=True)
class HostStatistics:
    """A snapshot of everything."""

    active: int
    """Requests that are on devices or in their queues."""
    waiting: int
    """Accepted requests for which there is no room yet."""
    networks: Mapping[str, NetworkStatistics]
    devices: Mapping[str, DeviceStatistics]


def percentiles(seconds: Iterable[float]) -> Percentiles:
    """Returns the percentiles by the nearest rank."""
    found = sorted(seconds)
    if not found:
        return Percentiles(0, 0.0, 0.0, 0.0)

    def rank(percent: int) -> float:
        return found[-(-len(found) * percent // 100) - 1]

    return Percentiles(len(found), rank(50), rank(99), found[-1])


class Outcome(Enum):
    """The outcome of a request."""

    COMPLETED = "completed"
    FAILED = "failed"
    LATE = "late"
    CANCELLED = "cancelled"
    DROPPED = "dropped"


class Counts:
    """The counts of a network. Its users hold the lock of the network."""

    def __init__(self, replicas: Sequence[Sequence[str]]) -> None:
        """`replicas` are the devices of each."""
        self.accepted = 0
        self.refused = 0
        self.ended = dict.fromkeys(Outcome, 0)
        self.latency: deque[float] = deque(maxlen=WINDOW)
        self.queued: deque[float] = deque(maxlen=WINDOW)
        self._replicas = [(tuple(devices), dict.fromkeys(Outcome, 0)) for devices in replicas]

    def end(self, outcome: Outcome, latency: float, queued: float, replica: int | None) -> None:
        """Counts the end of a request."""
        self.ended[outcome] += 1
        if replica is not None:
            self._replicas[replica][1][outcome] += 1
        if outcome is Outcome.COMPLETED:
            self.latency.append(latency)
            self.queued.append(queued)

    def statistics(self) -> NetworkStatistics:
        return NetworkStatistics(
            accepted=self.accepted,
            refused=self.refused,
            latency=percentiles(self.latency),
            queued=percentiles(self.queued),
            replicas=tuple(
                ReplicaStatistics(devices, ended[Outcome.COMPLETED], ended[Outcome.FAILED])
                for devices, ended in self._replicas
            ),
            **{outcome.value: count for outcome, count in self.ended.items()},
        )
