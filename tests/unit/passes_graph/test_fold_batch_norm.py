"""Batch-norm folding: numbers, groups, precision, and what ends a chain."""

from __future__ import annotations

import numpy as np
import pytest
from glow.glow_dialects.glow.constant import ConstantOp
from glow.passes.graph.fold_batch_norm import CHUNK, scale_rows
from glow.runtime.interpreter import interpret
from glow.semantics.arrays import constant_of, make_constant
from glow.tests.support.graph_text import count, parse, run
from glow.tests.support.seeds import numbered

FOLD = "glow-fold-constants,glow-fold-batch-norm,glow-fold-constants"


def network(element: str, group: int, channels: int = 4, outputs: int = 6) -> str:
    inner = channels // group
    vector, result = f"tensor<{outputs}x{element}>", f"tensor<2x{outputs}x5x{element}>"
    weights = f"tensor<{outputs}x{inner}x3x{element}>"
    parameters = "\n".join(
        f"  %{n} = glow.splat value 1.0 : {vector}" for n in ("b", "s", "o", "m", "v")
    )
    return f"""
    func.func @main(%x: tensor<2x{channels}x5x{element}> {{glow.name = "x"}})
        -> ({result} {{glow.name = "y"}}) {{
      %w = glow.splat value 1.0 : {weights}
      {parameters}
      %c = glow.convolution %x, %w, %b pads [1, 1] group {group}
         : (tensor<2x{channels}x5x{element}>, {weights}, {vector}) -> {result}
      %n = glow.batch_norm %c, %s, %o, %m, %v epsilon 0.001
         : ({result}, {vector}, {vector}, {vector}, {vector}) -> {result}
      func.return %n : {result}
    }}"""


def randomize(module, seed: int) -> None:
    """Puts random numbers in the place of splats: positive ones, as variances must be."""
    rng = numbered(seed)
    for op in list(module.walk()):
        if op.name == "glow.splat":
            shape = op.results[0].type.get_shape()
            array = rng.uniform(0.3, 1.7, shape) / np.sqrt(np.prod(shape[1:]))
            element = op.results[0].type.element_type
            dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[str(element)]
            new = make_constant(array.astype(dtype))
            op.parent.insert_op_before(new, op)
            op.results[0].replace_all_uses_with(new.result)
            op.detach()
            op.erase()


@pytest.mark.parametrize(("element", "tolerance"), [("f16", 4e-3), ("f32", 1e-6), ("f64", 1e-14)])
@pytest.mark.parametrize("group", [1, 2])
def test_folding_into_grouped_convolutions(element: str, tolerance: float, group: int):
    module = parse(network(element, group))
    randomize(module, group)
    dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[element]
    inputs = [numbered(5).standard_normal((2, 4, 5)).astype(dtype)]
    want = interpret(module, inputs)["y"].astype(np.float64)
    run(FOLD, module)
    assert count(module)["glow.batch_norm"] == 0
    assert count(module)["glow.mul"] + count(module)["glow.add"] == 0
    found = interpret(module, inputs)["y"].astype(np.float64)
    np.testing.assert_allclose(found, want, rtol=0, atol=tolerance * np.abs(want).max())


def test_weights_are_rounded_once():
    """The folded filter is the f32 number nearest to the exact product."""
    module = parse(network("f32", 1))
    randomize(module, 3)
    arrays = {}
    for op in module.walk():
        if isinstance(op, ConstantOp):
            user, value = op.result.first_use, constant_of(op.result)
            assert user is not None
            assert value is not None
            arrays[user.operation.name, user.index] = value.astype(np.float64)
    scale, variance = arrays["glow.batch_norm", 1], arrays["glow.batch_norm", 4]
    factor = scale / np.sqrt(variance + 1e-3)
    want = (arrays["glow.convolution", 1] * factor[:, None, None]).astype(np.float32)
    run(FOLD, module)
    (convolution,) = (op for op in module.walk() if op.name == "glow.convolution")
    np.testing.assert_array_equal(constant_of(convolution.operands[1]), want)


