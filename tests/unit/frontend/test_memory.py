"""A model of 200 MB costs little more than its weights, and its text is short."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from glow.benchmarks.networks import network_graph_file
from onnx import TensorProto

from .models import model, node, value

MEGABYTE = 2**20
TENSORS, TENSOR_BYTES = 4, 50 * MEGABYTE

PROGRAM = """
import gc, sys
import numpy as np, onnx
from glow.frontend.onnx import import_onnx
from glow.runtime.interpreter import interpret

def peak():
    fields = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return int(fields["VmHWM"].split()[0]) * 1024

kind, path, small = sys.argv[1:]
interpret(import_onnx(small), {"data_0": np.zeros((1, 3, 224, 224), np.float32)})
before = peak()
if kind == "path":
    source = path
else:
    with open(path, "rb") as file:
        source = file.read()
    if kind == "proto":
        proto = onnx.ModelProto()
        proto.ParseFromString(source)
        source = proto
        del proto
loaded = peak()
module = import_onnx(source)
text = str(module)
imported = peak()
(y,) = interpret(module, {"x": np.ones((1, 1024), np.float32)}).values()
assert y.shape == (1, 12800) and np.isfinite(y).all()
print(loaded - before, imported - loaded, peak() - before, len(text))
"""


@pytest.fixture(scope="module")
def large_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a model with 200 MB of weights, written without holding it in memory."""
    path = tmp_path_factory.mktemp("large") / "large.onnx"
    nodes = [node("MatMul", ["x", "w0"], ["y0"])]
    for i in range(1, TENSORS):
        nodes.append(node("MatMul", ["x", f"w{i}"], [f"z{i}"]))
        nodes.append(node("Add", [f"y{i - 1}", f"z{i}"], [f"y{i}"]))
    made = model(nodes, [value("x", [1, 1024])], [f"y{TENSORS - 1}"])
    with path.open("wb") as file:
        file.write(made.SerializeToString())
        for i in range(TENSORS):
            # a message whose field is repeated is merged, so weights can be appended
            tensor = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[1024, 12800])
            head = tensor.SerializeToString() + b"\x4a" + varint(TENSOR_BYTES)
            graph = b"\x2a" + varint(len(head) + TENSOR_BYTES) + head
            file.write(b"\x3a" + varint(len(graph) + TENSOR_BYTES) + graph)
            file.write(b"\x01\x00\x00\x3f" * (TENSOR_BYTES // 4))
    return path


def varint(number: int) -> bytes:
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("kind", ["path", "bytes", "proto"])
def test_weights_are_not_copied(kind: str, large_file: Path) -> None:
    small = str(network_graph_file("squeezenet"))
    command = [sys.executable, "-c", PROGRAM, kind, str(large_file), small]
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=large_file.parent
    )
    assert result.returncode == 0, result.stderr
    loaded, imported, total, text = map(int, result.stdout.split())
    weights = TENSORS * TENSOR_BYTES
    print(f"loaded {loaded}, imported {imported}, total {total}, text {text}")
    assert text < 3000
    # measuring a tensor of a ModelProto makes protobuf copy it for a moment
    assert imported < (TENSOR_BYTES if kind == "proto" else 0) + 20 * MEGABYTE
    if kind == "path":
        assert loaded < MEGABYTE
        assert total < 1.3 * weights
