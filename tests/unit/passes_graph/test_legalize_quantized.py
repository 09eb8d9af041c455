"""Quantized networks computed with integers: the same numbers as ONNX's reference evaluator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import glow
import numpy as np
import onnx
import pytest
from glow.context import make_context
from glow.frontend.onnx import import_onnx
from glow.passes.graph.integers.fixed_point import fixed_point
from glow.passes.graph.integers.report import Reason, conversions
from glow.runtime.stages import apply_pass, parse_pipeline
from glow.tests.support.quantized_models import (
    NETWORKS,
    quantize,
    quantum,
    random_input,
)
from glow.tests.support.reference import by_reference
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.parser import Parser

PRODUCTS = ("glow.convolution", "glow.matmul", "glow.fully_connected")
FORMS: dict[str, dict[str, Any]] = {
    "qdq": {"per_channel": True},
    "qdq-i8": {"activation_type": "QInt8"},
    "qdq-u8-weights": {"weight_type": "QUInt8"},
    "operators": {"quant_format": "QOperator", "per_channel": True},
    "operators-i8": {"quant_format": "QOperator", "activation_type": "QInt8"},
}


def formed(module: ModuleOp, passes: str = "glow-legalize-quantized") -> ModuleOp:
    context = make_context()
    for p in parse_pipeline(
        f"glow-fold-constants{{keep-quantized=true}},canonicalize,cse,{passes},canonicalize,cse,dce"
    ):
        apply_pass(p, context, module)
    module.verify()
    return module


def float_products(module: ModuleOp) -> list[str]:
    return [
        str(op.results[0].type)
        for op in module.walk()
        if op.name in PRODUCTS and not isinstance(op.results[0].type.element_type, IntegerType)  # pyright: ignore
    ]


def compare(found: np.ndarray, wanted: np.ndarray, step: float) -> None:
    """Checks that all but one in a thousand values are equal within one quantum."""
    off = np.abs(found.astype(np.float64) - wanted) > 1.01 * step
    assert off.sum() <= max(1, found.size // 1000), f"{off.sum()} of {found.size} differ"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("network", NETWORKS)
def test_equals_the_reference(
    network: str, form: str, rng: np.random.Generator, tmp_path: Path
) -> None:
    """Not one product of floats is left."""
    net = NETWORKS[network](rng)
    model = quantize(net, tmp_path, **FORMS[form])
    x = random_input(net)
    wanted = by_reference(model, {"x": x})[0]
    passes = "glow-activations-to-u8,glow-legalize-quantized"
    module = formed(import_onnx(model), passes if rng.integers(2) else "glow-legalize-quantized")
    assert not float_products(module)
    (found,) = glow.compile(module, backend="interpreter")(x)
    compare(found, wanted, quantum(model))


@pytest.mark.parametrize("network", NETWORKS)
def test_machine_code_gives_the_same(
    network: str, rng: np.random.Generator, tmp_path: Path
) -> None:
    net = NETWORKS[network](rng)
    model = quantize(net, tmp_path, per_channel=bool(rng.integers(2)))
    x = random_input(net)
    compiled = glow.compile(model, cache=False)
    assert not float_products(compiled.stages["optimized"])
    compare(compiled(x)[0], by_reference(model, {"x": x})[0], quantum(model))


def test_dynamic_quantization(rng: np.random.Generator, tmp_path: Path) -> None:
    """Scales and zero points that are found as the network runs, also those of right operands."""
    from onnxruntime.quantization import quantize_dynamic

    net = NETWORKS["encoder"](rng)
    onnx.save(net.model(), tmp_path / "float.onnx")
    quantize_dynamic(tmp_path / "float.onnx", tmp_path / "dynamic.onnx")
    model = onnx.load(tmp_path / "dynamic.onnx")
    x = random_input(net)
    wanted = by_reference(model, {"x": x})[0]
    compiled = glow.compile(model, cache=False)
    assert not float_products(compiled.stages["optimized"])
    # a different rounding of one input may change the scale of all
    np.testing.assert_allclose(compiled(x)[0], wanted, atol=0.02 * np.abs(wanted).max())


def test_unsigned_activations_are_exactly_the_same(
    rng: np.random.Generator, tmp_path: Path
) -> None:
    net = NETWORKS["residual"](rng)
    model = quantize(net, tmp_path, activation_type="QInt8")
    x = random_input(net)
    signed = formed(import_onnx(model))
    unsigned = formed(import_onnx(model), "glow-activations-to-u8,glow-legalize-quantized")
    assert "<i8:f32" in str(signed)
    assert "<i8:f32" not in str(unsigned)
    (a,), (b,) = (glow.compile(m, backend="interpreter")(x) for m in (signed, unsigned))
    np.testing.assert_array_equal(a, b)


FLOAT_BEHIND_SOFTMAX = {"glow.softmax", "glow.dequantize", "glow.quantize"}


@pytest.mark.parametrize("form", ["qdq", "qdq-u8-weights", "operators-i8"])
@pytest.mark.parametrize("network", NETWORKS)
def test_integers_alone(network: str, form: str, rng: np.random.Generator, tmp_path: Path) -> None:
    """Only a softmax and the ends are floats; no constant is one."""
    net = NETWORKS[network](rng)
    model = quantize(net, tmp_path, **FORMS[form])
    x = random_input(net)
    passes = "glow-activations-to-u8,glow-legalize-quantized{integer-only=true}"
    module = formed(import_onnx(model), passes)
    floats = {
        op.name
        for op in module.walk()
        if any(str(v.type).endswith("xf32>") and "quant" not in str(v.type) for v in op.results)
    }
    assert floats <= FLOAT_BEHIND_SOFTMAX
    found = [glow.compile(module, backend="interpreter")(x)[0]]
    if form == "qdq":
        found.append(glow.compile(module, cache=False)(x)[0])
    for result in found:
        compare(result, by_reference(model, {"x": x})[0], quantum(model))


@given(st.lists(st.floats(2.0**-30, 2.0**20), min_size=1, max_size=5))
def test_factors_in_fixed_point(factors: list[float]) -> None:
    multiplier, shift = fixed_point(np.array(factors))
    assert (shift >= 1).all()
    assert (shift <= 62).all()
    found = multiplier.astype(np.float64) / 2.0 ** shift.astype(np.float64)
    np.testing.assert_allclose(found, factors, rtol=2.0**-30)


def test_powers_of_two_are_shifts() -> None:
    multiplier, shift = fixed_point(np.array([0.5, 2.0**-9, 1.0, 8.0, 2.0**-40]))
    assert multiplier.tolist() == [1, 1, 2, 16, 1]
    assert shift.tolist() == [1, 9, 1, 1, 40]
    assert fixed_point(np.array([1e-30]))[0].tolist() == [0]


def test_report_of_conversions() -> None:
    """The argument, the softmax and the result; a sum of stored numbers is one loop."""
    q = "!quant.uniform<u8:f32, 0.5:3>"
    module = Parser(
        make_context(),
        f"""
        func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3x{q}>) -> tensor<2x3xf32> {{
          %a = glow.quantize %x : (tensor<2x3xf32>) -> tensor<2x3x{q}>
          %b = glow.dequantize %a : (tensor<2x3x{q}>) -> tensor<2x3xf32>
          %c = glow.dequantize %y : (tensor<2x3x{q}>) -> tensor<2x3xf32>
          %d = glow.add %b, %c : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
          %e = glow.quantize %d : (tensor<2x3xf32>) -> tensor<2x3x{q}>
          %f = glow.dequantize %e : (tensor<2x3x{q}>) -> tensor<2x3xf32>
          %g = glow.softmax %f axis 1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
          %h = glow.quantize %g : (tensor<2x3xf32>) -> tensor<2x3x{q}>
          %i = glow.dequantize %h : (tensor<2x3x{q}>) -> tensor<2x3xf32>
          func.return %i : tensor<2x3xf32>
        }}
        """,
    ).parse_module()
    found = {c.name: c for c in conversions(module)}
    assert {name: c.reason for name, c in found.items()} == {
        "a": Reason.ARGUMENT,
        "b": Reason.ELEMENTWISE,
        "c": Reason.ELEMENTWISE,
        "e": Reason.ELEMENTWISE,
        "f": Reason.OPERATOR,
        "h": Reason.OPERATOR,
        "i": Reason.RESULT,
    }
    assert str(found["f"]) == "dequantize f (6 elements): glow.softmax computes real numbers"


def test_behind_products_conversions_are_in_registers(
    rng: np.random.Generator, tmp_path: Path
) -> None:
    model = quantize(NETWORKS["residual"](rng), tmp_path)
    reasons = [c.reason for c in conversions(formed(import_onnx(model)))]
    assert Reason.EPILOGUE in reasons
    assert reasons.count(Reason.OPERATOR) == 2  # the global average pool
