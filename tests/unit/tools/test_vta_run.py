"""glow-run on VTA programs."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from glow.glow_dialects.vta.config import VtaConfig
from glow.runtime.vta.container import write_program
from glow.runtime.vta.program import Region, RegionRole
from glow.tests.support import vta_assembler as asm
from glow.tests.support.drawn import SVG, cut_off
from glow.tests.support.vta_assembler import INP, UOP, WGT
from glow.tools.glow_opt import main as glow_opt
from glow.tools.glow_run import main
from glow.tools.timeline_drawing import draw_timeline

SHAPE = (1, 5, 3, 4)
"""The shape of the input; its channels are padded to 16."""
TILE = (1, 16, 1, 1)


@pytest.fixture
def program(tmp_path: Path, rng: np.random.Generator) -> tuple[Path, np.ndarray]:
    """Returns a 1 x 1 convolution of 5 channels to 3 with relu, and its weights."""
    config = VtaConfig()
    weights = rng.integers(-3, 4, (3, 5), np.int8)
    padded = np.zeros((16, 16), np.int8)
    padded[:3, :5] = weights
    pixels = SHAPE[2] * SHAPE[3]
    ops = [
        asm.load(UOP, 0, 0),
        asm.load(INP, 0, 64, 1, pixels),
        asm.load(WGT, 0, 16),
        asm.gemm((0, 1), (1, pixels), (0, 1), reset=1),
        asm.gemm((0, 1), (1, pixels), (0, 1), (0, 1)),
        asm.alu(asm.MAX, (0, 1), (1, pixels), (0, 1), imm=0),
        asm.store(0, 512, 1, pixels),
    ]
    sequence = asm.in_sequence(ops)
    i8 = np.dtype(np.int8)
    regions = [
        asm.region("u", RegionRole.MICRO_OPS, 0, np.zeros(1, np.uint32)),
        Region("x", RegionRole.INPUT, 1024, 16 * pixels, None, i8, SHAPE, TILE),
        asm.region("w", RegionRole.CONSTANT, 4096, padded),
        Region("y", RegionRole.OUTPUT, 8192, 16 * pixels, None, i8, (1, 3, *SHAPE[2:]), TILE),
    ]
    path = tmp_path / "conv.vta"
    layers = [("conv1x1", 0, len(sequence) - 1)]
    write_program(path, asm.program(sequence, config, regions, layers))
    return path, weights


def test_outputs(
    program: tuple[Path, np.ndarray], tmp_path: Path, rng: np.random.Generator
) -> None:
    path, weights = program
    x = rng.integers(-8, 8, SHAPE, np.int8)
    np.save(tmp_path / "x.npy", x)
    output = tmp_path / "y.npz"
    assert main([str(path), "--input", str(tmp_path / "x.npy"), "--output", str(output)]) == 0
    wanted = np.maximum(np.einsum("oc,nchw->nohw", weights.astype(int), x.astype(int)), 0)
    with np.load(output) as found:
        np.testing.assert_array_equal(found["y"], wanted.astype(np.int8))


def test_statistics_and_trace(
    program: tuple[Path, np.ndarray], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "trace.json"
    assert main([str(program[0]), "--statistics", "--trace", str(trace), "--repeat", "2"]) == 0
    printed = capsys.readouterr().out
    for text in ("int8[1, 5, 3, 4]", "median of 2", "COMPUTE", "GEMM core", "conv1x1", "192 B"):
        assert text in printed
    assert json.loads(trace.read_text())["traceEvents"]


def test_a_drawing(program: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    """Each event of the trace has a bar in the row of its engine, as long as it takes."""
    drawing, trace = tmp_path / "t.svg", tmp_path / "t.json"
    for path in (drawing, trace):
        assert main([str(program[0]), "--trace", str(path)]) == 0
    events = [e for e in json.loads(trace.read_text())["traceEvents"] if e["ph"] == "X"]
    assert not cut_off(drawing.read_text())
    assert "time in us; " in drawing.read_text()
    bars = [
        bar.attrib | {"title": bar[0].text or ""}
        for bar in ElementTree.parse(drawing).iter()
        if len(bar) == 1 and bar[0].tag.endswith("}title")
    ]
    assert [bar["title"] for bar in bars] == [e["args"].get("text", e["name"]) for e in events]
    assert [bar["y"] for bar in bars] == [str(28 + 34 * e["tid"]) for e in events]
    longest = max(float(bar["width"]) for bar in bars)
    whole = max(e["ts"] + e["dur"] for e in events)
    wanted = [max(e["dur"] / whole * longest, 0.5) for e in events]
    np.testing.assert_allclose([float(bar["width"]) for bar in bars], wanted, atol=0.2)


@pytest.mark.parametrize("end", [0.0, 0.03, 1.0, 77.7, 98765.4])
def test_kinds_and_names_of_a_timeline_fit(end: float) -> None:
    """However many kinds there are, and however long the names of the rows."""
    names = ["layers", "an engine with a long name"]
    kinds = [f"KIND{i:03}" for i in range(25)]
    events = [
        *({"ph": "M", "name": "thread_name", "tid": t, "args": {"name": n}}
          for t, n in enumerate(names)),
        *({"ph": "X", "tid": 1, "ts": end * i / 25, "dur": end / 25, "name": k, "args": {}}
          for i, k in enumerate(kinds)),
    ]  # fmt: skip
    drawing = draw_timeline({"traceEvents": events})
    assert not cut_off(drawing)
    found = [t.text or "" for t in ElementTree.fromstring(drawing).iter(f"{SVG}text")]
    assert {*kinds, *names} <= set(found)
    marks = [float(text) for text in found if text.replace(".", "").isdecimal()]
    assert marks[0] == 0.0
    assert all(mark <= end for mark in marks)
    assert end == 0 or 4 <= len(marks) <= 10


def test_a_program_as_text_with_its_weights(
    program: tuple[Path, np.ndarray], tmp_path: Path
) -> None:
    """`glow-opt` gives this advice if text would refer to weights of its own process."""
    names = ("t.mlir", "w.safetensors", "direct.vta", "again.vta")
    text, weights, direct, again = (str(tmp_path / name) for name in names)
    assert glow_opt([str(program[0]), "-t", "vta-binary", "-o", direct]) == 0
    assert glow_opt([str(program[0]), "--weights-out", weights, "-o", text]) == 0
    assert glow_opt([text, "-t", "vta-binary", "-o", again]) == 0
    assert Path(again).read_bytes() == Path(direct).read_bytes()


def error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(arguments) == 1
    printed = capsys.readouterr().err
    assert printed.startswith("glow-run: error: ")
    assert printed.count("\n") == 1
    return printed


def test_errors_are_one_line(
    program: tuple[Path, np.ndarray], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(program[0])
    assert "--compare means nothing" in error([path, "--compare", "interpreter"], capsys)
    assert "--profile means nothing" in error([path, "--profile"], capsys)
    assert "--quantize means nothing" in error([path, "--quantize", "dynamic"], capsys)
    np.save(tmp_path / "x.npy", np.zeros((1, 5, 3, 5), np.int8))
    assert "'x'" in error([path, "--input", str(tmp_path / "x.npy")], capsys)
    damaged = tmp_path / "damaged.vta"
    damaged.write_bytes(program[0].read_bytes()[:-1])
    assert "damaged.vta: the VTA program is cut off" in error([str(damaged)], capsys)
    assert "none.vta" in error([str(tmp_path / "none.vta")], capsys)


def test_options_for_vta_programs_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--statistics is for VTA programs" in error(["a.onnx", "--statistics"], capsys)
    assert "--trace is for VTA programs" in error(["a.mlir", "--trace", "t.json"], capsys)
