"""Quantization by a profile: what is quantized, with which types, and how close the result is."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import glow
import numpy as np
import pytest
from glow import quantization
from glow.context import make_context
from glow.errors import QuantizationError
from glow.glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from glow.glow_dialects.operator import element_of
from glow.glow_dialects.quant import QuantizedType
from glow.quantization import Profile
from glow.quantization.options import Quantization
from glow.quantization.profiling import optimized_graph
from glow.quantization.quantize import quantize
from glow.quantization.report import Report
from glow.quantization.schemas import SCHEMAS
from glow.tests.support.graph_text import run
from glow.tests.support.seeds import shared_generator
from glow.tests.support.small_models import graph as parsed
from glow.tests.unit.quantization.image_networks import images, network
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

BATCHES = [images(rng) for rng in [shared_generator(f"{__name__}.BATCHES")] for _ in range(3)]


@cache
def profiled() -> Profile:
    return quantization.profile(network(), [{"x": x} for x in BATCHES], cache=False)


def quantized(backend: str = "cpu", **options: object) -> tuple[ModuleOp, Report]:
    module = network()
    report = quantize(module, profiled(), Quantization(**options), backend)  # pyright: ignore
    module.verify()
    return module, report


def noise(module: ModuleOp) -> float:
    """Returns the ratio of signal to noise, in dB, against float, on data within the ranges."""
    x = BATCHES[0]
    (want,) = glow.compile(network(), backend="interpreter")(x)
    (found,) = glow.compile(module, backend="interpreter")(x)
    error = (found.astype(np.float64) - want) ** 2
    return float(10 * np.log10((want.astype(np.float64) ** 2).sum() / error.sum()))


def names(module: ModuleOp, kind: type) -> list[str]:
    return [op.results[0].name_hint or "" for op in module.walk() if isinstance(op, kind)]


def test_products_and_what_they_read_are_quantized():
    module, report = quantized()
    assert report.quantized == ["c1", "c2", "y"]
    # not what flows from one elementwise operator to the next, nor the result
    assert names(module, QuantizeOp) == ["x", "r1", "f"]
    assert not report.kept
    assert not report.unmatched
    assert noise(module) > 25


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("calibration", ["min-max", "percentile", "entropy", "mse"])
def test_schemas_and_calibrations(schema: str, calibration: str):
    module, report = quantized(schema=schema, calibration=calibration)
    assert len(report.quantized) == 3
    # few numbers have no tails: entropy then saturates more than is good
    assert noise(module) > (4 if calibration == "entropy" else 15)
    for t in report.types.values():
        if schema != "asymmetric":
            assert t.zero_point_values() == (0,)
        if schema == "power_of_two":
            assert np.log2(t.scale_values()[0]).is_integer()


def test_storages_and_bits():
    loss = {
        bits: noise(quantized("interpreter", activations=a, weights=w)[0])
        for bits, a, w in ((4, "u8", "i4"), (8, "u8", "i8"), (16, "i16", "i16"))
    }
    assert loss[4] < loss[8] - 5
    assert loss[8] < loss[16] - 5


def test_weights_have_a_scale_for_each_output_channel():
    for per_channel, counts in ((True, {5, 4}), (False, {1})):
        module, _ = quantized(per_channel=per_channel)
        types = [element_of(op.input.type) for op in module.walk() if isinstance(op, DequantizeOp)]
        weights = [t for t in types if isinstance(t, QuantizedType) and t.storage.width.data == 8]
        constants = [t for t in weights if t.storage_min.data == -128][-3:]
        assert {len(t.scales) for t in constants} <= counts | {1}
        biases = [t for t in types if isinstance(t, QuantizedType) and t.storage.width.data == 32]
        assert {len(t.scales) for t in biases} == counts


def test_everything_between_is_quantized_if_asked_for():
    module, _ = quantized(everything=True)
    assert names(module, QuantizeOp) == ["x", "r1", "s", "m", "f", "y"]
    assert noise(module) > 20


def test_what_is_kept_in_float():
    _, report = quantized(keep_float=("c1", "fully_connected"))
    assert report.quantized == ["c2"]
    assert report.kept == {
        "c1": "it is kept in float",
        "y": "its operator is kept in float",
    }
    # all that was asked for is that nothing is quantized
    _, report = quantized(keep_float=("convolution", "y"))
    assert not report.quantized
    for name in ("c9", "%c9", "%convolution"):
        with pytest.raises(QuantizationError, match=f"cannot keep {name} in float"):
            quantized(keep_float=(name,))


def test_dynamic_quantization_needs_no_profile():
    module = network()
    report = quantize(module, None, Quantization(dynamic=True))
    module.verify()
    assert report.quantized == ["y"]
    assert noise(module) > 30
    with pytest.raises(QuantizationError, match="needs a profile, or dynamic=true"):
        quantize(network(), None)


def test_products_in_bodies(rng: np.random.Generator):
    """A profile knows no values of bodies; what needs no profile is quantized there too."""
    w = ", ".join(f"{x:.6f}" for x in rng.standard_normal(40))
    text = f"""
    func.func @main(%x: tensor<3x8xf32> {{glow.name = "x"}}, %c: tensor<i1> {{glow.name = "c"}})
        -> (tensor<3x5xf32> {{glow.name = "y"}}) {{
      %y = glow.if %c, %x : (tensor<i1>, tensor<3x8xf32>) -> tensor<3x5xf32> then {{
      ^bb0(%t: tensor<3x8xf32>):
        %w = glow.constant dense<[{w}]> : tensor<40xf32>
        %r = glow.reshape %w : (tensor<40xf32>) -> tensor<8x5xf32>
        %p = glow.matmul %t, %r : (tensor<3x8xf32>, tensor<8x5xf32>) -> tensor<3x5xf32>
        glow.yield %p : tensor<3x5xf32>
      }} else {{
      ^bb0(%t: tensor<3x8xf32>):
        %s = glow.slice %t starts [0, 3] sizes [3, 5] : (tensor<3x8xf32>) -> tensor<3x5xf32>
        glow.yield %s : tensor<3x5xf32>
      }}
      func.return %y : tensor<3x5xf32>
    }}"""
    floats = parsed(text)
    graph = optimized_graph(floats)
    x = rng.standard_normal((3, 8)).astype(np.float32)
    feeds = [{"x": x, "c": np.array(c)} for c in (True, False)]
    profile = quantization.profile(graph, feeds, cache=False)
    with pytest.raises(QuantizationError, match="p stays float: it is in the body of a branch"):
        quantize(graph.clone(), profile)
    report = quantize(graph, profile, Quantization(dynamic=True))
    assert report.quantized == ["p"]
    (found,) = glow.compile(graph, cache=False).run(None, feeds[0])
    (want,) = glow.compile(floats, "interpreter").run(None, feeds[0])
    assert 0 < np.abs(found - want).max() < 0.05 * np.abs(want).max()


def test_another_batch_size(tmp_path: Path):
    path = tmp_path / "p.json"
    profiled().save(path)
    module = network(batch=5)
    report = quantize(module, Profile.load(path))
    assert len(report.quantized) == 3
    assert not report.unmatched


def test_activations_of_zeros_and_constants_have_a_scale():
    module = network()
    zeros = quantization.profile(module, [{"x": np.zeros((2, 3, 9, 7), np.float32)}], cache=False)
    report = quantize(module, zeros)
    assert report.types["x"].scale_values() == (1.0,)
    x = np.zeros((2, 3, 9, 7), np.float32)
    (want,) = glow.compile(network(), backend="interpreter")(x)
    (found,) = glow.compile(module, backend="interpreter")(x)
    np.testing.assert_allclose(found, want, atol=0.05 * np.abs(want).max())


def test_unprofiled_values_stay_float():
    module = network()
    profile = Profile({n: v for n, v in profiled().values.items() if n != "r1"})
    report = quantize(module, profile)
    assert report.kept == {"c2": "the profile has no range of r1"}
    assert "values that the profile does not know: r1" in report.unmatched


def test_unknown_choices():
    for options in ({"schema": "x"}, {"calibration": "x"}, {"activations": "i7"}, {"bias": "i4"}):
        with pytest.raises(QuantizationError, match=r"expected (a|bias) "):
            Quantization(**options)  # pyright: ignore


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"percentile": 200.0}, "a percentile above 50 and up to 100, found 200.0"),
        ({"percentile": 50}, "a percentile above 50"),
        ({"percentile": float("nan")}, "a percentile above 50"),
        ({"percentile": "99"}, "expected percentile to be a number, found '99'"),
        ({"calibration": 3}, "expected calibration to be a text, found 3"),
        ({"keep_float": "softmax"}, "expected keep_float to be a tuple of names, found 'softmax'"),
        ({"per_channel": 1}, "expected per_channel to be True or False, found 1"),
    ],
)
def test_choices_out_of_range(choices: dict, message: str):
    with pytest.raises(QuantizationError, match=message):
        Quantization(**choices)


def test_options_of_the_pass_out_of_range():
    with pytest.raises(QuantizationError, match="a percentile above 50"):
        glow.compile(network(), quantize="glow-quantize{dynamic=true percentile=200.0}")


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"profile": True}, "the profile has no range of x"),
        ({"dynamic": True}, "matrix products, .*y stays float: its weights are not constant"),
        ({"embeddings": "u8"}, "lookups in constant tables of f32: the network has none"),
    ],
)
def test_nothing_to_quantize(choices: dict, message: str):
    """The error names what was looked at, and what was missing."""
    module = Parser(
        make_context(),
        """
        func.func @main(%x: tensor<2x3xf32>, %z: tensor<3x2xf32>) -> tensor<2x2xf32> {
          %y = glow.matmul %x, %z : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
          func.return %y : tensor<2x2xf32>
        }""",
    ).parse_module()
    profile = None
    if choices.pop("profile", False):
        profile = quantization.profile(
            module, [{"input_0": np.ones((2, 3), "f4"), "input_1": np.ones((3, 2), "f4")}]
        )
        del profile.values["x"]
    with pytest.raises(QuantizationError, match=f"nothing is quantized, of .*{message}"):
        quantize(module, profile, Quantization(**choices))


def test_compile_quantizes(tmp_path: Path):
    path = tmp_path / "profile.json"
    profiled().save(path)
    choices = Quantization(profile=str(path), schema="symmetric", keep_float=("c1",))
    module, x = network(), BATCHES[1]
    (want,) = glow.compile(module, cache=False)(x)
    model = glow.compile(module, quantize=choices, cache=tmp_path / "cache", verify=True)
    (found,) = model(x)
    assert 0 < np.abs(found - want).max() < 0.1 * np.abs(want).max()
    assert "!quant.uniform" in str(model.stages["quantized"])
    (again,) = glow.compile(module, quantize=str(choices), cache=False)(x)
    np.testing.assert_array_equal(again, found)


def test_choices_as_text():
    assert str(Quantization()) == "glow-quantize"
    some = Quantization(dynamic=True, per_channel=False, schema="symmetric", keep_float=("a", "b"))
    assert str(some) == (
        'glow-quantize{schema="symmetric" per-channel=false dynamic=true keep-float="a","b"}'
    )
    with pytest.raises(QuantizationError, match=r"nowhere\.json: cannot be read: No such file"):
        str(Quantization(profile="nowhere.json"))


def test_parts_of_a_quantized_whole_have_its_type(rng: np.random.Generator):
    """Each part is quantized once, where it is made, though it could have a finer scale."""
    text = """
