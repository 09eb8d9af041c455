"""
Networks that are served: many at once, on several devices, for any number of threads.

```python
import glow

with glow.HostManager(["cpu", "cpu"]) as host:
    host.add_network("digits", "digits.onnx").result()
    future = host.run("digits", [image], priority=1)
    (probabilities,) = future.result()
```
"""

from __future__ import annotations

import asyncio
import atexit
import itertools
import json
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias
from weakref import WeakSet, finalize

from xdsl.dialects.builtin import ModuleOp

from .compiler import Model, load_model
from .errors import GlowError, InputError, QueueFullError, RejectedError
from .passes.partitioning.devices import Configuration, of_backends, read_configuration
from .runtime.host.admission import Admission
from .runtime.host.device import DeviceManager
from .runtime.host.network import Network, NetworkInfo
from .runtime.host.provisioner import provision
from .runtime.host.request import Request
from .runtime.host.statistics import HostStatistics
from .runtime.host.timeline import Record, timeline

if TYPE_CHECKING:
    import numpy as np

Devices: TypeAlias = "Configuration | Path | str | Sequence[str]"
Inputs: TypeAlias = "Mapping[str, object] | Sequence[object]"

FILES = (".toml", ".json")
"""Suffixes of files that describe devices."""


class HostManager:
    """
    Devices, the networks that are loaded on them, and the requests for these.

    All methods may be called from any thread. Leaving its context, or `shutdown`, finishes all
    requests; so does the end of the interpreter. A forked child cannot use the host manager of its
    parent, but can make one.
    """

    def __init__(
        self,
        devices: Devices = ("cpu",),
        memory: int | Sequence[int] = (),
        *,
        max_active: int = 48,
        max_queue: int = 100,
        traced: int = 10_000,
    ):
        """
        - `devices`: names of backends, of which each is a device (`["cpu", "cpu"]` or `"cpu,cpu"`:
          `cpu0` and `cpu1`); a file that describes devices, in TOML or JSON (docs/partitioning.md);
          or a `Configuration`.
        - `memory`: bytes of each device, or one number for all, unless devices are described.
        - `max_active`: how many requests may be on devices and in their queues at once.
        - `max_queue`: how many more may wait.
        - `traced`: of how many of the latest requests `trace` knows.

        Raises GlowError for devices that cannot be.
        """
        self._admission = Admission(max_active, max_queue)
        self._configuration = _configuration(devices, memory)
        self._start = time.perf_counter()
        self._records: deque[Record] = deque(maxlen=traced)
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        """Of the table of networks only."""
        self._networks: dict[str, Network | None] = {}
        """None while it is compiled."""
        self._closed = False
        self._forked = False
        self._compiler = ThreadPoolExecutor(1, "glow compiler")
        self._devices = {d.name: DeviceManager(d) for d in self._configuration.devices}
        # workers do not know the host manager, so they end when nobody knows it any more
        finalize(self, _close, list(self._devices.values())).atexit = False
        _hosts.add(self)
        _run_first_at_exit()

    # networks

    def add_network(
        self,
        name: str,
        model: Model,
        *,
        devices: Sequence[str] | None = None,
        strategy: str | None = None,
        symbols: Mapping[str, int] | None = None,
    ) -> Future[NetworkInfo]:
        """
        Compile a network in the background, split over devices, and load it.

        `model` and `symbols` are as in `glow.compile`; a module that is partitioned already keeps
        its partitions. `devices` are the names of those that may be used, by default all, and
        `strategy` is a name from docs/partitioning.md.

        The network can be run when the future is done; it has the errors of `glow.compile`, and
        DeviceMemoryError if memory is lacking. If the future is cancelled in time, nothing happens.
        Raises GlowError at once for a name that is taken.
        """
        self._expect_open()
        configuration = self._subset(devices)
        if isinstance(model, ModuleOp):
            model = model.clone()  # the caller may change it meanwhile
        with self._lock:
            if name in self._networks:
                raise GlowError(f"there is a network {name!r} already; remove it first")
            self._networks[name] = None
        try:
            return self._compile(
                name,
                lambda: provision(
                    name,
                    load_model(model, symbols, keep_partitions=True),
                    configuration,
                    strategy,
                    self._devices,
                ),
            )
        except RuntimeError as error:  # of the pool, which shut down meanwhile
            self._forget(name)
            raise _closed_error() from error

    def _compile(self, name: str, load: Callable[[], Network]) -> Future[NetworkInfo]:
        def compile() -> NetworkInfo:
            try:
                network = load()
            except BaseException:
                self._forget(name)
                raise
            _run_first_at_exit()
            with self._lock:
                self._networks[name] = network
            return network.info

        future = self._compiler.submit(compile)
        future.add_done_callback(lambda f: self._forget(name) if f.cancelled() else None)
        return future

    def _forget(self, name: str) -> None:
        with self._lock:
            del self._networks[name]

    def _subset(self, names: Sequence[str] | None) -> Configuration:
        """The devices that a network may use, with the memory that is free now."""
        wanted = list(self._devices) if names is None else list(names)
        if unknown := [n for n in wanted if n not in self._devices]:
            raise GlowError(
                f"no device is called {', '.join(unknown)}; the devices are "
                f"{', '.join(self._devices)}"
            )
        devices = tuple(
            replace(d, memory=self._devices[d.name].free)
            for d in self._configuration.devices
            if d.name in wanted
        )
        found = {*wanted, "host"}
        links = {pair: link for pair, link in self._configuration.links.items() if pair <= found}
        return replace(self._configuration, devices=devices, links=links)

    def remove_network(self, name: str, drain: bool = True) -> None:
        """
        Remove a network and free its memory, when its requests are done: all that were accepted,
        or without `drain` those that a device began with; the others fail with RejectedError. New
        ones are refused at once.

        Raises GlowError if there is no such network, if it is not compiled yet, or in a callback
        of a future, which must not wait.
        """
        self._expect_other_thread()
        with self._lock:
            network = self._find(name)
            del self._networks[name]
        self._remove([network], drain, f"network {name!r} was removed")

    def _remove(self, networks: Sequence[Network], drain: bool, why: str) -> None:
        for network in networks:
            for request in network.close():
                if not drain:
                    request.reject(why)
        for network in networks:
            network.wait()
            network.evict()

    @property
    def networks(self) -> dict[str, NetworkInfo]:
        """The networks that can be run, by name."""
        with self._lock:
            return {name: n.info for name, n in self._networks.items() if n is not None}

    def _find(self, name: str) -> Network:
        """A network. The caller holds the lock."""
        network = self._networks.get(name)
        if network is not None:
            return network
        if name in self._networks:
            raise GlowError(
                f"network {name!r} is still being compiled; wait for the future of add_network"
            )
        known = ", ".join(map(repr, self._networks)) or "none"
        raise GlowError(f"there is no network {name!r}; the networks are {known}")

    # requests

    def run(
        self,
        network: str,
        inputs: Inputs,
        *,
        outputs: Sequence[str] | None = None,
        priority: int = 0,
        timeout: float | None = None,
    ) -> Future[list[np.ndarray]]:
        """
        Run a network, and return a future of its results at once.

        - `inputs`: arrays by name or in order, as for a compiled model. They must not be changed
          until the future is done.
        - `outputs`: names of the results to return, by default all in order.
        - `priority`: requests with a lower number go first; among equals, older ones. What runs is
          not interrupted.
        - `timeout`: seconds. If it cannot be finished by then, no more of it is run, and it
          fails with DeadlineError: when a device would begin with a part of it.

        The future can be cancelled until a device begins with it. It fails with DeviceError, whose
        `__cause__` is what a device raised, or with RejectedError if the network is removed. Its
        callbacks run in threads of devices: they should be brief and must not wait.

        Raises QueueFullError if too many requests wait, InputError for wrong inputs, and GlowError
        if there is no such network.
        """
        self._expect_open()
        with self._lock:
            found = self._find(network)
        if isinstance(inputs, str | bytes) or not isinstance(inputs, Mapping | Sequence):
            raise InputError(
                "expected a dictionary of arrays by input name or a list of arrays, found "
                f"{type(inputs).__name__}"
            )
        feed = inputs if isinstance(inputs, Mapping) else found.signature.bind(inputs, {})
        arrays, wanted = found.signature.arrays(feed), found.signature.select(outputs)
        order = priority, next(self._numbers)
        request = Request(found, arrays, wanted, order, timeout, self._ended)
        found.enter(request)
        try:
            starts = self._admission.enter(request)
        except QueueFullError:
            found.refuse(request)
            raise
        if starts:
            request.start()
        return request.future

    async def run_async(
        self,
        network: str,
        inputs: Inputs,
        *,
        outputs: Sequence[str] | None = None,
        priority: int = 0,
        timeout: float | None = None,
    ) -> list[np.ndarray]:
        """
        Run a network and await its results: as `run`, for a task of `asyncio`. A task that is
        cancelled cancels the request, unless a device began with it.
        """
        future = self.run(network, inputs, outputs=outputs, priority=priority, timeout=timeout)
        return await asyncio.wrap_future(future)

    def _ended(self, request: Request) -> None:
        """A request ended, and its future is about to be done."""
        self._records.append(Record.of(request))
        following = self._admission.leave(request)
        if following is not None:
            following.start()

    # what happened

    def statistics(self) -> HostStatistics:
        """What was counted up to now."""
        with self._lock:
            networks = [n for n in self._networks.values() if n is not None]
        return HostStatistics(
            self._admission.active,
            self._admission.waiting,
            {n.name: n.statistics() for n in networks},
            {d.name: d.statistics() for d in self._devices.values()},
        )

    def trace(self) -> dict[str, object]:
        """
        The latest requests that ended, with their partitions on devices, as an object for JSON in
        the trace format of Chrome and Perfetto.
        """
        return timeline(list(self._records), list(self._devices), self._start)

    def write_trace(self, path: str | Path) -> None:
        """Write `trace` to a file, which https://ui.perfetto.dev opens. Raises OSError."""
        Path(path).write_text(json.dumps(self.trace()), encoding="utf-8")

    # the end

    def shutdown(self, drain: bool = True) -> None:
        """
        Remove all networks and end the threads. Requests are finished as in `remove_network`;
        networks that are not compiled yet are not, unless that has begun. Later calls do nothing.
        """
        if self._forked:
            return
        self._expect_other_thread()
        with self._lock:
            self._closed = True
        self._compiler.shutdown(cancel_futures=True)
        with self._lock:
            networks = [n for n in self._networks.values() if n is not None]
            self._networks = {}
        self._remove(networks, drain, "the host manager shut down")
        _close(list(self._devices.values()))
        for device in self._devices.values():
            device.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Shut down; after an error, without the requests that no device began with."""
        self.shutdown(drain=error is None)

    def _expect_open(self) -> None:
        if self._forked:
            raise GlowError(
                "this host manager belongs to the process that this one was forked from; make "
                "another one here"
            )
        if self._closed:
            raise _closed_error()

    def _expect_other_thread(self) -> None:
        if any(device.is_here() for device in self._devices.values()):
            raise GlowError("a callback of a future cannot wait for requests: use another thread")


def _closed_error() -> RejectedError:
    return RejectedError("the host manager shut down")


def _configuration(devices: Devices, memory: int | Sequence[int]) -> Configuration:
    sizes = [memory] if isinstance(memory, int) else memory
    if isinstance(devices, str) and Path(devices).suffix not in FILES:
        devices = devices.split(",")
    if not isinstance(devices, Configuration | Path | str):
        return of_backends(list(devices), sizes)
    if sizes:
        raise GlowError("devices that are described have a memory of their own")
    return devices if isinstance(devices, Configuration) else read_configuration(devices)


# what must happen at the end of the interpreter, and in a forked child

_hosts: WeakSet[HostManager] = WeakSet()


def _close(devices: Sequence[DeviceManager]) -> None:
    for device in devices:
        device.close()


def _run_first_at_exit() -> None:
    """
    Have `_shut_down_all` run before whatever else was registered up to now: programs that are
    loaded may have threads of their own, which end at exit, too.
    """
    atexit.unregister(_shut_down_all)
    atexit.register(_shut_down_all)


def _shut_down_all() -> None:
    for host in list(_hosts):
        host.shutdown()


def _forget_all() -> None:
    for host in list(_hosts):
        host._forked = True


os.register_at_fork(after_in_child=_forget_all)
