"""The objects of a compiled network, linked into a C program: nothing in them needs Python."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import glow
import numpy as np
import pytest
from glow.runtime.cpu_backend import CpuBackend, arena_bytes
from glow.runtime.cpu_program import aligned_bytes
from glow.runtime.signature import main_function
from glow.runtime.weights import fill_weights

DIGITS = Path(__file__).resolve().parents[3] / "examples" / "digits" / "digits.onnx"
COMPILER = shutil.which("gcc") or shutil.which("cc")

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>

void glow_main(const void *weights, void *const *io, void *arena);

static void *load(const char *name, size_t size) {
  char *data = aligned_alloc(64, (size + 64) / 64 * 64);
  FILE *file = fopen(name, "rb");
  if (!data || !file || fread(data, 1, size, file) != size) exit(2);
  fclose(file);
  return data;
}

int main(void) {
  void *weights = load("weights", %(weights)d);
  void *arena = aligned_alloc(64, (%(arena)d + 64) / 64 * 64);
  void *output = malloc(%(output)d);
  void *io[] = {load("input", %(input)d), output};
  glow_main(weights, io, arena);
  FILE *file = fopen("output", "wb");
  return fwrite(output, 1, %(output)d, file) != %(output)d || fclose(file);
}
"""


@pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")
def test_network_in_a_c_program(tmp_path: Path, rng: np.random.Generator) -> None:
    backend = CpuBackend(cache=False)
    model = glow.compile(DIGITS, backend=backend)
    memory = model.memory
    assert memory is not None
    weights = aligned_bytes(memory.weight_bytes)
    fill_weights(weights, main_function(model.stages["allocated"]))
    x = rng.standard_normal(model.get_inputs()[0].shape, np.float32)
    (wanted,) = model(x)

    sizes = {"weights": weights.nbytes, "input": x.nbytes, "output": wanted.nbytes}
    (tmp_path / "weights").write_bytes(weights.tobytes())
    (tmp_path / "input").write_bytes(x.tobytes())
    (tmp_path / "run.c").write_text(PROGRAM % {**sizes, "arena": arena_bytes(model.stages["llvm"])})
    objects = backend.objects(model.stages)
    for number, data in enumerate(objects):
        (tmp_path / f"{number}.o").write_bytes(data)
    names = [f"{number}.o" for number in range(len(objects))]
    assert COMPILER is not None
    # kernels refer to their constants by absolute addresses, as this target does
    command = [COMPILER, "-no-pie", "-o", "run", "run.c", *names, "-lm"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    subprocess.run([tmp_path / "run"], cwd=tmp_path, check=True, timeout=60)
    found = np.fromfile(tmp_path / "output", np.float32).reshape(wanted.shape)
    np.testing.assert_array_equal(found, wanted)
