"""glow-profile on the digits network, and its errors."""

from __future__ import annotations

import json
import resource
from pathlib import Path

import numpy as np
import pytest
from glow.quantization import Profile, optimized_graph
from glow.tools.glow_profile import main

DIGITS = Path(__file__).resolve().parents[3] / "examples" / "digits"
MODEL = str(DIGITS / "digits.onnx")
IMAGES = str(DIGITS / "images")
LOG = """
func.func @main(%x: tensor<2x3xf32> {glow.name = "x"}) -> (tensor<2x3xf32> {glow.name = "y"}) {
  %y = glow.log %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
"""


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "log.mlir"
    path.write_text(LOG)
    return str(path)


def test_images(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output, pictures = tmp_path / "p.json", tmp_path / "pictures"
    arguments = [MODEL, "--data", IMAGES, "-o", str(output), "--pictures", str(pictures)]
    assert main([*arguments, "--calibration", "mse", "--schema", "symmetric"]) == 0
    printed = capsys.readouterr().out
    count = len(list(Path(IMAGES).glob("*.png")))
    assert f"13 values, {count} samples" in printed
    assert f"profile written to {output}" in printed
    profile = Profile.load(output)
    assert (profile.samples, profile.model) == (count, "digits")
    assert profile.values["image"].histogram.count == count * 64
    assert profile.match(optimized_graph(MODEL)).report() == ""
    drawn = sorted(pictures.iterdir())
    assert len(drawn) == len(profile.values)
    assert "mse, symmetric" in drawn[0].read_text()


def test_adding_and_merging(tmp_path: Path) -> None:
    one, two, both = (str(tmp_path / f"{name}.json") for name in ("one", "two", "both"))
    arguments = [MODEL, "--data", IMAGES, "--limit", "3", "--bins", "64"]
    assert main([*arguments, "-o", one]) == 0
    assert main([*arguments, "-o", two, "--add", one]) == 0
    assert main(["--merge", one, two, one, "-o", both]) == 0
    assert [Profile.load(p).samples for p in (one, two, both)] == [3, 6, 12]
    a, b = (Profile.load(p).values["scores"].histogram for p in (one, both))
    assert (a.low, a.high, 4 * a.count) == (b.low, b.high, b.count)
    assert len(a.counts) == 64


def test_nan(
    rng: np.random.Generator, log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = rng.uniform(0.1, 3, (5, 3))
    x[1, 2], x[2, 0], x[3, 1] = -1, 0, np.nan
    np.savez(tmp_path / "x.npz", x=x)
    output = tmp_path / "p.json"
    arguments = [log, "--data", str(tmp_path / "x.npz"), "-o", str(output)]
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert "glow-profile: error: value 'y' (glow.log) has 1 NaN and 0 infinite numbers" in error
    assert not output.exists()
    assert main([*arguments, "--nan", "ignore"]) == 0
    captured = capsys.readouterr()
    assert "ignored in x (input): 1 NaN, 0 infinite; 11 numbers counted" in captured.out
    assert "ignored in y (glow.log): 2 NaN, 1 infinite; 9 numbers counted" in captured.out
    assert "warning: 1 sample left out: a batch has 2" in captured.err
    assert Profile.load(output).samples == 4


def test_an_empty_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    output = tmp_path / "p.json"
    assert main([MODEL, "--data", str(tmp_path / "empty"), "-o", str(output)]) == 1
    assert "empty: there are no data: expected images" in capsys.readouterr().err
    assert not output.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected a model and --data, or profiles to --merge"),
        ([MODEL, "-o", "p.json"], "expected a model and --data"),
        ([MODEL, "--data", IMAGES], "expected -o FILE.json to write the profile, or --pictures"),
        ([MODEL, "--merge", "a.json", "-o", "p.json"], "--merge takes profiles only"),
        (["--merge", "no/such.json", "-o", "p.json"], "no/such.json: cannot be read: No such"),
        (
            [MODEL, "--data", IMAGES, "-o", "no/such/p.json"],
            "no/such/p.json: its directory does not",
        ),
        (["missing.onnx", "--data", IMAGES, "-o", "p.json"], "missing.onnx"),
        ([MODEL, "--data", "nowhere", "-o", "p.json"], "nowhere: no such file or directory"),
        ([MODEL, "--data", IMAGES, "--bins", "1", "-o", "p.json"], "at least 2 bins"),
        ([MODEL, "--data", IMAGES, "--nan", "keep", "-o", "p.json"], "invalid choice: 'keep'"),
        ([MODEL, "--data", IMAGES, "--image-mean", "x", "-o", "p.json"], "expected numbers"),
    ],
)
def test_errors_are_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith("glow-profile: error: ")
    assert message in error
    assert error.count("\n") == 1


def test_wrong_choices_of_pictures(
    log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "x.npy", np.ones((2, 3)))
    arguments = [log, "--data", str(tmp_path / "x.npy"), "--pictures", str(tmp_path / "p")]
    assert main([*arguments, "--calibration", "best"]) == 1
    assert "expected a calibration of min-max" in capsys.readouterr().err
    assert main([*arguments, "--schema", "best"]) == 1
    assert "expected a schema of asymmetric" in capsys.readouterr().err


def test_profiles_of_different_networks(
    log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "x.npy", np.ones((2, 3)))
    one, two = str(tmp_path / "1.json"), str(tmp_path / "2.json")
    assert main([log, "--data", str(tmp_path / "x.npy"), "-o", one]) == 0
    assert main([MODEL, "--data", IMAGES, "--limit", "1", "-o", two]) == 0
    assert main(["--merge", one, two, "-o", str(tmp_path / "3.json")]) == 1
    assert "profiles of different networks: no value is in both" in capsys.readouterr().err
    assert json.loads(Path(one).read_text())["version"] == 1


def test_a_profile_stays_whole_on_a_full_disk(
    log: str, tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "x.npy", rng.uniform(1, 2, (2, 3)).astype(np.float32))
    target = tmp_path / "p.json"
    arguments = [log, "--data", str(tmp_path / "x.npy"), "-o", str(target), "--no-cache"]
    assert main(arguments) == 0
    before = target.read_text()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, hard))
    try:
        code = main([*arguments, "--add", str(target), "--backend", "interpreter"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert code == 1
    assert capsys.readouterr().err == f"glow-profile: error: {target}: File too large\n"
    assert target.read_text() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["log.mlir", "p.json", "x.npy"]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("glow-profile 0.")