def test_rows_are_scaled_in_chunks():
    rng = numbered(8)
    weights = rng.standard_normal((3, CHUNK // 2)).astype(np.float32)
    factor = rng.uniform(-2, 2, 3)
    want = (weights * factor[:, None]).astype(np.float32)
    np.testing.assert_array_equal(scale_rows(weights, factor), want)


CHAIN = """
func.func @main(%x: tensor<2x3x5xf32> {glow.name = "x"})
    -> (tensor<2x3x5xf32> {glow.name = "y"} RESULTS) {
  %k = glow.constant dense<[[2.0], [-3.0], [0.5]]> : tensor<3x1xf32>
  %kb = glow.broadcast %k : (tensor<3x1xf32>) -> tensor<2x3x5xf32>
  %s = glow.splat value 0.25 : tensor<2x3x5xf32>
  %a = glow.mul %kb, %x : (tensor<2x3x5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %b = glow.sub %s, %a : (tensor<2x3x5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %c = glow.div %b, %kb : (tensor<2x3x5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %d = glow.neg %c : (tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  func.return %d EXTRA : tensor<2x3x5xf32> TYPES
}"""


def chain(extra: str) -> str:
    text = CHAIN.replace("EXTRA", f", {extra}" if extra else "")
    text = text.replace("TYPES", ", tensor<2x3x5xf32>" if extra else "")
    return text.replace("RESULTS", ', tensor<2x3x5xf32> {glow.name = "z"}' if extra else "")


@pytest.mark.parametrize(("extra", "nodes"), [("", 1), ("%b", 3), ("%c", 3)])
def test_a_chain_ends_where_a_value_has_another_user(extra: str, nodes: int):
    # the whole chain is x - 0.25 / k, one sum
    module = parse(chain(extra))
    inputs = [numbered(2).standard_normal((2, 3, 5)).astype(np.float32)]
    want = interpret(module, inputs)
    run("glow-fold-batch-norm", module)
    kinds = ("glow.mul", "glow.add", "glow.sub", "glow.div", "glow.neg")
    assert sum(count(module)[k] for k in kinds) == nodes
    for name, found in interpret(module, inputs).items():
        np.testing.assert_allclose(found, want[name], rtol=1e-5, atol=1e-6)


def test_a_quotient_by_zero_stays():
    module = parse("""
    func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
      %zero = glow.splat value 0.0 : tensor<2x3xf32>
      %one = glow.splat value 1.0 : tensor<2x3xf32>
      %a = glow.div %x, %zero : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %b = glow.mul %a, %zero : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %c = glow.add %b, %one : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      func.return %c : tensor<2x3xf32>
    }""")
    before = str(module)
    assert str(run("glow-fold-batch-norm", module)) == before


@pytest.mark.parametrize(("factor", "folds"), [("0.5", 1), ("0.00001", 0), ("60000.0", 0)])
def test_half_precision_weights_must_not_leave_their_range(factor: str, folds: int):
    module = parse(f"""
    func.func @main(%x: tensor<1x1x3xf16> {{glow.name = "x"}})
        -> (tensor<1x1x3xf16> {{glow.name = "y"}}) {{
      %w = glow.constant dense<[[[1.5, 0.25, 1.0]]]> : tensor<1x1x3xf16>
      %b = glow.constant dense<[0.0]> : tensor<1xf16>
      %k = glow.splat value {factor} : tensor<1x1x3xf16>
      %c = glow.convolution %x, %w, %b pads [1, 1]
         : (tensor<1x1x3xf16>, tensor<1x1x3xf16>, tensor<1xf16>) -> tensor<1x1x3xf16>
      %m = glow.mul %c, %k : (tensor<1x1x3xf16>, tensor<1x1x3xf16>) -> tensor<1x1x3xf16>
      func.return %m : tensor<1x1x3xf16>
    }}""")
    run("glow-fold-batch-norm", module)
    assert count(module)["glow.mul"] == 1 - folds
