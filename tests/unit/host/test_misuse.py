"""Errors of callers and programs: each gives a clear error, and nothing else is lost."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from glow import DeviceError, GlowError, HostManager, InputError, RejectedError
from glow.passes.partition.devices import Configuration
from glow.runtime.host.admission import Admission
from glow.runtime.host.request import Request
from glow.tests.support.gates import SECONDS, backend_of, gated_devices
from glow.tests.unit.host.networks import CHAIN, DIAMOND, SINGLE, parse, row

SAME = """
func.func @main(%x: tensor<1x7xf32> {glow.name = "x"}) -> (tensor<1x7xf32> {glow.name = "y"}) {
  func.return %x : tensor<1x7xf32>
}
"""


@pytest.fixture
def devices() -> Configuration:
    return gated_devices(3)


@pytest.fixture
def host(devices: Configuration) -> Iterator[HostManager]:
    with HostManager(devices, max_active=1, max_queue=1) as host:
        host.add_network("single", parse(SINGLE), devices=["d0"]).result(SECONDS)
        yield host
        for i in range(3):
            backend_of(devices, i).gate.open()
        host.remove_network("single")  # which waits for all requests


def is_served(host: HostManager) -> bool:
    """Returns whether a request for the first device is run, and nothing is left behind."""
    x = row()
    (y,) = host.run("single", [x]).result(SECONDS)
    np.testing.assert_array_equal(y, x * np.float32(3))
    found = host.statistics()
    return (found.active, found.waiting, found.networks["single"].unfinished) == (0, 0, 0)


@pytest.mark.parametrize("priority", ["high", None, 1.5, float("nan")])
def test_priorities_that_cannot_be_ordered(host: HostManager, priority: object) -> None:
    with pytest.raises(InputError, match="expected a whole number as priority, found"):
        host.run("single", [row()], priority=priority)  # pyright: ignore
    assert is_served(host)


def test_priorities_of_numpy(host: HostManager) -> None:
    assert host.run("single", [row()], priority=np.int64(-1)).result(SECONDS)  # pyright: ignore


@pytest.mark.parametrize("timeout", ["soon", float("nan"), [1]])
def test_timeouts_that_are_none(host: HostManager, timeout: object) -> None:
    with pytest.raises(InputError, match="expected seconds as timeout, found"):
        host.run("single", [row()], timeout=timeout)  # pyright: ignore
    assert is_served(host)


@pytest.mark.parametrize(
    ("name", "wanted", "said"),
    [
        (parse(SINGLE), None, "expected the name of the network, found ModuleOp"),
        ("a", "d0", "expected a list of names of devices, found the string 'd0'"),
        ("a", [], "expected at least one device, found none"),
    ],
)
def test_wrong_arguments_of_additions(
    host: HostManager, name: str, wanted: Sequence[str] | None, said: str
) -> None:
    with pytest.raises(GlowError, match=said):
        host.add_network(name, parse(SINGLE), devices=wanted)
    assert list(host.networks) == ["single"]


def test_an_input_of_the_wrong_shape(host: HostManager) -> None:
    with pytest.raises(InputError, match=r"'x': expected shape \(1, 7\), found \(7,\)"):
        host.run("single", [row()[0]])
    assert is_served(host)


def test_a_result_that_is_asked_for_twice(host: HostManager) -> None:
    a, b = host.run("single", [row()], outputs=["y", "y"]).result(SECONDS)
    np.testing.assert_array_equal(a, b)
    assert not np.shares_memory(a, b)


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


def test_errors_without_a_text(host: HostManager, devices: Configuration) -> None:
    def fail(inputs: Sequence[np.ndarray]) -> None:
        raise UnprintableError

    backend_of(devices, 0).before = fail
    with pytest.raises(DeviceError, match=r"device d0 failed in .*: UnprintableError$"):
        host.run("single", [row()]).result(SECONDS)
    backend_of(devices, 0).before = lambda inputs: None
    assert is_served(host)


@pytest.mark.parametrize("wrong", [None, [None], 5, [[1.0] * 7]])
def test_results_that_are_no_arrays(
    host: HostManager, devices: Configuration, wrong: object
) -> None:
    backend_of(devices, 0).after = lambda outputs: wrong  # pyright: ignore
    with pytest.raises(DeviceError, match="device d0 failed in"):
        host.run("single", [row()]).result(SECONDS)
    assert host.statistics().devices["d0"].failures == 1
    backend_of(devices, 0).after = lambda outputs: outputs
    assert is_served(host)


def test_callbacks_that_want_to_end_the_thread(
    host: HostManager, devices: Configuration, caplog: pytest.LogCaptureFixture
) -> None:
    gate = backend_of(devices, 0).gate
    gate.close()
    future = host.run("single", [row()])
    future.add_done_callback(lambda f: sys.exit("by a callback"))
    gate.wait_for_arrival()
    with caplog.at_level(logging.ERROR):
        gate.open()
        assert is_served(host)
    assert "a callback of a request for network 'single'" in caplog.text
    assert future.result(0)


def test_no_memory_for_a_copy_of_the_results(
    host: HostManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(request: Request) -> list[np.ndarray]:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(Request, "_results", fail)
        with pytest.raises(DeviceError, match="no memory for a copy") as info:
            host.run("single", [row()]).result(SECONDS)
        assert isinstance(info.value.__cause__, MemoryError)
    assert is_served(host)


def test_networks_without_nodes_need_no_device(host: HostManager, devices: Configuration) -> None:
    """They do not wait for room, and many of them do not pile up on each other."""
    host.add_network("same", parse(SAME)).result(SECONDS)
    gate = backend_of(devices, 0).gate
    gate.close()
    held = [host.run("single", [row()]) for _ in range(2)]
    x = row()
    for future in [host.run("same", [x]) for _ in range(1000)]:
        np.testing.assert_array_equal(future.result(0)[0], x)
    gate.open()
    for future in held:
        assert future.result(SECONDS)
    assert is_served(host)
    host.remove_network("same")


def test_a_removal_between_two_steps_of_a_request(
    host: HostManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the network knows it, and before it is admitted."""
    enter = Admission.enter

    def remove_first(admission: Admission, request: Request) -> bool:
        request.reject("network 'single' was removed")
        return enter(admission, request)

    with monkeypatch.context() as patch:
        patch.setattr(Admission, "enter", remove_first)
        future = host.run("single", [row()])
        with pytest.raises(RejectedError, match="'single' was removed"):
            future.result(0)
    assert is_served(host)
    assert host.statistics().networks["single"].dropped == 1


