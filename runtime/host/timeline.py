"""The trace of requests, for Perfetto."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from ... import perfetto

if TYPE_CHECKING:
    from .request import PartitionRun, Request

REQUESTS = 0
"""The process of requests; those of devices follow."""
RUNS = 1
"""The track of a device's runs."""


class Record(NamedTuple):
    """The record of a request. Times are those of `time.perf_counter`."""

    network: str
    number: int
    replica: int | None
    """The replica of the network; None if the request ended before it had one."""
    priority: int
    submitted: float
    admitted: float | None
    ended: float
    outcome: str
    error: str
    spans: Sequence[PartitionRun]

    @staticmethod
    def of(request: Request) -> Record:
        """Returns the record of a request that ended."""
        priority, number = request.order
        assert request.ended is not None
        assert request.outcome is not None
        return Record(
            request.network.name,
            number,
            None if request.replica is None else request.replica.number,
            priority,
            request.submitted,
            request.admitted,
            request.ended,
            request.outcome.value,
            request.error,
            request.spans,
        )


def timeline(records: Iterable[Record], devices: Sequence[str], start: float) -> dict[str, object]:
    """
    Returns the trace of requests as an object for JSON; times count from `start`.

    Each request is a span from its submission to its end, with one inside for the time in the queue
    of the host manager. Each device has a track with the partitions that it ran, and spans for
    those that waited for it. Arrows lead from partitions to those that read their tensors.
    """
    events = [perfetto.process(REQUESTS, "requests")]
    for number, name in enumerate(devices, 1):
        events += [perfetto.process(number, f"device {name}"), perfetto.track(RUNS, name, number)]
    processes = {name: number for number, name in enumerate(devices, 1)}
    ids = count(1)
    for record in sorted(records, key=lambda r: r.number):
        clock = _Clock(start)
        events += _request(record, clock, next(ids))
        for span in list(record.spans):
            events += _run(record, span, clock, processes[span.device], next(ids))
        events += _arrows(record, clock, processes, ids)
    return perfetto.document(events)


class _Clock:
    """Microseconds since a time."""

    def __init__(self, start: float):
        self._start = start

    def __call__(self, time: float) -> float:
        return (time - self._start) * 1e6


def _request(record: Record, clock: _Clock, number: int) -> Iterator[perfetto.Event]:
    arguments: dict[str, object] = {
        "request": record.number,
        "network": record.network,
        "priority": record.priority,
        "outcome": record.outcome,
    }
    if record.replica is not None:
        arguments["replica"] = record.replica
    if record.error:
        arguments["error"] = record.error
    begin, end = clock(record.submitted), clock(record.ended)
    first, last = perfetto.span(number, "request", begin, end, arguments, REQUESTS)
    name = f"{record.network} {record.number}"
    yield {**first, "name": name}
    admitted = record.ended if record.admitted is None else record.admitted
    for event in perfetto.span(number, "request", begin, clock(admitted), {}, REQUESTS):
        yield {**event, "name": "waiting"}
    yield {**last, "name": name}


def _run(
    record: Record, span: PartitionRun, clock: _Clock, process: int, number: int
) -> Iterator[perfetto.Event]:
    arguments: dict[str, object] = {
        "request": record.number,
        "network": record.network,
        "partition": span.partition,
        "replica": record.replica,
        "queued us": round((span.start - span.ready) * 1e6, 3),
    }
    if span.error:
        arguments["error"] = span.error
    start, end = clock(span.start), clock(span.end)
    name = f"{record.network} {record.number}: {span.partition}"
    yield perfetto.slice_event(RUNS, name, start, end - start, arguments, process)
    yield from perfetto.span(number, "queue", clock(span.ready), start, arguments, process)


def _arrows(
    record: Record, clock: _Clock, processes: dict[str, int], ids: Iterator[int]
) -> Iterator[perfetto.Event]:
    made = {span.partition: span for span in record.spans}
    for span in list(record.spans):
        for name in span.before:
            source = made[name]
            begin = processes[source.device], RUNS, clock(source.end)
            end = processes[span.device], RUNS, clock(span.start)
            yield from perfetto.arrow(next(ids), begin, end)
