"""
Writes the chart and the tables of the README from the results that are kept in the repository.

    python -m glow.benchmarks.publish                # after a change of the tables or the chart
    python -m glow.benchmarks.publish RESULTS.json   # keep these results from now on
    python -m glow.benchmarks.publish --check        # say what is out of date, with exit code 1

`run.py --json` writes results.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from glow.benchmarks.chart import svg
from glow.benchmarks.measurements import Results
from glow.benchmarks.report import machine, start_and_memory, times, without_winograd

KEPT = "benchmarks/results/cpu.json"
CHART = "docs/images/benchmarks.svg"
README = "README.md"
HEAD, END = "<!-- benchmarks -->\n", "<!-- end -->"
ALT = "Bars: speed of glow, onnxruntime and OpenVINO on each network"


def text(results: Results) -> str:
    """The part of the README in Markdown."""
    parts = [f"![{ALT}]({CHART})", "", machine(results), ""]
    parts += ["<details><summary>Numbers</summary>", ""]
    for batch in results.batches():
        parts.append(times(results, batch, results.threads()).markdown())
    if results.has_direct():
        parts.append(without_winograd(results).markdown())
    parts += [start_and_memory(results, results.threads()[0]).markdown(), "</details>", ""]
    return "\n".join(parts)


def with_part(readme: str, part: str) -> str:
    """
    The README with another text between the two comments.

    Raises ValueError if they are not there.
    """
    before, head, rest = readme.partition(HEAD)
    _, end, after = rest.partition(END)
    if not head or not end:
        raise ValueError(f"{README} has no part from {HEAD.strip()} to {END}")
    return before + head + part + end + after


def generated(root: Path, results: Results | None) -> Mapping[Path, str]:
    """What the files should contain. Without results there is no chart and nothing to say."""
    readme = (root / README).read_text(encoding="utf-8")
    if results is None:
        return {root / README: with_part(readme, "")}
    return {root / CHART: svg(results), root / README: with_part(readme, text(results))}


def stale(root: Path, results: Results | None) -> list[Path]:
    """Files that are out of date."""
    return [
        path
        for path, wanted in generated(root, results).items()
        if not path.is_file() or path.read_text(encoding="utf-8") != wanted
    ]


def main(args: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Publish benchmark results in the README.")
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
