"""The backend of the tutorial, installed beside the compiler: docs/backends.md."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import glow
import numpy as np
import pytest
from glow.context import make_context
from glow.errors import CompileError
from glow.glow_dialects.glow.base import Node
from glow.interface.backend import Backend, backend_names, find_backend
from glow.tests.support.seeds import generator
from glow.tools.glow_test_backend import main as glow_test_backend
from xdsl.parser import Parser

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "vector_machine"
NETWORK = EXAMPLE / "network.mlir"
LONGEST = 205
"""Lines of code that the backend may have."""


@pytest.fixture
def vector_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Backend:
    """
    Returns the backend, found as an installed package is: by the entry points of its metadata.
    """
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    name, version = project["name"], project["version"]
    metadata = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines: list[str] = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in entries.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(EXAMPLE)
    return find_backend("vector_machine")


def parse(text: str):
    return Parser(make_context(), text).parse_module()


def layers(sizes: Sequence[int], rows: int) -> str:
    """Layers with a residual sum each, whose results are joined, and cut with a stride."""
    first = f"tensor<{rows}x{sizes[0]}xf32>"
    lines, last, joined = [], "%x", []
    rng = generator()
    for i, (k, n) in enumerate(pairwise(sizes)):
        w, b = (rng.standard_normal(shape).round(3).tolist() for shape in ((n, k), (n,)))
        x, t = f"tensor<{rows}x{k}xf32>", f"tensor<{rows}x{n}xf32>"
        lines += [
            f"%w{i} = glow.constant dense<{w}> : tensor<{n}x{k}xf32>",
            f"%b{i} = glow.constant dense<{b}> : tensor<{n}xf32>",
            f"%h{i} = glow.fully_connected {last}, %w{i}, %b{i} "
            f": ({x}, tensor<{n}x{k}xf32>, tensor<{n}xf32>) -> {t}",
            f"%r{i} = glow.relu %h{i} : ({t}) -> {t}",
            f"%m{i} = glow.mul %r{i}, %h{i} : ({t}, {t}) -> {t}",
            f"%y{i} = glow.add %m{i}, %h{i} : ({t}, {t}) -> {t}",
        ]
        last, joined = f"%y{i}", [*joined, (f"%y{i}", t)]
    width, half = sum(sizes[1:]), sum(sizes[1:]) // 2
    values, types = (", ".join(parts) for parts in zip(*joined, strict=True))
    wide, cut = f"tensor<{rows}x{width}xf32>", f"tensor<{rows}x{half}xf32>"
    lines += [
        f"%c = glow.concat {values} axis 1 : ({types}) -> {wide}",
        f"%s = glow.slice %c starts [0, {width - 1}] sizes [{rows}, "
        f"{half}] strides [1, -2] : ({wide}) -> {cut}",
        f"func.return %s, %x : {cut}, {first}",
    ]
    body = "\n  ".join(lines)
    return f"func.func @main(%x: {first}) -> ({cut}, {first}) {{\n  {body}\n}}\n"


@pytest.mark.parametrize(("rows", "sizes"), [(1, (3, 20)), (5, (7, 17, 33, 1)), (2, (1, 16, 32))])
@pytest.mark.usefixtures("vector_machine")
def test_networks_equal_the_interpreter(
    rows: int, sizes: tuple[int, ...], rng: np.random.Generator
):
    module = parse(layers(sizes, rows))
    x = rng.standard_normal((rows, sizes[0])).astype(np.float32)
    model = glow.compile(module, "vector_machine")
    for found, expected in zip(model(x), glow.compile(module, "interpreter")(x), strict=True):
        assert found.dtype == np.float32
        scale = np.abs(expected).max(initial=1)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * scale)


@pytest.mark.usefixtures("vector_machine")
def test_its_program_is_text_that_reads_back():
    model = glow.compile(NETWORK, "vector_machine")
    text = str(model.stages["program"])
    assert str(parse(text)) == text
    assert (EXAMPLE / "program.mlir").read_text() == f"{text}\n"
    inner = [op.name for op in model.stages["program"].walk()][2:-1]
    assert {name.split(".")[0] for name in inner} == {"vector_machine"}


def test_what_it_says_of_itself(vector_machine: Backend):
    assert "vector_machine" in backend_names()
    (memory,) = vector_machine.memories()
    assert (memory.bytes, memory.alignment) == (4 << 14, 4)
    calls = {op.name: op.call for op in parse(layers((3, 20), 5)).walk() if isinstance(op, Node)}
    kept = {name for name, call in calls.items() if vector_machine.keeps(call)}
    assert set(calls) - kept == {"glow.fully_connected", "glow.relu"}
    assert vector_machine.cost(calls["glow.add"]) == pytest.approx(3 * 4 * 5 * 20 / 64e9)
    assert vector_machine.cost(calls["glow.constant"]) == 0


@pytest.mark.usefixtures("vector_machine")
def test_errors_say_what_it_lacks():
    sine = "%y = glow.sin %x : (tensor<3xf32>) -> tensor<3xf32>\n func.return %y : tensor<3xf32>"
    module = parse(f"func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {{ {sine} }}")
    with pytest.raises(CompileError, match=r"glow\.sin.* neither implemented"):
        glow.compile(module, "vector_machine")
    integers = (
        "func.func @main(%x: tensor<3xi32>) -> tensor<3xi32> { func.return %x : tensor<3xi32> }"
    )
    with pytest.raises(CompileError, match="expected inputs and outputs of f32"):
        glow.compile(parse(integers), "vector_machine")
    with pytest.raises(CompileError, match="the machine has 65536"):
        glow.compile(parse(layers((3, 20, 40, 40), 97)), "vector_machine")


@pytest.mark.usefixtures("vector_machine")
def test_it_does_what_it_claims(capsys: pytest.CaptureFixture[str]):
    assert glow_test_backend(["vector_machine"]) == 0, capsys.readouterr().out
    printed = capsys.readouterr().out
    assert "glow.matmul" in printed
    assert "none failed" in printed


@pytest.mark.usefixtures("vector_machine")
def test_a_wrong_instruction_is_found(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    functions = sys.modules["vector_machine.dialect"].FUNCTIONS  # pyright: ignore
    monkeypatch.setitem(functions, "max", np.fmin)
    assert glow_test_backend(["vector_machine"]) == 1
    printed = capsys.readouterr().out
    assert "glow.maximum: 6 failed; run these alone with --filter=glow.maximum" in printed
    assert "6 failed (seed" in printed


def test_it_is_short():
    sources = (EXAMPLE / "vector_machine").glob("*.py")
    lines = [line for source in sources for line in source.read_text().splitlines()]
    assert 0 < len([line for line in lines if line.strip()]) <= LONGEST


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("wheel") is None, reason="building without network needs wheel"
)
def test_it_installs(tmp_path: Path):
    source, target = tmp_path / "source", tmp_path / "target"
    shutil.copytree(EXAMPLE, source)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(target)]
    subprocess.run([*pip, *options, str(source)], check=True, timeout=300)
    command = [sys.executable, "-m", "glow.tools.glow_test_backend", "vector_machine"]
    environment = {**os.environ, "PYTHONPATH": str(target)}
    subprocess.run([*command, "--filter=add"], check=True, env=environment, timeout=300)
