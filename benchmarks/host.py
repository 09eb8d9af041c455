"""
Measures the overhead of a request over the network itself.

    python -m glow.benchmarks.host NETWORK [--requests 2000] [--rounds 7] [--in-flight 32]

A small network runs in a loop: called directly; through a host manager, one request after the
other; and with several in flight. In each round every way has its turn, and a time is the median of
the rounds, per request. What is more than the direct call is the overhead: the checks of inputs,
the queues, futures, statistics, and changes between threads.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import deque
from collections.abc import Callable, Sequence

import glow
import numpy as np
from glow.benchmarks.failures import in_one_line
from rich.console import Console
from rich.table import Table


def direct(model: glow.CompiledModel, inputs: Sequence[np.ndarray], requests: int) -> None:
    for _ in range(requests):
        model(*inputs)


def alone(host: glow.HostManager, inputs: Sequence[np.ndarray], requests: int) -> None:
    for _ in range(requests):
        host.run("network", inputs).result()


def in_flight(
    host: glow.HostManager, inputs: Sequence[np.ndarray], requests: int, most: int
) -> None:
    pending: deque = deque()
    for _ in range(requests):
        if len(pending) == most:
            pending.popleft().result()
        pending.append(host.run("network", inputs))
    while pending:
        pending.popleft().result()


def medians(ways: dict[str, Callable[[], None]], rounds: int, requests: int) -> dict[str, float]:
    """Returns seconds per request of each way. One round that does not count comes first."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds + 1):
        for name, run in ways.items():
            start = time.perf_counter()
            run()
            times[name].append((time.perf_counter() - start) / requests)
    return {name: statistics.median(found[1:]) for name, found in times.items()}


def parser() -> argparse.ArgumentParser:
    described = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    described.add_argument("network", help="a file")
    described.add_argument("--requests", type=int, default=2000, help="in a round (2000)")
    described.add_argument("--rounds", type=int, default=7, help="(7)")
    described.add_argument("--in-flight", type=int, default=32, help="at most (32)")
    return described


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    requests, most = options.requests, options.in_flight
    with in_one_line():
        model = glow.compile(options.network)
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(i.shape).astype(i.dtype) for i in model.get_inputs()]
    with glow.HostManager("cpu", max_active=most) as host:
        host.add_network("network", options.network).result()
        ways = {
            "direct": lambda: direct(model, inputs, requests),
            "one at a time": lambda: alone(host, inputs, requests),
            f"{most} in flight": lambda: in_flight(host, inputs, requests, most),
        }
        found = medians(ways, options.rounds, requests)
    table = Table(
        "way", "us per request", "requests per second", "overhead, us", title="host manager"
    )
    for name, seconds in found.items():
        numbers = seconds * 1e6, 1 / seconds, (seconds - found["direct"]) * 1e6
        table.add_row(name, f"{numbers[0]:.1f}", f"{numbers[1]:,.0f}", f"{numbers[2]:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
