"""The documentation says what the code does."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
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


Documented = ast.Module | ast.ClassDef | ast.FunctionDef
FRAGMENT = re.compile(
    r"(What|Which|Where|Whose|Why|How|Whether|Of|For|With|Until|When|While|Behind)\b"
)
"""First words of a docstring that is no sentence and no definition."""
VERB = re.compile(r"[A-Z][a-z]*s\b|`")
"""The start of a function's docstring: a verb in the third person, or the name of a parameter."""
FOREIGN = {".venv", ".venv-lowest", ".git"}
"""Folders with nothing of the project, which take long to search."""
SOURCES = sorted(
    [
        *ROOT.glob("*.py"),
        *(p for d in ROOT.iterdir() if d.name not in FOREIGN for p in d.rglob("*.py")),
    ]
)


def fragments(source: str) -> list[str]:
    """Returns the docstrings that do not follow the rules of CONTRIBUTING.md, with their lines."""
    tree = ast.parse(source)
    nodes = [n for n in ast.walk(tree) if isinstance(n, Documented)]
    return [
        f"{line}: {text.splitlines()[0]}"
        for line, text in _attribute_strings(tree)
        if text.startswith("What ")
    ] + [
        f"{getattr(n, 'lineno', 1)}: {text.splitlines()[0]}"
        for n in nodes
        if (text := ast.get_docstring(n)) is not None and _is_fragment(n, text)
    ]


def _attribute_strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yields the strings below assignments, with their lines."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for before, s in pairwise(body if isinstance(body, list) else []):
            if not isinstance(before, ast.Assign | ast.AnnAssign) or not isinstance(s, ast.Expr):
                continue
            if isinstance(s.value, ast.Constant) and isinstance(s.value.value, str):
                yield s.lineno, s.value.value.strip()


def _is_fragment(node: Documented, text: str) -> bool:
    if not isinstance(node, ast.FunctionDef):
        return FRAGMENT.match(text) is not None
    decorators = [ast.unparse(d) for d in node.decorator_list]
    if any("property" in d for d in decorators):
        return re.match(r"(What|Which|Where|How|Of|For)\b", text) is not None
    if node.name.startswith(("test_", "__init__")):
        return False
    return VERB.match(text) is None


def test_docstrings_are_sentences() -> None:
    found = {str(p.relative_to(ROOT)): fragments(p.read_text()) for p in SOURCES}
    assert {path: texts for path, texts in found.items() if texts} == {}


@pytest.mark.parametrize(
    "source",
    [
        '"""What a kernel computes."""',
        'class Tile:\n    """Of a nest."""',
        'LINES = 64\n"""What a tile prefetches."""',
        'def tiles(nest):\n    """The tiles of a nest."""',
        'def divide(nest):\n    """Divide a nest."""',
        'class Nest:\n    @property\n    def tiles(self):\n        """How many tiles it has."""',
    ],
)
def test_fragments_are_found(source: str) -> None:
    assert len(fragments(source)) == 1
