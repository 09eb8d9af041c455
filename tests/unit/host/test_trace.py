"""Traces of requests, as Perfetto reads them."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from glow import HostManager
from glow.runtime.host.statistics import percentiles
from glow.tests.support.gates import SECONDS, backend_of, gated_devices
from glow.tests.unit.host.networks import CHAIN, DIAMOND, parse, row

REQUESTS = 20
Event = dict[str, Any]


@pytest.fixture
def events(tmp_path: Path) -> list[Event]:
    """
    Returns a trace of requests for two networks, of which the first fails and the last is
    cancelled.
    """
    devices = gated_devices(3)
    path = tmp_path / "trace.json"
    with HostManager(devices, max_active=3) as host:
        for name, text in (("chain", CHAIN), ("diamond", DIAMOND)):
            host.add_network(name, parse(text)).result(SECONDS)

        def fail_once(inputs: object) -> None:
            backend_of(devices, 1).before = lambda inputs: None
            raise ValueError("broken")

        backend_of(devices, 1).before = fail_once
        host.run("chain", [row()]).exception(SECONDS)
        gate = backend_of(devices, 0).gate
        gate.close()
        futures = [
            host.run(("chain", "diamond")[i % 2], [row()], priority=i % 3) for i in range(REQUESTS)
        ]
        assert futures[-1].cancel()
        gate.open()
        for future in futures[:-1]:
            future.result(SECONDS)
        host.write_trace(path)
    found = json.loads(path.read_text())
    assert found["displayTimeUnit"] == "ns"
    return found["traceEvents"]


def of(events: list[Event], phase: str) -> list[Event]:
    return [e for e in events if e["ph"] == phase]


def test_events_are_complete(events: list[Event]) -> None:
    assert Counter(e["ph"] for e in events).keys() == set("MXbesf")
    for event in events:
        assert isinstance(event["name"], str)
        assert isinstance(event["pid"], int)
        if event["ph"] != "M":
            assert event["ts"] >= 0
        if event["ph"] == "X":
            assert event["dur"] >= 0
        if event["ph"] in "besf":
            assert isinstance(event["id"], int)
            assert event["cat"]


def test_every_request_is_there(events: list[Event]) -> None:
    requests = [e for e in of(events, "b") if "outcome" in e["args"]]
    assert [e["args"]["request"] for e in requests] == list(range(REQUESTS + 1))
    outcomes = Counter(e["args"]["outcome"] for e in requests)
    assert outcomes == {"completed": REQUESTS - 1, "failed": 1, "cancelled": 1}
    failed = requests[0]["args"]
    assert "ValueError: broken" in failed["error"]


def test_every_run_is_there(events: list[Event]) -> None:
    runs = of(events, "X")
    found = Counter((e["args"]["request"], e["args"]["partition"]) for e in runs)
    assert set(found.values()) == {1}
    parts = {"chain": ["first", "second"], "diamond": ["top", "left", "right", "bottom"]}
    requests = [e["args"] for e in of(events, "b") if "outcome" in e["args"]]
    wanted = {
        (r["request"], part)
        for r in requests
        for part in parts[r["network"]]
        if r["outcome"] != "cancelled"
    }
    assert found.keys() == wanted
    assert ["error" in e["args"] for e in runs].count(True) == 1


def test_runs_of_a_device_do_not_overlap(events: list[Event]) -> None:
    for device in {e["pid"] for e in of(events, "X")}:
        runs = sorted((e for e in of(events, "X") if e["pid"] == device), key=lambda e: e["ts"])
        assert all(a["ts"] + a["dur"] <= b["ts"] + 1e-3 for a, b in pairwise(runs))
        names = [e["args"]["name"] for e in of(events, "M") if e["pid"] == device]
        assert names == [f"device d{device - 1}", f"d{device - 1}"]


def test_spans_end_after_they_begin(events: list[Event]) -> None:
    open_spans: dict[tuple[str, int], list[Event]] = {}
    for event in events:
        if event["ph"] == "b":
            open_spans.setdefault((event["cat"], event["id"]), []).append(event)
        elif event["ph"] == "e":
            begin = open_spans[event["cat"], event["id"]].pop()  # the inner one first
            assert begin["name"] == event["name"]
            assert begin["ts"] <= event["ts"]
    assert not any(open_spans.values())


def test_arrows_follow_the_data(events: list[Event]) -> None:
    starts = {e["id"]: e for e in of(events, "s")}
    ends = {e["id"]: e for e in of(events, "f")}
    assert starts.keys() == ends.keys()
    assert all(starts[i]["ts"] <= ends[i]["ts"] for i in starts)
    outcomes = [e["args"] for e in of(events, "b") if "outcome" in e["args"]]
    per_network = {"chain": 1, "diamond": 4}
    wanted = sum(per_network[r["network"]] for r in outcomes if r["outcome"] != "cancelled")
    assert len(starts) == wanted


def test_only_the_latest_requests_are_kept() -> None:
    with HostManager(gated_devices(2), traced=3) as host:
        host.add_network("chain", parse(CHAIN)).result(SECONDS)
        for _ in range(7):
            host.run("chain", [row()]).result(SECONDS)
        events: Any = host.trace()["traceEvents"]
    requests = [e["args"]["request"] for e in of(events, "b") if "outcome" in e["args"]]
    assert requests == [4, 5, 6]


def test_statistics_of_latencies() -> None:
    with HostManager(gated_devices(2)) as host:
        host.add_network("chain", parse(CHAIN)).result(SECONDS)
        for _ in range(5):
            host.run("chain", [row()]).result(SECONDS)
        found = host.statistics()
    network = found.networks["chain"]
    assert (network.accepted, network.completed, network.unfinished) == (5, 5, 0)
    assert network.latency.count == network.queued.count == 5
    assert 0 < network.queued.p50 < network.latency.p50 <= network.latency.p99
    assert network.latency.p99 == network.latency.highest
    for device in found.devices.values():
        assert (device.runs, device.failures, device.queue, device.longest_queue) == (5, 0, 0, 1)
        assert 0 < device.busy < 5 * network.latency.highest


@pytest.mark.parametrize(
    ("count", "p50", "p99"), [(1, 1, 1), (2, 1, 2), (3, 2, 3), (100, 50, 99), (101, 51, 100)]
)
def test_percentiles(count: int, p50: int, p99: int) -> None:
    found = percentiles(reversed(range(1, count + 1)))
    assert (found.count, found.p50, found.p99, found.highest) == (count, p50, p99, count)
    assert percentiles([]).count == 0
