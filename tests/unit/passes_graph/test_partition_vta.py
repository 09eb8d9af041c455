"""A network of which VTA computes the integers, and the CPU the rest."""

from __future__ import annotations

from pathlib import Path

import glow
import numpy as np
from glow import quantization
from glow.passes.partition.devices import of_backends
from glow.passes.partition.idle import idle_devices
from glow.passes.partition.partition import partition
from glow.passes.partition.partitions import Source, read_partitions
from glow.passes.partition.verify_partitions import verify_partitions
from glow.quantization import Quantization
from glow.runtime.interpreter import interpret
from glow.tests.support.graph_text import parse
from PIL import Image

ACTIVATION, WEIGHT = "!quant.uniform<i8:f32, 0.0625>", "!quant.uniform<i8:f32, 0.03125>"
NETWORK = """
    func.func @main(%x: tensor<1x5x9x7xf32>) -> (tensor<1x18x4x3xf32>, tensor<1x18x4x3xf32>) {
      %k = glow.constant dense<WEIGHTS> : tensor<18x5x3x3xi8> : tensor<18x5x3x3xW>
      %b = glow.splat value 0.25 : tensor<18xf32>
      %xq = glow.quantize %x : (tensor<1x5x9x7xf32>) -> tensor<1x5x9x7xA>
      %xr = glow.dequantize %xq : (tensor<1x5x9x7xA>) -> tensor<1x5x9x7xf32>
      %w = glow.dequantize %k : (tensor<18x5x3x3xW>) -> tensor<18x5x3x3xf32>
      %c = glow.convolution %xr, %w, %b pads [1, 1, 1, 1]
         : (tensor<1x5x9x7xf32>, tensor<18x5x3x3xf32>, tensor<18xf32>) -> tensor<1x18x9x7xf32>
      %r = glow.relu %c : (tensor<1x18x9x7xf32>) -> tensor<1x18x9x7xf32>
      %q = glow.quantize %r : (tensor<1x18x9x7xf32>) -> tensor<1x18x9x7xA>
      %d = glow.dequantize %q : (tensor<1x18x9x7xA>) -> tensor<1x18x9x7xf32>
      %m = glow.max_pool %d kernel [2, 2] strides [2, 2]
         : (tensor<1x18x9x7xf32>) -> tensor<1x18x4x3xf32>
      %mq = glow.quantize %m : (tensor<1x18x4x3xf32>) -> tensor<1x18x4x3xA>
      %md = glow.dequantize %mq : (tensor<1x18x4x3xA>) -> tensor<1x18x4x3xf32>
      %s = glow.softmax %md axis 1 : (tensor<1x18x4x3xf32>) -> tensor<1x18x4x3xf32>
      func.return %s, %md : tensor<1x18x4x3xf32>, tensor<1x18x4x3xf32>
    }"""


def test_integers_on_vta_and_the_rest_on_the_cpu(rng: np.random.Generator) -> None:
    weights = rng.integers(-9, 10, (18, 5, 3, 3)).tolist()
    text = NETWORK.replace("WEIGHTS", str(weights))
    before = parse(text.replace("xA>", f"x{ACTIVATION}>").replace("xW>", f"x{WEIGHT}>"))
    after = before.clone()
    partition(after, of_backends(["cpu", "vta"]), "capability")
    verify_partitions(after)
    network = read_partitions(after)
    assert [p.device for p in network.partitions] == ["cpu0", "vta0", "cpu0"]
    integers = {op.name for op in network.partitions[1].function.body.block.ops}
    assert {"glow.convolution", "glow.relu", "glow.max_pool"} <= integers
    assert "glow.softmax" not in integers
    assert network.partitions[1].input_bytes == (5 * 9 * 7,)  # quantized
    x = (3 * rng.standard_normal((1, 5, 9, 7))).astype(np.float32)
    made = {Source(None, 0): x}
    for part in network.partitions:
        model = glow.compile(part.module(), backend=part.backend)
        results = model(*(made[source] for source in part.inputs))
        made |= {Source(part.number, i): array for i, array in enumerate(results)}
    expected = interpret(before, [x])
    # shifts round halves up, and the interpreter to even
    for source, array, step in zip(
        network.outputs, expected.values(), (0.0625, 0.0625), strict=True
    ):
        assert np.abs(made[source] - array).max() <= step


def devices_left_out(text: str, strategy: str = "capability") -> dict[str, str]:
    """Returns the reasons why devices get no part of a network."""
    module = parse(text)
    partition(module, of_backends(["cpu", "vta"]), strategy)
    return idle_devices(module)


def test_a_device_without_a_part_has_a_reason() -> None:
    t, q = "tensor<1x16x4x4xf32>", "tensor<1x16x4x4x!quant.uniform<i8:f32, 0.5>>"
    head = f"func.func @main(%x: {t}) -> {t} {{"
    relu = f"%y = glow.relu %x : ({t}) -> {t}\n func.return %y : {t} }}"
    assert devices_left_out(head + relu) == {
        "vta0": "no node: glow.relu is of f32; vta computes quantized<i8, power_of_two>: quantize "
        "the network first (glow-quantize with schema=power_of_two weight-schema=power_of_two "
        "everything=true)"
    }
    exp = f"%y = glow.exp %x : ({t}) -> {t}\n func.return %y : {t} }}"
    assert devices_left_out(head + exp) == {"vta0": "no node: vta computes no glow.exp"}
    quantized = f"""%a = glow.quantize %x : ({t}) -> {q}
      %b = glow.dequantize %a : ({q}) -> {t}
      %c = glow.relu %b : ({t}) -> {t}
      %d = glow.quantize %c : ({t}) -> {q}
      %y = glow.dequantize %d : ({q}) -> {t}
      func.return %y : {t} }}"""
    assert devices_left_out(head + quantized)["vta0"].startswith(
        "no node: it can compute 3 of 3, but another device is preferred (strategy=capability"
    )


def test_the_example_of_the_readme_puts_a_part_on_vta(repository: Path) -> None:
    folder = repository / "examples" / "digits"
    images = []
    for path in sorted((folder / "images").glob("*.png")):
        with Image.open(path) as image:
            images.append(np.asarray(image.convert("L"), np.float32)[None, None] / 255)
    graph = quantization.optimized_graph(folder / "digits.onnx")
    batches = [{"image": image} for image in images]
    profile = quantization.profile(folder / "digits.onnx", batches, cache=False)
    choices = Quantization(schema="power_of_two", weight_schema="power_of_two", everything=True)
    quantization.quantize(graph, profile, choices, "interpreter")
    with glow.HostManager("cpu,vta") as host:
        info = host.add_network("digits", graph, strategy="capability").result(100)
        assert {p.device for p in info.partitions} == {"cpu0", "vta0"}
        assert not info.idle
        (found,) = host.run("digits", {"image": images[0]}).result(100)
        assert found.shape == (1, 10)
        floats = host.add_network("floats", folder / "digits.onnx").result(100)
        assert {p.device for p in floats.partitions} == {"cpu0"}
        assert "quantize the network first" in floats.idle["vta0"]
        (wanted,) = host.run("floats", {"image": images[0]}).result(100)
    assert found.argmax() == wanted.argmax()
