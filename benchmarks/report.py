"""Results of benchmarks as tables, for a terminal or a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from glow.benchmarks.measurements import DIRECT, OURS, Case, Results
from glow.wording import counted
from rich.table import Table

TITLES = {"openvino": "OpenVINO", DIRECT: "glow --no-winograd"}
"""Names of runtimes, where they are not written as they are imported."""

SPEED = "speed = time of the faster peer / time of glow"


@dataclass
class Section:
    """A table."""

    title: str
    heads: list[str]
    rows: list[list[str]]

    def rich(self) -> Table:
        made = Table(title=self.title, title_justify="left")
        for i, head in enumerate(self.heads):
            made.add_column(head, justify="right" if self._is_number(i) else "left")
        for row in self.rows:
            made.add_row(*row)
        return made

    def markdown(self) -> str:
        rule = ["---:" if self._is_number(i) else "---" for i in range(len(self.heads))]
        lines = [f"| {' | '.join(row)} |" for row in (self.heads, rule, *self.rows)]
        return "\n".join([f"{self.title}:", "", *lines, ""])

    def _is_number(self, column: int) -> bool:
        return self.heads[column] not in ("network", "runtime")


def sections(results: Results) -> Iterator[Section]:
    """Yields all tables: times of each batch, then the costs of starting, and memory."""
    for batch in results.batches():
        for threads in results.threads():
            yield times(results, batch, [threads])
    if results.has_direct():
        yield without_winograd(results)
    for threads in results.threads():
        yield start_and_memory(results, threads)


def times(results: Results, batch: int, threads: Sequence[int]) -> Section:
    """
    Returns the milliseconds per inference of each runtime, and the time of the faster peer divided
    by ours, with the geometric mean in the last row. For larger batches, the times are per image,
    beside batch 1.
    """
    title = "Milliseconds per inference"
    if batch != 1:
        title = f"Milliseconds per image in batches of {batch}"
    columns = [TITLES.get(name, name) for name in results.runtimes()]
    columns += ["speed"] if batch == 1 else ["speed", "glow, batch 1"]
    heads, mean = ["network"], ["geometric mean"]
    for count in threads:
        heads += [f"{name}, {count}T" for name in columns] if len(threads) > 1 else columns
        cells = ["" for _ in columns]
        cells[len(results.runtimes())] = number(results.mean_speed(batch, count), 2)
        mean += cells
    rows = []
    for network in results.networks(batch):
        row = [network]
        for count in threads:
            case = results.find(network, batch, count) or Case(network, batch, count)
            row += _times(case, results.runtimes())
            if batch != 1:
                single = results.find(network, 1, count)
                row.append(milliseconds(single.median(OURS) if single else None))
        rows.append(row)
    if len(threads) == 1:
        title += f", {_threads(threads[0])}"
    return Section(f"{title}; {SPEED}", heads, [*rows, mean] if len(rows) > 1 else rows)


def summary(results: Results) -> Section:
    """
    Returns the milliseconds of glow and of the faster peer for one image, and the quotient of both.
    """
    columns = ["glow", "faster peer", "speed"]
    heads = ["network", *(f"{c}, {n}T" for n in results.threads() for c in columns)]
    rows, mean = [], ["geometric mean"]
    for network in results.networks(1):
        row = [network]
        for threads in results.threads():
            case = results.find(network, 1, threads) or Case(network, 1, threads)
            row += map(milliseconds, (case.median(OURS), case.faster_peer()))
            row.append(number(case.speed(), 2))
        rows.append(row)
    for threads in results.threads():
        mean += ["", "", number(results.mean_speed(1, threads), 2)]
    return Section(f"Milliseconds per inference; {SPEED}", heads, [*rows, mean])


def without_winograd(results: Results) -> Section:
    """
    Returns milliseconds per inference of one image with convolutions by their definition, and the
    time of the faster peer divided by that.
    """
    columns = ["glow", TITLES[DIRECT], "faster peer", "speed"]
    heads = ["network", *(f"{c}, {n}T" for n in results.threads() for c in columns)]
    rows = []
    for network in results.networks(1):
        row = [network]
        for threads in results.threads():
            case = results.find(network, 1, threads) or Case(network, 1, threads)
            times = (case.median(OURS), case.median(DIRECT), case.faster_peer())
            row += [*map(milliseconds, times), number(case.speed(DIRECT), 2)]
        rows.append(row)
    title = "Milliseconds per inference without Winograd convolution"
    return Section(f"{title}; speed = time of the faster peer / that time", heads, rows)


def _times(case: Case, runtimes: list[str]) -> list[str]:
    """Returns milliseconds of each runtime per image, and the speed."""
    medians = [case.median(name) for name in runtimes]
    cells = [milliseconds(t / case.batch if t is not None else None) for t in medians]
    return [*cells, number(case.speed(), 2)]


def start_and_memory(results: Results, threads: int) -> Section:
    """
    Returns seconds to the first result with empty and with filled caches, and peaks of memory.
    """
    rows = []
    for case in results.cases:
        if case.batch != 1 or case.threads != threads:
            continue
        for i, (name, found) in enumerate(case.runtimes.items()):
            row = ["" if i else case.network, TITLES.get(name, name)]
            sizes = (found.memory_cold, found.memory_warm, found.memory_running)
            row += [number(found.cold, 2), number(found.warm, 2)]
            row += [number(None if size is None else size / 1e6, 0) for size in sizes]
            rows.append([*row[:2], *("-" for _ in row[2:])] if found.error else row)
    title = (
        f"Seconds to the first result, and peak memory of the process in MB, {_threads(threads)}"
    )
    heads = ["network", "runtime", "cold", "warm", "memory, cold", "warm", "running"]
    return Section(title, heads, rows)


def _threads(count: int) -> str:
    return counted(count, "thread")


def machine(results: Results) -> str:
    """Returns the conditions of the results, and the agreement of outputs, in a few sentences."""
    versions = ", ".join(f"{TITLES.get(n, n)} {v}" for n, v in results.versions.items())
    settings = results.settings
    largest = results.largest_difference()
    agreement = "" if largest is None else f" Outputs agree within {largest:.1g} of the largest."
    found = results.machine
    details = ": ".join(found[name] for name in ("architecture", "features") if name in found)
    speed = f" with at most {found['peak']} GFLOP/s each" if "peak" in found else ""
    return (
        f"{found['cpu']} ({details}), {found['cores']} cores{speed}; {versions}; {results.date}. "
        f"Batch 1 unless said, f32, medians of {settings['rounds']:g} processes per runtime with "
        f"up to {settings['repeat']:g} runs each.{agreement}"
    )


def number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def milliseconds(seconds: float | None) -> str:
    """Returns a time with three significant digits, or in whole milliseconds."""
    if seconds is None:
        return "-"
    value = seconds * 1e3
    digits = next((d for d, limit in enumerate((99.95, 9.995)) if value >= limit), 2)
    return f"{value:.{digits}f}"
