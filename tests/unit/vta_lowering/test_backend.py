"""The backend `vta` as users meet it: borders, options, estimates of cost, and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import glow
import numpy as np
import pytest
from glow import quantization
from glow.errors import CompileError, GlowError
from glow.glow_dialects.glow.convolution import ConvolutionOp
from glow.glow_dialects.operator import Call, with_shape
from glow.glow_dialects.quant import QuantizedType
from glow.glow_dialects.vta import VtaConfig, VtaMemory
from glow.interface.backend import find_backend
from glow.lowering.vta.form_layers import form_layers
from glow.quantization import Quantization
from glow.runtime.interpreter import interpret
from glow.runtime.signature import main_function
from glow.runtime.vta.backend import VtaBackend
from glow.runtime.vta.container import container_bytes, parse_program
from glow.runtime.vta.simulator import Simulator
from glow.tests.support.graph_text import parse
from glow.tests.support.seeds import generator
from glow.tests.support.vta_networks import RandomNetwork, lowered
from xdsl.dialects.builtin import ModuleOp, f32, i8, i32
from xdsl.utils.test_value import create_ssa_value

X, Y = "tensor<2x5x7x3x!quant.uniform<i8:f32, 0.0625>>", "tensor<2x9x4x2xf32>"
Q = "tensor<2x9x4x2x!quant.uniform<i8:f32, 0.25>>"
REAL = "tensor<2x5x7x3xf32>"
AXIS = ", ".join(str(2.0**-n) for n in (3, 4, 5, 6, 7, 3, 4, 5, 6))
KERNEL = f"tensor<9x5x3x3x!quant.uniform<i8:f32:0, {{{AXIS}}}>>"


def network(result: str = "%d") -> ModuleOp:
    """
    Returns a network in QDQ form, with a scale for each output channel; `%c` are floats of
    accumulators.
    """
    rng = generator()
    weights = rng.integers(-128, 128, (9, 5, 3, 3)).tolist()
    bias = [float(n) for n in rng.integers(-9, 9, 9)]
    return parse(f"""
    func.func @main(%x: {REAL} {{glow.name = "x"}}) -> ({Y} {{glow.name = "y"}}) {{
      %q = glow.quantize %x : ({REAL}) -> {X}
      %r = glow.dequantize %q : ({X}) -> {REAL}
      %k = glow.constant dense<{weights}> : tensor<9x5x3x3xi8> : {KERNEL}
      %w = glow.dequantize %k : ({KERNEL}) -> tensor<9x5x3x3xf32>
      %b = glow.constant dense<{bias}> : tensor<9xf32>
      %c = glow.convolution %r, %w, %b strides [2, 2] pads [1, 1, 1, 1]
         : ({REAL}, tensor<9x5x3x3xf32>, tensor<9xf32>) -> {Y}
      %p = glow.relu %c : ({Y}) -> {Y}
      %n = glow.quantize %p : ({Y}) -> {Q}
      %d = glow.dequantize %n : ({Q}) -> {Y}
      func.return {result} : {Y}
    }}""")


def image() -> np.ndarray:
    return generator().standard_normal((2, 5, 7, 3)).astype(np.float32) * 4


@pytest.mark.parametrize("result", ["%d", "%c"])
def test_floats_become_integers_and_floats_again(result: str):
    model, x = glow.compile(network(result), backend="vta"), image()
    (found,) = model(x)
    (wanted,) = interpret(model.stages["integers"], [x]).values()
    np.testing.assert_array_equal(found, wanted)
    (real,) = interpret(model.stages["imported"], [x]).values()
    np.testing.assert_allclose(found, real, atol=0.25 if result == "%d" else 1e-5)


def test_stages_and_texts_are_written(tmp_path):
    model = glow.compile(network(), backend="vta")
    assert [*model.stages] == [
        *("imported", "integers", "prepared", "instructions", "optimized-instructions"),
        *("layers", "tiled", "program"),
    ]
    names = [path.name for path in model.dump_stages(tmp_path)]
    assert names[-2:] == ["08-program.s", "weights.safetensors"]
    assert "gemm" in (tmp_path / "08-program.s").read_text().lower()


def test_configurations():
    x = image()
    sizes: dict[str, Any] = dict(
        block_in=8, block_out=8, inp_depth=128, wgt_depth=128, acc_depth=64
    )
    results = []
    for config in (VtaConfig(), VtaConfig(**sizes), sizes):
        model = glow.compile(network(), backend=VtaBackend(config=config))
        (wanted,) = interpret(model.stages["integers"], [x]).values()
        (found,) = model(x)
        np.testing.assert_array_equal(found, wanted)
        results.append(len(model._program.program.instructions))  # pyright: ignore
    assert results[1] == results[2]


def test_one_argument_for_several_inputs_and_one_value_for_several_results(
    rng: np.random.Generator,
):
    other = "tensor<3x4x!quant.uniform<i8:f32, 0.5>>"
    element = "tensor<3x4x!quant.uniform<i8:f32, 0.125>>"
    model = glow.compile(
        parse(f"""
        func.func @main(%x: tensor<3x4xf32> {{glow.name = "x"}}, %z: {other} {{glow.name = "z"}})
            -> ({other}, {element}, {other}, {other}) {{
          %a = glow.quantize %x : (tensor<3x4xf32>) -> {other}
          %b = glow.quantize %x : (tensor<3x4xf32>) -> {element}
          func.return %a, %b, %z, %a : {other}, {element}, {other}, {other}
        }}"""),
        backend="vta",
    )
    x = rng.standard_normal((3, 4)).astype(np.float32)
    z = rng.integers(-128, 128, (3, 4)).astype(np.int8)
    wanted = interpret(model.stages["imported"], [x, z]).values()
    for found, array in zip(model(x, z), wanted, strict=True):
        np.testing.assert_array_equal(found, array)


def test_programs_survive_their_container(rng: np.random.Generator):
    net = RandomNetwork(5)
    module = net.grow(4)
    model = glow.compile(module, backend="vta")
    program = model._program.program  # pyright: ignore
    x = rng.integers(-128, 128, program.inputs[0].shape).astype(np.int8)
    again = Simulator(parse_program(container_bytes(program), "x.vta")).run([x])
    for found, array in zip(again, model(x), strict=True):
        np.testing.assert_array_equal(found, array)


def test_costs_are_those_of_the_gemm_core_and_of_the_port():
    backend = find_backend("vta")
    assert isinstance(backend, VtaBackend)

    def cost(channels: int, backend: VtaBackend = backend) -> float:
        q, w = QuantizedType(i8, f32, 0.5), QuantizedType(i8, f32, 0.25)
        b = QuantizedType(i32, f32, 0.125)
        shapes = (1, channels, 28, 28), (channels, channels, 3, 3), (channels,)
        types = [with_shape(t, s) for t, s in zip((q, w, b), shapes, strict=True)]
        values = [create_ssa_value(with_shape(f32, shape)) for shape in shapes]
        node = ConvolutionOp.of(*values, strides=[1, 1], pads=[1] * 4, dilations=[1, 1])
        call = Call(ConvolutionOp, tuple(types), (types[0],), node.properties)
        assert backend.supports(call)
        return backend.cost(call)

    assert 3.5 < cost(256) / cost(128) < 4.5
    # 451,584 products of the GEMM core, at 60 % of 100 MHz
    assert cost(128) == pytest.approx(451_584 / 60e6, rel=0.1)
    # a clock twice as fast, as a file of devices gives it
    faster = VtaBackend(timing={"clock_mhz": 200})
    assert cost(128, faster) == pytest.approx(cost(128) / 2)
    assert backend.memories()[0].bytes == 16 << 32


def test_a_network_of_floats_is_an_error_that_says_what_to_do():
    text = """func.func @main(%x: tensor<1x4xf32> {glow.name = "x"}) -> tensor<1x4xf32> {
      %y = glow.relu %x : (tensor<1x4xf32>) -> tensor<1x4xf32>
      func.return %y : tensor<1x4xf32>
    }"""
    with pytest.raises(CompileError, match=r"input x: .* quantize the network"):
        glow.compile(parse(text), backend="vta")


@pytest.mark.parametrize(
    "names", [("0", "25"), ("in:0", "a/b"), ("", "the scores"), ("x_1", "x_2")]
)
def test_inputs_and_outputs_have_any_names(names: tuple[str, str], rng: np.random.Generator):
    """PyTorch calls values by number, TensorFlow `name:0`; values of the IR cannot be called so."""
    plain = str(network())
    text = plain.replace('"x"', f'"{names[0]}"').replace('"y"', f'"{names[1]}"')
    model = glow.compile(parse(text), backend="vta")
    x = rng.standard_normal((2, 5, 7, 3)).astype(np.float32)
    (wanted,) = glow.compile(parse(plain), backend="vta")(x)
    np.testing.assert_array_equal(model.run(None, {names[0]: x})[0], wanted)
    program = parse_program(container_bytes(model._program.program), "x.vta")  # pyright: ignore
    assert [r.name for r in (*program.inputs, *program.outputs)] == list(names)
    # the program is text that can be read again
    parse(str(model.stages["program"])).verify()


def test_what_the_machine_cannot_compute_points_to_the_partitioner():
    t = "tensor<1x4x!quant.uniform<i8:f32, 0.5>>"
    text = f"""func.func @main(%x: {t}) -> {t} {{
      %r = glow.dequantize %x : ({t}) -> tensor<1x4xf32>
      %s = glow.softmax %r axis 1 : (tensor<1x4xf32>) -> tensor<1x4xf32>
      %y = glow.quantize %s : (tensor<1x4xf32>) -> {t}
      func.return %y : {t}
    }}"""
    with pytest.raises(
        CompileError, match=r"VTA cannot compute this.*weight-schema=power_of_two.*--part"
    ):
        glow.compile(parse(text), backend="vta")


def test_machines_that_cannot_be():
    with pytest.raises(GlowError, match="no VTA has these sizes"):
        VtaBackend(config={"inp_depth": 3})
    with pytest.raises(GlowError, match=r"sizes of a VTA by name \(batch, .*found {'depth': 4}"):
        VtaBackend(config={"depth": 4})
    with pytest.raises(GlowError, match=r"times of a VTA by name \(.*clock_mhz\), found 3"):
        VtaBackend(timing=3)  # pyright: ignore
    with pytest.raises(CompileError, match="block_in and block_out of VTA to be equal"):
        glow.compile(network(), backend=VtaBackend(config=VtaConfig(block_in=8)))
    with pytest.raises(CompileError, match="expected inputs, weights and outputs of 8 bits"):
        form_layers(main_function(network()), VtaConfig(acc_bits=64))


def test_a_layer_that_fits_into_no_buffer_is_an_error():
    module = RandomNetwork(3, (1, 16, 9, 9)).grow(2)
    small = VtaConfig(acc_depth=2, inp_depth=2, wgt_depth=2)
    assert small.depth(VtaMemory.ACC) == 2
    with pytest.raises(CompileError, match="fits into the"):
        lowered(module, small)


_T = "tensor<1x16x6x6xf32>"
_MEAN = "tensor<1x16x1x1xf32>"
RESULTS = {
    "sum": (f"%y = glow.add %r, %x : ({_T}, {_T}) -> {_T}", _T),
    "relu-of-sum": (
        f"%s = glow.add %c, %x : ({_T}, {_T}) -> {_T}\n%y = glow.relu %s : ({_T}) -> {_T}",
        _T,
    ),
    "difference": (f"%y = glow.sub %r, %x : ({_T}, {_T}) -> {_T}", _T),
    "relu": (f"%y = glow.relu %c : ({_T}) -> {_T}", _T),
    "mean": (
        f"%y = glow.reduce_mean %r axes [2, 3] keep_dims true : ({_T}) -> {_MEAN}",
        _MEAN,
    ),
}


@pytest.mark.parametrize("result", RESULTS)
def test_networks_end_in_any_operator(result: str, rng: np.random.Generator, tmp_path: Path):
    """With the options that docs/vta-lowering.md names."""
    last, shape = RESULTS[result]
    weights = rng.standard_normal((16, 16, 3, 3)).round(3).tolist()
    text = f"""
    func.func @main(%x: {_T} {{glow.name = "x"}}) -> ({shape} {{glow.name = "y"}}) {{
      %w = glow.constant dense<{weights}> : tensor<16x16x3x3xf32>
      %b = glow.constant dense<0.5> : tensor<16xf32>
      %c = glow.convolution %x, %w, %b pads [1, 1, 1, 1]
         : ({_T}, tensor<16x16x3x3xf32>, tensor<16xf32>) -> {_T}
      %r = glow.relu %c : ({_T}) -> {_T}
      {last}
      func.return %y : {shape}
    }}"""
    path = tmp_path / "network.mlir"
    path.write_text(text)
    images = [rng.standard_normal((1, 16, 6, 6)).astype(np.float32) for _ in range(2)]
    profile = quantization.profile(path, [{"x": image} for image in images], cache=False)
    graph = quantization.optimized_graph(path)
    options = Quantization(schema="power_of_two", weight_schema="power_of_two", everything=True)
    quantization.quantize(graph, profile, options, "interpreter")
    model = glow.compile(graph, backend="vta")
    (found,) = model(images[0])
    (wanted,) = interpret(model.stages["integers"], images[:1]).values()
    np.testing.assert_array_equal(found, wanted)
    (real,) = glow.compile(path, backend="interpreter")(images[0])
    assert np.abs(found - real).max() < 0.05 * np.abs(real).max()
