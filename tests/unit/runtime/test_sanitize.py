"""Programs whose kernels check their accesses: right ones run, broken ones are found."""

from __future__ import annotations

import glow
import numpy as np
import onnx
import pytest
from glow.errors import CompileError, GlowError, SanitizerError
from glow.glow_dialects.glow_inst.memory import AllocActivationOp
from glow.lowering.kernels.codegen.memory import Address, FlatBuffers
from glow.passes.instructions import allocate
from glow.passes.instructions.allocate import lifetimes_of
from glow.passes.instructions.memory_planner import Lifetime
from onnx import helper
from xdsl.dialects.arith import AddiOp
from xdsl.ir import Block, SSAValue

SHAPE = (3, 19)
"""No vector divides 57 elements, so there are vectors at the end that overlap others."""


def network() -> onnx.ModelProto:
    nodes = [
        helper.make_node("Softmax", ["x"], ["a"], axis=0),
        helper.make_node("Gather", ["a", "n"], ["b"], axis=1),
        helper.make_node("Softmax", ["b"], ["y"], axis=0),
    ]
    inputs = [
        helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, SHAPE),
        helper.make_tensor_value_info("n", onnx.TensorProto.INT64, [2]),
    ]
    graph = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name="y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def arrays(rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.standard_normal(SHAPE).astype(np.float32), np.array([2, -1])]


def test_a_right_program_computes_the_same(rng: np.random.Generator):
    feed = arrays(rng)
    model = glow.compile(network(), sanitize=True)
    (y,) = model(*feed)
    np.testing.assert_array_equal(y, glow.compile(network())(*feed)[0])
    assert "glow_note_violation" in str(model.stages["kernels"])


@pytest.mark.parametrize("distance", [1, -1])
def test_a_broken_kernel_is_found(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, distance: int
):
    start = FlatBuffers.start

    def broken(self: FlatBuffers, access: object) -> Address:
        return start(self, access).moved(distance)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(FlatBuffers, "start", broken)
    model = glow.compile(network(), sanitize=True, cache=False)
    place = "-1" if distance < 0 else r"\d+"
    message = (
        rf"kernel k_\w+, which computes \w+: a load at element {place} is outside of buffer %x"
    )
    for _ in range(2):
        with pytest.raises(SanitizerError, match=message):
            model(*arrays(rng))


@pytest.mark.parametrize("distance", [1, -1])
def test_gathered_lanes_are_checked(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, distance: int
):
    """Each index is taken for one of its neighbours, beyond an end for one of them."""

    def broken(self: FlatBuffers, index: SSAValue, size: int) -> SSAValue:
        return self.emitter.binary(AddiOp, index, self.emitter.constant(index.type, distance))

    monkeypatch.setattr(FlatBuffers, "_from_either_end", broken)
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("GatherElements", ["a", "n"], ["b"], axis=0),
        helper.make_node("Sqrt", ["b"], ["y"]),
    ]
    inputs = [
        helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [5]),
        helper.make_tensor_value_info("n", onnx.TensorProto.INT64, [37]),
    ]
    graph = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name="y")])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    model = glow.compile(proto, sanitize=True, cache=False)
    assert "glow_vec.gather" in str(model.stages["kernels"])
    x, n = -rng.uniform(1, 2, 5).astype(np.float32), rng.integers(1, 4, 37)
    np.testing.assert_allclose(model(x, n)[0], np.sqrt(-x[n + distance]), rtol=1e-6)
    n[rng.integers(0, 37)] = 4 if distance > 0 else 0
    with pytest.raises(SanitizerError, match=r"a load at element 0 is outside of buffer %a"):
        model(x, n)


def test_a_broken_plan_is_found(monkeypatch: pytest.MonkeyPatch):
    def too_short(block: Block) -> tuple[list[AllocActivationOp], list[Lifetime]]:
        allocations, lives = lifetimes_of(block)
        return allocations, [Lifetime(life.start, life.start, life.size) for life in lives]

    monkeypatch.setattr(allocate, "lifetimes_of", too_short)
    with pytest.raises(CompileError, match=r"glow-verify-memory failed.* overlap %a, .* is alive"):
        glow.compile(network(), sanitize=True, cache=False)


def test_options_that_exclude_each_other():
    with pytest.raises(GlowError, match="sanitize needs threads=1"):
        glow.compile(network(), sanitize=True, threads=2)
