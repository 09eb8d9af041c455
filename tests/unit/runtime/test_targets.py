"""The same networks as code for several CPUs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import glow
import llvmlite.binding as binding
import numpy as np
import onnx
import pytest
from glow.errors import GlowError
from glow.lowering.target import find_target, host_target
from glow.lowering.threads import llvm_text
from glow.runtime.cpu_backend import CpuBackend
from glow.runtime.stages import Stages
from glow.tests.support.cross import EmulatedBackend, needs_emulator
from glow.tests.support.random_graphs import random_graph, random_inputs
from glow.tests.support.rounding import rounding_slack
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import bf16, f16, f32

BASELINE, AVX2, AVX512 = "x86-64", "x86-64-v3", "x86-64-v4"
ARM = "cortex-a76"


def backend_for(cpu: str) -> CpuBackend:
    if host_target().architecture != "x86_64":
        pytest.skip("compiles for x86")
    missing = find_target(cpu).missing_here()
    if missing:
        pytest.skip(f"this machine lacks {', '.join(missing)}")
    return CpuBackend(cache=False, target_cpu=cpu)


class Network:
    """An ONNX model in the making, with random weights."""

    def __init__(self, rng: np.random.Generator):
        self.rng = rng
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def constant(self, *shape: int) -> str:
        name = f"w{len(self.weights)}"
        scale = np.sqrt(1 / np.prod(shape[1:])) if len(shape) > 1 else 0.1
        array = (self.rng.standard_normal(shape) * scale).astype(np.float32)
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        name = f"{operator}{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    def convolution(self, x: str, out: int, inner: int, k: int, **attributes: Any) -> str:
        w, b = self.constant(out, inner, k, k), self.constant(out)
        return self.node("Conv", x, w, b, **attributes)


def network(rng: np.random.Generator) -> onnx.ModelProto:
    """
    Returns convolutions of all kinds, pools, concatenation, normalisation, attention, activations.
    """
    n = Network(rng)
    x = n.node("Relu", n.convolution("image", 20, 3, 3, strides=[2, 2], pads=[1, 1, 1, 1]))
    y = n.node("Clip", n.convolution(x, 20, 1, 3, group=20, pads=[1, 1, 1, 1]), "", "")
    y = n.node("Add", x, n.convolution(y, 20, 20, 1))
    z = n.node("Sigmoid", n.convolution(y, 32, 20, 3, pads=[1, 1, 1, 1]))
    z = n.node("Relu", n.convolution(z, 32, 16, 3, group=2, pads=[2, 2, 2, 2], dilations=[2, 2]))
    x = n.node("Concat", n.node("LRN", y, size=5), z, axis=1)
    x = n.node("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    x = n.node("MaxPool", x, kernel_shape=[2, 2])
    x = n.node("Flatten", x, axis=2)
    x = n.node("Transpose", n.node("Squeeze", x), perm=[1, 0])
    x = n.node("LayerNormalization", x, n.constant(52), n.constant(52))
    scores = n.node("MatMul", x, n.node("Transpose", x, perm=[1, 0]))
    x = n.node("MatMul", n.node("Softmax", scores, axis=-1), x)
    x = n.node("Erf", n.node("MatMul", x, n.constant(52, 37)))
    x = n.node("Tanh", n.node("MatMul", x, n.constant(37, 50)))
    n.node("Cos", x)
    graph = helper.make_graph(
        n.nodes,
        "kinds",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 23, 30])],
        [helper.make_tensor_value_info(n.nodes[-1].output[0], TensorProto.FLOAT, None)],
        n.weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def close(found: np.ndarray, expected: np.ndarray, slack: float = 0.0) -> None:
    assert found.dtype == expected.dtype
    f, e = found.astype(np.float64), expected.astype(np.float64)
    atol = 1e-5 * max(1.0, np.abs(e[np.isfinite(e)]).max(initial=0)) + slack
    np.testing.assert_allclose(f, e, rtol=0, atol=atol)


@pytest.mark.parametrize("cpu", [BASELINE, AVX2, AVX512])
def test_network(cpu: str, rng: np.random.Generator):
    model = network(rng)
    image = rng.standard_normal((1, 3, 23, 30), np.float32)
    compiled = glow.compile(model, backend_for(cpu))
    close(compiled(image)[0], glow.compile(model, "interpreter")(image)[0])
    # code for a narrow machine has no wide vectors
    bits = find_target(cpu).describe().vector_bits
    kernels = str(compiled.stages["kernels"])
    assert f"vector<{bits // 32}xf32>" in kernels
    assert f"vector<{bits // 16}xf32>" not in kernels
    assert ("vector.fma" in kernels) == (cpu != BASELINE)


@pytest.mark.parametrize("floats", [(f32,), (f32, f16, bf16)], ids=["f32", "mixed"])
@pytest.mark.parametrize("cpu", [BASELINE, AVX2, AVX512])
def test_random_graphs(cpu: str, floats, rng: np.random.Generator):
    backend = backend_for(cpu)
    for seed in rng.integers(0, 2**31, 2).tolist():
        graph = random_graph(seed, 10, floats)
        feed = random_inputs(graph, seed)
        found = glow.compile(graph, backend).run(None, feed)
        expected = glow.compile(graph, "interpreter").run(None, feed)
        slack = rounding_slack(graph, list(feed.values()))
        for a, b, s in zip(found, expected, slack, strict=True):
            close(a, b, s)


def test_aarch64_objects(rng: np.random.Generator):
    backend = CpuBackend(cache=False, target_cpu=ARM)
    module = random_graph(int(rng.integers(2**31)), 8)
    objects = backend.objects(Stages(module, backend.stages()))
    assert objects
    for header in objects:
        assert header[:4] == b"\x7fELF"
        assert int.from_bytes(header[18:20], "little") == 183  # EM_AARCH64


def test_threads_of_aarch64_order_memory():
    """Waiting loads acquire, counting stores release: plain moves on x86."""
    target = find_target(triple="aarch64-unknown-linux-gnu")
    module = binding.parse_assembly(llvm_text(target.triple))
    text = target.create().emit_assembly(module)
    functions = dict(re.findall(r"^(glow_\w+):\n(.*?)^\.Lfunc_end", text, re.MULTILINE | re.DOTALL))
    assert "ldar" in functions["glow_wait"]
    assert "stlxr" in functions["glow_count"]
    # who counts itself as a sleeper looks at the counter again; who counts looks for sleepers
    assert functions["glow_wait"].count("ldar") == 2
    assert re.search(r"stlxr.*ldar\b", functions["glow_count"], re.DOTALL)


@needs_emulator()
def test_aarch64_runs(tmp_path: Path, rng: np.random.Generator):
    model = network(rng)
    image = rng.standard_normal((1, 3, 23, 30), np.float32)
    (expected,) = glow.compile(model, "interpreter")(image)
    backend = EmulatedBackend(tmp_path, "neoverse-n1", target_cpu=ARM, threads=2)
    (found,) = glow.compile(model, backend)(image)
    close(found, expected)


def test_options_of_compile(rng: np.random.Generator):
    model = network(rng)
    with pytest.raises(GlowError, match="no CPU 'haswel'"):
        glow.compile(model, target_cpu="haswel")
    with pytest.raises(GlowError, match="options of the backend cpu"):
        glow.compile(model, "interpreter", target_cpu="native")
    with pytest.raises(GlowError, match="has its own target"):
        glow.compile(model, CpuBackend(), target_features="-fma")
    compiled = glow.compile(
        model, target_features="-avx512f" if "+avx512f" in host_target().features else ""
    )
    assert "vector<16xf32>" not in str(compiled.stages["kernels"])
