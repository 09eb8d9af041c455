"""glow-opt beyond what FileCheck tests show: ONNX files, weights, start-up, failures of passes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from glow.glow_dialects.glow.activation import ReluOp
from glow.tools.glow_opt import GlowOptMain, main
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.utils.exceptions import PassFailedException

PROGRAM = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = glow.relu %x : (tensor<2xf32>) -> tensor<2xf32>
  %b = glow.add %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %b : tensor<2xf32>
}
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "in.mlir"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def network(tmp_path: Path, rng: np.random.Generator) -> tuple[Path, np.ndarray]:
    """Returns an ONNX file with a symbolic batch and a weight matrix of 48,000 bytes."""
    weight = rng.standard_normal((100, 120)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 100])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 120])],
        [numpy_helper.from_array(weight, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "network.onnx"
    onnx.save(model, path)
    return path, weight


def test_onnx_by_extension_with_symbols(
    network: tuple[Path, np.ndarray], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(network[0]), "--define-symbol", "batch=3"]) == 0
    printed = capsys.readouterr().out
    assert "tensor<3x100xf32>" in printed
    assert "network.onnx" in printed, "weights are references into the file"
    assert len(printed) < 2000, "weights are not printed"


def test_limit_of_elements(
    network: tuple[Path, np.ndarray], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(network[0]), "--define-symbol", "batch=3"]
    assert main([*arguments, "--max-elements", "100000"]) == 0
    capsys.readouterr()
    assert main([*arguments, "--max-elements", "100"]) == 1
    assert "more than the limit of 100" in capsys.readouterr().err
    assert main([*arguments, "--max-elements", "0"]) == 1
    assert "at least 1" in capsys.readouterr().err


def test_symbol_without_size_is_one_line(
    network: tuple[Path, np.ndarray], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(network[0])]) == 1
    error = capsys.readouterr().err
    assert "batch" in error
    assert "Traceback" not in error


def test_weights_out(
    network: tuple[Path, np.ndarray], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, weight = network
    target = tmp_path / "weights.safetensors"
    arguments = [str(path), "--define-symbol=batch=2", "--weights-out", str(target)]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert str(target) in printed
    assert "network.onnx" not in printed
    (found,) = load_file(target).values()
    np.testing.assert_array_equal(found, weight)
    assert int.from_bytes(target.read_bytes()[:8], "little") % 64 == 56, "data are aligned"

    # the text with its references is a model of its own
    text = tmp_path / "network.mlir"
    text.write_text(printed)
    path.unlink()
    again = tmp_path / "again.safetensors"
    assert main([str(text), "--weights-out", str(again)]) == 0
    (found,) = load_file(again).values()
    np.testing.assert_array_equal(found, weight)


def test_weights_out_onto_its_own_source(
    network: tuple[Path, np.ndarray], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target, text = tmp_path / "w.safetensors", tmp_path / "t.mlir"
    main([str(network[0]), "--define-symbol=batch=2", "--weights-out", str(target)])
    text.write_text(capsys.readouterr().out)
    assert main([str(text), "--weights-out", str(target)]) == 0
    (found,) = load_file(target).values()
    np.testing.assert_array_equal(found, network[1])


def test_weights_of_another_process_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "in.mlir"
    path.write_text('%w = glow.constant #glow.blob<"memory:elsewhere#0", 0, 80> : tensor<20xf32>\n')
    assert main([str(path), "--weights-out", str(tmp_path / "w.safetensors")]) == 1
    assert "exist only in the process that made them" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["in.mlir"], "no partial file is left"


def test_weights_out_without_constants(program: Path, tmp_path: Path) -> None:
    target = tmp_path / "w.safetensors"
    assert main([str(program), "--weights-out", str(target)]) == 0
    assert load_file(target) == {}
    assert json.loads(target.read_bytes()[8:]) == {}


def test_text_needs_no_heavy_imports(program: Path) -> None:
    code = (
        "import sys; from glow.tools.glow_opt import main; "
        "assert main(sys.argv[1:]) == 0; "
        "print([m for m in ('numpy', 'onnx', 'llvmlite', 'rich') if m in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, str(program), "--cse"], capture_output=True, text=True
    )
    assert found.stdout.splitlines()[-1] == "[]", found.stdout + found.stderr


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--help"])
    assert left.value.code == 0
    printed = capsys.readouterr().out
    assert printed.startswith("usage: glow-opt")
    text = " ".join(printed.split())
    assert (
        "--stack-ops Turns chains and trees of data-parallel instructions into one loop each. "
        "max-ops=64 The largest number of nodes in one body. epilogues=<str> The operators"
    ) in text
    assert "schema=asymmetric The schema of activations: `asymmetric`, `symmetric`," in text
    assert "devices=cpu The backends of the devices" in text
    assert "further passes of xDSL are flags as well: glow-opt --list-passes prints" in text
    assert "riscv" not in text
    assert max(map(len, printed.splitlines())) <= 100


def test_help_loads_no_pass() -> None:
    code = (
        "import sys; from glow.tools.glow_opt import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print([m for m in sys.modules if m.startswith('glow.lowering')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout.splitlines()[-1] == "[]", found.stdout + found.stderr


def test_closed_pipe(program: Path) -> None:
    tool = Path(sys.executable).with_name("glow-opt")
    found = subprocess.run(
        f"{tool} {program} | head -n 1; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in found.stderr


class _Explode(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReluOp, rewriter: PatternRewriter, /) -> None:
        raise RuntimeError("an accident")


@dataclass(frozen=True)
class ExplodePass(ModulePass):
    name = "explode"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(_Explode()).rewrite_module(op)


@dataclass(frozen=True)
class RefusePass(ModulePass):
    name = "refuse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise PassFailedException("there is nothing to do")


@dataclass(frozen=True)
class SwapPass(ModulePass):
    """Moves the first operation of @main to the end: what a wrong pass might do."""

    name = "swap"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        (relu,) = [o for o in op.walk() if isinstance(o, ReluOp)]
        block = relu.parent_block()
        assert block is not None
        assert block.last_op is not None
        relu.detach()
        block.insert_op_before(relu, block.last_op)


@pytest.fixture
def _wrong_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    register = GlowOptMain.register_all_passes

    def with_wrong_passes(self: GlowOptMain) -> None:
        register(self)
        for wrong in (ExplodePass, RefusePass, SwapPass):
            self.register_pass(wrong.name, lambda wrong=wrong: wrong)

    monkeypatch.setattr(GlowOptMain, "register_all_passes", with_wrong_passes)


@pytest.mark.usefixtures("_wrong_passes")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("explode", "in.mlir:2:3: error: explode: 'glow.relu' op (%a): an accident\n"),
        ("refuse", "in.mlir: error: refuse: there is nothing to do\n"),
        (
            "swap",
            "in.mlir:3:3: error: after swap: 'glow.add' op (%b): expected %a to be defined "
            "before its use, but it is the result of a later glow.relu\n",
        ),
    ],
)
def test_failures_name_the_pass_and_the_place(
    name: str, message: str, program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(program), "-p", name]) == 1
    printed = capsys.readouterr()
    assert printed.err.endswith(message)
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize("suffix", ["mlir", "onnx"])
def test_files_that_cannot_be_read(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / f"folder.{suffix}"
    folder.mkdir()
    assert main([str(folder)]) == 1
    assert capsys.readouterr().err == f"{folder}: error: Is a directory\n"
    missing = tmp_path / f"missing.{suffix}"
    assert main([str(missing)]) == 1
    assert capsys.readouterr().err == f"{missing}: error: No such file or directory\n"


def test_outputs_that_cannot_be_written(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "absent" / "out"
    for option in ("-o", "--weights-out", "--dump-dag"):
        assert main([str(program), option, str(target)]) == 1
        assert capsys.readouterr().err == f"{target}: error: its directory does not exist\n"
    assert main([str(program), "-o", str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"{tmp_path}: error: Is a directory\n"


def test_outputs_appear_when_they_are_complete(program: Path, tmp_path: Path) -> None:
    wrong, target = tmp_path / "wrong.mlir", tmp_path / "out"
    wrong.write_text("func.func @main( {\n")
    assert main([str(wrong), "-o", str(target)]) == 1
    assert not target.exists()
    target.write_text("before")
    assert main([str(wrong), "-o", str(target)]) == 1
    assert main([str(program), "-t", "vta-binary", "-o", str(target)]) == 1
    assert target.read_text() == "before"
    assert sorted(p.name for p in tmp_path.iterdir() if "partial" in p.name) == []


def test_a_file_is_read_and_written(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(program)]) == 0
    printed = capsys.readouterr().out
    assert main([str(program), "-o", str(program)]) == 0
    assert program.read_text() == printed


def test_links_are_written_through(program: Path, tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("before")
    link.symlink_to(target)
    assert main([str(program), "-o", str(link)]) == 0
    assert link.is_symlink()
    assert target.read_text() != "before"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_full_disk(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(program), "-o", "/dev/full"]) == 1
    assert capsys.readouterr().err == "/dev/full: error: No space left on device\n"


def test_standard_input(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in ([], ["-"]):
        with program.open() as text:
            monkeypatch.setattr(sys, "stdin", text)
            assert main([*arguments, "--cse"]) == 0
        assert "glow.relu" in capsys.readouterr().out


def test_memory_of_programs_is_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "leak.mlir"
    path.write_text(
        'func.func @main(%x: memref<2xf32> {glow.name = "x", glow.qualifier = "in"}, '
        '%y: memref<2xf32> {glow.name = "y", glow.qualifier = "out"}) {\n'
        "  %a = glow_inst.alloc_activation : memref<2xf32>\n"
        "  glow_inst.dealloc_activation %a : memref<2xf32>\n"
        "  glow_inst.copy @out %y, @in %a : memref<2xf32>, memref<2xf32>\n"
        "  func.return\n"
        "}\n"
    )
    assert main([str(path)]) == 1
    assert "leak.mlir:4:3: error: 'glow_inst.copy' op" in capsys.readouterr().err