func.func @main(%x: tensor<1x2x4x4xf32> {glow.name = "x"}) -> tensor<1x1x2x2xf32> {
  %w = glow.constant dense<[[[[1.0]], [[-2.0]]]]> : tensor<1x2x1x1xf32>
  %v = glow.constant dense<[[[[9.0]], [[0.5]]]]> : tensor<1x2x1x1xf32>
  %b = glow.constant dense<[0.25]> : tensor<1xf32>
  %a = glow.convolution %x, %w, %b
    : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
  %c = glow.convolution %x, %v, %b
    : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
  %j = glow.concat %a, %c axis 1
    : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32>
  %m = glow.max_pool %j kernel [2, 2] strides [2, 2]
    : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  %y = glow.convolution %m, %w, %b
    : (tensor<1x2x2x2xf32>, tensor<1x2x1x1xf32>, tensor<1xf32>) -> tensor<1x1x2x2xf32>
  func.return %y : tensor<1x1x2x2xf32>
}
"""
    module = optimized_graph(Parser(make_context(), text).parse_module())
    x = rng.standard_normal((1, 2, 4, 4)).astype(np.float32)
    report = quantize(module, quantization.profile(module, [{"x": x}], cache=False))
    assert list(report.types) == ["x", "m"]
    lines = [str(c.why) for c in quantization.remaining_conversions(formed(module))]
    assert lines.count("stored by an integer product") == 2
    assert not any("another scale" in line for line in lines)


def formed(module: ModuleOp) -> ModuleOp:
    return run("glow-legalize-quantized,canonicalize,cse,dce", module)


def test_an_accelerator_says_what_is_quantized():
    module = network()
    choices = Quantization(schema="power_of_two", weight_schema="power_of_two", everything=True)
    assert quantize(module, profiled(), choices, "vta").quantized == ["c1", "c2", "y"]
    module = network()
    why = r"nothing is quantized.*c1 stays float: vta does not compute glow\.convolution on these"
    with pytest.raises(QuantizationError, match=why):
        quantize(module, profiled(), Quantization(), "vta")
