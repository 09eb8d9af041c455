"""Names of mlir-opt work in glow-opt, or an error gives the right ones."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
from glow.tools.glow_opt import main
from glow.tools.opt_arguments import ELSEWHERE, PREFIX, add_options, pipeline
from glow.universe import UNIVERSE
from xdsl.dialects.builtin import IntegerAttr, i8
from xdsl.universe import Universe
from xdsl.utils.exceptions import VerifyException

TEXT = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = glow.relu %x : (tensor<2xf32>) -> tensor<2xf32>
  %b = glow.relu %x : (tensor<2xf32>) -> tensor<2xf32>
  %c = glow.add %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %c : tensor<2xf32>
}
"""


@pytest.fixture(autouse=True)
def _program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.mlir").write_text(TEXT)


def run(arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    assert main(["in.mlir", *arguments.split()]) == 0
    printed = capsys.readouterr()
    return printed.out, printed.err


@pytest.mark.parametrize(
    "arguments",
    [
        "--cse",
        "-cse",
        "--verify-each --cse",
        "--verify-each=false -cse",
        "--pass-pipeline=builtin.module(cse)",
        "-pass-pipeline builtin.module(func.func(canonicalize,cse),dce)",
        "-p any(cse),dce",
        "-split-input-file --cse -o -",
        "--glow-fold-constants=max-elements=1 --cse",
    ],
)
def test_the_same_as_cse(arguments: str, capsys: pytest.CaptureFixture[str]) -> None:
    expected, _ = run("-p cse", capsys)
    assert "%c = glow.add %a, %a" in expected
    assert run(arguments, capsys) == (expected, "")
    assert sorted(p.name for p in Path().iterdir()) == ["in.mlir"], "-o - is standard output"


def test_verification_can_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = '"builtin.module"() ({ func.func private @f() func.func private @f() }) : () -> ()'
    Path("in.mlir").write_text(wrong)
    assert main(["in.mlir", "--verify-each"]) == 1
    assert "Redefinition of symbol" in capsys.readouterr().err
    assert run("--verify-each=false", capsys)[1] == ""
    assert main(["in.mlir", "--verify-each"]) == 1
    with pytest.raises(VerifyException):
        # also what xDSL checks when attributes are made
        IntegerAttr(300, i8)


@pytest.mark.parametrize(
    ("arguments", "same"),
    [
        ("--mlir-print-op-generic", "--print-op-generic"),
        ("-mlir-print-op-generic", "--print-op-generic"),
        ("--mlir-print-debuginfo", "--print-debuginfo"),
    ],
)
def test_names_of_options(arguments: str, same: str, capsys: pytest.CaptureFixture[str]) -> None:
    expected = run(same, capsys)
    assert expected != run("", capsys)
    assert run(arguments, capsys) == expected


@pytest.mark.parametrize("flag", ["--mlir-print-ir-after-all", "-print-ir-after-all"])
def test_modules_after_all_passes(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    plain, _ = run("--cse --dce", capsys)
    printed, errors = run(f"--cse --dce {flag} --mlir-timing", capsys)
    assert printed == plain
    heads = [line for line in errors.splitlines() if line.startswith(("// ---", "Pass"))]
    assert [line.split()[5] for line in heads if "IR Dump After" in line] == ["cse", "dce"]
    assert [line.split()[1] for line in heads if line.startswith("Pass")] == ["cse", "dce"]
    assert errors.count(plain.strip()) == 2


def test_lists(capsys: pytest.CaptureFixture[str]) -> None:
    for flag, expected in (
        ("--show-dialects", {"arith", "glow", "glow_inst", "llvm"}),
        ("--list-passes", {"canonicalize", "glow-stack-ops", "licm"}),
    ):
        with pytest.raises(SystemExit) as left:
            main([flag])
        assert left.value.code == 0
        names = capsys.readouterr().out.splitlines()
        assert names == sorted(names)
        assert expected <= set(names)


OPTIONS = ("emit", "mlir")


@pytest.mark.parametrize("name", ELSEWHERE)
def test_names_of_what_is_done_otherwise(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    forms = {f"--{name}": f"option --{name}", f"--{name}=value": f"option --{name}"}
    if not name.startswith(OPTIONS):
        forms[f"--passes=cse,{name}"] = f"pass {name!r}"
    for argument, what in forms.items():
        assert main(["in.mlir", argument]) == 1
        assert capsys.readouterr().err == f"error: unknown {what}; {ELSEWHERE[name]}\n"


def test_names_are_not_taken() -> None:
    texts = {"version": str, "dialects": str, "passes": str}
    added = add_options(argparse.ArgumentParser(), [], str, texts)
    options = {s.lstrip("-") for action in added for s in action.option_strings}
    passes = {*Universe.get_multiverse().all_passes, *UNIVERSE.all_passes}
    passes |= {name.removeprefix(PREFIX) for name in passes}
    assert not options & passes
    assert not set(ELSEWHERE) & (options | passes)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b{c=1 d=2,3}", "a,b{c=1 d=2,3}"),
        ("builtin.module(a)", "a"),
        ("builtin.module(a,func.func(b{c=1},d),e)", "a,b{c=1},d,e"),
        ('a{b="(c,d)"},e', 'a{b="(c,d)"},e'),
    ],
)
def test_pipelines(text: str, expected: str) -> None:
    assert pipeline(text) == expected


@pytest.mark.parametrize("text", ["builtin.module(cse", "builtin.module(func.func(cse)"])
def test_parentheses_match(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["in.mlir", "--pass-pipeline", text]) == 1
    expected = f"error: parentheses of the pipeline {text!r} do not match\n"
    assert capsys.readouterr().err == expected
