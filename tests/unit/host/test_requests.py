"""Requests on their way through devices, each step held by a gate."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, wait

import numpy as np
import pytest
from glow import (
    DeadlineError,
    DeviceError,
    GlowError,
    HostManager,
    InputError,
    QueueFullError,
    RejectedError,
)
from glow.passes.partition.devices import Configuration
from glow.tests.support.gates import SECONDS, GatedBackend, backend_of, gated_devices
from glow.tests.unit.host.networks import CHAIN, DIAMOND, SINGLE, parse, row


@pytest.fixture
def devices() -> Configuration:
    return gated_devices(3)


@pytest.fixture
def first(devices: Configuration) -> GatedBackend:
    return backend_of(devices, 0)


@pytest.fixture
def second(devices: Configuration) -> GatedBackend:
    return backend_of(devices, 1)


@pytest.fixture
def host(devices: Configuration) -> Iterator[HostManager]:
    with HostManager(devices, max_active=2, max_queue=3) as host:
        yield host
        for device in devices.devices:
            assert isinstance(device.backend, GatedBackend)
            device.backend.gate.open()


def add(host: HostManager, name: str, text: str, scale: float = 3.0) -> None:
    host.add_network(name, parse(text, scale)).result(SECONDS)


def test_chain(host: HostManager) -> None:
    add(host, "chain", CHAIN)
    x = row()
    (y,) = host.run("chain", [x]).result(SECONDS)
    np.testing.assert_array_equal(y, -(x * np.float32(3)))
    assert host.statistics().networks["chain"].completed == 1


def test_diamond_by_name(host: HostManager) -> None:
    add(host, "diamond", DIAMOND)
    x = row()
    left, total = host.run("diamond", {"x": x}, outputs=["left", "sum"]).result(SECONDS)
    np.testing.assert_array_equal(left, np.abs(x))
    np.testing.assert_array_equal(total, np.abs(x) + np.maximum(-x, 0))
    assert [d.runs for d in host.statistics().devices.values()] == [2, 1, 1]


def test_results_are_fresh_arrays(host: HostManager) -> None:
    text = """
    func.func private @a(%x: tensor<1x7xf32>) -> tensor<1x7xf32> attributes {
        glow.device = "d0", glow.backend = "gated"} {
      %y = glow.neg %x : (tensor<1x7xf32>) -> tensor<1x7xf32>
      func.return %y : tensor<1x7xf32>
    }
    func.func @main(%x: tensor<1x7xf32>)
        -> (tensor<1x7xf32>, tensor<1x7xf32>, tensor<1x7xf32>) {
      %a = func.call @a(%x) : (tensor<1x7xf32>) -> tensor<1x7xf32>
      func.return %a, %x, %a : tensor<1x7xf32>, tensor<1x7xf32>, tensor<1x7xf32>
    }"""
    add(host, "same", text)
    x = row()
    results = host.run("same", [x]).result(SECONDS)
    for found, wanted in zip(results, (-x, x, -x), strict=True):
        np.testing.assert_array_equal(found, wanted)
    arrays = [x, *results]
    pairs = [(a, b) for i, a in enumerate(arrays) for b in arrays[:i]]
    assert not any(np.shares_memory(a, b) for a, b in pairs)


def test_partitions_of_one_request_run_at_once(
    host: HostManager, second: GatedBackend, devices: Configuration
) -> None:
    third = backend_of(devices, 2)
    second.gate.close()
    third.gate.close()
    add(host, "diamond", DIAMOND)
    future = host.run("diamond", [row()])
    second.gate.wait_for_arrival()
    third.gate.wait_for_arrival()
    assert not future.done()
    second.gate.open()
    third.gate.open()
    assert len(future.result(SECONDS)) == 2


def test_several_requests_are_in_flight(
    host: HostManager, first: GatedBackend, second: GatedBackend
) -> None:
    second.gate.close()
    add(host, "chain", CHAIN)
    one = host.run("chain", [row()])
    second.gate.wait_for_arrival()
    first.gate.wait_for_arrival()
    first.gate.close()
    two = host.run("chain", [row()])
    first.gate.wait_for_arrival()  # the first device has the second request meanwhile
    assert not one.done()
    assert not two.done()
    assert host.statistics().active == 2
    first.gate.open()
    second.gate.open()
    wait([one, two], SECONDS)


def test_tensors_are_freed_when_they_are_read(
    host: HostManager, first: GatedBackend, second: GatedBackend, devices: Configuration
) -> None:
    made: list[weakref.ref[np.ndarray]] = []

    def remember(outputs: list[np.ndarray]) -> list[np.ndarray]:
        made.extend(map(weakref.ref, outputs))
        return outputs

    first.after = remember
    third = backend_of(devices, 2)
    third.gate.close()
    text = CHAIN.replace(
        "%y = func.call @second(%a)",
        """%b = func.call @second(%a) : (tensor<1x7xf32>) -> tensor<1x7xf32>
  %y = func.call @third(%b)""",
    )
    text += """
