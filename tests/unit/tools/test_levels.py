"""Passes whose level the module does not have: conversions that run before them, and notes."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from glow.context import make_context
from glow.parsing import parse_text
from glow.passes import levels as all_levels
from glow.passes.levels import (
    GRAPH,
    KERNELS,
    LLVM,
    PLANNED,
    PROGRAM,
    VTA,
    Level,
    level_of,
    levels_of,
    path,
)
from glow.tests.support.small_models import small_network
from glow.tools.glow_opt import main
from glow.universe import PASSES, UNIVERSE

GRAPH_TEXT = """
func.func @main(%x: tensor<4xf32> {glow.name = "x"}) -> (tensor<4xf32> {glow.name = "y"}) {
  %a = glow.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %y = glow.neg %a : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""
PROGRAM_TEXT = """
func.func @program(%x: memref<2xf32> {glow.name = "x", glow.qualifier = "in"},
                   %y: memref<2xf32> {glow.name = "y", glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<2xf32>
  glow_inst.exp @out %a, @in %x : memref<2xf32>, memref<2xf32>
  glow_inst.neg @out %y, @in %a : memref<2xf32>, memref<2xf32>
  glow_inst.dealloc_activation %a : memref<2xf32>
  func.return
}
"""
STACK = "--stack-ops works on instructions (glow_inst)"
SPLAT = "%a = glow.splat value 1.0 : tensor<4xf32>"
SIZE = "glow.arena_size = 8 : i64"
FOLD = "--fold-constants works on nodes of a graph (glow) and finds none"
IRGEN = f"{STACK}: --schedule-nodes --irgen run before it"
CONVERT = (
    "--convert-to-llvm works on kernels (scf, arith, vector): "
    "--schedule-nodes --irgen --allocate --build-nests --split-reductions "
    "--schedule-nests --generate-loops run before it"
)


def levels(text: str) -> frozenset[object]:
    return frozenset(levels_of(parse_text(make_context(), text.encode(), "in.mlir")))


def test_every_pass_names_its_level() -> None:
    known = [level for level in vars(all_levels).values() if isinstance(level, Level)]
    found = {name: level_of(UNIVERSE.all_passes[name]()) for name in PASSES}
    # a machine may be set on a module of any level
    assert [name for name, level in found.items() if level not in known] == ["glow-set-machine"]
    for level in known:
        if level.before is not None:
            *_, conversion = level.made_by
            assert found[conversion] is level.before


FUNCTIONS = [
    ("", set()),
    (GRAPH_TEXT, {GRAPH}),
    (SPLAT, {GRAPH}),
    (f"func.func @f() {{ {SPLAT} func.return }}", {GRAPH}),
    ("func.func @f(%x: tensor<4xf32>) { func.return }", {GRAPH}),
    (PROGRAM_TEXT, {PROGRAM}),
    (PROGRAM_TEXT.replace(") {", f") attributes {{{SIZE}}} {{"), {PROGRAM, PLANNED}),
    ('func.func @f(%x: memref<0xf32> {glow.qualifier = "in"}) { func.return }', {PROGRAM}),
    (PROGRAM_TEXT + GRAPH_TEXT, {PROGRAM, GRAPH}),
    ("func.func @f(%x: f32) { %y = arith.addf %x, %x : f32 func.return }", {KERNELS}),
    ("llvm.func @f() { llvm.return }", {LLVM}),
    ("func.func @f() { vta.finish func.return }", {VTA}),
]


@pytest.mark.parametrize(("text", "expected"), FUNCTIONS)
def test_levels_of_functions(text: str, expected: set[object]) -> None:
    assert levels(text) == expected


def test_paths() -> None:
    assert path(frozenset({GRAPH}), GRAPH) == ()
    assert path(frozenset({GRAPH}), PROGRAM) == ("glow-schedule-nodes", "glow-irgen")
    assert path(frozenset({GRAPH, PROGRAM}), PLANNED) == ("glow-allocate",), "the nearest level"
    assert path(frozenset({PROGRAM}), VTA) == ("glow-form-vta-layers", "glow-lower-to-vta")
    assert path(frozenset({KERNELS}), PROGRAM) is None
    assert path(frozenset(), GRAPH) is None


STACKED, BOTH = "glow_inst.stacked", PROGRAM_TEXT + GRAPH_TEXT
PARTS = f"{GRAPH_TEXT}// -----\n{PROGRAM_TEXT}// -----\n{GRAPH_TEXT}"
RUNS = [
    (GRAPH_TEXT, "--stack-ops", [IRGEN], STACKED),
    (GRAPH_TEXT, "-p lower-nodes,stack-ops,share-buffers", [IRGEN], STACKED),
    (GRAPH_TEXT, "--irgen --stack-ops", [], STACKED),
    (GRAPH_TEXT, "--canonicalize --cse --dce", [], "glow.neg"),
    (GRAPH_TEXT, "--convert-to-llvm", [CONVERT], "llvm.func @glow_program"),
    (PROGRAM_TEXT, "--fold-constants --stack-ops --fold-constants", [FOLD], STACKED),
    (BOTH, "--stack-ops", [], "glow.neg"),
    (BOTH, "--irgen --stack-ops --fold-constants", [FOLD], STACKED),
    (PARTS, "--split-input-file --stack-ops", [IRGEN], STACKED),
    ("", "--irgen", ["--irgen works on nodes of a graph (glow) and finds none"], "builtin.module"),
]


@pytest.fixture(autouse=True)
def _graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.mlir").write_text(GRAPH_TEXT)


@pytest.mark.parametrize(("text", "arguments", "notes", "made"), RUNS)
def test_conversions_run_first(
    text: str, arguments: str, notes: list[str], made: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("in.mlir").write_text(text)
    assert main(["in.mlir", *arguments.split()]) == 0
    printed = capsys.readouterr()
    assert made in printed.out
    assert printed.err.splitlines() == [f"in.mlir: note: {note}" for note in notes]


def test_strict(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["in.mlir", "--strict", "--stack-ops"]) == 1
    expected = f"in.mlir: error: {STACK} and finds none: add --schedule-nodes --irgen before it\n"
    assert capsys.readouterr() == ("", expected)
    assert main(["in.mlir", "--strict", "--schedule-nodes", "--irgen", "--fold-constants"]) == 1
    assert capsys.readouterr() == ("", f"in.mlir: error: {FOLD}\n")
    assert main(["in.mlir", "--strict", "--schedule-nodes", "--irgen", "--stack-ops"]) == 0
    assert capsys.readouterr().err == ""


def test_passes_that_were_added_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["in.mlir", "--stack-ops", "--print-between-passes", "--time-passes"]) == 0
    printed = capsys.readouterr()
    shown = [line for line in printed.out.splitlines() if line.startswith("IR after")]
    assert shown == ["IR after glow-schedule-nodes:", "IR after glow-irgen:"]
    timed = [line.split()[1] for line in printed.err.splitlines() if line.startswith("Pass")]
    assert timed == ["glow-schedule-nodes", "glow-irgen", "glow-stack-ops"]


def test_onnx(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "small.onnx"
    onnx.save(small_network(3), model)
    assert main([str(model), "--define-symbol=batch=2", "--lower-nodes", "--stack-ops"]) == 0
    printed = capsys.readouterr()
    assert "glow_inst.convolution" in printed.out
    assert printed.err == f"{model}: note: {STACK}: --schedule-nodes --irgen run before it\n"
