"""A network of which one half runs on the CPU and the other on the simulator of VTA."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from glow import HostManager
from glow.interface.backend import backend_names
from glow.passes.partition.devices import read_configuration
from glow.runtime.host.replicas import kinds_of
from glow.runtime.interpreter import interpret
from glow.tests.support.gates import SECONDS
from glow.tests.support.graph_text import parse, run
from glow.tests.support.seeds import generator
from xdsl.dialects.builtin import ModuleOp

pytestmark = pytest.mark.skipif("vta" not in backend_names(), reason="there is no backend vta")

REAL, NARROW = "tensor<2x3x7x5xf32>", "tensor<2x3x7x5x!quant.uniform<i8:f32, 0.0078125>>"
KERNEL = "tensor<8x3x3x3x!quant.uniform<i8:f32, 0.03125>>"
BIAS = "tensor<8x!quant.uniform<i32:f32, 0.000244140625>>"
IMAGE, STORED = "tensor<2x8x7x5xf32>", "tensor<2x8x7x5x!quant.uniform<i8:f32, 0.125>>"


def network() -> ModuleOp:
    """Returns floats, a quantized convolution with random weights, and floats again."""
    rng = generator()
    weights = rng.integers(-128, 128, (8, 3, 3, 3)).tolist()
    bias = rng.integers(-4096, 4096, 8).tolist()
    text = f"""
    func.func @main(%x: {REAL} {{glow.name = "x"}}) -> ({IMAGE} {{glow.name = "y"}}) {{
      %t = glow.neg %x : ({REAL}) -> {REAL}
      %q = glow.quantize %t : ({REAL}) -> {NARROW}
      %r = glow.dequantize %q : ({NARROW}) -> {REAL}
      %k = glow.constant dense<{weights}> : tensor<8x3x3x3xi8> : {KERNEL}
      %w = glow.dequantize %k : ({KERNEL}) -> tensor<8x3x3x3xf32>
      %s = glow.constant dense<{bias}> : tensor<8xi32> : {BIAS}
      %b = glow.dequantize %s : ({BIAS}) -> tensor<8xf32>
      %c = glow.convolution %r, %w, %b pads [1, 1, 1, 1]
         : ({REAL}, tensor<8x3x3x3xf32>, tensor<8xf32>) -> {IMAGE}
      %p = glow.relu %c : ({IMAGE}) -> {IMAGE}
      %n = glow.quantize %p : ({IMAGE}) -> {STORED}
      %d = glow.dequantize %n : ({STORED}) -> {IMAGE}
      %y = glow.exp %d : ({IMAGE}) -> {IMAGE}
      func.return %y : {IMAGE}
    }}"""
    return parse(text)


SLOW_CPU = """
[[devices]]
name = "cpu0"
backend = "cpu"
rates = { operations = 1e5, bytes = 1e5 }

[[devices]]
name = "vta0"
backend = "vta"
"""


def with_integers(model: ModuleOp) -> ModuleOp:
    """
    Returns the same network as VTA computes it: ties are rounded up instead of to even numbers.
    """
    return run("glow-legalize-quantized{integer-only=true}", model.clone())


@pytest.fixture(scope="module")
def host() -> Iterator[HostManager]:
    with HostManager("cpu,vta") as host:
        yield host


def test_half_on_the_cpu_and_half_on_vta(host: HostManager, rng: np.random.Generator) -> None:
    model = network()
    reference = with_integers(model)
    info = host.add_network("both", model, strategy="capability").result(SECONDS)
    assert [p.device for p in info.partitions] == ["cpu0", "vta0", "cpu0"]
    # in DRAM, three channels take the room of sixteen
    assert info.partitions[1].memory.weights >= 16 * 16 * 3 * 3
    images = [rng.standard_normal((2, 3, 7, 5)).astype(np.float32) for _ in range(5)]
    futures = [host.run("both", [x]) for x in images]
    for x, future in zip(images, futures, strict=True):
        (found,) = future.result(SECONDS)
        (wanted,) = interpret(reference, [x]).values()
        # numbers are quantized in between, so only the last operator may round differently
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
        assert len(np.unique(found)) > 5


def test_a_device_may_have_tables_as_options(rng: np.random.Generator, tmp_path: Path) -> None:
    """As in the table of docs/partitioning.md. VTAs of one configuration are alike."""
    entries = [("cpu0", "cpu", "")] + [
        (f"vta{i}", "vta", f"options = {{ config = {{ block_in = {n}, block_out = {n} }} }}")
        for i, n in enumerate((8, 8, 4))
    ]
    file = tmp_path / "devices.toml"
    file.write_text(
        "\n".join(f'[[devices]]\nname = "{n}"\nbackend = "{b}"\n{o}' for n, b, o in entries)
    )
    assert [len(kind) for kind in kinds_of(read_configuration(file).devices)] == [1, 2, 1]
    model = network()
    x = rng.standard_normal((2, 3, 7, 5)).astype(np.float32)
    with HostManager(file) as host:
        info = host.add_network("both", model, strategy="capability").result(SECONDS)
        (found,) = host.run("both", [x]).result(SECONDS)
    assert any(p.device.startswith("vta") for p in info.partitions)
    (wanted,) = interpret(with_integers(model), [x]).values()
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_nodes_that_no_result_needs_are_on_no_device(
    rng: np.random.Generator, tmp_path: Path
) -> None:
    """Alone, a conversion to integers and back would be a partition that VTA cannot compute."""
    text = str(network()).replace("glow.exp %d", "glow.exp %p")
    model = parse(text)
    assert "glow.dequantize %n " in text  # whose result nothing reads any more
    file = tmp_path / "devices.toml"
    file.write_text(SLOW_CPU)
    x = rng.standard_normal((2, 3, 7, 5)).astype(np.float32)
    with HostManager(file) as host:
        info = host.add_network("both", model).result(SECONDS)
        (found,) = host.run("both", [x]).result(SECONDS)
    assert [p.device for p in info.partitions] == ["cpu0", "vta0", "cpu0"]
    (wanted,) = interpret(with_integers(model), [x]).values()
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
