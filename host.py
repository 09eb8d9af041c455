"""
The service of many networks at once on several devices, for any number of threads.

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
import itertools
import json
import time
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias
from weakref import finalize

from .errors import GlowError, InputError, QueueFullError
from .loading import Loading
from .model_forms import Model
from .passes.partition.devices import Configuration
from .runtime.host import lifetime
from .runtime.host.admission import Admission
from .runtime.host.arguments import Devices, Replicas, configuration_of, expect_order, replica_count
from .runtime.host.compile_pool import CompilePool
from .runtime.host.device import DeviceManager
from .runtime.host.network import Network, NetworkInfo
from .runtime.host.options import with_options
from .runtime.host.pending import PendingNetwork
from .runtime.host.provisioner import Order, Provisioner
from .runtime.host.registry import NetworkRegistry
from .runtime.host.request import Request
from .runtime.host.statistics import HostStatistics
from .runtime.host.timeline import Record, timeline
from .runtime.options import at_least

if TYPE_CHECKING:
    import numpy as np

Inputs: TypeAlias = "Mapping[str, object] | Sequence[object]"


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
        max_compiling: int | None = None,
        traced: int = 10_000,
    ):
        """
        - `devices`: a backend's name for each device (`["cpu", "cpu"]` or `"cpu,cpu"`, whose
          devices are `cpu0` and `cpu1`); a file that describes devices, in TOML or JSON
          (docs/partitioning.md); or a `Configuration`.
        - `memory`: bytes of each device, or one number for all, unless devices are described.
        - `max_active`: the largest number of requests on devices and in their queues.
        - `max_queue`: the largest number of further requests, which wait.
        - `max_compiling`: the largest number of networks that are compiled at once; by default the
          number of processors, but at most 4. Further networks wait.
        - `traced`: the number of latest requests that `trace` returns.

        Raises GlowError for invalid devices, and for what is no number or too small.
        """
        self._admission = Admission(max_active, max_queue)
        self._configuration = configuration_of(devices, memory)
        self._start = time.perf_counter()
        self._records: deque[Record] = deque(maxlen=at_least("traced", traced, 0))
        self._numbers = itertools.count()
        self._registry = NetworkRegistry()
        self._compile_pool = CompilePool(self._registry, max_compiling)
        self._forked = False
        self._devices = {d.name: DeviceManager(d) for d in self._configuration.devices}
        self._provisioner = Provisioner(self._devices)
        # workers do not know the host manager, so they end when nobody knows it any more
        self._finalizer = finalize(self, _close, list(self._devices.values()))
        self._finalizer.atexit = False
        lifetime.register(self)

    def __repr__(self) -> str:
        ready = [] if self._forked else self._registry.ready()
        return f"<HostManager on {', '.join(self._devices)}: {', '.join(ready) or 'no networks'}>"

    # networks

    def add_network(
        self,
        name: str,
        model: Model,
        *,
        devices: Sequence[str] | None = None,
        strategy: str | None = None,
        replicas: Replicas = 1,
        symbols: Mapping[str, int] | None = None,
        max_elements: int | None = None,
        quantize: object = None,
        **options: object,
    ) -> Future[NetworkInfo]:
        """
        Compiles a network in the background, split over devices, and loads it.

        `model`, `symbols` (of all symbolic dimensions), `max_elements` and `quantize` are as in
        `glow.compile`; a module that is partitioned already keeps its partitions. The other
        `options`, such as `conv_algorithm` and `threads`, are those of `glow.compile` too, for the
        devices whose backend has them. `devices` are the names of the devices that may be used, by
        default all. `strategy` is a name from docs/partitioning.md. With `replicas`, the network is
        loaded that many times, or as often as it fits (`"all"`), on devices of the same kind. Each
        request goes to the replica with the shortest queue.

        The network can be run when the future is done. The future has the errors of `glow.compile`,
        DeviceMemoryError if memory is lacking, and RejectedError if the network is removed, or the
        host manager is shut down, before it is ready. A future that is cancelled before the
        compilation begins adds nothing. Raises GlowError at once for a name that is taken, and for
        more replicas than there are devices.
        """
        load = Loading(model, symbols, max_elements, quantize)
        return self._add(name, load, devices, strategy, replicas, options).future

    async def add_network_async(
        self,
        name: str,
        model: Model,
        *,
        devices: Sequence[str] | None = None,
        strategy: str | None = None,
        replicas: Replicas = 1,
        symbols: Mapping[str, int] | None = None,
        max_elements: int | None = None,
        quantize: object = None,
        **options: object,
    ) -> NetworkInfo:
        """
        Adds a network as `add_network` does, for a task of `asyncio`, and returns when it is ready.
        If the task is cancelled before that, the network is not added.
        """
        load = Loading(model, symbols, max_elements, quantize)
        pending = self._add(name, load, devices, strategy, replicas, options)
        try:
            return await asyncio.wrap_future(pending.future)
        except asyncio.CancelledError:
            self._registry.give_up(pending, "its task was cancelled")
            raise

    def _add(
        self,
        name: str,
        loading: Loading,
        devices: Sequence[str] | None,
        strategy: str | None,
        replicas: Replicas,
        options: Mapping[str, object],
    ) -> PendingNetwork:
        self._expect_open()
        if not isinstance(name, str):
            raise GlowError(f"expected the name of the network, found {type(name).__name__}")
        configuration = with_options(self._subset(devices), options)
        count = replica_count(replicas, configuration)
        provisioner = self._provisioner
        pending = PendingNetwork(name)

        def load() -> Network:
            module = loading.module()
            order = Order(name, module, configuration, strategy, count, pending.expect_wanted)
            return provisioner.provision(order)

        self._compile_pool.submit(pending, load)
        return pending

    def _subset(self, names: Sequence[str] | None) -> Configuration:
        """Returns the devices that a network may use."""
        if isinstance(names, str):
            raise GlowError(f"expected a list of names of devices, found the string {names!r}")
        wanted = list(self._devices) if names is None else list(names)
        if unknown := [n for n in wanted if n not in self._devices]:
            raise GlowError(
                f"no device is called {', '.join(unknown)}; the devices are "
                f"{', '.join(self._devices)}"
            )
        devices = tuple(d for d in self._configuration.devices if d.name in wanted)
        found = {*wanted, "host"}
        links = {pair: link for pair, link in self._configuration.links.items() if pair <= found}
        return replace(self._configuration, devices=devices, links=links)

    def remove_network(self, name: str, drain: bool = True) -> None:
        """
        Removes a network, and frees its memory when its requests are done. New requests are refused
        at once. Without `drain`, only requests that a device has begun are finished; the others
        fail with RejectedError. The compilation of a network that is not ready is given up, and the
        future of `add_network` fails with RejectedError.

        Raises GlowError if there is no such network, or in a callback of the future of a request,
        because callbacks must not wait.
        """
        self._expect_own_process()
        self._expect_other_thread()
        self._registry.remove(name, drain)

    @property
    def networks(self) -> dict[str, NetworkInfo]:
        """The networks that can be run, by name."""
        self._expect_own_process()
        return {name: network.info for name, network in self._registry.ready().items()}

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
        Starts a request, and returns a future of its results at once.

        - `inputs`: arrays by name or in order, as for a compiled model. They must not be changed
          until the future is done.
        - `outputs`: names of the results to return; by default all, in order.
        - `priority`: requests with a lower number go first; among equal ones, older requests go
          first. Running partitions are not interrupted.
        - `timeout`: seconds. If a device would begin a part of the request after that time, the
          request fails with DeadlineError instead.

        The future can be cancelled until a device begins the request. It fails with DeviceError,
        whose `__cause__` is the error of a device, or with RejectedError if the network is removed.
        Its callbacks run in threads of devices: they should be brief and must not wait.

        Raises QueueFullError if too many requests wait, InputError for wrong inputs, and GlowError
        if there is no such network.
        """
        self._expect_open()
        found = self._registry.find(network)
        expect_order(priority, timeout)
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
        if not found.plan.parts:
            request.start()  # it needs no device, so it need not wait for others
            return request.future
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
        Runs a network as `run` does, for a task of `asyncio`, and returns its results. Cancelling
        the task cancels the request, unless a device has begun it.
        """
        future = self.run(network, inputs, outputs=outputs, priority=priority, timeout=timeout)
        return await asyncio.wrap_future(future)

    def _ended(self, request: Request) -> None:
        """Notes that a request ended, and that its future is about to be done."""
        self._records.append(Record.of(request))
        following = self._admission.leave(request)
        if following is not None:
            following.start()

    # events

    def statistics(self) -> HostStatistics:
        """Returns the counts up to now."""
        self._expect_own_process()
        return HostStatistics(
            self._admission.active,
            self._admission.waiting,
            {name: n.statistics() for name, n in self._registry.ready().items()},
            {d.name: d.statistics() for d in self._devices.values()},
        )

    def trace(self) -> dict[str, object]:
        """
        Returns the latest requests that ended, with their partitions on devices, as an object for
        JSON in the trace format of Chrome and Perfetto.
        """
        return timeline(list(self._records), list(self._devices), self._start)

    def write_trace(self, path: str | Path) -> None:
        """Writes `trace` to a file, which https://ui.perfetto.dev opens. Raises OSError."""
        Path(path).write_text(json.dumps(self.trace()), encoding="utf-8")

    # the end

    def shutdown(self, drain: bool = True) -> None:
        """
        Removes all networks and ends the threads. Requests are finished as in `remove_network`.
        Compilations that have begun are finished with `drain`, and given up without it; those that
        wait are given up. Later calls do nothing.
        """
        if self._forked:
            return
        self._expect_other_thread()
        if self._compile_pool.is_here():
            raise GlowError("a callback of add_network cannot shut down: use another thread")
        self._registry.close(drain)
        self._compile_pool.shutdown()
        self._registry.remove_all(drain)
        _close(list(self._devices.values()))
        for device in self._devices.values():
            device.join()

    def _forget(self) -> None:
        """Forgets everything in a forked child, where nothing can run and nothing has to end."""
        self._forked = True
        self._finalizer.detach()  # locks may be held by threads that do not exist here

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Shuts down. After an error, requests that no device has begun are dropped."""
        self.shutdown(drain=error is None)

    def _expect_open(self) -> None:
        if self._forked or self._registry.closed:
            self._expect_own_process()
            self._registry.expect_open()

    def _expect_own_process(self) -> None:
        if self._forked:
            raise GlowError(
                "this host manager belongs to the process that this one was forked from; make "
                "another one here"
            )

    def _expect_other_thread(self) -> None:
        if any(device.is_here() for device in self._devices.values()):
            raise GlowError("a callback of a future cannot wait for requests: use another thread")


def _close(devices: Sequence[DeviceManager]) -> None:
    for device in devices:
        device.close()
