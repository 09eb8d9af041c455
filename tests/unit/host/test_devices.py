"""Networks that are split by the partitioner compute the same as whole ones."""

from __future__ import annotations

import glow
import numpy as np
from glow import HostManager
from glow.glow_dialects.glow.activation import ReluOp
from glow.glow_dialects.glow.matrix import FullyConnectedOp
from glow.glow_dialects.operator import with_shape
from glow.passes.partition.devices import of_backends
from glow.passes.partition.partition import partition
from glow.runtime.interpreter import interpret
from glow.semantics.arrays import make_constant
from glow.tests.support.gates import SECONDS
from glow.tests.support.seeds import generator
from glow.tests.support.small_models import small_network
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, Region

WIDTH, LAYERS = 41, 8
MEMORY = 20_000
"""Bytes of a device, where two layers fit: one has 4 * WIDTH * (WIDTH + 1), and padding."""


def layers() -> ModuleOp:
    """Returns fully connected layers with random weights."""
    rng = generator()
    t = with_shape(f32, (3, WIDTH))
    block = Block(arg_types=[t])
    value = block.args[0]
    for _ in range(LAYERS):
        weights = rng.uniform(-0.3, 0.3, (WIDTH, WIDTH)).astype(np.float32)
        bias = rng.uniform(-1, 1, WIDTH).astype(np.float32)
        constants = [make_constant(weights), make_constant(bias)]
        product = FullyConnectedOp.of(value, *(c.result for c in constants))
        relu = ReluOp.of(product.result)
        block.add_ops([*constants, product, relu])
        value = relu.result
    block.add_op(func.ReturnOp(value))
    return ModuleOp([func.FuncOp("main", ([t], [t]), Region(block))])


def rows() -> np.ndarray:
    return generator().standard_normal((3, WIDTH)).astype(np.float32)


def close(found: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())


def test_four_devices_with_small_memories() -> None:
    model, x = layers(), rows()
    (whole,) = glow.compile(model)(x)
    (reference,) = interpret(model, [x]).values()
    with HostManager(["cpu"] * 4, memory=MEMORY) as host:
        info = host.add_network("layers", model).result(SECONDS)
        (found,) = host.run("layers", [x]).result(SECONDS)
        devices = host.statistics().devices.values()
    assert {p.device for p in info.partitions} == {"cpu0", "cpu1", "cpu2", "cpu3"}
    assert all(MEMORY >= d.memory > MEMORY / 2 for d in devices)
    assert all(d.runs for d in devices)
    close(found, whole)
    close(found, reference)


def test_two_kinds_of_devices() -> None:
    model, x = layers(), rows()
    (reference,) = interpret(model, [x]).values()
    with HostManager("cpu,interpreter", memory=[2 * MEMORY, 5 * MEMORY]) as host:
        both = host.add_network("both", model, strategy="capability").result(SECONDS)
        one = host.add_network("one", model, devices=["interpreter0"]).result(SECONDS)
        assert {p.device for p in both.partitions} == {"cpu0", "interpreter0"}
        assert {p.device for p in one.partitions} == {"interpreter0"}
        for name in ("both", "one"):
            close(host.run(name, [x]).result(SECONDS)[0], reference)


def test_a_module_that_is_partitioned_already() -> None:
    model, x = layers(), rows()
    (reference,) = interpret(model, [x]).values()
    partition(model, of_backends(["interpreter"] * 4, [MEMORY]))
    with HostManager(["interpreter"] * 4, memory=MEMORY) as host:
        info = host.add_network("layers", model).result(SECONDS)
        assert len(info.partitions) == 4
        (found,) = host.run("layers", [x]).result(SECONDS)
    np.testing.assert_array_equal(found, reference)


def test_a_network_with_several_results(rng: np.random.Generator) -> None:
    model = small_network(int(rng.integers(2**32)))
    x = rng.standard_normal((1, 3, 8, 10)).astype(np.float32)
    whole = glow.compile(model, symbols={"batch": 1})
    with HostManager("cpu") as host:
        host.add_network("small", model, symbols={"batch": 1}).result(SECONDS)
        (logits,) = host.run("small", {"image": x}, outputs=["logits"]).result(SECONDS)
    np.testing.assert_array_equal(logits, whole.run(["logits"], {"image": x})[0])
