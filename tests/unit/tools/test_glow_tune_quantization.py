"""glow-tune-quantization on the digits, what glow-run makes of its choices, and its errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from glow.quantization import load_choices
from glow.tools.glow_profile import main as glow_profile
from glow.tools.glow_run import main as glow_run
from glow.tools.glow_tune_quantization import main
from onnx import helper, numpy_helper

DIGITS = Path(__file__).resolve().parents[3] / "examples" / "digits"
MODEL = str(DIGITS / "digits.onnx")
IMAGES = str(DIGITS / "images")
PICTURE = str(DIGITS / "images" / "027_is_7.png")


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("profile") / "profile.json"
    assert glow_profile([MODEL, "--data", IMAGES, "-o", str(path)]) == 0
    return str(path)


def test_choices_within_a_loss(
    profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "choices.json"
    arguments = [MODEL, "--profile", profile, "--data", IMAGES, "--max-loss", "1e-8"]
    arguments += ["-o", str(output), "--limit", "4", "--keep-float", "conv0,conv1"]
    assert main([*arguments, "--schema", "symmetric"]) == 0
    printed = capsys.readouterr().out
    assert "each product, quantized alone" in printed
    assert f"choices written to {output}" in printed
    document = json.loads(output.read_text())
    assert document["loss"] <= 1e-8
    assert set(document["losses"]) == {"conv2", "matmul"}
    choices = load_choices(output)
    assert choices.schema == "symmetric"
    assert choices.keep_float[:2] == ("conv0", "conv1")
    assert len(choices.keep_float) > 2 or choices.storages
    assert glow_run([MODEL, "--quantize", str(output), "--compare", "float"]) == 0
    assert "outputs against float" in capsys.readouterr().out
    # with a state, nothing is tried again, and a larger loss allows more
    assert main([*arguments, "--schema", "symmetric", "--max-loss", "1", "--resume"]) == 0
    assert load_choices(output).keep_float == ("conv0", "conv1")


def test_time(profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "choices.json"
    arguments = [MODEL, "--profile", profile, "--data", IMAGES, "--max-loss", "1"]
    assert main([*arguments, "-o", str(output), "--time", "1e-9", "--metric", "top1"]) == 0
    printed = capsys.readouterr().out
    assert "not tried" in printed
    assert "time was over after 1e-09 s: --resume --time continues" in printed
    # an operator is called matmul, too
    assert set(load_choices(output).keep_float) == {"conv0", "conv1", "conv2", "%matmul"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--max-loss", "-1"], "expected a loss of at least 0"),
        (["--metric", "mood"], "expected a metric of error, top1, labels, found 'mood'"),
        (["--metric", "labels"], "class of each sample: give --labels FILE"),
        (["--max-loss", "abc"], "--max-loss: expected a number, found 'abc'"),
        (["--data", "EMPTY"], "there are no data"),
        (["--profile", "nowhere.json"], "nowhere.json: cannot be read"),
        (["--resume"], "state: cannot be read"),
        (["-o", "nowhere/c.json"], "its directory does not exist"),
        (["--labels", PICTURE], f"{PICTURE}: expected text in UTF-8 with one label in each line"),
        (["--labels", "WORDS"], "expected numbers of classes, found 'cat'"),
        (["--storages", "c9=i16"], "no product is called so"),
    ],
)
def test_errors(
    arguments: list[str],
    message: str,
    profile: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "words").write_text("cat\ndog\n")
    places = {"EMPTY": str(tmp_path / "empty"), "WORDS": str(tmp_path / "words")}
    given = {"--profile": profile, "--data": IMAGES, "--max-loss": "1", "--limit": "2"}
    given["-o"] = str(tmp_path / "c.json")
    flags = [word for pair in given.items() for word in pair]
    assert main([MODEL, *flags, *(places.get(a, a) for a in arguments)]) == 1
    assert message in capsys.readouterr().err


def detector(rng: np.random.Generator) -> onnx.ModelProto:
    """Returns a model of `x` f32[1, 19, 7]: scores, and the boxes that are not suppressed."""
    node = helper.make_node
    nodes = [
        node("MatMul", ["x", "wb"], ["b"]),
        node("MatMul", ["x", "ws"], ["scores"]),
        node("Transpose", ["scores"], ["s"], perm=[0, 2, 1]),
        node("NonMaxSuppression", ["b", "s", "most", "overlap", "least"], ["kept"]),
        node("Gather", ["kept", "two"], ["rows"], axis=1),
        node("Gather", ["b", "rows"], ["boxes"], axis=1),
    ]
    constants = {
        "wb": rng.standard_normal((7, 4)).astype(np.float32),
        "ws": rng.standard_normal((7, 1)).astype(np.float32),
        "most": np.array(19),
        "overlap": np.array(0.2, np.float32),
        "least": np.array(0.0, np.float32),
        "two": np.array(2),
    }
    kind = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "detector",
        [helper.make_tensor_value_info("x", kind, [1, 19, 7])],
        [
            helper.make_tensor_value_info("boxes", kind, [1, "kept", 4]),
            helper.make_tensor_value_info("scores", kind, [1, 19, 1]),
        ],
        [numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_outputs_whose_size_data_decide(
    rng: np.random.Generator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Numbers of few bits keep other boxes than floats do."""
    model, data, profile, output = (
        str(tmp_path / name) for name in ("m.onnx", "x.npy", "profile.json", "choices.json")
    )
    onnx.save(detector(rng), model)
    np.save(data, rng.standard_normal((12, 19, 7)).astype(np.float32))
    given = ["--data", data, "--activations", "i4"]
    assert glow_profile([model, "--data", data, "-o", profile]) == 0
    assert glow_run([model, "--quantize", profile, "--compare", "float", *given]) == 0
    assert "not compared, because data decide the size: boxes" in capsys.readouterr().out
    arguments = [model, "--profile", profile, "--max-loss", "1e-4", "-o", output, *given]
    assert main(arguments) == 0
    assert json.loads(Path(output).read_text())["loss"] <= 1e-4
