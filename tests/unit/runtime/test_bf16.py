"""Products of bf16 operands: meaning, the pass, kernels, and whole networks."""

from __future__ import annotations

from pathlib import Path

import glow
import ml_dtypes
import numpy as np
import onnx
import pytest
from glow.errors import CompileError, GlowError
from glow.glow_dialects.glow_cpu.dot import DotConvolutionOp, DotMatMulOp
from glow.glow_dialects.operator import with_shape
from glow.lowering.target import find_target, host_target
from glow.runtime.cpu_backend import CpuBackend
from glow.semantics.dot import pair_rows
from glow.tests.support.native import apply, check_native, kernels_passes
from glow.tests.support.operator_kernels import one_node
from glow.tests.support.small_models import small_network
from glow.tests.unit.runtime.small_networks import network
from glow.tools.glow_run import main as glow_run
from glow.tools.report import relative_errors
from xdsl.dialects.builtin import bf16, f32

SYMBOLS = {"batch": 2}


def expect_instructions() -> None:
    if not find_target().describe().has_bf16_dot:
        pytest.skip("this machine has no AVX512-BF16")


def rounded(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape, np.float32).astype(ml_dtypes.bfloat16)


CONVOLUTIONS = [
    # blocks of input and output channels, image, kernel, strides, dilations
    (1, 1, (1, 1), (1, 1), (1, 1), (1, 1)),
    (2, 3, (7, 9), (3, 3), (1, 1), (1, 1)),
    (3, 2, (15, 6), (3, 2), (2, 1), (1, 2)),
    (2, 5, (14, 14), (1, 1), (2, 2), (1, 1)),
]


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolution(case: tuple, rng: np.random.Generator):
    expect_instructions()
    inputs, outputs, image, kernel, strides, dilations = case
    x = rounded(rng, 2, inputs, *image, 16)
    w = rounded(rng, outputs, inputs, *kernel, 8, 16, 2)
    b = rng.standard_normal((outputs, 16), np.float32)
    types = [with_shape(t, a.shape) for t, a in ((bf16, x), (bf16, w), (f32, b))]
    module = one_node(DotConvolutionOp, types, strides=strides, dilations=dilations)
    apply(module, "glow-irgen,glow-eliminate-copies,glow-allocate")
    check_native(module, [x, w, b], find_target().describe(), 1e-5)


@pytest.mark.parametrize(
    ("rows", "terms", "panels", "rest"),
    [((1,), 2, 1, 0), ((37,), 66, 3, 5), ((2, 9), 128, 2, 0), ((1, 1, 5), 20, 4, 15)],
)
def test_matmul(
    rows: tuple[int, ...], terms: int, panels: int, rest: int, rng: np.random.Generator
):
    expect_instructions()
    x, w = rounded(rng, *rows, terms), rounded(rng, panels, terms // 2, 16, 2)
    types = [with_shape(bf16, x.shape), with_shape(bf16, w.shape)]
    module = one_node(DotMatMulOp, types, columns=16 * panels - rest)
    apply(module, "glow-irgen,glow-eliminate-copies,glow-allocate")
    check_native(module, [x, w], find_target().describe(), 1e-5)


def test_meaning_of_paired_weights(rng: np.random.Generator):
    w = rng.standard_normal((3, 6, 5), np.float32)
    pairs = pair_rows(w, 1)
    assert pairs.shape == (3, 3, 5, 2)
    np.testing.assert_array_equal(pairs[1, 2, 3], w[1, 4:6, 3].astype(ml_dtypes.bfloat16))


def test_network(rng: np.random.Generator):
    """Close to f32, but not the same; the machine agrees with the interpreter about each stage."""
    expect_instructions()
    graph = network(rng)
    model = glow.compile(graph, precision="bf16", cache=False)
    x = rng.standard_normal((1, 3, 23, 30), np.float32)
    (exact,) = glow.compile(graph, "interpreter")(x)
    (found,) = model(x)
    error = np.sqrt(np.mean((found - exact) ** 2) / np.mean(exact**2))
    assert 0 < error < 5e-2
    stage = model.stages["rounded"]
    assert "glow_cpu.dot_convolution" in str(stage)
    assert "glow.cast" in str(stage)
    (same,) = glow.compile(stage, "interpreter")(x)
    np.testing.assert_allclose(found, same, rtol=0, atol=2e-2 * np.abs(exact).max())


def test_matrix_in_a_network(rng: np.random.Generator):
    expect_instructions()
    w = rng.standard_normal((64, 80), np.float32)
    x = rng.standard_normal((9, 64), np.float32)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
        "product",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [9, 64])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [9, 80])],
        [onnx.numpy_helper.from_array(w, "w")],
    )
    model = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8
    )
    compiled = glow.compile(model, precision="bf16", cache=False)
    assert "glow_cpu.dot_matmul" in str(compiled.stages["rounded"])
    a, b = (m.astype(ml_dtypes.bfloat16).astype(np.float64) for m in (x, w))
    np.testing.assert_allclose(compiled(x)[0], a @ b, rtol=0, atol=1e-4)


def test_machines_without_it_and_wrong_names():
    with pytest.raises(GlowError, match="expected precision to be f32 or bf16, found 'f16'"):
        glow.compile(small_network(1), symbols=SYMBOLS, precision="f16")
    if host_target().architecture == "x86_64":
        with pytest.raises(GlowError, match="bf16 needs a CPU with AVX512-BF16"):
            glow.compile(
                small_network(1), symbols=SYMBOLS, precision="bf16", target_cpu="x86-64-v3"
            )


def test_kernels_without_the_instruction_are_an_error(rng: np.random.Generator):
    types = [with_shape(bf16, [3, 4]), with_shape(bf16, [1, 2, 16, 2])]
    module = one_node(DotMatMulOp, types, columns=16)
    apply(module, "glow-irgen,glow-allocate")
    with pytest.raises(CompileError, match="no instruction for sums of 2 products of bf16"):
        apply(module, kernels_passes())


def test_errors_are_reported(capsys: pytest.CaptureFixture[str]):
    expect_instructions()
    digits = Path(glow.__file__).parent / "examples" / "digits" / "digits.onnx"
    assert glow_run([str(digits), "--precision", "bf16", "--no-cache"]) == 0
    assert "error of bf16 against f32" in capsys.readouterr().out


def test_relative_errors():
    exact = np.array([3.0, 4.0, 0.0, 0.0])
    largest, typical = relative_errors(exact + np.array([0.5, 0, 0, 0]), exact)
    assert (largest, typical) == (0.5 / 2.5, 0.25 / 2.5)
    assert relative_errors(np.zeros(3), np.zeros(3)) == (0.0, 0.0)


def test_precision_is_for_backends_given_by_name():
    with pytest.raises(GlowError):
        glow.compile(small_network(1), CpuBackend(), symbols=SYMBOLS, precision="bf16")
