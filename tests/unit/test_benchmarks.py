"""The benchmark programs run, with settings too small to mean anything."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import onnx
import pytest
from glow.benchmarks import decoding
from glow.benchmarks.cases import with_batch
from glow.benchmarks.chart import svg
from glow.benchmarks.compare import difference
from glow.benchmarks.measurements import Case, Measurement, Results, geometric_mean
from glow.benchmarks.networks import network_graph_file
from glow.benchmarks.report import milliseconds, sections
from glow.tests.support.drawn import cut_off
from glow.tests.support.invented_results import NAMES, random_results
from glow.tests.support.seeds import numbered
from glow.tests.support.small_decoder import small_decoder
from onnx import helper

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
Run = Callable[..., str]


@dataclass(frozen=True)
class Finished:
    """The exit code of a program, and the output of it and its own processes."""

    code: int
    out: str
    err: str


@pytest.fixture
def start(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Finished]:
    """Runs a module with arguments as `python -m` does, in this process, which has its imports."""
    monkeypatch.chdir(ROOT)

    def started(module: str, *arguments: str | Path) -> Finished:
        monkeypatch.setattr(sys, "argv", [module, *map(str, arguments)])
        # runpy warns of a module that another test has imported
        monkeypatch.delitem(sys.modules, module, raising=False)
        capfd.readouterr()
        code = 0
        try:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        wrote = capfd.readouterr()
        return Finished(code, wrote.out, wrote.err)

    return started


@pytest.fixture
def run(start: Callable[..., Finished]) -> Run:
    """Returns the output of a module that succeeds."""

    def output(module: str, *arguments: str | Path) -> str:
        found = start(module, *arguments)
        assert found.code == 0, found.out + found.err
        return found.out

    return output


TINY = ("--runtimes", "glow", "onnxruntime", "--repeat", "2", "--seconds", "0.01")


def test_comparison(tmp_path: Path, run: Run) -> None:
    target, chart = tmp_path / "new" / "found.json", tmp_path / "chart.svg"
    arguments = ["--rounds", "2", "--threads", "1,2", "--json", target, "--svg", chart]
    printed = run("glow.benchmarks.run", DIGITS, *TINY, *arguments)
    assert "digits" in printed
    results = Results.read(target)
    assert [(c.network, c.batch, c.threads) for c in results.cases] == [
        ("digits", 1, 1),
        ("digits", 1, 2),
    ]
    for case in results.cases:
        for found in case.runtimes.values():
            assert not found.error
            assert found.runs == 4
            assert 0 < found.least <= found.median
            assert found.difference is not None
            assert found.difference < 1e-4
            assert found.warm
            assert (found.memory_warm or 0) >= found.memory_running > 1e7
            assert found.memory_cold > 1e7
    assert chart.read_text() == svg(results)


def test_comparison_of_batches_as_markdown(tmp_path: Path, run: Run) -> None:
    model = tmp_path / "reshaped.onnx"
    onnx.save(reshaped_network(), model)
    arguments = ["--rounds", "1", "--threads", "1", "--batch", "1,3", "--markdown"]
    printed = run("glow.benchmarks.run", model, *TINY, *arguments, "--models", tmp_path)
    assert "| network | glow | onnxruntime | speed | glow, batch 1 |" in printed
    for table in printed.split("\n\n"):
        lines = [line for line in table.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in lines}) <= 1


def reshaped_network() -> onnx.ModelProto:
    """
    Returns two reshapes to one shape, one of a weight, whose leading 1 is no batch, and a product.
    """
    rng = numbered(0)
    weights = {"w": rng.standard_normal(8, np.float32), "shape": np.array([1, 8], np.int64)}
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["flat"]),
        helper.make_node("Reshape", ["w", "shape"], ["row"]),
        helper.make_node("Mul", ["flat", "row"], ["y"]),
    ]
    values = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in (("x", [1, 2, 4]), ("y", [1, 8]))
    ]
    tensors = [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "reshaped", values[:1], values[1:], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("batch", [1, 3])
def test_batches(batch: int) -> None:
    model = with_batch(reshaped_network(), batch)
    onnx.checker.check_model(model, full_check=True)
    (output,) = model.graph.output
    assert [d.dim_value for d in output.type.tensor_type.shape.dim] == [batch, 8]


def test_networks_without_a_batch_are_refused() -> None:
    model = reshaped_network()
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 2
    with pytest.raises(ValueError, match="input x is not a batch of one"):
        with_batch(model, 8)


@pytest.mark.parametrize("network", ["resnet50", "squeezenet"])
def test_networks_of_the_benchmark_take_batches(network: str) -> None:
    model = with_batch(onnx.load(network_graph_file(network)), 8)
    (output,) = model.graph.output
    assert [d.dim_value for d in output.type.tensor_type.shape.dim][:2] == [8, 1000]


def test_comparison_reports_failures(tmp_path: Path, start: Callable[..., Finished]) -> None:
    model = tmp_path / "broken.onnx"
    model.write_bytes(DIGITS.read_bytes()[:-5000])
    found = start("glow.benchmarks.run", model, "--runtimes", "glow")
    assert found.code == 1
    assert "broken.onnx" in found.err


def test_comparison_names_the_networks_there_are(start: Callable[..., Finished]) -> None:
    found = start("glow.benchmarks.run", "resnet", "--runtimes", "glow")
    assert found.code == 1
    assert "error: resnet, batch 1: expected an .onnx file or one of alexnet" in found.err
    assert "found 'resnet'" in found.err


@pytest.mark.parametrize(
    ("program", "network", "message"),
    [
        ("host", "no.onnx", "no.onnx: cannot be read"),
        ("decoding", "no.onnx", "no.onnx: No such file"),
        ("compile_time", "no.onnx", "no.onnx: cannot be read"),
        ("compile_time", "resnet", "expected an .onnx file or one of alexnet"),
        ("kernels", "no.onnx", "no.onnx: cannot be read"),
        ("kernels", "resnet", "expected an .onnx file or one of alexnet"),
    ],
)
def test_errors(program: str, network: str, message: str, start: Callable[..., Finished]) -> None:
    found = start(f"glow.benchmarks.{program}", network)
    assert found.code == 1
    assert found.err.startswith("error: ")
    assert found.err.count("\n") == 1
    assert message in found.err


def test_comparison_reports_differences_and_errors() -> None:
    case = Case("some", 1, 2)
    case.runtimes["glow"] = Measurement(median=1.0, difference=2e-3)
    case.runtimes["onnxruntime"] = Measurement(median=2.0, difference=0.0)
    case.runtimes["openvino"] = Measurement(error="no memory")
    assert case.failures(1e-3) == [
        "some, batch 1, threads 2: glow differs by 0.002",
        "some, batch 1, threads 2: openvino failed: no memory",
    ]
    assert case.failures(1e-2) == case.failures(1e-3)[1:]
    assert case.speed() == 2.0


def test_difference() -> None:
    x = np.array([1.0, -4.0], np.float32)
    assert difference([x, x], [x, x]) == 0
    assert difference([x + 1], [x]) == 0.25
    assert difference([x], [x[:1]]) == difference([x, x], [x]) == np.inf
    assert difference([x * np.float32(np.nan)], [x]) == np.inf


def test_results_survive_json() -> None:
    results = random_results(3)
    assert Results.from_json(results.to_json()) == results


def test_geometric_mean() -> None:
    assert geometric_mean([]) is None
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    results = random_results(4)
    speeds = [case.speed() or 0 for case in results.cases if (case.batch, case.threads) == (1, 2)]
    assert len(speeds) == 3
    assert results.mean_speed(1, 2) == pytest.approx(np.prod(speeds) ** (1 / 3))


def test_milliseconds() -> None:
    assert [milliseconds(s) for s in (None, 0.0012345, 0.09994, 0.09996, 0.0099951, 1.5)] == [
        *("-", "1.23", "99.9", "100", "10.0", "1500")
    ]


def test_chart_is_well_formed_and_fits() -> None:
    chart = svg(random_results(5))
    assert not cut_off(chart)
    assert chart.count("speed / speed of the faster peer") == 2
    root = ElementTree.fromstring(chart)
    assert root.tag.endswith("svg")
    _, *bars = [e for e in root if e.tag.endswith("rect")]  # the first one is the page
    assert len(bars) == 2 * 4 * len(NAMES) + len(NAMES)
    for bar in bars:
        assert float(bar.attrib["x"]) + float(bar.attrib["width"]) <= float(root.attrib["width"])
        assert float(bar.attrib["y"]) + float(bar.attrib["height"]) <= float(root.attrib["height"])


def test_long_names_and_one_panel_fit() -> None:
    """The title and the legend are wider than a single panel."""
    results = random_results(7)
    renamed = [
        replace(case, network=f"a network with a long name, {case.network}")
        for case in results.cases
        if case.threads == 1
    ]
    chart = svg(replace(results, cases=renamed))
    assert chart.count("a network with a long name") == len(NAMES)
    assert not cut_off(chart)


@pytest.mark.parametrize("sizes", [("20", "60")])
def test_scaling(sizes: tuple[str, str], run: Run) -> None:
    small, large = sizes
    arguments = ["--small", small, "--large", large, "--rounds", "1", "--limit", "1000"]
    printed = run("glow.benchmarks.scaling", *arguments)
    assert "glow-allocate" in printed
    assert "all passes" in printed


def test_compile_time(tmp_path: Path, run: Run) -> None:
    target, model = tmp_path / "found.json", tmp_path / "reshaped.onnx"
    onnx.save(reshaped_network(), model)
    printed = run("glow.benchmarks.compile_time", model, "--rounds", "1", "--json", target)
    assert "first result" in printed
    found = json.loads(target.read_text())["reshaped"]
    assert found["cold"]["kernels"] > 0
    assert "kernels" not in found["warm"]
    assert found["warm"]["first result"] > 0
    printed = run("glow.benchmarks.compile_time", model, "--profile", "5")
    assert "function calls" in printed


def test_quantized(tmp_path: Path, run: Run) -> None:
    target = tmp_path / "found.json"
    arguments = ["--rounds", "1", "--kinds", "qdq", "ours", "--models", tmp_path, "--json", target]
    printed = run("glow.benchmarks.quantized", DIGITS, *TINY, *arguments)
    assert "gain" in printed
    rows = json.loads(target.read_text())["rows"]
    assert [r["kind"] for r in rows] == ["qdq", "ours"]
    for row in rows:
        # without instructions for bytes, transformed filters are words
        assert 0 < row["size"] < 2
        assert row["f32"] > 0
        for found in row["case"]["runtimes"].values():
            assert not found["error"]
            assert found["difference"] < 0.2


def test_variant_without_winograd(tmp_path: Path, run: Run) -> None:
    target = tmp_path / "found.json"
    arguments = ["--rounds", "1", "--threads", "1", "--no-winograd", "--json", target]
    printed = run("glow.benchmarks.run", DIGITS, *TINY, *arguments, "--markdown")
    assert "| digits |" in printed
    assert "glow --no-winograd, 1T" in printed
    results = Results.read(target)
    assert results.has_direct()
    assert results.runtimes() == ["glow", "onnxruntime"]
    (case,) = results.cases
    assert case.peers() == ["onnxruntime"]
    assert case.median("glow_direct")


def test_batches_are_shown_per_image_beside_one() -> None:
    section = next(s for s in sections(random_results(3)) if "batches of 8" in s.title)
    assert section.heads[-1].startswith("glow, batch 1")
    ((name, *_),) = section.rows
    assert name == "some"


def test_make_bench_runs_all_benchmarks() -> None:
    printed = subprocess.run(
        ["make", "--dry-run", "bench", "PYTHON=python3"], capture_output=True, text=True, cwd=ROOT
    ).stdout
    parts = ("run", "kernels", "compile_time", "quantized", "host examples/", "scaling", "trees")
    for part in (*parts, "bags", "narrow_weights", "operators"):
        assert f"-m glow.benchmarks.{part}" in printed
    assert "--no-winograd" in printed


def test_kernels(run: Run) -> None:
    printed = run("glow.benchmarks.kernels", DIGITS, "--repeat", "1")
    assert "GFLOP/s" in printed
    assert "winograd_convolution" in printed  # as the network computes it
    assert "all layers" in printed


def test_trees(run: Run) -> None:
    printed = run(
        *("glow.benchmarks.trees", "--only", "50x12", "--batch", "3"),
        *("--threads", "1", "--seconds", "0.01"),
    )
    assert [line.split()[0] for line in printed.splitlines()[1:]] == ["50x12", "50x12"]


def test_bags(run: Run) -> None:
    printed = run(
        *("glow.benchmarks.bags", "--columns", "6", "--bits", "4,8,32", "--threads", "1"),
        *("--seconds", "0.01", "--mib", "1"),
    )
    rows = [line.split()[:3] for line in printed.splitlines()[2:]]
    assert rows == [[bits, "6", where] for bits in ("4", "8", "32") for where in ("table", "cache")]


def test_narrow_weights(run: Run) -> None:
    printed = run(
        *("glow.benchmarks.narrow_weights", "--size", "64", "--group", "32", "--matrices", "2"),
        *("--threads", "1", "--seconds", "0.01"),
    )
    rows = [line.split()[:2] for line in printed.splitlines()[1:]]
    assert rows == [["f32", "1"], ["u8", "1"], ["u4", "1"]]


def test_operators(run: Run) -> None:
    printed = run(
        *("glow.benchmarks.operators", "--only", "^(sum of rows|product of bytes|gather)$"),
        *("--seconds", "0.01"),
    )
    rows = [line[:24].rstrip() for line in printed.splitlines()[1:]]
    assert rows == ["product of bytes", "sum of rows", "gather"]


def test_host(run: Run) -> None:
    printed = run(
        "glow.benchmarks.host", DIGITS, "--requests", "5", "--rounds", "1", "--in-flight", "2"
    )
    for way in ("direct", "one at a time", "2 in flight"):
        assert way in printed


def test_vta(run: Run) -> None:
    arguments = ["--size", "8", "--width", "16", "--markdown", "--simulate"]
    printed = run("glow.benchmarks.vta", *arguments)
    assert "| block4.2.relu2 |" in printed
    assert "\nequal to the interpreter" in printed


def test_decoders(rng: np.random.Generator, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "decoder.onnx"
    onnx.save(small_decoder(rng, layers=1), str(path))
    assert decoding.main([str(path), "--rows", "3", "--tokens", "5"]) == 0
    printed = capsys.readouterr().out
    for runtime in ("glow", "onnxruntime"):
        assert re.search(rf"{runtime}: \d+\.\d tokens per second", printed)
    (difference,) = re.findall(r"largest difference (\S+)", printed)
    assert float(difference) < 1e-4
