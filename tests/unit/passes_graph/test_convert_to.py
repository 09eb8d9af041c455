"""Conversion to 16-bit floats: results, what stays, and numbers beyond the range."""

from __future__ import annotations

import warnings

import glow
import numpy as np
import pytest
from glow.errors import CompileError
from glow.quantization import optimized_graph
from glow.runtime.interpreter import interpret
from glow.tests.support.graph_text import count, parse, run
from glow.tests.support.small_models import small_network

BIG = """
func.func @main(%x: tensor<2x3xf32> {{glow.name = "x"}}) -> (tensor<2x3xf32> {{glow.name = "y"}}) {{
  %bias = glow.constant dense<[[1.0, {number}, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %s = glow.splat value {splat} : tensor<2x3xf32>
  %a = glow.add %x, %bias : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %y = glow.minimum %a, %s : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}}
"""


def convert(text: str, options: str = "") -> str:
    return str(run(f"glow-convert-to{{{options}}}", parse(text)))


@pytest.mark.parametrize(("element", "bound"), [("f16", 2**-8), ("bf16", 2**-5)])
@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_results_are_close(element: str, bound: float, backend: str, rng: np.random.Generator):
    graph = optimized_graph(small_network(7), {"batch": 3})
    x = {"image": rng.standard_normal((3, 3, 8, 10)).astype(np.float32)}
    want = list(interpret(graph, x).values())
    narrow = run(f"glow-convert-to{{element={element}}},canonicalize,cse,dce", graph.clone())
    assert count(narrow)["glow.cast"] == 1 + len(want)
    found = glow.compile(narrow, backend, cache=False).run(None, x)
    for a, b in zip(found, want, strict=True):
        assert a.dtype == b.dtype == np.float32
        assert 0 < np.abs(a - b).max() < bound * np.abs(b).max()


def test_a_second_time_changes_nothing():
    once = convert(BIG.format(number=2.0, splat=1.0))
    assert convert(once) == once


@pytest.mark.parametrize("number", ["65504.0", "65520.0", "-1.0e5", "3.0e38"])
def test_constants_beyond_the_range(number: str):
    text = BIG.format(number=number, splat=1.0)
    fits = float(number) == 65504
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = convert(text)
    largest = "-6.550400e+04" if number.startswith("-") else "6.550400e+04"
    assert f", {largest}," in found
    assert [str(w.message) for w in caught] == (
        []
        if fits
        else [
            "constants with numbers beyond the range of f16: "
            f"bias ({float(np.float32(number)):.6g}); they are the largest number of the type now"
        ]
    )
    if not fits:
        with pytest.raises(CompileError, match=r"beyond the range of f16: bias \("):
            convert(text, "overflow=refuse")
    # what reads it stays, and so does the constant
    kept = convert(text, "overflow=refuse keep=add")
    assert "glow.add %x, %bias : (tensor<2x3xf32>" in kept


def test_splats_beyond_the_range_and_infinity():
    with pytest.warns(UserWarning, match=r"range of f16: s \(1e\+06\)"):
        found = convert(BIG.format(number=2.0, splat="1.0e6"))
    assert "value 65504.0" in found
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        infinite = BIG.format(number=2.0, splat=2.0)
        infinite = infinite.replace("value 2.0", "{value = 0x7FF0000000000000 : f64}")
        assert "value = 0x7ff0000000000000" in convert(infinite)
        # bf16 has the range of f32
        convert(BIG.format(number="3.0e38", splat="1.0e30"), "element=bf16")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("element=f64", "expected an element of f16, bf16, found 'f64'"),
        ("overflow=wrap", "expected overflow to be saturate or refuse, found 'wrap'"),
        ("keep=conv9", "cannot keep conv9 in f32"),
    ],
)
def test_wrong_options(options: str, message: str):
    with pytest.raises(CompileError, match=message):
        convert(BIG.format(number=1.0, splat=1.0), options)


def test_operators_without_narrow_types_stay(rng: np.random.Generator):
    module = parse("""
func.func @main(%x: tensor<5x7xf32> {glow.name = "x"}, %q: tensor<3x9xui8> {glow.name = "q"})
    -> (tensor<2x1xf32> {glow.name = "y"}, tensor<5x7xf32> {glow.name = "z"}) {
  %i = glow.constant dense<[2, 0, 1]> : tensor<3xi64>
  %f = glow.constant dense<[0, 1, 2]> : tensor<3xi64>
  %w = glow.constant dense<[0.5, 1.0, -2.0]> : tensor<3xf32>
  %y = glow.fused_embedding_bag %q, %i, %w, %f
     : (tensor<3x9xui8>, tensor<3xi64>, tensor<3xf32>, tensor<3xi64>) -> tensor<2x1xf32>
  %z = glow.exp %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return %y, %z : tensor<2x1xf32>, tensor<5x7xf32>
}
""")
    narrow = run("glow-convert-to", module.clone())
    narrow.verify()
    assert "glow.exp %x_1 : (tensor<5x7xf16>)" in str(narrow)
    x = {"x": rng.standard_normal((5, 7), np.float32), "q": rng.integers(0, 9, (3, 9), np.uint8)}
    want, found = interpret(module, x), interpret(narrow, x)
    np.testing.assert_array_equal(found["y"], want["y"])
    np.testing.assert_allclose(found["z"], want["z"], rtol=2**-8)