def test_two_threads_remove_one_network(host: HostManager, devices: Configuration) -> None:
    host.add_network("chain", parse(CHAIN)).result(SECONDS)
    gate = backend_of(devices, 1).gate
    gate.close()
    future = host.run("chain", [row()])
    gate.wait_for_arrival()
    errors: list[str] = []

    def remove() -> None:
        try:
            host.remove_network("chain")
        except GlowError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=remove) for _ in range(2)]
    for thread in threads:
        thread.start()
    while not errors:
        pass
    gate.open()
    for thread in threads:
        thread.join(SECONDS)
    assert future.result(SECONDS)
    assert errors == ["there is no network 'chain'; the networks are 'single'"]


def test_many_threads_end_one_host_manager() -> None:
    devices = gated_devices(3)
    gate = backend_of(devices, 1).gate
    gate.close()
    host = HostManager(devices)
    host.add_network("diamond", parse(DIAMOND)).result(SECONDS)
    futures = [host.run("diamond", [row()]) for _ in range(20)]
    threads = [threading.Thread(target=host.shutdown, args=[i % 2 == 0]) for i in range(4)]
    for thread in threads:
        thread.start()
    gate.open()
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive()
    assert all(f.done() for f in futures)
    assert {type(f.exception()) for f in futures} <= {type(None), RejectedError}
