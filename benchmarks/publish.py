"""
Writes the published results of benchmarks from the results that are kept in the repository, one
file for each kind of machine: the tables of the README, and the tables and charts of
docs/benchmarks.md.

    python -m glow.benchmarks.publish                # after a change of the tables or the charts
    python -m glow.benchmarks.publish RESULTS.json   # keep these results for their kind of machine
    python -m glow.benchmarks.publish --check        # say what is out of date, with exit code 1

`run.py --json` writes results.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from glow.benchmarks.chart import svg
from glow.benchmarks.machines import KINDS
from glow.benchmarks.measurements import Results
from glow.benchmarks.report import machine, start_and_memory, summary, times, without_winograd

README = "README.md"
TABLES = "docs/benchmarks.md"
HEAD, END = "<!-- published results -->\n", "<!-- end of published results -->"
ALT = "Bars: speed of glow, onnxruntime and OpenVINO on each network"

Kept = Mapping[str, Results]
"""The results of each kind of machine that was measured."""


def kept(kind: str) -> str:
    """Returns where the results of a kind of machine are kept."""
    return f"benchmarks/results/{_file_name(kind)}.json"


def chart(kind: str) -> str:
    """Returns where the chart of a kind of machine is."""
    return f"docs/images/benchmarks-{_file_name(kind)}.svg"


def _file_name(kind: str) -> str:
    return kind.lower().replace("-", "")


def read(root: Path) -> dict[str, Results]:
    """Returns the results that are kept in a repository."""
    paths = {kind: root / kept(kind) for kind in KINDS}
    return {kind: Results.read(path) for kind, path in paths.items() if path.is_file()}


def short(kind: str, results: Results) -> str:
    """Returns the speed on a kind of machine in Markdown, for the README."""
    return "\n".join([f"{kind}: {_conditions(results)}", "", summary(results).markdown()])


def tables(kind: str, results: Results) -> str:
    """Returns the chart and all tables of a kind of machine in Markdown."""
    picture = f"![{ALT}]({Path(chart(kind)).relative_to('docs')})"
    parts = [f"### {kind}", "", _conditions(results), "", picture, ""]
    for batch in results.batches():
        parts.append(times(results, batch, results.threads()).markdown())
    if results.has_direct():
        parts.append(without_winograd(results).markdown())
    parts.append(start_and_memory(results, results.threads()[0]).markdown())
    return "\n".join(parts)


def _conditions(results: Results) -> str:
    return textwrap.fill(machine(results), 110)


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


def generated(root: Path, found: Kept) -> Mapping[Path, str]:
    """Returns the wanted content of each file, which says what kinds were not measured."""
    files = {}
    for name, write in ((README, short), (TABLES, tables)):
        parts = [write(kind, results) for kind, results in found.items()]
        if missing := [kind for kind in KINDS if kind not in found]:
            parts.append(f"Not measured: {', '.join(missing)}.\n")
        document = (root / name).read_text(encoding="utf-8")
        files[root / name] = with_part(document, "\n".join(parts))
    return files | {root / chart(kind): svg(results) for kind, results in found.items()}


def stale(root: Path) -> list[Path]:
    """Returns the files that do not agree with the results that are kept."""
    return [
        path
        for path, wanted in generated(root, read(root)).items()
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
    if parsed.check:
        found = stale(parsed.root)
        for path in found:
            print(f"{path.relative_to(parsed.root)}: out of date, run glow.benchmarks.publish")
        return 1 if found else 0
    if parsed.results:
        results = Results.read(parsed.results)
        kind = results.machine.get("kind", "unknown")
        if kind not in KINDS:
            parser.error(
                f"{parsed.results} has results of a machine of the kind {kind}, expected one of "
                f"{', '.join(KINDS)}"
            )
        _write(parsed.root / kept(kind), results.to_json())
    for path, content in generated(parsed.root, read(parsed.root)).items():
        _write(path, content)
    return 0


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
