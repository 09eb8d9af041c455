"""Results of benchmarks in the documents, and what they say about machines."""

from __future__ import annotations

from pathlib import Path

import pytest
from glow.benchmarks import publish
from glow.benchmarks.machines import features, kind
from glow.benchmarks.measurements import Results
from glow.glow_dialects.instruction_kinds import DotKind
from glow.glow_dialects.machine import MachineDescription
from glow.tests.support.invented_results import random_results

ROOT = Path(__file__).resolve().parents[2]


def test_publishing(tmp_path: Path) -> None:
    found = tmp_path / "found.json"
    found.write_text(random_results(6).to_json())
    (tmp_path / "docs").mkdir()
    documents = [tmp_path / name for name in (publish.README, publish.TABLES)]
    for path in documents:
        path.write_text(f"# before\n{publish.HEAD}old\n{publish.END}\nafter\n")
    assert publish.main(["--root", str(tmp_path), "--check"]) == 1
    assert publish.main(["--root", str(tmp_path), str(found)]) == 0
    assert publish.main(["--root", str(tmp_path), "--check"]) == 0
    readme, tables = (path.read_text() for path in documents)
    assert readme.startswith(f"# before\n{publish.HEAD}AVX2: ")
    assert (readme.count("| network |"), tables.count("| network |")) == (1, 3)
    assert "](images/benchmarks-avx2.svg)" in tables
    for text in (readme, tables):
        assert "Not measured: AVX-512, AMX." in text
        assert text.endswith(f"{publish.END}\nafter\n")
        assert "A & B (AVX2), 2 cores" in text
        assert "\nold\n" not in text
    assert (tmp_path / publish.kept("AVX2")).read_text() == found.read_text()
    (tmp_path / publish.chart("AVX2")).write_text("<svg/>")
    assert publish.main(["--root", str(tmp_path), "--check"]) == 1


def test_publishing_keeps_a_file_for_each_kind(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    documents = [tmp_path / name for name in (publish.README, publish.TABLES)]
    for path in documents:
        path.write_text(f"{publish.HEAD}{publish.END}")
    found = tmp_path / "found.json"
    for seed, name in enumerate(("AMX", "AVX2", "AMX")):
        results = random_results(seed)
        results.machine["kind"] = name
        found.write_text(results.to_json())
        assert publish.main(["--root", str(tmp_path), str(found)]) == 0
    assert publish.read(tmp_path).keys() == {"AVX2", "AMX"}
    assert publish.read(tmp_path)["AMX"] == Results.read(found)
    for path in documents:
        assert path.read_text().index("AVX2") < path.read_text().index("AMX")
        assert "Not measured: AVX-512." in path.read_text()


def test_publishing_refuses_other_machines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / publish.README).write_text("")
    results = random_results(8)
    results.machine["kind"] = "128 bits"
    found = tmp_path / "found.json"
    found.write_text(results.to_json())
    with pytest.raises(SystemExit):
        publish.main(["--root", str(tmp_path), str(found)])
    assert "kind 128 bits, expected one of AVX2, AVX-512, AMX" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("machine", "wanted"),
    [
        (MachineDescription(has_int8_tiles=True), "AMX"),
        (MachineDescription(int8_dots=(DotKind.VPDPBUSD,)), "AVX-512, vpdpbusd"),
        (MachineDescription(256, 16), "AVX2"),
        (MachineDescription(128, 16), "128 bits"),
    ],
    ids=str,
)
def test_features(machine: MachineDescription, wanted: str) -> None:
    assert features(machine) == wanted
    assert wanted.startswith(kind(machine))


def test_publishing_needs_a_place() -> None:
    with pytest.raises(ValueError, match="no part"):
        publish.with_part("nothing", "text")


def test_what_is_published_is_current() -> None:
    assert publish.stale(ROOT) == []
