"""Networks that come and go: what is loaded where, and what becomes of requests."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest
from glow import CompileError, DeviceMemoryError, GlowError, HostManager, RejectedError
from glow.interface.program import Program, ProgramMemory
from glow.passes.partition.devices import Configuration, Device
from glow.runtime.cpu_backend import CpuBackend
from glow.tests.support.gates import SECONDS, GatedBackend, backend_of, gated_devices
from glow.tests.unit.host.networks import CHAIN, DIAMOND, SINGLE, parse, row
from xdsl.dialects.builtin import ModuleOp

ROW = 7 * 4
"""Bytes of a tensor of these networks."""


def memory(host: HostManager) -> list[int]:
    return [d.memory for d in host.statistics().devices.values()]


def test_memory_is_taken_and_freed() -> None:
    with HostManager(gated_devices(3)) as host:
        info = host.add_network("chain", parse(CHAIN)).result(SECONDS)
        assert [(p.name, p.device) for p in info.partitions] == [("first", "d0"), ("second", "d1")]
        # a constant, and while it runs an input and an output; the other has no constant
        assert memory(host) == [3 * ROW, 2 * ROW, 0]
        host.add_network("diamond", parse(DIAMOND)).result(SECONDS)
        # of partitions that never run at once, only the largest needs memory for tensors
        assert memory(host) == [ROW + 3 * ROW, 2 * ROW, 2 * ROW]
        host.remove_network("chain")
        assert memory(host) == [3 * ROW, 2 * ROW, 2 * ROW]
        host.remove_network("diamond")
        assert memory(host) == [0, 0, 0]
        assert host.networks == {}


def test_equal_partitions_are_loaded_once() -> None:
    devices = gated_devices(2)
    with HostManager(devices) as host:
        renamed = CHAIN.replace("%y", "%other").replace("@first", "@begin")
        for name, text, scale in (("a", CHAIN, 3.0), ("b", renamed, 3.0), ("c", CHAIN, 4.0)):
            host.add_network(name, parse(text, scale)).result(SECONDS)
        assert [d.programs for d in host.statistics().devices.values()] == [2, 1]
        assert [backend_of(devices, i).compiled for i in (0, 1)] == [2, 1]
        host.remove_network("a")
        x = row()
        for name, scale in (("b", 3), ("c", 4)):
            (y,) = host.run(name, [x]).result(SECONDS)
            np.testing.assert_array_equal(y, -(x * np.float32(scale)))
        host.remove_network("b")
        assert [d.programs for d in host.statistics().devices.values()] == [1, 1]


def test_equal_partitions_of_one_network_are_loaded_once() -> None:
    text = CHAIN.replace('"d1"', '"d0"').replace("glow.neg %x", "glow.relu %x")
    text = text.replace(
        "%y = func.call @second(%a)",
        "%b = func.call @second(%a) : (tensor<1x7xf32>) -> tensor<1x7xf32>\n"
        "  %y = func.call @third(%b)",
    )
    begin, end = text.index("func.func private @second"), text.index("func.func @main")
    text += text[begin:end].replace("@second", "@third")
    with HostManager(gated_devices(1)) as host:
        host.add_network("twice", parse(text)).result(SECONDS)
        assert host.statistics().devices["d0"].programs == 2
        x = row()
        (y,) = host.run("twice", [x]).result(SECONDS)
        np.testing.assert_array_equal(y, np.maximum(x * np.float32(3), 0))


def test_too_little_memory() -> None:
    devices = Configuration(
        (Device("d0", GatedBackend(), 4 * ROW), Device("d1", GatedBackend(), 2 * ROW))
    )
    with HostManager(devices) as host:
        host.add_network("a", parse(CHAIN, 1.0)).result(SECONDS)
        host.add_network("b", parse(CHAIN, 2.0)).result(SECONDS)
        said = (
            r"first of network 'c' needs 84 bytes: 28 for weights, .* 56 for tensors while it "
            r"runs; device d0 has 112 bytes of memory, of which 112 are taken: remove networks"
        )
        with pytest.raises(DeviceMemoryError, match=said):
            host.add_network("c", parse(CHAIN, 3.0)).result(SECONDS)
        assert memory(host) == [4 * ROW, 2 * ROW]
        assert sorted(host.networks) == ["a", "b"]
        host.remove_network("a")
        host.add_network("c", parse(CHAIN, 3.0)).result(SECONDS)
        assert host.run("c", [row()]).result(SECONDS)


class Measured:
    """A program that takes more memory than was planned."""

    memory = ProgramMemory(weights=5 * ROW, arena=ROW)

    def __init__(self, program: Program):
        self.run = program.run


def test_programs_are_asked_for_their_memory() -> None:
    class MeasuringBackend(GatedBackend):
        def compile(self, stages: Mapping[str, ModuleOp]) -> Program:
            return Measured(super().compile(stages))

    for limit, fits in ((8 * ROW, True), (8 * ROW - 1, False)):
        devices = Configuration(
            (Device("d0", MeasuringBackend(), limit), Device("d1", GatedBackend()))
        )
        with HostManager(devices) as host:
            future = host.add_network("a", parse(CHAIN))
            if fits:
                assert future.result(SECONDS).partitions[0].memory.resident == 6 * ROW
                assert memory(host) == [8 * ROW, 2 * ROW]
                continue
            with pytest.raises(DeviceMemoryError, match="224 bytes: 140 for weights, 28 for its"):
                future.result(SECONDS)
            assert memory(host) == [0, 0]


def test_what_does_not_fit_leaves_nothing_behind() -> None:
    devices = Configuration((Device("d0", GatedBackend()), Device("d1", GatedBackend(), ROW)))
    with HostManager(devices) as host:
        with pytest.raises(DeviceMemoryError, match="second of network 'a'"):
            host.add_network("a", parse(CHAIN)).result(SECONDS)
        assert memory(host) == [0, 0]
        with pytest.raises(GlowError, match="there is no network 'a'"):
            host.run("a", [row()])


def test_the_partitioner_knows_what_is_free() -> None:
    with HostManager(gated_devices(2, memory=3 * ROW)) as host:
        first = host.add_network("a", parse(SINGLE, 1.0)).result(SECONDS)
        second = host.add_network("b", parse(SINGLE, 2.0)).result(SECONDS)
        used = {p.device for info in (first, second) for p in info.partitions}
        assert used == {"d0", "d1"}
        with pytest.raises(CompileError, match="memory"):
            host.add_network("c", parse(SINGLE, 3.0)).result(SECONDS)


def test_memory_of_the_cpu_is_what_was_planned(tmp_path: Path) -> None:
    devices = Configuration((Device("d0", CpuBackend(cache=tmp_path)),))
    with HostManager(devices) as host:
        info = host.add_network("single", parse(SINGLE)).result(SECONDS)
        found = info.partitions[0].memory
        assert found.weights == ROW
        assert found.tensors == 2 * ROW
        assert memory(host) == [found.weights + found.arena + 2 * ROW]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"d1"', '"d7"', "second is for device d7; the devices are d0, d1"),
        ('"d1", glow.backend = "gated"', '"d1", glow.backend = "cpu"', "device d1 has gated"),
        ("glow.mul", "glow.other", "glow.other"),
    ],
)
def test_wrong_modules(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "wrong.mlir"
    path.write_text(CHAIN.replace("SCALE", "3.0").replace(old, new))
    with HostManager(gated_devices(2)) as host, pytest.raises(GlowError, match=said):
        host.add_network("wrong", path).result(SECONDS)


def test_errors_of_backends_name_the_partition() -> None:
    devices = gated_devices(2)

    def fail(stages: object) -> object:
        raise KeyError("what")

    backend_of(devices, 1).compile = fail  # pyright: ignore
    with HostManager(devices) as host:
        said = "second of network 'chain', on device d1: KeyError: 'what'"
        with pytest.raises(CompileError, match=said) as info:
            host.add_network("chain", parse(CHAIN)).result(SECONDS)
        assert isinstance(info.value.__cause__, KeyError)
        assert memory(host) == [0, 0]


def test_names_are_taken_once() -> None:
    with HostManager(gated_devices(2)) as host:
        host.add_network("a", parse(SINGLE)).result(SECONDS)
        with pytest.raises(GlowError, match="there is a network 'a' already"):
            host.add_network("a", parse(SINGLE))
        with pytest.raises(GlowError, match="no device is called d5; the devices are d0, d1"):
            host.add_network("b", parse(SINGLE), devices=["d5"])
        with pytest.raises(GlowError, match="there is no network 'b'; the networks are 'a'"):
            host.remove_network("b")
        host.remove_network("a")
        host.add_network("a", parse(SINGLE)).result(SECONDS)


def test_devices_of_a_network() -> None:
    with HostManager(gated_devices(3)) as host:
        info = host.add_network("a", parse(SINGLE), devices=["d2"]).result(SECONDS)
        assert [p.device for p in info.partitions] == ["d2"]


class Removal:
    """Two requests for the chain, of which one is on the second device, and a removal meanwhile."""

    def __init__(self, host: HostManager, devices: Configuration, drain: bool, end: bool = False):
        self.gates = [backend_of(devices, i).gate for i in (0, 1)]
        self.gates[1].close()
        host.add_network("chain", parse(CHAIN)).result(SECONDS)
        self.running = host.run("chain", [row()])
        self.gates[1].wait_for_arrival()
        self.gates[0].wait_for_arrival()
        self.gates[0].close()
        host.add_network("blocker", parse(SINGLE), devices=["d0"]).result(SECONDS)
        self.blocker = host.run("blocker", [row()])
        self.gates[0].wait_for_arrival()
        self.waiting = host.run("chain", [row()])
        remove = (
            (lambda: host.shutdown(drain)) if end else (lambda: host.remove_network("chain", drain))
        )
        self.thread = threading.Thread(target=remove)
        self.rejected = threading.Event()
        self.waiting.add_done_callback(lambda f: self.rejected.set())
        self.thread.start()

    def finish(self) -> None:
        for gate in self.gates:
            gate.open()
        self.thread.join(SECONDS)
        assert not self.thread.is_alive()


def test_removal_waits_for_all_requests() -> None:
    devices = gated_devices(2)
    with HostManager(devices) as host:
        removal = Removal(host, devices, drain=True)
        removal.gates[1].open()
        assert removal.running.result(SECONDS)
        assert not removal.waiting.done()
        assert removal.thread.is_alive()
        removal.finish()
        assert removal.waiting.done()
        assert removal.waiting.result()
        assert memory(host)[1] == 0


def test_removal_rejects_what_no_device_began_with() -> None:
    devices = gated_devices(2)
    with HostManager(devices) as host:
        removal = Removal(host, devices, drain=False)
        assert removal.rejected.wait(SECONDS)
        with pytest.raises(RejectedError, match="network 'chain' was removed"):
            removal.waiting.result()
        assert removal.thread.is_alive()  # it waits for the device
        assert not removal.running.done()
        removal.finish()
        assert removal.running.result()


@pytest.mark.parametrize("drain", [True, False])
def test_shutdown_loses_nothing(drain: bool) -> None:
    devices = gated_devices(2)
    host = HostManager(devices)
    removal = Removal(host, devices, drain, end=True)
    if not drain:
        assert removal.rejected.wait(SECONDS)
    removal.finish()
    assert removal.running.result()
    assert removal.blocker.result()
    assert isinstance(removal.waiting.exception(), RejectedError) is not drain
    with pytest.raises(RejectedError, match="the host manager shut down"):
        host.run("chain", [row()])
    with pytest.raises(RejectedError, match="the host manager shut down"):
        host.add_network("other", parse(SINGLE))
    host.shutdown()


def test_an_error_in_the_context_rejects_what_waits() -> None:
    devices = gated_devices(1)
    gate = backend_of(devices, 0).gate
    gate.close()
    futures: list[Future[list[np.ndarray]]] = []

    def leave_with_an_error() -> None:
        with HostManager(devices) as host:
            host.add_network("single", parse(SINGLE)).result(SECONDS)
            futures.extend(host.run("single", [row()]) for _ in range(3))
            gate.wait_for_arrival()
            futures[1].add_done_callback(lambda f: gate.open())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        leave_with_an_error()
    assert futures[0].result()
    assert [type(f.exception()) for f in futures[1:]] == [RejectedError, RejectedError]


def test_requests_after_removal_are_refused() -> None:
    with HostManager(gated_devices(2)) as host:
        host.add_network("chain", parse(CHAIN)).result(SECONDS)
        host.remove_network("chain")
        with pytest.raises(GlowError, match="there is no network 'chain'; the networks are none"):
            host.run("chain", [row()])


@pytest.mark.parametrize("devices", ["gated", ["cpu", "other"], []])
def test_devices_that_cannot_be(devices: str | Sequence[str]) -> None:
    with pytest.raises(GlowError, match=r"backend is called|expected at least one device"):
        HostManager(devices)


@pytest.mark.parametrize(
    ("name", "low"), [("max_active", 1), ("max_queue", 0), ("max_compiling", 1), ("traced", 0)]
)
def test_numbers_that_cannot_be(name: str, low: int) -> None:
    for wrong in (low - 1, "3", 2.5, True):
        message = f"expected {name} to be an integer of at least {low}, found {wrong!r}"
        with pytest.raises(GlowError, match=message):
            HostManager("interpreter", **{name: wrong})  # pyright: ignore[reportArgumentType]


def test_options_that_cannot_be() -> None:
    with pytest.raises(GlowError, match="have a memory of their own"):
        HostManager(gated_devices(1), memory=5)


def test_devices_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "devices.toml"
    path.write_text(
        '[[devices]]\nname = "a"\nbackend = "interpreter"\nmemory = 1000\n'
        '[[devices]]\nname = "b"\nbackend = "interpreter"\n'
    )
    with HostManager(path) as host:
        assert {n: d.limit for n, d in host.statistics().devices.items()} == {"a": 1000, "b": None}
    with HostManager("interpreter,interpreter", memory=5) as host:
        limits = [d.limit for d in host.statistics().devices.values()]
        assert limits == [5, 5]


def test_a_network_that_computes_nothing() -> None:
    text = "func.func @main(%x: tensor<1x7xf32>) -> tensor<1x7xf32> {\n"
    text += "  func.return %x : tensor<1x7xf32>\n}"
    with HostManager(gated_devices(1)) as host:
        host.add_network("same", parse(text)).result(SECONDS)
        x = row()
        (y,) = host.run("same", [x]).result(SECONDS)
        np.testing.assert_array_equal(x, y)
        assert not np.shares_memory(x, y)
