"""Texts that are wrong, empty, or from other systems: what glow-opt and the other readers say."""

from __future__ import annotations

from pathlib import Path

import glow
import pytest
from glow.tools.glow_opt import main
from glow.tools.glow_run import main as glow_run


def _text(text: str) -> bytes:
    return f"func.func @f(%a: tensor<2xf32>, %b: tensor<3xf32>) {{\n{text}\n}}\n".encode()


BAD_INPUTS = {
    "malformed.mlir": (b"func.func @main( {", "malformed.mlir:1:18: error: Expected argument"),
    "types.mlir": (
        _text(
            "  %c = glow.add %a, %b : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>\n"
            "  func.return"
        ),
        "types.mlir:2:3: error: 'glow.add' op (%c): expected operand 1 of shape (2,), found",
    ),
    "nested.mlir": (
        _text(
            '"test.op"() ({\n  "test.op"() ({\n  ^a:\n    "test.op"() : () -> ()\n  }) : () -> ()'
            '\n  "test.termop"() : () -> ()\n}) : () -> ()\n  func.return'
        ),
        "nested.mlir:5:5: error: 'test.op' op: Operation test.op terminates block",
    ),
    "operation.mlir": (
        _text("glow.rely"),
        "operation.mlir:2:1: error: unknown operation glow.rely",
    ),
    "huge.mlir": (b"x" * 3_000_000, "huge.mlir:1:1: error: unknown operation xxx"),
    "deep.mlir": (b'"test.op"() ({\n' * 9000, "deep.mlir:"),
    "binary.mlir": (
        b"a\n\xc3\xa4\xff\xfe",
        "binary.mlir:2:2: error: expected text in UTF-8, found the byte 0xff\n"
        "  ä\ufffd\ufffd\n   ^\n",
    ),
    "nul.mlir": (
        b"\x00",
        "nul.mlir:1:1: error: Unexpected character: \\x00\n  \ufffd\n  ^\n",
    ),
    "number.mlir": (
        '"test.op"() {a = ²} : () -> ()'.encode(),
        "number.mlir:1:19: error: invalid literal for int()",
    ),
    "range.mlir": (
        b'\n"test.op"() {a = 300 : i8} : () -> ()',
        "range.mlir:2:26: error: Integer value 300 is out of range for type i8",
    ),
    "tabs.mlir": (
        b'\t"test.op"() {a =\t$} : () -> ()',
        'tabs.mlir:1:19: error: Unexpected character: $\n  \t"test.op"() {a =\t$} : () -> ()\n'
        f"  \t{' ' * 16}\t^\n",
    ),
    "crlf.mlir": (
        b"func.func @f() {\r\n  glow.rely\r\n}\r\n",
        "crlf.mlir:2:3: error: unknown operation glow.rely; did you mean glow.relu or glow.prelu "
        "or glow.rem?\n    glow.rely\n    ^^^^^^^^^\n",
    ),
    "long.mlir": (
        f'"test.op"() {{a = [{"1, " * 700}$]}} : () -> ()'.encode(),
        "long.mlir:1:2119: error: Unexpected character: $\n  , 1, 1, ",
    ),
    "string.mlir": (
        _text('  %c = "glow.relu(%a) : (tensor<2xf32>) -> tensor<2xf32>'),
        "string.mlir:2:8: error: string is not closed\n",
    ),
    "random.onnx": (bytes(range(256)), "random.onnx: error: is not an ONNX model"),
    "empty.onnx": (b"", "empty.onnx: error: is empty"),
    "extension": (b"", "extension: error: expected a file that ends in .mlir or .onnx"),
}


@pytest.mark.parametrize("name", BAD_INPUTS)
def test_bad_input_is_one_screen(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content, message = BAD_INPUTS[name]
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    assert main([name]) == 1
    error = capsys.readouterr().err
    assert error.startswith(message)
    assert error.count("\n") <= 3
    assert len(error) < 4000


@pytest.mark.parametrize("content", [b"", b"// nothing\n", b"\xef\xbb\xbf", b"\r\n\t"])
def test_nothing_is_a_module_without_operations(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "empty.mlir"
    path.write_bytes(content)
    assert main([str(path)]) == 0
    assert capsys.readouterr().out.split() == ["builtin.module", "{", "}"]


def test_text_of_other_systems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = _text("  func.return")
    path, other = tmp_path / "in.mlir", tmp_path / "other.mlir"
    path.write_bytes(text)
    other.write_bytes(b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n"))
    assert main([str(path)]) == 0
    printed = capsys.readouterr().out
    assert main([str(other)]) == 0
    assert capsys.readouterr().out == printed


# how deep a text may be depends on who calls; names that are huge take long
SAME = [n for n in BAD_INPUTS if n.endswith(".mlir") and n not in ("deep.mlir", "huge.mlir")]


@pytest.mark.parametrize("name", SAME)
def test_compile_and_glow_run_say_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(BAD_INPUTS[name][0])
    assert main([name]) == 1
    error = capsys.readouterr().err
    assert glow_run([name]) == 1
    assert capsys.readouterr().err == error
    with pytest.raises(glow.ModelError) as raised:
        glow.compile(name)
    assert f"{raised.value}\n" == error