func.func private @third(%x: tensor<1x7xf32>) -> tensor<1x7xf32> attributes {
    glow.device = "d2", glow.backend = "gated"} {
  %y = glow.abs %x : (tensor<1x7xf32>) -> tensor<1x7xf32>
  func.return %y : tensor<1x7xf32>
}"""
    add(host, "chain", text)
    add(host, "single", SINGLE)
    future = host.run("chain", [row()])
    third.gate.wait_for_arrival()
    first.after = lambda outputs: outputs
    assert host.run("single", [row()]).result(SECONDS)  # the first device is done with the other
    assert len(made) == 1
    gc.collect()  # the interpreter leaves cycles
    assert made[0]() is None
    third.gate.open()
    assert future.result(SECONDS)


def test_a_device_that_raises_fails_only_its_requests(
    host: HostManager, second: GatedBackend
) -> None:
    def break_on_nan(inputs: Sequence[np.ndarray]) -> None:
        if np.isnan(inputs[0]).any():
            raise ZeroDivisionError("the device is on fire")

    second.before = break_on_nan
    add(host, "chain", CHAIN)
    add(host, "single", SINGLE)
    x = row()
    bad = np.full_like(x, np.nan)
    futures = [host.run(name, [a]) for name, a in (("chain", x), ("chain", bad), ("single", bad))]
    np.testing.assert_array_equal(futures[0].result(SECONDS)[0], -(x * np.float32(3)))
    with pytest.raises(DeviceError, match=r"d1 failed in second of network 'chain'.*fire") as info:
        futures[1].result(SECONDS)
    assert isinstance(info.value.__cause__, ZeroDivisionError)
    assert np.isnan(futures[2].result(SECONDS)[0]).all()
    assert host.run("chain", [x]).result(SECONDS)
    found = host.statistics()
    assert found.networks["chain"].failed == 1
    assert found.networks["chain"].completed == 2
    assert found.devices["d1"].failures == 1


@pytest.mark.parametrize("error", [SystemExit("end"), KeyboardInterrupt()])
def test_programs_do_not_end_a_device(
    host: HostManager, first: GatedBackend, error: BaseException
) -> None:
    def end(inputs: Sequence[np.ndarray]) -> None:
        raise error

    first.before = end
    add(host, "chain", CHAIN)
    with pytest.raises(DeviceError):
        host.run("chain", [row()]).result(SECONDS)
    first.before = lambda inputs: None
    assert host.run("chain", [row()]).result(SECONDS)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda y: [], "expected 1 result, found 0"),
        (lambda y: [y[0][:, :3]], r"expected float32\[1, 7\] as a result, found float32\[1, 3\]"),
        (lambda y: [y[0].astype(np.float64)], "found float64"),
    ],
)
def test_wrong_results_do_not_reach_other_devices(
    host: HostManager, first: GatedBackend, second: GatedBackend, wrong, said: str
) -> None:
    first.after = wrong
    add(host, "chain", CHAIN)
    with pytest.raises(DeviceError, match=said):
        host.run("chain", [row()]).result(SECONDS)
    assert host.statistics().devices["d1"].runs == 0


def test_results_are_made_contiguous(host: HostManager, first: GatedBackend) -> None:
    first.after = lambda outputs: [np.repeat(outputs[0], 2, axis=1)[:, ::2]]
    add(host, "chain", CHAIN)
    x = row()
    (y,) = host.run("chain", [x]).result(SECONDS)
    np.testing.assert_array_equal(y, -(x * np.float32(3)))
    assert y.flags.c_contiguous


def test_queue_is_bounded(host: HostManager, first: GatedBackend) -> None:
    first.gate.close()
    add(host, "single", SINGLE)
    futures = [host.run("single", [row()]) for _ in range(5)]
    found = host.statistics()
    assert (found.active, found.waiting) == (2, 3)
    with pytest.raises(
        QueueFullError, match="2 requests running and 3 waiting are as many as may be"
    ):
        host.run("single", [row()])
    assert host.statistics().networks["single"].refused == 1
    assert futures[4].cancel()
    futures.append(host.run("single", [row()]))  # there is room again
    with pytest.raises(QueueFullError):
        host.run("single", [row()])
    first.gate.open()
    assert all(f.cancelled() or f.result(SECONDS) for f in futures)
    found = host.statistics()
    assert (found.active, found.waiting) == (0, 0)
    assert found.networks["single"].completed == 5
    assert found.networks["single"].cancelled == 1


def test_room_is_free_when_a_result_is_there(devices: Configuration) -> None:
    with HostManager(devices, max_active=1, max_queue=0) as host:
        add(host, "single", SINGLE)
        for _ in range(50):
            host.run("single", [row()]).result(SECONDS)


def test_priorities(host: HostManager, first: GatedBackend) -> None:
    first.gate.close()
    add(host, "single", SINGLE, 1.0)
    order: list[int] = []
    first.before = lambda inputs: order.append(int(inputs[0][0, 0]))
    futures = []
    for number, priority in enumerate([0, 5, 5, -3, 0]):
        inputs = [np.full((1, 7), number, np.float32)]
        futures.append(host.run("single", inputs, priority=priority))
        if number == 0:
            first.gate.wait_for_arrival()  # so it is not overtaken
    first.gate.open()
    wait(futures, SECONDS)
    # the second is with the device already, where those that follow overtake it
    assert order == [0, 3, 4, 1, 2]


def test_cancelled_requests_do_not_run(
    host: HostManager, first: GatedBackend, second: GatedBackend
) -> None:
    first.gate.close()
    add(host, "chain", CHAIN)
    futures = [host.run("chain", [row()]) for _ in range(4)]
    first.gate.wait_for_arrival()
    assert not futures[0].cancel()  # a device works on it
    assert futures[1].cancel()  # in the queue of the device
    assert futures[2].cancel()  # in the queue of the host
    assert futures[3].cancel()
    first.gate.open()
    assert futures[0].result(SECONDS)
    with pytest.raises(CancelledError):
        futures[1].result(SECONDS)
    assert host.run("chain", [row()]).result(SECONDS)
    found = host.statistics()
    assert (found.networks["chain"].completed, found.networks["chain"].cancelled) == (2, 3)
    assert found.devices["d0"].runs == found.devices["d1"].runs == 2


def test_deadlines(host: HostManager, first: GatedBackend) -> None:
    first.gate.close()
    add(host, "chain", CHAIN)
    late_in_the_middle = host.run("chain", [row()], timeout=1e-9)
    running = host.run("chain", [row()], timeout=SECONDS)
    first.gate.wait_for_arrival()
    futures = [host.run("chain", [row()], timeout=1e-9) for _ in range(4)]
    with pytest.raises(DeadlineError, match="not run in the time"):
        late_in_the_middle.result(SECONDS)
    first.gate.open()
    for future in futures:
        with pytest.raises(TimeoutError):
            future.result(SECONDS)
    assert running.result(SECONDS)
    assert host.statistics().networks["chain"].late == 5
    assert host.statistics().devices["d0"].runs == 1


def test_requests_that_are_late_make_room(host: HostManager, first: GatedBackend) -> None:
    first.gate.close()
    add(host, "single", SINGLE)
    host.run("single", [row()])
    first.gate.wait_for_arrival()
    host.run("single", [row()])
    late = [host.run("single", [row()], timeout=1e-9) for _ in range(3)]
    on_time = host.run("single", [row()], timeout=SECONDS)
    assert all(isinstance(f.exception(0), DeadlineError) for f in late)
    first.gate.open()
    assert on_time.result(SECONDS)


def test_asyncio(host: HostManager, first: GatedBackend) -> None:
    add(host, "single", SINGLE)
    rows = [row() for _ in range(5)]

    async def all_at_once() -> list[list[np.ndarray]]:
        return await asyncio.gather(*(host.run_async("single", [x]) for x in rows))

    for x, (y,) in zip(rows, asyncio.run(all_at_once()), strict=True):
        np.testing.assert_array_equal(y, x * np.float32(3))


def test_cancelled_tasks_cancel_requests(host: HostManager, first: GatedBackend) -> None:
    first.gate.close()
    add(host, "single", SINGLE)
    running = host.run("single", [row()])
    first.gate.wait_for_arrival()

    async def give_up() -> None:
        task = asyncio.create_task(host.run_async("single", [row()]))
        await asyncio.sleep(0)  # the task begins
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    first.gate.open()
    assert running.result(SECONDS)
    assert host.statistics().networks["single"].cancelled == 1


def test_callbacks_may_run_but_not_wait(host: HostManager) -> None:
    add(host, "single", SINGLE)
    caught: list[str] = []
    done = threading.Event()

    def callback(future: object) -> None:
        for method in (lambda: host.remove_network("single"), host.shutdown):
            try:
                method()
            except GlowError as error:
                caught.append(str(error))
        host.run("single", [row()]).add_done_callback(lambda f: done.set())

    host.run("single", [row()]).add_done_callback(callback)
    assert done.wait(SECONDS)
    # the future may be done before the callback is there, which then runs in this thread
    assert caught in (
        [],
        ["a callback of a future cannot wait for requests: use another thread"] * 2,
    )


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ([], "missing input 'x'"),
        ([np.zeros((1, 7))], "expected dtype float32"),
        ({"z": np.zeros((1, 7), np.float32)}, "no input is called 'z'"),
        (np.zeros((1, 7), np.float32), "expected a dictionary .* found ndarray"),
        ("x", "found str"),
    ],
)
def test_wrong_inputs(host: HostManager, inputs, said: str) -> None:
    add(host, "single", SINGLE)
    with pytest.raises(InputError, match=said):
        host.run("single", inputs)
    assert host.statistics().networks["single"].accepted == 0


def test_unknown_networks(host: HostManager) -> None:
    add(host, "single", SINGLE)
    with pytest.raises(GlowError, match="no network 'other'; the networks are 'single'"):
        host.run("other", [row()])
    with pytest.raises(InputError, match="no output is called 'z'"):
        host.run("single", [row()], outputs=["z"])


def test_rejected_is_the_base_of_queue_full() -> None:
    assert issubclass(QueueFullError, RejectedError)
