"""Networks with symbolic dimensions in `glow-run` and `glow-opt`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from glow.tests.support.small_models import small_network
from glow.tools.glow_opt import main as glow_opt
from glow.tools.glow_run import main as glow_run
from onnx import TensorProto, helper
from PIL import Image

NOTE = "glow-run: note: no input says how large these are: "


def saved(folder: Path, *shapes: list, dtype: int = TensorProto.FLOAT) -> str:
    """
    Returns a file of a network with inputs `x0`, `x1`, ... of these shapes, and their negatives.
    """
    names = [f"x{i}" for i in range(len(shapes))]
    nodes = [helper.make_node("Neg", [n], [f"minus_{n}"]) for n in names]
    made = helper.make_graph(
        nodes,
        "negatives",
        [helper.make_tensor_value_info(n, dtype, s) for n, s in zip(names, shapes, strict=True)],
        [helper.make_tensor_value_info(n.output[0], dtype, None) for n in nodes],
    )
    path = folder / "network.onnx"
    onnx.save(
        helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path
    )
    return str(path)


def run(folder: Path, *arguments: str) -> dict[str, np.ndarray]:
    """Returns the outputs of `glow-run`."""
    result = folder / "outputs.npz"
    assert glow_run([*arguments, "--backend=interpreter", f"--output={result}"]) == 0
    with np.load(result) as found:
        return dict(found.items())


def test_sizes_of_arrays_and_a_note(
    tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(tmp_path, ["n", "m"], ["n", 2, "k"])
    x = rng.standard_normal((3, 4)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    found = run(tmp_path, path, f"--input=x0={tmp_path / 'x.npy'}")
    np.testing.assert_array_equal(found["minus_x0"], -x)
    assert found["minus_x1"].shape == (3, 2, 1)
    assert f"{NOTE}k=1; for others use --define-symbol k=SIZE" in capsys.readouterr().err
    found = run(tmp_path, path, f"--input=x0={tmp_path / 'x.npy'}", "--define-symbol=k=5")
    assert found["minus_x1"].shape == (3, 2, 5)
    assert NOTE not in capsys.readouterr().err
    assert run(tmp_path, path)["minus_x0"].shape == (1, 1)
    assert f"{NOTE}n=1, m=1, k=1;" in capsys.readouterr().err


def test_inputs_that_do_not_agree(
    tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(tmp_path, ["n"], ["n"])
    np.savez(tmp_path / "x.npz", x0=np.zeros(2, np.float32), x1=np.zeros(3, np.float32))
    assert glow_run([path, "--backend=interpreter", f"--input={tmp_path / 'x.npz'}"]) == 1
    error = capsys.readouterr().err
    assert "'n' is 2 in dimension 0 of input 'x0', but 3 in dimension 0 of input 'x1'" in error


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("flag", ["input", "data"])
def test_sizes_of_an_image(flag: str, layout: str, tmp_path: Path) -> None:
    shape: list = [None, 3, "height", "width"] if layout == "NCHW" else [None, "h", "w", 3]
    path = saved(tmp_path, shape)
    Image.new("RGB", (7, 5), (0, 128, 255)).save(tmp_path / "image.png")
    found = run(tmp_path, path, f"--{flag}={tmp_path / 'image.png'}", f"--image-layout={layout}")
    want = (1, 3, 5, 7) if layout == "NCHW" else (1, 5, 7, 3)
    assert found["minus_x0"].shape == want


@pytest.mark.parametrize("samples", [(4, 6), (6,)])
def test_sizes_of_data(samples: tuple[int, ...], tmp_path: Path) -> None:
    path = saved(tmp_path, ["n", "length"])
    np.save(tmp_path / "x.npy", np.ones(samples, np.float32))
    found = run(tmp_path, path, f"--data={tmp_path / 'x.npy'}")
    np.testing.assert_array_equal(found["minus_x0"], -np.ones((1, 6)))


def test_a_comparison_has_the_same_sizes(tmp_path: Path, rng: np.random.Generator) -> None:
    path = tmp_path / "small.onnx"
    onnx.save(small_network(1), path)
    np.save(tmp_path / "x.npy", rng.standard_normal((2, 3, 8, 10)).astype(np.float32))
    arguments = [str(path), f"--input={tmp_path / 'x.npy'}", "--backend=interpreter"]
    assert glow_run([*arguments, "--compare=cpu"]) == 0
    assert glow_run([*arguments, "--compare=onnxruntime"]) == 0


def test_glow_opt_asks_for_symbols(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path, ["n", 2])
    assert glow_opt([path]) == 1
    assert "--define-symbol n=1" in capsys.readouterr().err
    assert glow_opt([path, "--define-symbol", "m=1"]) == 1
    assert "the model has no symbol m; its symbols: n" in capsys.readouterr().err
