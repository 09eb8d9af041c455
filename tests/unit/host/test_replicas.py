"""Networks that are loaded several times: where, and which requests go there."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from glow import DeviceError, DeviceMemoryError, GlowError, HostManager
from glow.interface.backend import Rates
from glow.passes.partition.devices import Configuration, Device
from glow.runtime.host import device as device_module
from glow.runtime.interpreter_backend import InterpreterBackend
from glow.tests.support.gates import SECONDS, GatedBackend, backend_of, gated_devices
from glow.tests.unit.host.networks import CHAIN, SINGLE, parse, row

ROW = 7 * 4
"""Bytes of a tensor of these networks."""


def gated(*memory: int | None) -> Configuration:
    """Returns devices of one kind with memories of their own."""
    return Configuration(tuple(Device(f"d{i}", GatedBackend(), m) for i, m in enumerate(memory)))


def places(host: HostManager, name: str) -> list[tuple[str, ...]]:
    """Returns the devices of each replica."""
    return [r.devices for r in host.statistics().networks[name].replicas]


def completed(host: HostManager, name: str) -> list[int]:
    return [r.completed for r in host.statistics().networks[name].replicas]


def memory(host: HostManager) -> list[int]:
    return [d.memory for d in host.statistics().devices.values()]


def nothing_is_expected(host: HostManager) -> bool:
    return all(device.backlog() == 0 for device in host._devices.values())


def test_each_replica_has_a_device() -> None:
    devices = gated_devices(3)
    with HostManager(devices) as host:
        info = host.add_network("a", parse(SINGLE), replicas=3).result(SECONDS)
        assert info.replicas == 3
        assert sorted((p.replica, p.device) for p in info.partitions) == [
            (0, "d0"),
            (1, "d1"),
            (2, "d2"),
        ]
        assert places(host, "a") == [("d0",), ("d1",), ("d2",)]
        # weights are there once on each device, and so is the program
        assert memory(host) == [3 * ROW] * 3
        assert [backend_of(devices, i).compiled for i in range(3)] == [1, 1, 1]
        host.remove_network("a")
        assert memory(host) == [0, 0, 0]


def test_as_many_as_fit() -> None:
    with HostManager(gated(3 * ROW, 2 * ROW, None, 3 * ROW - 1, 4 * ROW)) as host:
        info = host.add_network("a", parse(SINGLE), replicas="all").result(SECONDS)
        assert info.replicas == 3
        assert {p.device for p in info.partitions} == {"d0", "d2", "d4"}
        host.remove_network("a")
        host.add_network("alone", parse(SINGLE), devices=["d1", "d2"], replicas="all").result()
        assert places(host, "alone") == [("d2",)]


def test_more_than_fit() -> None:
    with HostManager(gated(3 * ROW, 2 * ROW, 3 * ROW, 5 * ROW)) as host:
        said = (
            r"4 replicas of network 'a' do not fit, at most 3: .* memory of the devices, in bytes: "
            r"d3 has 56"
        )
        with pytest.raises(GlowError, match=said):
            host.add_network("a", parse(SINGLE), replicas=4).result(SECONDS)
        assert memory(host) == [0] * 4
        host.add_network("a", parse(SINGLE), replicas=3).result(SECONDS)
        with pytest.raises(GlowError, match="2 replicas of network 'b' do not fit, at most 1: "):
            host.add_network("b", parse(SINGLE, 9.0), replicas=2).result(SECONDS)
        assert host.add_network("b", parse(SINGLE, 9.0)).result(SECONDS).replicas == 1


def test_more_than_there_are_devices() -> None:
    with HostManager(gated_devices(2)) as host:
        said = "at most 2 replicas, found 3: that is how many devices of one kind there are among d"
        with pytest.raises(GlowError, match=said):
            host.add_network("a", parse(SINGLE), replicas=3)
        for wrong in (0, -1, "some", 1.5):
            with pytest.raises(GlowError, match="at least 1, or 'all', found"):
                host.add_network("a", parse(SINGLE), replicas=wrong)  # pyright: ignore
        assert host.networks == {}


def test_a_partitioned_network() -> None:
    with HostManager(gated_devices(5)) as host:
        info = host.add_network("chain", parse(CHAIN), replicas="all").result(SECONDS)
        assert info.replicas == 2
        assert places(host, "chain") == [("d0", "d1"), ("d2", "d3")]
        said = "3 replicas of network 'more' do not fit, at most 2: one takes 2 of 5 devices with g"
        with pytest.raises(GlowError, match=said):
            host.add_network("more", parse(CHAIN, 2.0), replicas=3).result(SECONDS)


def test_memory_of_a_partitioned_network() -> None:
    with HostManager(gated(None, None, 2 * ROW, 2 * ROW)) as host:
        said = (
            r"2 replicas of network 'chain' do not fit, at most 1: first of network 'chain' "
            r"\(replica 1\) needs 84 bytes: .* device d2 has 56 bytes of memory, of which 0 are"
        )
        with pytest.raises(DeviceMemoryError, match=said) as info:
            host.add_network("chain", parse(CHAIN), replicas=2).result(SECONDS)
        assert (info.value.device, info.value.lacking) == ("d2", ROW)
        assert memory(host) == [0] * 4


def shared_device() -> Configuration:
    """Returns one device that the others cannot replace, and two of another kind."""
    return Configuration(
        (
            Device("cpu", InterpreterBackend()),
            Device("d1", GatedBackend()),
            Device("d2", GatedBackend()),
        )
    )


ON_TWO_KINDS = CHAIN.replace('"d0", glow.backend = "gated"', '"cpu", glow.backend = "interpreter"')


def test_replicas_share_what_there_is_once() -> None:
    with HostManager(shared_device()) as host:
        info = host.add_network("a", parse(ON_TWO_KINDS), replicas=2).result(SECONDS)
        assert info.replicas == 2
        assert places(host, "a") == [("cpu", "d1"), ("cpu", "d2")]
        assert [d.programs for d in host.statistics().devices.values()] == [1, 1, 1]
        assert memory(host) == [3 * ROW, 2 * ROW, 2 * ROW]
        x = row()
        (y,) = host.run("a", [x]).result(SECONDS)
        np.testing.assert_array_equal(y, -(x * np.float32(3)))
        host.remove_network("a")
        assert memory(host) == [0, 0, 0]


def test_what_is_on_a_shared_device_alone_is_no_replica() -> None:
    text = ON_TWO_KINDS.replace(
        '"d1", glow.backend = "gated"', '"cpu", glow.backend = "interpreter"'
    )
    with HostManager(shared_device()) as host:
        with pytest.raises(GlowError, match="at most 1: one takes 1 of 1 device with interpreter"):
            host.add_network("a", parse(text), replicas=2).result(SECONDS)
        assert host.add_network("a", parse(text), replicas="all").result(SECONDS).replicas == 1


def test_devices_of_other_rates_are_another_kind() -> None:
    slow = Device("slow", GatedBackend(), rates=Rates(1.0, 1.0))
    devices = Configuration((*gated_devices(2).devices, slow))
    with HostManager(devices) as host:
        info = host.add_network("a", parse(SINGLE), replicas="all").result(SECONDS)
        assert {p.device for p in info.partitions} == {"d0", "d1"}


def test_a_network_is_split_over_the_devices_of_a_replica() -> None:
    """Two constants, of which a device has room for one."""
    t = "tensor<1x7xf32>"
    text = SINGLE.replace("%y = glow.mul %x, %w", "%z = glow.mul %x, %w").replace(
        "  func.return",
        f"""  %v = glow.constant dense<2.0> : {t}
  %y = glow.add %z, %v : ({t}, {t}) -> {t}
  func.return""",
    )
    with HostManager(gated(*[3 * ROW] * 4)) as host:
        host.add_network("a", parse(text), replicas="all").result(SECONDS)
        found = places(host, "a")
        assert sorted(d for devices in found for d in devices) == ["d0", "d1", "d2", "d3"]
        assert memory(host) == [3 * ROW] * 4
        x = row()
        for _ in range(2):
            (y,) = host.run("a", [x]).result(SECONDS)
            np.testing.assert_array_equal(y, x * np.float32(3) + 2)


# which requests go where


def test_requests_go_where_the_queue_is_shortest() -> None:
    devices = gated_devices(2)
    gates = [backend_of(devices, i).gate for i in (0, 1)]
    with HostManager(devices, max_queue=0) as host:
        host.add_network("a", parse(SINGLE), replicas=2).result(SECONDS)
        gates[0].close()
        held = host.run("a", [row()])
        gates[0].wait_for_arrival()
        for _ in range(5):
            assert host.run("a", [row()]).result(SECONDS)
        assert completed(host, "a") == [0, 5]
        gates[0].open()
        assert held.result(SECONDS)
        assert completed(host, "a") == [1, 5]
        assert nothing_is_expected(host)


def test_requests_are_shared_out_evenly() -> None:
    devices = gated_devices(3)
    gates = [backend_of(devices, i).gate for i in range(3)]
    with HostManager(devices) as host:
        host.add_network("a", parse(SINGLE), replicas=3).result(SECONDS)
        for gate in gates:
            gate.close()
        futures = [host.run("a", [row()]) for _ in range(12)]
        for gate in gates:
            gate.open()
        for future in futures:
            assert future.result(SECONDS)
        assert completed(host, "a") == [4, 4, 4]


def test_the_queues_of_other_networks_count() -> None:
    devices = gated_devices(2)
    gate = backend_of(devices, 0).gate
    with HostManager(devices) as host:
        host.add_network("a", parse(SINGLE), replicas=2).result(SECONDS)
        host.add_network("other", parse(SINGLE, 5.0), devices=["d0"]).result(SECONDS)
        gate.close()
        held = host.run("other", [row()])
        for _ in range(3):
            assert host.run("a", [row()]).result(SECONDS)
        assert completed(host, "a") == [0, 3]
        gate.open()
        assert held.result(SECONDS)


def test_partitions_that_are_still_to_come_count() -> None:
    """Both replicas have their first partition on one device, which is held."""
    devices = gated_devices(3)
    text = CHAIN.replace('"d0"', '"cpu"')
    first = Device("cpu", GatedBackend(), rates=Rates(1.0, 1.0))
    configuration = Configuration((first, *devices.devices[1:]))
    gate = first.backend.gate  # pyright: ignore
    gate.close()
    with HostManager(configuration) as host:
        host.add_network("a", parse(text), replicas=2).result(SECONDS)
        futures = [host.run("a", [row()]) for _ in range(6)]
        gate.open()
        for future in futures:
            future.result(SECONDS)
        assert completed(host, "a") == [3, 3]


def raise_error(inputs: Sequence[np.ndarray]) -> None:
    raise ZeroDivisionError("on fire")


def test_a_replica_that_raised_is_avoided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_module, "PAUSE", 1e6)
    monkeypatch.setattr(device_module, "LONGEST_PAUSE", 1e9)
    devices = gated_devices(2)
    with HostManager(devices) as host:
        host.add_network("a", parse(SINGLE), replicas=2).result(SECONDS)
        backend_of(devices, 0).before = raise_error
        with pytest.raises(DeviceError, match="device d0 failed in"):
            host.run("a", [row()]).result(SECONDS)
        futures = [host.run("a", [row()]) for _ in range(20)]
        for future in futures:
            assert future.result(SECONDS)
        found = host.statistics().networks["a"].replicas
        assert [(r.completed, r.failed) for r in found] == [(0, 1), (20, 0)]
        # if all of them raised, there is no better one
        backend_of(devices, 1).before = raise_error
        for _ in range(2):
            assert isinstance(host.run("a", [row()]).exception(SECONDS), DeviceError)
        assert nothing_is_expected(host)


def test_a_replica_that_raised_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_module, "PAUSE", 0.0)
    devices = gated_devices(2)
    with HostManager(devices) as host:
        host.add_network("a", parse(SINGLE), replicas=2).result(SECONDS)
        backend_of(devices, 0).before = raise_error
        assert isinstance(host.run("a", [row()]).exception(SECONDS), DeviceError)
        backend_of(devices, 0).before = lambda inputs: None
        assert host.run("a", [row()]).result(SECONDS)
        assert completed(host, "a") == [1, 0]


def test_only_one_request_tries_a_replica_again(monkeypatch: pytest.MonkeyPatch) -> None:
    devices = gated_devices(2)
    with HostManager(devices) as host:
        host.add_network("a", parse(SINGLE), replicas=2).result(SECONDS)
        backend_of(devices, 0).before = raise_error
        monkeypatch.setattr(device_module, "PAUSE", 0.0)
        assert isinstance(host.run("a", [row()]).exception(SECONDS), DeviceError)
        monkeypatch.setattr(device_module, "PAUSE", 1e6)
        monkeypatch.setattr(device_module, "LONGEST_PAUSE", 1e9)
        found = [host.run("a", [row()]).exception(SECONDS) for _ in range(9)]
        assert [isinstance(e, DeviceError) for e in found] == [True] + 8 * [False]


def test_what_ends_early_is_no_longer_expected() -> None:
    devices = gated_devices(4)
    gates = [backend_of(devices, i).gate for i in range(4)]
    with HostManager(devices, max_queue=1000) as host:
        host.add_network("chain", parse(CHAIN), replicas=2).result(SECONDS)
        backend_of(devices, 1).before = raise_error
        for gate in gates:
            gate.close()
        futures = [host.run("chain", [row()]) for _ in range(8)]
        futures += [host.run("chain", [row()], timeout=1e-9) for _ in range(4)]
        cancelled = [f.cancel() for f in futures[3:6]]
        for gate in gates:
            gate.open()
        for future in futures:
            if not future.cancelled():
                future.exception(SECONDS)
        host.remove_network("chain")
        assert any(cancelled)
        assert nothing_is_expected(host)
        assert memory(host) == [0] * 4


def test_traces_say_which_replica_ran() -> None:
    with HostManager(gated_devices(2)) as host:
        host.add_network("a", parse(SINGLE), replicas=2).result(SECONDS)
        gate = backend_of(host._configuration, 0).gate
        gate.close()
        held = host.run("a", [row()])
        host.run("a", [row()]).result(SECONDS)
        gate.open()
        held.result(SECONDS)
        events: Any = host.trace()["traceEvents"]
    requests = [e["args"] for e in events if e["ph"] == "b" and "outcome" in e["args"]]
    assert [(a["request"], a["replica"]) for a in requests] == [(0, 0), (1, 1)]
    runs = [(e["pid"], e["args"]["replica"]) for e in events if e["ph"] == "X"]
    assert sorted(runs) == [(1, 0), (2, 1)]


def test_many_requests_on_replicas_while_one_raises_now_and_then(
    rng: np.random.Generator,
) -> None:
    devices = gated_devices(4)

    def now_and_then(inputs: Sequence[np.ndarray]) -> None:
        if rng.random() < 0.1:
            raise ValueError("now")

    backend_of(devices, 3).before = now_and_then
    done: list[tuple[np.ndarray, Any]] = []  # appending is atomic
    with HostManager(devices, max_queue=1000) as host:
        host.add_network("chain", parse(CHAIN), replicas=2).result(SECONDS)

        def client() -> None:
            for _ in range(25):
                x = row()
                done.append((x, host.run("chain", [x])))

        threads = [threading.Thread(target=client) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
        failed = 0
        for x, future in done:
            if (error := future.exception(SECONDS)) is not None:
                assert "device d3 failed" in str(error)
                failed += 1
                continue
            np.testing.assert_array_equal(future.result()[0], -(x * np.float32(3)))
        found = host.statistics().networks["chain"]
        assert len(done) == 200
        assert (found.completed, found.failed) == (200 - failed, failed)
        assert [r.failed for r in found.replicas] == [0, failed]
        assert nothing_is_expected(host)
