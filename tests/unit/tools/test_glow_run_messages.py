"""The messages of glow-run about times and options without effect, and its output files."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import glow
import numpy as np
import onnx
import pytest
from glow.tools.glow_run import main
from glow.tools.output_file import save_arrays
from glow.wording import counted

DIGITS = Path(__file__).resolve().parents[3] / "examples" / "digits"
MODEL = str(DIGITS / "digits.onnx")
IMAGE = str(DIGITS / "images" / "027_is_7.png")
SUMS = """
func.func @main(%x: tensor<2x3xf32> {glow.name = "x"}) -> (tensor<2x3xf32> {glow.name = "file"}) {
  %y = glow.add %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
"""


def test_first_and_warm_runs_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path))
    assert main([MODEL]) == 0
    cold = capsys.readouterr().out
    assert "compilation in all" in cold
    assert "from the cache" not in cold
    assert "first run" in cold
    assert "median" not in cold
    assert main([MODEL, "--repeat", "3"]) == 0
    warm = capsys.readouterr().out
    assert "load the program from the cache" in warm
    assert "compilation in all" not in warm
    assert warm.index("first run") < warm.index("run, median of 3") < warm.index("run, fastest")
    assert glow.compile(MODEL, cache=tmp_path).from_cache
    assert not glow.compile(MODEL, cache=False, backend="interpreter").from_cache


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--input", IMAGE, "--seed", "0"], "--seed changes nothing: no input is random"),
        (["--image-mean", "0"], "--image-mean changes nothing: no input is an image"),
        (["--limit", "3"], "--limit changes nothing: there is no --data"),
        (["--tolerance", "1"], "--tolerance changes nothing: there is no --compare"),
        (["--ranges", "p", "--overflow", "refuse"], "--overflow, --ranges change nothing: there"),
        (["--threads", "2"], "--threads changes nothing: the backend interpreter runs on one"),
        (["--no-cache"], "--no-cache changes nothing: the backend interpreter keeps no code"),
        (["--input", IMAGE, "--data", "x"], "--data changes nothing: the inputs are given by"),
    ],
)
def test_ignored_options_warn(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([MODEL, "--backend", "interpreter", *arguments]) == 0
    error = capsys.readouterr().err
    assert error.startswith(f"glow-run: warning: {message}")
    assert error.count("\n") == 1


def test_ignored_choices_of_quantization_warn(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main([MODEL, "--quantize", "dynamic", "--percentile", "99", "--schema", "symmetric"]) == 0
    )
    assert "warning: --percentile, --schema change nothing" in capsys.readouterr().err


def test_options_that_count_do_not_warn(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--seed", "2", "--top-k", "3", "--compare", "interpreter", "--tolerance", "1e-3"]
    assert main([MODEL, "--threads", "1", "--repeat", "2", *arguments]) == 0
    assert main([MODEL, "--input", IMAGE, "--image-scale", "1/255", "--no-cache"]) == 0
    assert not capsys.readouterr().err


def test_outputs_that_are_no_classes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also with a name that means something to numpy.savez."""
    model, output = tmp_path / "model.mlir", tmp_path / "out.npz"
    model.write_text(SUMS)
    arguments = [str(model), "--backend", "interpreter", "--top-k", "3", "--output", str(output)]
    assert main(arguments) == 0
    assert "--top-k changes nothing: no output has scores" in capsys.readouterr().err
    with np.load(output) as found:
        assert list(found) == ["file"]
        assert found["file"].shape == (2, 3)


def test_arrays_of_any_name(tmp_path: Path, rng: np.random.Generator) -> None:
    arrays = {
        "allow_pickle": rng.standard_normal((2, 0, 3)),
        "a/b": rng.integers(0, 9, (3, 2)).T,
        "kwds": np.float32(rng.standard_normal()),
    }
    save_arrays(str(tmp_path / "x.npz"), arrays)  # pyright: ignore[reportArgumentType]
    with np.load(tmp_path / "x.npz", allow_pickle=False) as found:
        assert list(found) == list(arrays)
        for name, array in arrays.items():
            np.testing.assert_array_equal(found[name], array)


def test_counted() -> None:
    assert [counted(n, "sample") for n in (0, 1, 2)] == ["0 samples", "1 sample", "2 samples"]
    assert [counted(n, "entry", "entries") for n in (1, 2)] == ["1 entry", "2 entries"]


@pytest.mark.parametrize("option", ["--output", "--profile"])
def test_output_in_no_folder(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted, folder = tmp_path / "missing" / "y.json", tmp_path / "folder.json"
    folder.mkdir()
    for path, problem in (
        (wanted, "its directory does not exist"),
        (folder, "is a directory, expected the name of a file"),
    ):
        assert main([MODEL, option, str(path)]) == 1
        printed = capsys.readouterr()
        assert printed.err == f"glow-run: error: {path}: {problem}\n"
        assert not printed.out


def test_stages_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "stages"
    file.write_bytes(b"kept")
    assert main([MODEL, "--dump-stages", str(file)]) == 1
    printed = capsys.readouterr()
    expected = f"{file}: is a file, expected the name of a folder"
    assert printed.err == f"glow-run: error: {expected}\n"
    assert file.read_bytes() == b"kept"


@pytest.mark.parametrize("tolerance", ["nan", "-1", "much"])
def test_tolerances_that_are_no_amounts(tolerance: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([MODEL, "--compare", "interpreter", "--tolerance", tolerance]) == 1
    assert "argument --tolerance: expected a number" in capsys.readouterr().err


def test_a_file_of_a_late_stage_is_not_quantized(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    glow.compile(MODEL).dump_stages(tmp_path)
    assert main([str(tmp_path / "05-packed.mlir"), "--quantize", "dynamic"]) == 1
    printed = capsys.readouterr()
    assert "05-packed.mlir is behind the stage that quantizes: start from the" in printed.err
    assert not printed.out
    assert main([str(tmp_path / "00-imported.mlir"), "--quantize", "dynamic"]) == 0
    assert "1 product quantized" in capsys.readouterr().out


def test_output_on_a_full_device(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("glow.tools.run_network.save_arrays", full)
    assert main([MODEL, "--output", "y.npz"]) == 1
    assert capsys.readouterr().err == "glow-run: error: No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
def test_errors_of_writes_name_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "sums.mlir"
    model.write_text(SUMS)
    assert main([str(model), "--output", "/dev/full"]) == 1
    assert capsys.readouterr().err == "glow-run: error: /dev/full: No space left on device\n"


def onnx_file(text: str, folder: Path, **constants: np.ndarray) -> str:
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 18]> {text}')
    for name, array in constants.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    path = folder / "model.onnx"
    onnx.save(model, path)
    return str(path)


def test_outputs_that_are_sequences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "g (float[5,3] x) => (seq(float[n,3]) y) { y = SplitToSequence<axis=0>(x, two) }"
    path, found = onnx_file(text, tmp_path, two=np.array(2)), tmp_path / "found.npz"
    assert main([path, "--compare", "onnxruntime", "--output", str(found)]) == 0
    assert "y[2]" in capsys.readouterr().out
    with np.load(found) as arrays:
        assert [a.shape for a in arrays.values()] == [(2, 3), (2, 3), (1, 3)]


def test_random_integers_that_do_not_fit_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = onnx_file("g (float[4,3] x, int64[1] k) => (float[n] y) { y = Squeeze(x, k) }", tmp_path)
    assert main([path]) == 1
    note, error = capsys.readouterr().err.splitlines()
    assert note == "glow-run: note: no --input gives k: random integers"
    assert "Squeeze with output 'y': expected" in error
    np.save(tmp_path / "k.npy", np.array([9]))
    assert main([path, "--input", f"k={tmp_path / 'k.npy'}"]) == 1
    (error,) = capsys.readouterr().err.splitlines()
    assert "Squeeze with output 'y': expected an axis in -2 to 1, found 9" in error
