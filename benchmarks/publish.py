"""
Writes the published results of benchmarks from the results that are kept in the repository: the
chart of the README, and the tables of docs/benchmarks.md.

    python -m glow.benchmarks.publish                # after a change of the tables or the chart
    python -m glow.benchmarks.publish RESULTS.json   # keep these results from now on
    python -m glow.benchmarks.publish --check        # say what is out of date, with exit code 1

`run.py --json` writes results.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from glow.benchmarks.chart import svg
from glow.benchmarks.measurements import Results
from glow.benchmarks.report import machine, start_and_memory, times, without_winograd

KEPT = "benchmarks/results/cpu.json"
CHART = "docs/images/benchmarks.svg"
README = "README.md"
TABLES = "docs/benchmarks.md"
HEAD, END = "<!-- published results -->\n", "<!-- end of published results -->"
ALT = "Bars: speed of glow, onnxruntime and OpenVINO on each network"


def chart(results: Results) -> str:
    """Returns the chart with its conditions in Markdown, for the README."""
    return f"![{ALT}]({CHART})\n\n{_conditions(results)}\n"


def tables(results: Results) -> str:
    """Returns all tables with their conditions in Markdown."""
    parts = [_conditions(results), ""]
    for batch in results.batches():
        parts.append(times(results, batch, results.threads()).markdown())
    if results.has_direct():
        parts.append(without_winograd(results).markdown())
    parts.append(start_and_memory(results, results.threads()[0]).markdown())
    return "\n".join(parts)


def _conditions(results: Results) -> str:
    return textwrap.fill(machine(results), 118)


def with_part(document: str, part: str) -> str:
    """
    Returns the document with another text between the two comments.

    Raises ValueError if they are not there.
    """
    before, head, rest = document.partition(HEAD)
    _, end, after = rest.partition(END)
    if not head or not end:
        raise ValueError(f"a document has no part from {HEAD.strip()} to {END}")
    return before + head + part + end + after


def generated(root: Path, results: Results | None) -> Mapping[Path, str]:
    """Returns the wanted content of each file. Without results there are no chart and no tables."""
    parts = {README: chart(results) if results else "", TABLES: tables(results) if results else ""}
    files = {
        root / name: with_part((root / name).read_text(encoding="utf-8"), part)
        for name, part in parts.items()
    }
    return files | {root / CHART: svg(results)} if results else files


def stale(root: Path, results: Results | None) -> list[Path]:
    """Returns the files that are out of date."""
    return [
        path
        for path, wanted in generated(root, results).items()
        if not path.is_file() or path.read_text(encoding="utf-8") != wanted
    ]


def main(args: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Publish benchmark results in the documents.")
    parser.add_argument("results", nargs="?", type=Path, help="results to keep from now on")
    parser.add_argument("--check", action="store_true", help="only say what is out of date")
    parser.add_argument("--root", type=Path, default=".", help="the repository (.)")
    parsed = parser.parse_args(args)
    if not (parsed.root / README).is_file():
        parser.error(f"no {README} in {parsed.root}: run this in the repository, or give --root")
    kept = parsed.root / KEPT
    source = parsed.results or (kept if kept.is_file() else None)
    results = Results.read(source) if source else None
    if parsed.check:
        found = stale(parsed.root, results)
        for path in found:
            print(f"{path.relative_to(parsed.root)}: out of date, run glow.benchmarks.publish")
        return 1 if found else 0
    files = dict(generated(parsed.root, results))
    if parsed.results and results:
        files[kept] = results.to_json()
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
