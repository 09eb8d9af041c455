"""Runs the FileCheck tests, in this process; `make lit` runs them with lit itself."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from glow.tests.support.lit_runner import NeedsLitError, run_test

LIT = Path(__file__).resolve().parents[1] / "lit"
TESTS = sorted(str(p.relative_to(LIT)) for p in LIT.rglob("*.mlir") if "Inputs" not in p.parts)
FORMS = {
    "errors": """
        // RUN: not glow-opt %s 2>&1 | filecheck %s
        func.func @f() { func.return %x }
        // CHECK: errors.mlir:3
    """,
    "continued": """
        // RUN: cat %s | glow-opt -p cse \\
        // RUN:   -o %t.mlir
        // RUN: filecheck %s --check-prefix=OUT < %t.mlir
        // RUN: filecheck %s --check-prefix=OUT < %t.mlir | cmp %t.mlir %t.mlir
        func.func @f() { func.return }
        // OUT: func @f
    """,
    "edited": """
        // RUN: cat %s | sed -n "s/name of the \\(file\\)$/\\1 as edited/p" | filecheck %s
        // name of the file
        // CHECK: {{^}}        // file as edited
    """,
    "sed-fails": """
        // RUN: cat %s | sed "s/a" 2>%t | cat %s | filecheck %s
        // CHECK: CHECK
    """,
    "wrong": """
        // RUN: cat %s | filecheck %s
        // CHECK: no line of{{ this file}}
    """,
    "should-fail": """
        // RUN: not cat %s | filecheck %s
        // CHECK: not cat
    """,
    "middle-of-a-pipe": """
        // RUN: cat %s | glow-opt --no-such-option 2>/dev/null | cat %s | filecheck %s
        // CHECK: CHECK
    """,
    "different": """
        // RUN: cat %s %s > %t
        // RUN: cat %s | cmp - %t
    """,
}
PASSING = {"errors", "continued", "edited"}


def run_lit(folder: Path, *tests: Path) -> subprocess.CompletedProcess[str]:
    """Runs lit itself, which writes to the folder."""
    lit = Path(sys.executable).with_name("lit")
    command = [lit, "-v", "-j1", "--no-progress-bar", f"--param=output={folder}", *tests]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL
    )


@pytest.mark.parametrize("test", TESTS)
def test_lit(test: str, tmp_path: Path) -> None:
    try:
        failure = run_test(LIT / test, tmp_path)
    except NeedsLitError:
        found = run_lit(tmp_path, LIT / test)
        assert found.returncode == 0, found.stdout + found.stderr
    else:
        assert not failure, str(failure)


def test_lit_itself_agrees(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    shutil.copy(LIT / "lit.cfg.py", tests)
    for name, text in FORMS.items():
        (tests / f"{name}.mlir").write_text(text)
    ours = {n for n in FORMS if run_test(tests / f"{n}.mlir", tmp_path) is None}
    found = run_lit(tmp_path / "output", tests)
    theirs = {n for n in FORMS if f"PASS: glow :: {n}.mlir" in found.stdout}
    assert ours == theirs == PASSING, found.stdout


def test_a_failure_says_what_failed(tmp_path: Path) -> None:
    test = tmp_path / "wrong.mlir"
    test.write_text(FORMS["wrong"])
    message = str(run_test(test, tmp_path))
    assert f"cat {test} | filecheck {test}" in message
    assert "exit codes: (0, 1)" in message
    assert "no line of{{ this file}}" in message


@pytest.mark.parametrize(
    "text",
    [
        "// RUN: sort %s",
        "// RUN: glow-opt %s && glow-opt %s",
        "// RUN: glow-opt %s >> %t",
        "// RUN: glow-opt %S/other.mlir",
        "// RUN: filecheck *.mlir",
        "// RUN: glow-opt %s\n// XFAIL: *",
        "// no command",
    ],
)
def test_what_only_lit_can_do(text: str, tmp_path: Path) -> None:
    test = tmp_path / "test.mlir"
    test.write_text(text)
    with pytest.raises(NeedsLitError):
        run_test(test, tmp_path)
