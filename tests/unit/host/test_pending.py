"""Networks that are compiled at the same time, and what may happen to them meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Self

import glow
import numpy as np
import pytest
from glow import CompileError, GlowError, HostManager, RejectedError
from glow.passes.partition.devices import Configuration, Device
from glow.runtime.cpu_backend import CpuBackend
from glow.runtime.host.network import NetworkInfo
from glow.tests.support.gates import SECONDS, backend_of, gated_devices
from glow.tests.support.small_models import small_network
from glow.tests.unit.host.networks import CHAIN, SINGLE, parse, row

ROW = 7 * 4
"""Bytes of a tensor of these networks."""


class Compiling:
    """A device on which nothing is compiled until the gate opens."""

    def __init__(self, most: int | None = 2, devices: int = 1, memory: int | None = None):
        self.devices = gated_devices(devices, memory)
        self.gates = [backend_of(self.devices, i).compiling for i in range(devices)]
        self.host = HostManager(self.devices, max_compiling=most)
        self.futures: list[Future[NetworkInfo]] = []

    def close(self) -> None:
        for gate in self.gates:
            gate.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for gate in self.gates:
            gate.open()
        self.host.shutdown()

    def add(self, name: str, text: str = SINGLE) -> Future[NetworkInfo]:
        """Returns a network that is unlike the others."""
        self.futures.append(self.host.add_network(name, parse(text, 2.0 + len(self.futures))))
        return self.futures[-1]

    def memory(self) -> list[int]:
        return [d.memory for d in self.host.statistics().devices.values()]


def in_thread(function: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=function)
    thread.start()
    return thread


def test_networks_are_compiled_at_the_same_time() -> None:
    with Compiling() as c:
        c.add("ready").result(SECONDS)
        c.gates[0].wait_for_arrival()
        c.close()
        slow = [c.add("a"), c.add("b")]
        for _ in slow:
            c.gates[0].wait_for_arrival()  # on the same device
        assert c.host.run("ready", [row()]).result(SECONDS)  # meanwhile
        assert list(c.host.networks) == ["ready"]
        with pytest.raises(GlowError, match="'a' is still being compiled; wait for the future"):
            c.host.run("a", [row()])
        c.gates[0].open()
        assert [f.result(SECONDS).name for f in slow] == ["a", "b"]
        x = row()
        (y,) = c.host.run("b", [x]).result(SECONDS)
        np.testing.assert_array_equal(y, x * np.float32(4))


def test_not_more_than_so_many_at_once() -> None:
    with Compiling(most=1) as c:
        c.close()
        first, second = c.add("first"), c.add("second")
        c.gates[0].wait_for_arrival()
        assert not first.cancel()  # it has begun
        assert second.cancel()
        with pytest.raises(GlowError, match="no network 'second'; the networks are 'first'"):
            c.host.run("second", [row()])
        again = c.add("second")
        c.gates[0].open()
        assert first.result(SECONDS)
        assert again.result(SECONDS)
        assert backend_of(c.devices, 0).compiled == 2
    with pytest.raises(GlowError, match="max_compiling to be an integer of at least 1, found 0"):
        HostManager("interpreter", max_compiling=0)


def test_a_name_that_is_being_compiled_is_taken() -> None:
    with Compiling() as c:
        c.close()
        future = c.add("a")
        with pytest.raises(GlowError, match="network 'a' is being compiled already; wait for"):
            c.add("a")
        c.gates[0].open()
        future.result(SECONDS)
        with pytest.raises(GlowError, match="there is a network 'a' already; remove it first"):
            c.add("a")


def test_removal_of_what_is_being_compiled() -> None:
    with Compiling(devices=2) as c:
        c.close()
        future = c.add("a", CHAIN)
        c.gates[0].wait_for_arrival()
        thread = in_thread(lambda: c.host.remove_network("a"))
        while not c.host._registry._entries["a"].unwanted:  # pyright: ignore
            pass
        assert thread.is_alive()  # what is being made cannot be interrupted
        c.gates[0].open()  # the other one is closed, but nothing is compiled there any more
        thread.join(SECONDS)
        assert not thread.is_alive()
        with pytest.raises(RejectedError, match="'a' was not added: it was removed before it was"):
            future.result(0)
        assert c.memory() == [0, 0]
        c.gates[1].open()
        c.add("a", CHAIN).result(SECONDS)


def test_removal_of_what_waits_to_be_compiled() -> None:
    with Compiling(most=1) as c:
        c.close()
        first, second = c.add("first"), c.add("second")
        c.gates[0].wait_for_arrival()
        c.host.remove_network("second")  # at once
        assert isinstance(second.exception(0), RejectedError)
        with pytest.raises(GlowError, match="there is no network 'second'"):
            c.host.remove_network("second")
        c.gates[0].open()
        assert first.result(SECONDS)


def test_equal_partitions_are_made_once() -> None:
    with Compiling() as c:
        c.close()
        futures = [c.host.add_network(name, parse(SINGLE)) for name in "ab"]
        c.gates[0].wait_for_arrival()
        c.gates[0].open()
        for future in futures:
            future.result(SECONDS)
        assert backend_of(c.devices, 0).compiled == 1
        c.host.remove_network("a")
        assert c.memory() == [3 * ROW]
        c.host.remove_network("b")
        assert c.memory() == [0]


def test_who_waits_for_an_equal_partition_that_fails_makes_it() -> None:
    with Compiling() as c:
        c.close()
        backend = backend_of(c.devices, 0)
        compile = backend.compile

        def fail_once(stages):
            backend.compile = compile
            backend.compiling.pass_through()
            raise KeyError("broken")

        backend.compile = fail_once  # pyright: ignore
        first = c.host.add_network("first", parse(SINGLE))
        c.gates[0].wait_for_arrival()
        second = c.host.add_network("second", parse(SINGLE))
        c.gates[0].open()
        with pytest.raises(CompileError, match="network 'first', on device d0: KeyError: 'broken'"):
            first.result(SECONDS)
        assert second.result(SECONDS)
        assert c.memory() == [3 * ROW]


def test_memory_is_shared_out_as_if_one_came_after_the_other() -> None:
    """Each network has half of its memory when both notice that there is too little."""
    t = "tensor<1x7xf32>"
    text = CHAIN.replace(
        f"%y = glow.neg %x : ({t}) -> {t}",
        f"%v = glow.constant dense<1.5> : {t}\n  %y = glow.add %x, %v : ({t}, {t}) -> {t}",
    )
    swapped = text.replace('"d0"', '"d2"').replace('"d1"', '"d0"').replace('"d2"', '"d1"')
    with Compiling(devices=2, memory=3 * ROW) as c:
        c.close()
        futures = [c.add(name, text) for name, text in (("a", text), ("b", swapped))]
        for gate in c.gates:
            gate.wait_for_arrival()
        for gate in c.gates:
            gate.open()
        errors = [f.exception(SECONDS) for f in futures]
        assert sorted(type(e).__name__ for e in errors) == ["DeviceMemoryError", "NoneType"]
        assert len(c.host.networks) == 1
        assert c.memory() == [3 * ROW] * 2


@pytest.mark.parametrize("drain", [True, False])
def test_shutdown_while_networks_are_compiled(drain: bool) -> None:
    c = Compiling(most=1)
    c.close()
    running, waiting = c.add("running"), c.add("waiting")
    c.gates[0].wait_for_arrival()
    thread = in_thread(lambda: c.host.shutdown(drain))
    assert isinstance(waiting.exception(SECONDS), RejectedError)
    assert not running.done()
    c.gates[0].open()
    thread.join(SECONDS)
    assert not thread.is_alive()
    if drain:
        assert running.result(0).name == "running"
    else:
        with pytest.raises(RejectedError, match="not added: the host manager shut down"):
            running.result(0)
    with pytest.raises(RejectedError, match="the host manager shut down"):
        c.add("late")


def test_callbacks_of_additions() -> None:
    with Compiling() as c:
        c.add("old").result(SECONDS)
        caught: list[str] = []
        done = threading.Event()

        def replace(future: Future[NetworkInfo]) -> None:
            try:
                c.host.remove_network("old")
                c.host.shutdown()
            except GlowError as error:
                caught.append(str(error))
            done.set()

        c.close()
        c.add("new").add_done_callback(replace)
        c.gates[0].open()
        assert done.wait(SECONDS)
        assert caught == ["a callback of add_network cannot shut down: use another thread"]
        assert list(c.host.networks) == ["new"]


def test_shutdown_waits_for_a_removal() -> None:
    """Its requests still need all devices."""
    devices = gated_devices(2)
    gate = backend_of(devices, 0).gate
    gate.close()
    host = HostManager(devices)
    host.add_network("chain", parse(CHAIN)).result(SECONDS)
    futures = [host.run("chain", [row()]) for _ in range(3)]
    gate.wait_for_arrival()
    removal = in_thread(lambda: host.remove_network("chain"))
    while "chain" in host.networks:
        pass
    end = in_thread(host.shutdown)
    end.join(0.05)
    gate.open()
    for thread in (removal, end):
        thread.join(SECONDS)
        assert not thread.is_alive()
    assert all(f.result(0) for f in futures)
    assert all(d._programs == {} for d in host._devices.values())


# asyncio


def test_additions_can_be_awaited() -> None:
    with Compiling() as c:

        async def serve() -> list[np.ndarray]:
            infos = await asyncio.gather(
                *(c.host.add_network_async(n, parse(SINGLE, s)) for n, s in (("a", 2), ("b", 3)))
            )
            assert [info.name for info in infos] == ["a", "b"]
            return await c.host.run_async("b", [np.ones((1, 7), np.float32)])

        assert (asyncio.run(serve())[0] == 3).all()


@pytest.mark.parametrize("begun", [True, False])
def test_cancelled_tasks_give_networks_up(begun: bool) -> None:
    with Compiling(most=1) as c:
        c.close()
        if not begun:
            c.add("first")
            c.gates[0].wait_for_arrival()

        async def give_up() -> None:
            task = asyncio.create_task(c.host.add_network_async("a", parse(SINGLE, 9.0)))
            await asyncio.sleep(0)  # the task begins
            if begun:
                await asyncio.to_thread(c.gates[0].wait_for_arrival)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(give_up())
        c.gates[0].open()
        c.add("a").result(SECONDS) if not begun else c.host.remove_network("a")
        assert "first" in c.host.networks or c.memory() == [0]


def test_a_loop_that_is_closed_loses_nothing() -> None:
    devices = gated_devices(1)
    gate = backend_of(devices, 0).gate
    with HostManager(devices) as host:
        host.add_network("single", parse(SINGLE)).result(SECONDS)
        gate.close()
        loop = asyncio.new_event_loop()
        task = loop.create_task(host.run_async("single", [row()]))
        loop.run_until_complete(asyncio.sleep(0))
        gate.wait_for_arrival()
        del task
        loop.close()
        gate.open()
        assert host.run("single", [row()]).result(SECONDS)
        assert host.statistics().networks["single"].completed == 2


def test_real_networks_compiled_at_the_same_time(rng: np.random.Generator) -> None:
    """As one after the other: the compiler has no state that gets mixed up."""
    models = [small_network(int(rng.integers(2**31))) for _ in range(4)]
    x = rng.standard_normal((1, 3, 8, 10)).astype(np.float32)
    devices = Configuration(tuple(Device(f"d{i}", CpuBackend(cache=False)) for i in range(2)))
    with HostManager(devices, max_compiling=4) as host:
        futures = [host.add_network(str(i), m, symbols={"batch": 1}) for i, m in enumerate(models)]
        for future in futures:
            future.result(SECONDS)
        found = [host.run(str(i), {"image": x}).result(SECONDS) for i in range(4)]
    for arrays, model in zip(found, models, strict=True):
        expected = glow.compile(model, symbols={"batch": 1})(x)
        for array, wanted in zip(arrays, expected, strict=True):
            np.testing.assert_array_equal(array, wanted)
