"""Softmax and normalisation of rows agree with the interpreter, on several machines."""

from __future__ import annotations

import numpy as np
import pytest
from glow.glow_dialects.glow.normalization import (
    GroupNormOp,
    LayerNormOp,
    RmsNormOp,
    SoftmaxOp,
)
from glow.glow_dialects.operator import with_shape
from glow.tests.support.kernels import parse
from glow.tests.support.native import apply, check_native, run_native
from glow.tests.support.operator_kernels import MACHINES, check, one_node, random
from glow.tests.support.seeds import numbered
from xdsl.dialects.builtin import f32

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64], ids=str)
ROWS = [
    ((1, 9, 40), 2),
    ((2, 3, 5, 17), 2),
    ((4, 33), 1),
    ((7, 1), 1),
    ((50,), 0),
    ((3, 8, 1, 100), 3),
    ((3, 5, 6), 0),
]


@DTYPES
@pytest.mark.parametrize("case", ROWS, ids=str)
def test_layer_norm(case: tuple, dtype: type):
    shape, axis = case
    scale, bias = (random(i, *shape[axis:], dtype=dtype) for i in (2, 3))
    check(LayerNormOp, random(1, *shape, dtype=dtype) + dtype(1), scale, bias, axis=axis)


@DTYPES
@pytest.mark.parametrize("case", ROWS, ids=str)
def test_rms_norm(case: tuple, dtype: type):
    shape, axis = case
    scale = random(2, *shape[axis:], dtype=dtype)
    check(RmsNormOp, random(1, *shape, dtype=dtype), scale, axis=axis, epsilon=0.1)


@DTYPES
@pytest.mark.parametrize(
    "case",
    [((2, 6, 5, 7), 3), ((1, 4, 9), 4), ((3, 5, 2, 2, 3), 1), ((2, 8), 2), ((1, 3, 40, 3), 3)],
    ids=str,
)
def test_group_norm(case: tuple, dtype: type):
    shape, groups = case
    x, scale, bias = (random(i, *s, dtype=dtype) for i, s in enumerate([shape, *[shape[1:2]] * 2]))
    check(GroupNormOp, x, scale, bias, groups=groups)


@pytest.mark.parametrize("mean", [1e3, -3e4])
def test_a_large_mean_costs_only_its_own_rounding(mean: float):
    x = random(1, 6, 384) + np.float32(mean)
    parameters = np.ones(384, np.float32), np.zeros(384, np.float32)
    check(LayerNormOp, x, *parameters, axis=1, tolerance=abs(mean) * 2e-7)


@pytest.mark.parametrize("shape", [(1, 12, 5, 128), (9, 100), (3, 1), (33,), (2, 6, 7)], ids=str)
def test_softmax_of_rows(shape: tuple[int, ...]):
    axis = len(shape) - 1
    check(SoftmaxOp, 10 * random(1, *shape), axis=axis)
    # elements that do not count, as masks make them; one in each row does
    x = random(2, *shape)
    x[numbered(3).random(shape) < 0.7] = -np.inf
    x[..., 0] = 1
    check(SoftmaxOp, x, axis=axis)
    x[x == -np.inf] = np.finfo(np.float32).min
    check(SoftmaxOp, x, axis=axis)
    check(SoftmaxOp, (random(4, *shape) * 5).astype(np.float16), axis=axis)


@pytest.mark.parametrize("columns", [3, 40, 128])
def test_softmax_of_rows_with_nan_or_without_numbers(columns: int):
    """Every element of such a row is NaN, whether NaN comes first or last; others are as usual."""
    x = random(1, 9, columns)
    x[1, 0] = x[4, -1] = np.nan
    x[6] = -np.inf
    module = one_node(SoftmaxOp, [with_shape(f32, x.shape)], axis=1)
    apply(module, "glow-irgen,glow-eliminate-copies,glow-allocate")
    (found,) = run_native(module, [x], None)
    bad = np.isin(np.arange(9), [1, 4, 6])
    assert np.isnan(found[bad]).all()
    np.testing.assert_allclose(found[~bad].sum(1), 1, rtol=1e-6)


CHAIN = """
func.func @main(%x: tensor<2x7x3x19xTYPE>, %m: tensor<7x1x19xTYPE>, %r: tensor<2x7x3x19xf64>)
    -> tensor<2x7x3x19xf64> {
  %b = glow.broadcast %m : (tensor<7x1x19xTYPE>) -> tensor<2x7x3x19xTYPE>
  %n = glow.OPERATOR : (tensor<2x7x3x19xTYPE>) -> tensor<2x7x3x19xTYPE>
  %c = glow.less %b, %n
     : (tensor<2x7x3x19xTYPE>, tensor<2x7x3x19xTYPE>) -> tensor<2x7x3x19xi1>
  %p = glow.mul %n, %b
     : (tensor<2x7x3x19xTYPE>, tensor<2x7x3x19xTYPE>) -> tensor<2x7x3x19xTYPE>
  %s = glow.select %c, %n, %p
     : (tensor<2x7x3x19xi1>, tensor<2x7x3x19xTYPE>, tensor<2x7x3x19xTYPE>)
    -> tensor<2x7x3x19xTYPE>
  %w = glow.cast %s : (tensor<2x7x3x19xTYPE>) -> tensor<2x7x3x19xf64>
  %y = glow.add %w, %r
     : (tensor<2x7x3x19xf64>, tensor<2x7x3x19xf64>) -> tensor<2x7x3x19xf64>
  func.return %y : tensor<2x7x3x19xf64>
}"""


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize(
    "operator",
    [
        "softmax %x axis 3",
        "softmax %x axis 1",
        "log_softmax %x axis 3",
        "local_response_norm %x size 4 alpha 0.3",
    ],
    ids=lambda text: text[:11],
)
def test_chains_run_as_epilogues(operator: str, element: str, threads: int):
    """Results are wider than what the operator computes, and operands are broadcast."""
    module = parse(CHAIN.replace("OPERATOR", operator).replace("TYPE", element))
    apply(
        module, "glow-irgen,glow-eliminate-copies,glow-stack-ops,glow-share-buffers,glow-allocate"
    )
    names = [op.name for op in module.walk() if op.name.startswith("glow_inst.")]
    assert not {"glow_inst.stacked", "glow_inst.alloc_activation"} & set(names)
    dtype = {"f32": np.float32, "f64": np.float64}[element]
    arrays = [
        random(1, 2, 7, 3, 19, dtype=dtype),
        random(2, 7, 1, 19, dtype=dtype),
        random(3, 2, 7, 3, 19, dtype=np.float64),
    ]
    for machine in MACHINES:
        check_native(module.clone(), arrays, machine, 1e-5, threads)
