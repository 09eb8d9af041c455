"""The memory that compilation and runs take, in processes of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from glow.runtime.peak_memory import peak_resident_bytes
from glow.tests.support.compiler_sources import skip_if_changed, sources
from glow.tests.support.seeds import generator
from onnx import TensorProto, helper, numpy_helper

MEGABYTE = 1 << 20

SCRIPT = """
import sys
import glow
import numpy as np

tiny, large, cache = sys.argv[1:]
x = np.ones((1, 512, 7, 7), np.float32)
glow.compile(tiny, cache=False)(x)
before = glow.compile(tiny, cache=False).peak_memory
model = glow.compile(large, cache=cache)
compiled = model.peak_memory
model(x)
print(before, compiled, model.peak_memory, model.memory.weight_bytes, "optimized" in model.times)
"""


def network(layers: int, path: Path) -> int:
    """Returns convolutions with batch normalisation, of 9 MiB each; the bytes of their filters."""
    rng = generator()
    nodes, weights, size = [], {}, 0
    for i in range(layers):
        w = rng.random((512, 512, 3, 3), np.float32) / 4608
        weights[f"w{i}"] = w
        size += w.nbytes
        for name in ("scale", "shift", "mean", "variance"):
            weights[f"{name}{i}"] = rng.random(512, np.float32) + 0.5
        names = [f"{name}{i}" for name in ("scale", "shift", "mean", "variance")]
        source = f"x{i}" if i else "x"
        nodes.append(helper.make_node("Conv", [source, f"w{i}"], [f"c{i}"], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("BatchNormalization", [f"c{i}", *names], [f"n{i}"]))
        nodes.append(helper.make_node("Relu", [f"n{i}"], [f"x{i + 1}"]))
    shape = [1, 512, 7, 7]
    graph = helper.make_graph(
        nodes,
        "convolutions",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(f"x{layers}", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), path)
    return size


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the proc file system")
def test_weights_are_held_once(tmp_path: Path):
    tiny, large, cache = tmp_path / "tiny.onnx", tmp_path / "large.onnx", tmp_path / "cache"
    network(1, tiny)
    network(22, large)

    before = sources()

    def measured() -> tuple[float, float, float, bool]:
        command = [sys.executable, "-c", SCRIPT, *map(str, (tiny, large, cache))]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        before, compiled, run, weights = (int(text) / MEGABYTE for text in out[:4])
        return compiled - before, run - before, weights, out[4] == "True"

    compiled, run, weights, passes = measured()
    assert passes
    assert weights > 190
    # one copy, a few weights on their way, and the IR; the original ones are not in memory
    assert compiled < weights + 90
    assert run < weights + 90
    compiled, run, weights, passes = measured()
    skip_if_changed(before)
    assert not passes
    assert run < weights + 30


def test_memory_of_this_process():
    before = peak_resident_bytes()
    assert before > 20 * MEGABYTE
    ballast = np.ones(64 * MEGABYTE, np.uint8)
    assert peak_resident_bytes() >= max(before, 64 * MEGABYTE)
    del ballast
    assert peak_resident_bytes() >= before
