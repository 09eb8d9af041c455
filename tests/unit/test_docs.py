"""The documentation says what the code does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from glow.tests.support.drawn import cut_off, overlapping
from glow.universe import UNIVERSE

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def test_generated_parts_are_current() -> None:
    command = [sys.executable, DOCS / "generate.py", "--check"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("name", sorted(UNIVERSE.all_passes))
def test_every_pass_is_documented(name: str) -> None:
    text = (DOCS / "passes.md").read_text()
    section = re.search(rf"^### {name}\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL)
    assert section, f"docs/passes.md lacks a section on {name}"
    assert f"<!-- options: {name} -->" in section[1]
    assert "<!-- run: glow-opt" in section[1]
    assert f"--{name.removeprefix('glow-')}" in section[1]


@pytest.mark.parametrize("name", sorted(UNIVERSE.all_passes))
def test_every_pass_says_what_it_does(name: str) -> None:
    doc = UNIVERSE.all_passes[name]().__doc__ or ""
    assert doc.strip()
    assert not doc.startswith(f"{UNIVERSE.all_passes[name]().__name__}(")


def test_links_lead_somewhere() -> None:
    for path in [*ROOT.glob("*.md"), *DOCS.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)", path.read_text()):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{path.name}: {target}"


@pytest.mark.parametrize("path", sorted(DOCS.glob("images/*.svg")), ids=lambda p: p.stem)
def test_pictures_are_legible(path: Path) -> None:
    picture = path.read_text()
    assert "prefers-color-scheme:dark" in picture
    assert cut_off(picture) == []
    assert overlapping(picture) == []
