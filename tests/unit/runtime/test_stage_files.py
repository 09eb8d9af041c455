"""Files of stages can be compiled again, and continue where they are."""

from __future__ import annotations

import platform
import re
import shutil
from pathlib import Path

import glow
import numpy as np
import pytest
from glow.errors import CompileError, GlowError
from glow.tools.glow_opt import main as glow_opt
from glow.tools.glow_run import main as glow_run
from safetensors.numpy import load_file

DIGITS = str(Path(__file__).resolve().parents[3] / "examples" / "digits" / "digits.onnx")
WITHOUT_WEIGHTS = ("kernels", "llvm")
X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="names an x86 CPU")


def stage_of(path: Path) -> str:
    return path.stem.split("-", 1)[1]


def image(rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(0, 1, (1, 1, 8, 8)).astype(np.float32)


Dumped = tuple[glow.CompiledModel, Path]


@pytest.fixture(scope="module")
def dumped_once(tmp_path_factory: pytest.TempPathFactory) -> Dumped:
    model, folder = glow.compile(DIGITS), tmp_path_factory.mktemp("stages")
    model.dump_stages(folder)
    return model, folder


@pytest.fixture
def dumped(dumped_once: Dumped, tmp_path: Path) -> Dumped:
    """
    Returns the network, and the folder of the test with the files of its stages, which it may
    change; they refer to weights elsewhere.
    """
    model, folder = dumped_once
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return model, tmp_path


@pytest.mark.parametrize("options", [{}, {"quantize": "glow-quantize{dynamic=true}", "threads": 2}])
def test_all_stages_run_again(options: dict, rng: np.random.Generator, tmp_path: Path) -> None:
    """
    Each gives the same bits under the same names: where it stops, all that is before was done. The
    model is no longer needed.
    """
    source = tmp_path / "model.onnx"
    source.write_bytes(Path(DIGITS).read_bytes())
    model = glow.compile(source, **options, cache=tmp_path / "cache")
    files = model.dump_stages(tmp_path / "stages")
    source.unlink()
    x = image(rng)
    wanted = model(x)[0]
    numbered = [path for path in files if path.suffix == ".mlir"]
    assert [stage_of(p) for p in numbered] == list(model.stages)
    again = {"threads": options.get("threads", 1)}
    for path in numbered:
        if stage_of(path) in WITHOUT_WEIGHTS:
            if not options:  # the stage alone decides that
                with pytest.raises(GlowError, match=r"start from a file of the stage allocated"):
                    glow.compile(path, **again)
            continue
        done = list(model.stages).index(stage_of(path))
        given = options if "quantized" in list(model.stages)[done + 1 :] else again
        found = glow.compile(path, **given, cache=tmp_path / "cache")
        (y,) = found.run(["probabilities"], {"image": x})
        np.testing.assert_array_equal(y, wanted, err_msg=path.name)
        assert list(found.stages) == list(model.stages)[done:]


def test_weights_are_written_once(tmp_path: Path) -> None:
    """
    The file has the bytes of the network and those that were packed, for all stages together.
    Filters of Winograd convolutions are up to four times as large.
    """
    files = glow.compile(DIGITS).dump_stages(tmp_path)
    (weights,) = (path for path in files if path.suffix == ".safetensors")
    arrays = load_file(weights)
    assert sum(array.nbytes for array in arrays.values()) < 5 * Path(DIGITS).stat().st_size
    text = "".join(path.read_text() for path in files if path.suffix == ".mlir")
    assert "memory:" not in text
    assert "digits.onnx" not in text


def test_stages_are_written_from_where_they_are(tmp_path: Path, rng: np.random.Generator) -> None:
    """Also onto the file that they came from, whose weights are replaced."""
    model = glow.compile(DIGITS)
    model.dump_stages(tmp_path)
    packed = glow.compile(tmp_path / "05-packed.mlir")
    names = [path.name for path in packed.dump_stages(tmp_path)]
    assert names[:2] == ["05-packed.mlir", "06-ordered.mlir"]
    x = image(rng)
    np.testing.assert_array_equal(glow.compile(tmp_path / "06-ordered.mlir")(x), model(x))
    with pytest.raises(GlowError, match="at the stage packed, which lacks what the stage lowered"):
        packed.stages["lowered"]


def test_modules_that_do_not_say_their_stage(rng: np.random.Generator) -> None:
    """Instruction programs are known by their form."""
    model = glow.compile(DIGITS)
    x = image(rng)
    for stage in ("instructions", "allocated"):
        np.testing.assert_array_equal(glow.compile(model.stages[stage])(x), model(x))
    with pytest.raises(GlowError, match=r"has kernels, but no weights.*stage allocated"):
        glow.compile(model.stages["kernels"])
    with pytest.raises(GlowError, match="which this backend does not take"):
        glow.compile(model.stages["allocated"], backend="interpreter")


def test_kernels_that_are_called_with_nothing_before(tmp_path: Path) -> None:
    """The first operation of `@main` is then a call, as in a network that is split over devices."""
    graph = tmp_path / "exp.mlir"
    graph.write_text("""
      func.func @main(%x: tensor<3x5xf32> {glow.name = "x"}) -> (tensor<3x5xf32>) {
        %y = glow.exp %x : (tensor<3x5xf32>) -> tensor<3x5xf32>
        func.return %y : tensor<3x5xf32>
      }""")
    glow.compile(graph).dump_stages(tmp_path)
    (kernels,) = tmp_path.glob("*-kernels.mlir")
    with pytest.raises(GlowError, match="is at the stage kernels, which lacks what the stage all"):
        glow.compile(kernels)


def test_other_backends_and_options(
    dumped: Dumped, tmp_path: Path, capsys: pytest.CaptureFixture[str], rng: np.random.Generator
) -> None:
    model, _ = dumped
    x = image(rng)
    # a graph is for any backend, a program is not
    (y,) = glow.compile(tmp_path / "05-packed.mlir", backend="interpreter")(x)
    np.testing.assert_allclose(y, model(x)[0], rtol=1e-4, atol=1e-6)
    with pytest.raises(GlowError, match="a program of the backend cpu, found the backend interp"):
        glow.compile(tmp_path / "09-allocated.mlir", backend="interpreter")
    path = tmp_path / "05-packed.mlir"
    path.write_text(path.read_text().replace('"ordered"', '"rounded"'))
    assert glow_run([str(path)]) == 1
    message = "continues with the stage rounded, but there are optimized, lowered, "
    assert message in capsys.readouterr().err


@X86
def test_the_machine_of_a_stage(dumped: Dumped, tmp_path: Path) -> None:
    """Later stages are for it, whatever this machine has; without one they are for the target."""
    path = tmp_path / "05-packed.mlir"
    text = path.read_text()
    vectors = re.compile(r"vector_bits = [0-9]+")
    path.write_text(vectors.sub("vector_bits = 128", text))
    kernels = str(glow.compile(path).stages["kernels"])
    assert "vector_bits = 128" in kernels
    assert "vector<4xf32>" in kernels
    assert "vector<16xf32>" not in kernels
    path.write_text(re.sub(r"glow.machine = #glow.machine<.*?>, ", "", text))
    assert "glow.machine" not in path.read_text()
    kernels = str(glow.compile(path, target_cpu="x86-64").stages["kernels"])
    assert "has_fma = false" in kernels


@X86
def test_a_machine_with_more_instructions(dumped: Dumped, tmp_path: Path) -> None:
    path = tmp_path / "06-ordered.mlir"
    path.write_text(
        re.sub("#glow.machine<.*?>", "#glow.machine<has_int8_tiles = true>", path.read_text())
    )
    message = "the module is for a machine with fma, int8 tiles, which the target CPU .* lacks"
    with pytest.raises(CompileError, match=message):
        glow.compile(path, target_cpu="x86-64")


def test_a_changed_stage(dumped: Dumped, tmp_path: Path, rng: np.random.Generator) -> None:
    """A change of a file changes what runs."""
    model, _ = dumped
    changed = tmp_path / "changed.mlir"
    assert glow_opt([str(tmp_path / "03-laid-out.mlir"), "--cse", "-o", str(changed)]) == 0
    text = changed.read_text()
    assert text.count("glow.relu") == 3
    changed.write_text(text.replace("glow.relu", "glow.sigmoid"))
    assert np.abs(glow.compile(changed)(image(rng))[0] - model(image(rng))[0]).max() > 1e-3
