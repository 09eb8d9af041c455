"""glow-run on the digits network, and the numbers in its tables."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from glow.tools.glow_opt import main as glow_opt
from glow.tools.glow_profile import main as glow_profile
from glow.tools.glow_run import main
from glow.tools.quantized_runs import pipeline_of
from glow.tools.report import (
    Difference,
    difference,
    is_classification,
    seconds,
    size,
    top_table,
)
from glow.tools.run_arguments import run_parser as parser

DIGITS = Path(__file__).resolve().parents[3] / "examples" / "digits"
MODEL = str(DIGITS / "digits.onnx")
IMAGES = sorted((DIGITS / "images").glob("*.png"))


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_digits(backend: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out.npz"
    image = next(p for p in IMAGES if p.stem.endswith("_7"))
    arguments = [MODEL, "--backend", backend, "--input", f"image={image}", "--repeat", "3"]
    arguments += ["--output", str(output), "--compare", "onnxruntime"]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "probabilities: top 5 of 10" in printed
    assert "run, median of 3" in printed
    assert "difference from onnxruntime" in printed
    with np.load(output) as found:
        assert found["probabilities"].argmax() == 7


def test_stages_and_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stages = tmp_path / "stages"
    assert main([MODEL, "--dump-stages", str(stages), "--no-cache"]) == 0
    names = [p.name for p in sorted(stages.iterdir())]
    assert names[0] == "00-imported.mlir"
    assert len(names) > 4
    printed = capsys.readouterr().out
    assert "lower bound of activations" in printed
    assert "peak of the process" in printed
    late = ("nests", "scheduled", "kernels", "llvm")
    for path in stages.glob("*.mlir"):
        # text that can be edited and fed back; `test_stages.py` parses all stages
        if path.stem.split("-", 1)[1] in late:
            continue
        assert glow_opt([str(path)]) == 0, path.name
        assert capsys.readouterr().out.strip() == path.read_text().strip()


def test_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = tmp_path / "labels.txt"
    labels.write_text("\n".join(f"digit {i}" for i in range(10)))
    arguments = [MODEL, "--backend", "interpreter", "--labels", str(labels), "--top-k", "10"]
    assert main(arguments) == 0
    assert "digit 9" in capsys.readouterr().out


def test_seed_decides_random_inputs(tmp_path: Path) -> None:
    def outputs(seed: int) -> np.ndarray:
        path = tmp_path / "o.npz"
        arguments = [MODEL, "--backend", "interpreter", "--output", str(path)]
        assert main([*arguments, "--seed", str(seed)]) == 0
        with np.load(path) as found:
            return found["probabilities"]

    np.testing.assert_array_equal(outputs(1), outputs(1))
    assert (outputs(1) != outputs(2)).any()


def test_tolerance_decides_the_exit_code() -> None:
    arguments = [MODEL, "--backend", "interpreter", "--compare", "onnxruntime", "--tolerance"]
    assert main([*arguments, "1e-3"]) == 0
    assert main([*arguments, "-1"]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: model"),
        (["missing.onnx"], "missing.onnx"),
        ([MODEL, "--backend", "gpu"], "no backend is called 'gpu'"),
        ([MODEL, "--repeat", "0"], "--repeat"),
        ([MODEL, "--input", "missing.npy"], "missing.npy"),
        ([MODEL, "--input", "foo=missing.npy"], "no input is called 'foo'"),
        ([MODEL, "--image-scale", "1/0"], "--image-scale"),
        ([MODEL, "--labels", "missing.txt"], "missing.txt"),
        ([MODEL, "--labels", MODEL], f"{MODEL}: expected text in UTF-8 with one label"),
        ([MODEL, "--wrong-option"], "--wrong-option"),
        ([MODEL, "--define-symbol", "batch"], "batch"),
        ([MODEL, "--compare", "gpu"], "vta, onnxruntime or float"),
        ([MODEL, "--seed", "x"], "argument --seed: expected a whole number, found 'x'"),
        ([MODEL, "--seed", "-1"], "argument --seed: expected a number of at least 0, found '-1'"),
        ([MODEL, "--profile"], "--profile measures programs of the backend cpu"),
        (["--profile", MODEL], "put --profile behind the model"),
        ([__file__], "test_glow_run.py"),
    ],
)
def test_errors_are_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main([*arguments, "--backend=interpreter"] if "--backend" not in arguments else arguments)
        == 1
    )
    error = capsys.readouterr().err
    assert error.startswith("glow-run: error: ")
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("threads", [1, 2] if sys.platform == "linux" else [1])
def test_profile(threads: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "run.json"
    arguments = [MODEL, f"--profile={trace}", "--repeat", "4", "--threads", str(threads)]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    kinds, instructions = printed.split("time by kind of instruction, medians of 4 runs")[1].split(
        "time by instruction"
    )
    assert ("thread 0 of 2" in kinds) == (threads == 2)
    assert "softmax" in kinds
    assert "before and after" in kinds
    # which of the instructions are listed depends on their times
    lines = [t for t in instructions.splitlines() if "+ relu" in t]
    assert lines
    assert all(" <- " in t for t in lines)
    slices = [e for e in json.loads(trace.read_text())["traceEvents"] if e["ph"] == "X"]
    assert {e["tid"] for e in slices} == set(range(threads))
    assert main([MODEL, "--profile"]) == 0
    assert "medians of 20 runs" in capsys.readouterr().out


def test_parse_errors_show_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text("func.func @main() {\n  glow.nothing\n}\n")
    assert main([str(path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"{path}:2:3: error: unknown operation glow.nothing; did you mean")
    assert error.endswith("\n    glow.nothing\n    ^^^^^^^^^^^^\n")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("glow-run ")


def test_difference_is_relative_to_the_largest_value() -> None:
    reference = np.array([0.001, -4.0, 2.0])
    assert difference(reference, reference) == Difference(0, 0)
    found = difference(reference + np.array([0.002, 0, 0]), reference)
    assert found.absolute == pytest.approx(0.002)
    assert found.relative == pytest.approx(0.0005)


def test_difference_of_special_values() -> None:
    special = np.array([np.nan, np.inf, -np.inf, 1.0], np.float32)
    assert difference(special, special).absolute == 0
    for i in range(4):
        other = special.copy()
        other[i] = np.nan if i else 0.0
        assert difference(other, special).absolute == np.inf
        assert difference(special, other).relative == np.inf
    assert difference(np.ones(2), np.ones(3)).absolute == np.inf
    assert difference(np.ones(2), np.zeros(2)).relative == np.inf
    assert difference(np.zeros(0), np.zeros(0)).absolute == 0


def test_what_is_a_classification() -> None:
    assert is_classification(np.zeros((1, 1000, 1, 1), np.float16))
    assert is_classification(np.zeros(10, np.float32))
    assert not is_classification(np.zeros((2, 10), np.float32))
    assert not is_classification(np.zeros(10, np.int64))
    assert not is_classification(np.zeros((1, 1), np.float32))


def test_top_table_orders_scores() -> None:
    table = top_table("y", np.array([[0.1, 0.7, 0.2]]), 2, ["a", "b"])
    assert [list(c.cells) for c in table.columns] == [["1", "2"], ["b", "?"], ["70.00%", "20.00%"]]
    table = top_table("y", np.array([3.0, -1.0]), 5, [])
    assert [list(c.cells) for c in table.columns] == [["0", "1"], ["3", "-1"]]


def test_units() -> None:
    assert [seconds(v) for v in (2.5, 0.0125, 3e-6)] == ["2.50 s", "12.5 ms", "3 us"]
    assert [size(v) for v in (12, 1500, 2 * 10**6, 3 * 10**9)] == [
        "12 B",
        "1.50 kB",
        "2.00 MB",
        "3.00 GB",
    ]


def test_limit_of_elements(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([MODEL, "--max-elements", "10"]) == 1
    assert "more than the limit of 10;" in capsys.readouterr().err
    assert main([MODEL, "--max-elements", "many"]) == 1
    assert "at least 1" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--image-mean", "--image-scale"])
def test_numbers_that_are_none(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model.onnx", option, "1,x"]) == 1
    wanted = (
        f"argument {option}: expected numbers or fractions with commas between them, found '1,x'"
    )
    assert capsys.readouterr().err == f"glow-run: error: {wanted}\n"


def test_warnings_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("not a directory")
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path / "file"))
    model = tmp_path / "model.mlir"
    model.write_text(
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
        "  %y = glow.relu %x : (tensor<2xf32>) -> tensor<2xf32>\n"
        "  func.return %y : tensor<2xf32>\n"
        "}\n"
    )
    assert main([str(model)]) == 0
    error = capsys.readouterr().err
    assert error.startswith("glow-run: warning: cannot ")
    assert error.count("\n") == 1


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Returns the profile of the digits."""
    path = tmp_path_factory.mktemp("profile") / "profile.json"
    assert glow_profile([MODEL, "--data", str(DIGITS / "images"), "-o", str(path)]) == 0
    return str(path)


