"""
Quantized networks beside other runtimes, and beside ourselves in f32, in one run.

    python -m glow.benchmarks.quantized                       # the usual networks and kinds
    python -m glow.benchmarks.quantized resnet50 --kinds qdq --rounds 3 --json found.json

Each network is quantized as `quantized_networks.py` says: `qdq` and `dynamic` by onnxruntime, and
`ours`, exported as an ONNX model, so that all runtimes run the same file. Time is measured as by
`run.py`. `size` is how many bytes our packed weights have, scales included, for each byte of the
float weights in the file. The exit code is 1 if a runtime failed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from glow.benchmarks.compare import HERE, Settings, compare
from glow.benchmarks.measurements import OURS, Case
from glow.benchmarks.quantized_networks import KINDS
from glow.benchmarks.report import TITLES, Section, milliseconds, number
from glow.benchmarks.run import FILE_WIDTH, describe
from glow.benchmarks.worker import RUNTIMES
from glow.wording import counted
from rich.console import Console

USUAL = (
    *(
        (name, kind)
        for name in ("resnet50", "squeezenet", "mobilenet_v2")
        for kind in ("qdq", "ours")
    ),
    ("encoder", "dynamic"),
)
"""The networks that are measured by default."""


@dataclass
class Row:
    """A quantized network: the case, how long we take in f32 (seconds), and relative size."""

    network: str
    kind: str
    case: Case
    f32: float | None
    size: float | None

    def gain(self) -> float | None:
        """Returns the speed in int8 divided by the speed in f32."""
        ours = self.case.median(OURS)
        return self.f32 / ours if ours and self.f32 else None


def made(network: str, kind: str, settings: Settings) -> str:
    """Returns the path of a quantized network. Raises RuntimeError if it cannot be made."""
    script = str(HERE / "quantized_networks.py")
    command = [sys.executable, "-P", script, network, str(settings.models), kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=settings.timeout)
    if done.returncode:
        raise RuntimeError(f"{network}, {kind}: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout.splitlines()[-1]


def relative_size(quantized: str, source: str) -> float | None:
    """Returns bytes of our packed weights for each byte of the float weights of a file."""
    import glow
    import onnx

    memory = glow.compile(quantized).memory
    tensors = onnx.load(source).graph.initializer
    floats = sum(len(t.raw_data) or 4 * len(t.float_data) for t in tensors if t.data_type == 1)
    return memory.weight_bytes / floats if memory is not None and floats else None


def measure(
    network: str, kinds: Sequence[str], threads: int, runtimes: Sequence[str], settings: Settings
) -> list[Row]:
    """Returns the quantized versions of a network, and the network in f32 by ourselves."""

    def log(line: str) -> None:
        print(line, file=sys.stderr)

    files = [(kind, made(network, kind, settings)) for kind in kinds]
    (single,) = compare(network, 1, [threads], [OURS], settings, log)
    source = Path(network)
    if source.suffix != ".onnx":
        source = settings.models / f"{network}-0.onnx"
    rows = []
    for kind, path in files:
        (case,) = compare(path, 1, [threads], runtimes, settings, log)
        size = relative_size(path, str(source))
        rows.append(Row(Path(network).stem, kind, case, single.median(OURS), size))
    return rows


def section(rows: Sequence[Row], runtimes: Sequence[str], threads: int) -> Section:
    heads = ["network", "runtime", *(TITLES.get(name, name) for name in runtimes)]
    heads[1] = "quantized"
    heads += ["speed", "glow, f32", "gain", "size"]
    lines = []
    for row in rows:
        line = [row.network, row.kind]
        line += [milliseconds(row.case.median(name)) for name in runtimes]
        line += [number(row.case.speed(), 2), milliseconds(row.f32)]
        lines.append([*line, number(row.gain(), 2), number(row.size, 3)])
    title = (
        f"Milliseconds per inference in int8, {counted(threads, 'thread')}"
        if threads > 1
        else ("Milliseconds per inference in int8, 1 thread")
    )
    return Section(f"{title}; speed = time of the faster peer / time of glow", heads, lines)


def arguments() -> argparse.ArgumentParser:
    usual = Settings()
    parser = argparse.ArgumentParser(description="Compare quantized networks.")
    parser.add_argument("networks", nargs="*", help="names or .onnx files; default: the usual ones")
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), help="default: as is usual")
    installed = [name for name in RUNTIMES if find_spec(name)]
    parser.add_argument("--runtimes", nargs="+", choices=list(RUNTIMES), default=installed)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=usual.rounds)
    parser.add_argument("--repeat", type=int, default=usual.repeat)
    parser.add_argument("--seconds", type=float, default=usual.seconds)
    parser.add_argument("--models", type=Path, default=usual.models)
    parser.add_argument("--markdown", action="store_true", help="print the table for a document")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    return parser


def wanted(networks: Sequence[str], kinds: Sequence[str] | None) -> dict[str, list[str]]:
    """Returns the kinds of each network."""
    found: dict[str, list[str]] = {}
    for name in networks or [n for n, _ in USUAL]:
        usual = [kind for n, kind in USUAL if n == name] or ["qdq", "ours"]
        found[name] = list(kinds or usual)
    return found


def main(args: Sequence[str] | None = None) -> int:
    parsed = arguments().parse_args(args)
    settings = replace(
        Settings(models=parsed.models),
        rounds=max(1, parsed.rounds),
        repeat=max(1, parsed.repeat),
        seconds=parsed.seconds,
    )
    rows: list[Row] = []
    problems: list[str] = []
    for name, kinds in wanted(parsed.networks, parsed.kinds).items():
        try:
            rows += measure(name, kinds, parsed.threads, parsed.runtimes, settings)
        except RuntimeError as error:
            problems.append(str(error))
    table = section(rows, parsed.runtimes, parsed.threads)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else FILE_WIDTH)
    if parsed.markdown:
        print(table.markdown())
    else:
        console.print(table.rich())
    if parsed.json:
        found = {**asdict(describe(parsed.runtimes, settings)), "rows": [asdict(r) for r in rows]}
        parsed.json.parent.mkdir(parents=True, exist_ok=True)
        parsed.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    # random weights make outputs differ by quanta; `compare` keeps how much
    problems += [line for row in rows for line in row.case.failures(tolerance=0.2)]
    for line in problems:
        print(f"error: {line}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
