"""The documentation says what the code does."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from glow.tests.support.drawn import cut_off, overlapping
from glow.universe import UNIVERSE

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md")])


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
    for path in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#]+)", path.read_text()):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{path.name}: {target}"


@pytest.mark.parametrize("path", sorted(DOCS.glob("images/*.svg")), ids=lambda p: p.stem)
def test_pictures_are_legible(path: Path) -> None:
    picture = path.read_text()
    assert "prefers-color-scheme:dark" in picture
    assert cut_off(picture) == []
    assert overlapping(picture) == []


PROSE_WIDTH = 120


def prose(text: str) -> Iterator[str]:
    """Returns the lines of a document outside of generated parts, code, tables and pictures."""
    text = re.sub(r"<!-- (?!end).*?<!-- end.*? -->", "", text, flags=re.DOTALL)
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return (line for line in text.splitlines() if not line.startswith(("|", "![", "<!--")))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.stem)
def test_lines_of_prose_are_short(path: Path) -> None:
    assert [line for line in prose(path.read_text()) if len(line) >= PROSE_WIDTH] == []


def test_the_glossary_is_in_order() -> None:
    text = (DOCS / "glossary.md").read_text()
    terms = [t.replace("`", "").lower() for t in re.findall(r"^\*\*(.*?)\.\*\*", text, re.M)]
    assert len(terms) > 90
    assert terms == sorted(terms)
