"""The bundle of a compiled network, linked into a C program: nothing in it needs Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import glow
import numpy as np
import pytest
from glow.lowering.threads import team_bytes
from glow.runtime.bundle import write_bundle
from glow.runtime.cpu_backend import CpuBackend
from glow.runtime.stages import Stages
from glow.tests.support.small_models import GRAPH, graph

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
DIGITS = EXAMPLES / "digits" / "digits.onnx"
COMPILER = shutil.which("gcc") or shutil.which("cc")


@pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")
@pytest.mark.parametrize("threads", [1, 2])
def test_network_in_a_c_program(threads: int, tmp_path: Path, rng: np.random.Generator) -> None:
    model = glow.compile(DIGITS, cache=False)
    x = rng.standard_normal(model.get_inputs()[0].shape, np.float32)
    (wanted,) = model(x)

    example = EXAMPLES / "c_program"
    build = [sys.executable, example / "build.py", DIGITS, tmp_path, f"--threads={threads}"]
    subprocess.run(build, check=True)
    header = (tmp_path / "network.h").read_text()
    assert f"#define GLOW_THREADS {threads}\n" in header
    assert (f"#define GLOW_TEAM_BYTES {team_bytes(2)}\n" in header) == (threads == 2)
    (tmp_path / "input0.bin").write_bytes(x.tobytes())
    objects = sorted(tmp_path.glob("*.o"))
    assert COMPILER is not None
    # kernels refer to their constants by absolute addresses, as this target does
    command = [COMPILER, "-no-pie", "-Wall", "-Werror", "-I.", "-o", "run", example / "main.c"]
    command += [*objects, "-lm", "-pthread"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    subprocess.run([tmp_path / "run"], cwd=tmp_path, check=True, timeout=60)
    found = np.fromfile(tmp_path / "output0.bin", np.float32).reshape(wanted.shape)
    np.testing.assert_array_equal(found, wanted)


_TWO = """
#include <stdio.h>
typedef void entry(const void *weights, void *const *io, void *arena);
entry first_main, second_main;
static _Alignas(64) char none[1], arena[1 << 20];

int main(void) {
  float x[6], y[6], sum[6], product[6], unused[6];
  void *first[] = {x, y, sum, unused}, *second[] = {x, y, product, unused};
  for (int i = 0; i < 6; i++) x[i] = i - 2.5f, y[i] = 0.5f * i;
  first_main(none, first, arena);
  second_main(none, second, arena);
  for (int i = 0; i < 6; i++)
    if (sum[i] != x[i] + y[i] || product[i] != x[i] * y[i]) return 1 + i;
  return 0;
}
"""


@pytest.mark.skipif(COMPILER is None or not shutil.which("objcopy"), reason="needs a C compiler")
def test_two_networks_in_a_c_program(tmp_path: Path) -> None:
    """Each is one object whose entry has another name, as docs/targets.md says."""
    assert COMPILER is not None
    backend = CpuBackend(cache=False)
    for name, operator in (("first", "glow.add"), ("second", "glow.mul")):
        stages = Stages(graph(GRAPH.replace("glow.add", operator)), backend.stages())
        objects = write_bundle(stages, backend, tmp_path / name)
        for command in (
            ["ld", "-r", "-o", f"{name}.o", *objects],
            ["objcopy", f"--redefine-sym=glow_main={name}_main", f"{name}.o"],
            ["objcopy", f"--keep-global-symbol={name}_main", f"{name}.o"],
        ):
            subprocess.run(command, cwd=tmp_path, check=True)
    (tmp_path / "two.c").write_text(_TWO)
    command = [COMPILER, "-no-pie", "-o", "two", "two.c", "first.o", "second.o", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "two"], timeout=60, check=False).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.onnx"], "nowhere.onnx: cannot be read"),
        ([str(DIGITS), "--target-cpu", "foo"], "LLVM knows no CPU 'foo'"),
    ],
)
def test_errors_of_the_example(arguments: list[str], message: str, tmp_path: Path) -> None:
    model, *rest = arguments
    command = [sys.executable, EXAMPLES / "c_program" / "build.py", model, tmp_path, *rest]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


def test_a_bundle_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    command = [sys.executable, EXAMPLES / "c_program" / "build.py", DIGITS, tmp_path / "file"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, f"error: {tmp_path / 'file'}: File exists\n")


def test_the_header_of_a_bundle(tmp_path: Path) -> None:
    """Names cannot end its comments, sizes are in bytes, and an older bundle leaves nothing."""
    backend = CpuBackend(cache=False, threads=2)
    text = GRAPH.replace('"x"', '"*/x"')
    stages = Stages(graph(text), backend.stages())
    (tmp_path / "glow0999.o").write_bytes(b"")
    objects = write_bundle(stages, backend, tmp_path)
    assert sorted(tmp_path.glob("*.o")) == sorted(objects)
    header = (tmp_path / "network.h").read_text()
    assert "#define GLOW_INPUTS 2\n" in header
    assert "  24, /* ??x: float32[2, 3] */ \\\n  24, /* y: float32[2, 3] */ \\\n}" in header
    # the network has no work for a second thread
    assert "#define GLOW_THREADS 1\n" in header
    assert "GLOW_TEAM" not in header
