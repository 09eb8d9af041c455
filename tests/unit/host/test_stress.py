"""Many requests from many threads while networks come and go."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future

import numpy as np
from glow import DeviceError, GlowError, HostManager, RejectedError
from glow.passes.partition.devices import Configuration, Device
from glow.runtime.cpu_backend import CpuBackend
from glow.runtime.interpreter_backend import InterpreterBackend
from glow.tests.support.gates import SECONDS, backend_of, gated_devices
from glow.tests.unit.host.networks import CHAIN, DIAMOND, SINGLE, parse, row

THREADS, REQUESTS = 8, 25
"""The numbers of threads, and of requests of each thread."""

Results = Future[list[np.ndarray]]


def two_cpus_and_numpy() -> Configuration:
    cpus = (Device("d0", CpuBackend()), Device("d1", CpuBackend()))
    return Configuration((*cpus, Device("d2", InterpreterBackend())))


def text(network: str) -> str:
    """Returns a network that is split over these devices."""
    parts = [p.replace('"gated"', '"cpu"') for p in network.split("func.func ")]
    numpy = [p.replace('"cpu"', '"interpreter"') if '"d2"' in p else p for p in parts]
    return "func.func ".join(numpy)


def expected(name: str, x: np.ndarray) -> list[np.ndarray]:
    match name:
        case "chain":
            return [-(x * np.float32(3))]
        case "diamond":
            return [np.abs(x) + np.maximum(-x, 0), np.abs(x)]
        case _:
            return [x * np.float32(5)]


def check(name: str, x: np.ndarray, future: Results) -> None:
    for array, wanted in zip(future.result(0), expected(name, x), strict=True):
        np.testing.assert_array_equal(array, wanted)


class Client(threading.Thread):
    """Runs networks by turns; one that is away just now is left out."""

    def __init__(self, host: HostManager, number: int):
        super().__init__()
        self.host = host
        self.number = number
        self.accepted: list[tuple[str, np.ndarray, Results]] = []
        self.refused = 0

    def run(self) -> None:
        names = ["chain", "diamond", "guest"]
        turn = self.number
        while len(self.accepted) < REQUESTS:
            name, x = names[turn % 3], row()
            turn += 1
            try:
                future = self.host.run(name, [x], priority=turn % 4)
            except GlowError:
                assert name == "guest"
                self.refused += 1
                continue
            self.accepted.append((name, x, future))
            if turn % 5 == 0:
                future.exception(SECONDS)


class Guest(threading.Thread):
    """Adds and removes a network until it is told to stop."""

    def __init__(self, host: HostManager):
        super().__init__()
        self.host = host
        self.stop = threading.Event()
        self.rounds = 0

    def run(self) -> None:
        while not self.stop.is_set() or self.rounds < 4:
            replicas = 1 + self.rounds % 2
            self.host.add_network(
                "guest", parse(SINGLE, 5.0), devices=["d0", "d1"], replicas=replicas
            ).result(SECONDS)
            other = self.host.add_network(f"other {self.rounds}", parse(text(CHAIN), 7.0))
            self.host.remove_network("guest", drain=self.rounds % 2 == 0)
            other.result(SECONDS)
            self.host.remove_network(f"other {self.rounds}")
            self.rounds += 1


def test_none_is_lost_and_none_is_wrong() -> None:
    with HostManager(two_cpus_and_numpy(), max_active=12, max_queue=1000) as host:
        host.add_network("chain", parse(text(CHAIN))).result(SECONDS)
        host.add_network("diamond", parse(text(DIAMOND))).result(SECONDS)
        guest = Guest(host)
        clients = [Client(host, number) for number in range(THREADS)]
        for thread in (guest, *clients):
            thread.start()
        for client in clients:
            client.join(SECONDS)
        guest.stop.set()
        guest.join(SECONDS)
        assert not any(thread.is_alive() for thread in (guest, *clients))
        found = host.statistics()
        trace = host.trace()
    accepted = [request for client in clients for request in client.accepted]
    assert len(accepted) == THREADS * REQUESTS
    rejected = 0
    for name, x, future in accepted:
        assert future.done()
        if isinstance(future.exception(), RejectedError):
            assert name == "guest"  # it was removed without its requests
            rejected += 1
            continue
        check(name, x, future)
    counts = [sum(n == name for n, _, _ in accepted) for name in ("chain", "diamond")]
    assert [n.completed for n in found.networks.values()] == counts
    assert (found.active, found.waiting) == (0, 0)
    # only what stayed is still loaded
    assert [d.programs for d in found.devices.values()] == [3, 2, 1]
    events = trace["traceEvents"]
    assert isinstance(events, list)
    outcomes = [e["args"]["outcome"] for e in events if e["ph"] == "b" and "outcome" in e["args"]]
    assert len(outcomes) == len(accepted)
    assert outcomes.count("dropped") == rejected


def raise_for_large(inputs: Sequence[np.ndarray]) -> None:
    if np.abs(inputs[0]).max() > 100:
        raise ValueError("too large")


def test_a_device_that_raises_now_and_then() -> None:
    devices = gated_devices(3)
    backend_of(devices, 1).before = raise_for_large
    names = ("chain", "diamond", "single")
    futures: list[tuple[str, np.ndarray, Results]] = []  # appending is atomic
    with HostManager(devices, max_queue=1000) as host:
        for name, network in zip(names, (CHAIN, DIAMOND, SINGLE), strict=True):
            scale = 5.0 if name == "single" else 3.0
            host.add_network(name, parse(network, scale)).result(SECONDS)

        def client(number: int) -> None:
            for turn in range(REQUESTS):
                name = names[turn % 3]
                x = row() * np.float32(1000 if (turn + number) % 4 == 0 else 1)
                futures.append((name, x, host.run(name, [x])))

        threads = [threading.Thread(target=client, args=[n]) for n in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
    assert len(futures) == THREADS * REQUESTS
    for name, x, future in futures:
        largest = np.abs(x).max() * (3 if name == "chain" else 1)
        if name != "single" and largest > 100:
            error = future.exception()
            assert isinstance(error, DeviceError)
            assert isinstance(error.__cause__, ValueError)
        else:
            check(name, x, future)
