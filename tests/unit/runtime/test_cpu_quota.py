"""The quota of processors of control groups, of both versions."""

from __future__ import annotations

from pathlib import Path

import pytest
from glow.runtime.cpu_quota import cpu_quota


@pytest.mark.parametrize(
    ("groups", "files", "wanted"),
    [
        ("0::/", {}, float("inf")),
        ("0::/", {"cpu.max": "max 100000"}, float("inf")),
        ("0::/a/b", {"a/b/cpu.max": "max 100000", "a/cpu.max": "150000 100000"}, 1.5),
        ("0::/elsewhere", {"cpu.max": "300000 100000"}, 3.0),
        (
            "3:memory:/a\n2:cpu,cpuacct:/a\n0::/",
            {"cpu,cpuacct/a/cpu.cfs_quota_us": "50000", "cpu,cpuacct/a/cpu.cfs_period_us": "25000"},
            2.0,
        ),
        ("1:cpu:/", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "9"}, float("inf")),
        ("3:memory:/a", {"a/cpu.max": "1 1"}, float("inf")),
    ],
)
def test_the_smallest_quota(tmp_path: Path, groups: str, files: dict[str, str], wanted: float):
    for name, text in files.items():
        file = tmp_path / "mounted" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    own = tmp_path / "own"
    own.write_text(groups + "\n")
    assert cpu_quota(tmp_path / "mounted", own) == wanted


def test_without_control_groups(tmp_path: Path):
    assert cpu_quota(tmp_path, tmp_path / "none") == float("inf")
