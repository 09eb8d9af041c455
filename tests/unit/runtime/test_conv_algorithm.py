"""`conv_algorithm`: what it changes in the stages, that results stay, and wrong uses."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import glow
import numpy as np
import onnx
import onnxruntime
import pytest
from glow.errors import GlowError
from glow.runtime.cpu_backend import CpuBackend
from glow.tests.support.graph_text import count
from glow.tests.support.seeds import numbered
from glow.tools.glow_run import main
from onnx import TensorProto, helper, numpy_helper

CHANNELS = (24, 40, 24)
SIZES = (15, 22)


def residual_network(seed: int) -> onnx.ModelProto:
    """
    Returns two convolutions of 3 x 3 with a sum around them; no sizes are multiples of blocks.
    """
    rng = numbered(seed)
    nodes, weights = [], []
    value = "image"
    for i, (inputs, outputs) in enumerate(pairwise(CHANNELS)):
        scale = np.sqrt(2 / (9 * inputs))
        w = (rng.standard_normal((outputs, inputs, 3, 3)) * scale).astype(np.float32)
        weights += [
            numpy_helper.from_array(w, f"w{i}"),
            numpy_helper.from_array(rng.standard_normal(outputs).astype(np.float32), f"b{i}"),
        ]
        nodes += [
            helper.make_node("Conv", [value, f"w{i}", f"b{i}"], [f"conv{i}"], pads=[1, 1, 1, 1]),
            helper.make_node("Relu", [f"conv{i}"], [f"relu{i}"]),
        ]
        value = f"relu{i}"
    nodes[-1] = helper.make_node("Add", ["conv1", "image"], ["sum"])
    nodes.append(helper.make_node("Relu", ["sum"], ["result"]))
    shape = [2, CHANNELS[0], *SIZES]
    graph = helper.make_graph(
        nodes,
        "residual",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("result", TensorProto.FLOAT, shape)],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.fixture
def network(rng: np.random.Generator) -> onnx.ModelProto:
    return residual_network(int(rng.integers(1 << 30)))


def test_results_and_stages(network: onnx.ModelProto, rng: np.random.Generator):
    image = rng.standard_normal((2, CHANNELS[0], *SIZES), np.float32)
    session = onnxruntime.InferenceSession(network.SerializeToString())
    want = np.asarray(session.run(None, {"image": image})[0])
    for algorithm, number in ((None, None), ("direct", 0), ("winograd", 2)):
        model = glow.compile(network, cache=False, conv_algorithm=algorithm)
        nodes = count(model.stages["convolutions"])
        assert nodes["glow_cpu.winograd_convolution"] + nodes["glow_cpu.blocked_convolution"] == 2
        if number is not None:
            assert nodes["glow_cpu.winograd_convolution"] == number
        (found,) = model(image)
        np.testing.assert_allclose(found, want, rtol=0, atol=2e-5 * np.abs(want).max())


def test_threads_change_nothing(network: onnx.ModelProto, rng: np.random.Generator):
    image = rng.standard_normal((2, CHANNELS[0], *SIZES), np.float32)
    one, two = (
        glow.compile(network, threads=threads, cache=False, conv_algorithm="winograd")(image)[0]
        for threads in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_epilogues_follow_winograd_convolutions(network: onnx.ModelProto):
    """The sum and both rectifiers are part of the convolutions' instructions."""
    model = glow.compile(network, cache=False, conv_algorithm="winograd")
    instructions = count(model.stages["allocated"])
    assert instructions["glow_inst.winograd_convolution"] == 2
    assert not instructions["glow_inst.stacked"] + instructions["glow_inst.relu"]


def test_wrong_options(network: onnx.ModelProto):
    with pytest.raises(GlowError, match="expected conv_algorithm to be one of auto, direct"):
        glow.compile(network, conv_algorithm="fft")
    with pytest.raises(GlowError, match="is an option of the backend cpu"):
        glow.compile(network, "interpreter", conv_algorithm="direct")
    with pytest.raises(GlowError, match="own target and options"):
        glow.compile(network, CpuBackend(), conv_algorithm="direct")


@pytest.mark.parametrize("flag", ["--no-winograd", "--conv-algorithm=winograd"])
def test_flags_of_glow_run(
    flag: str, network: onnx.ModelProto, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "network.onnx"
    path.write_bytes(network.SerializeToString())
    stages = tmp_path / "stages"
    arguments = [str(path), flag, "--no-cache", "--dump-stages", str(stages)]
    assert main([*arguments, "--compare", "onnxruntime"]) == 0
    capsys.readouterr()
    (chosen,) = stages.glob("*-convolutions.mlir")
    assert ("glow_cpu.winograd_convolution" in chosen.read_text()) == (flag != "--no-winograd")