def test_quantized(profile: str, capsys: pytest.CaptureFixture[str]) -> None:
    image = next(p for p in IMAGES if p.stem.endswith("_7"))
    arguments = [MODEL, "--input", str(image), "--quantize", profile, "--top-k", "1"]
    options = ["--schema", "symmetric", "--calibration", "mse", "--per-tensor", "--bias", "float"]
    assert main([*arguments, *options, "--keep-float", "matmul"]) == 0
    printed = capsys.readouterr().out
    assert "products quantized" in printed
    assert "matmul stays float: its operator is kept" in printed
    assert "conversions that remain: " in printed
    assert "from the network's inputs: image" in printed
    assert main([*arguments, "--compare", "onnxruntime", "--tolerance", "0.2"]) == 0


def test_comparison_with_float(profile: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [MODEL, "--quantize", profile, "--compare", "float"]
    assert main([*arguments, "--data", str(DIGITS / "images")]) == 0
    printed = capsys.readouterr().out
    assert f"each value against float, {len(IMAGES)} samples" in printed
    assert f"100.0% of {len(IMAGES)}" in printed
    rows = [line for line in printed.splitlines() if " dB " in line and "probabilities" not in line]
    values = [float(line.split("│")[2].removesuffix("dB ")) for line in rows]
    assert values == sorted(values)
    worst = printed.splitlines()[-1]
    assert worst.startswith("worst value: ")
    assert "random" not in printed
    assert float(worst.split()[-2]) == min(float(line.split("│")[2].split()[0]) for line in rows)


def test_arrays_with_several_samples(
    profile: str, tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "samples.npz"
    np.savez(path, image=rng.uniform(0, 1, (5, 1, 8, 8)).astype(np.float32))
    arguments = [MODEL, "--quantize", profile, "--compare", "float", "--data", str(path)]
    assert main([*arguments, "--limit", "3", "--storages", "matmul=i16"]) == 0
    assert "outputs against float, 3 samples" in capsys.readouterr().out


def test_dynamic_quantization(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([MODEL, "--quantize", "dynamic", "--compare", "float"]) == 0
    printed = capsys.readouterr().out
    assert "1 product quantized, 0 activations" in printed
    assert "outputs against float, 1 random sample" in printed
    assert "say little of real data: compare on samples with --data DIR" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--schema", "symmetric"], "--schema: expected --quantize PROFILE.json, or dynamic, too"),
        (["--compare", "float"], "--compare float: expected --quantize"),
        (["--quantize", "nowhere.json"], "nowhere.json: cannot be read"),
        (["--quantize", "dynamic", "--schema", "best"], "expected a schema of"),
        (["--quantize", "dynamic", "--keep-float", "c9"], "cannot keep c9 in float"),
        (
            ["--quantize", "dynamic", "--backend", "interpreter"],
            "--quantize is an option of the backend cpu; the backend is interpreter",
        ),
        (["--data", "nowhere"], "nowhere: no such file or directory"),
    ],
)
def test_wrong_quantization(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([MODEL, *arguments]) == 1
    assert message in capsys.readouterr().err


def test_profile_of_another_model(
    profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "other.mlir"
    path.write_text(
        'func.func @main(%x: tensor<2x3xf32> {glow.name = "x"}) -> tensor<2x3xf32> {\n'
        "  %y = glow.log %x : (tensor<2x3xf32>) -> tensor<2x3xf32>\n"
        "  func.return %y : tensor<2x3xf32>\n}\n"
    )
    assert main([str(path), "--quantize", profile]) == 1
    assert "the profile of 'digits' is of another model" in capsys.readouterr().err


def test_pinned_threads(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([MODEL, "--threads", "2", "--pin", "--compare", "interpreter"]) == 0
    assert "difference from interpreter" in capsys.readouterr().out


def test_too_many_threads(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([MODEL, "--threads", "100000"]) != 0
    assert "1 to 1024, found 100000" in capsys.readouterr().err


def test_conversion(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        MODEL,
        "--convert-to",
        "f16",
        "--compare",
        "float",
        "--data",
        str(DIGITS / "images"),
    ]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "conversions that remain" not in printed
    assert f"100.0% of {len(IMAGES)}" in printed
    assert main([MODEL, "--convert-to", "bf16", "--keep-wide", "nothing"]) == 1
    assert "cannot keep nothing in f32" in capsys.readouterr().err


def test_values_beyond_the_range_of_f16(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, data, ranges = (str(tmp_path / n) for n in ("m.mlir", "x.npz", "p.json"))
    Path(model).write_text(
        'func.func @main(%x: tensor<1x3xf32> {glow.name = "x"}) -> tensor<1x3xf32> {\n'
        "  %e = glow.exp %x : (tensor<1x3xf32>) -> tensor<1x3xf32>\n"
        "  %y = glow.sqrt %e : (tensor<1x3xf32>) -> tensor<1x3xf32>\n"
        "  func.return %y : tensor<1x3xf32>\n}\n"
    )
    np.savez(data, x=np.array([[1.0, 12.0, 14.0]], np.float32))
    assert glow_profile([model, "--data", data, "-o", ranges]) == 0
    arguments = [model, "--data", data, "--convert-to", "f16", "--compare", "float"]
    assert main(arguments) == 0
    assert "worst value: e, -inf dB" in capsys.readouterr().out
    with pytest.warns(UserWarning, match="beyond the range of f16, and f32 still: e"):
        assert pipeline_of(parser().parse_args([*arguments, "--ranges", ranges])) is not None
    assert main([*arguments, "--ranges", ranges]) == 0
    shown = capsys.readouterr()
    assert "-inf" not in shown.out
    assert "warning: beyond the range of f16, and f32 still: e" in shown.err
