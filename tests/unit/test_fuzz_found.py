"""Small graphs for the bugs that random ones over all operators have found (`glow.tests.fuzz`)."""

from __future__ import annotations

import glow
import numpy as np
import onnxruntime
import pytest
from glow.context import make_context
from glow.frontend.onnx.export import export_onnx
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser


def parsed(text: str) -> ModuleOp:
    return Parser(make_context(), text).parse_module()


def test_a_weight_without_elements_leaves_others_their_place(rng: np.random.Generator) -> None:
    graph = parsed("""
    func.func @main(%d: tensor<9x5xi16>, %i: tensor<0xi64>, %x: tensor<3xi32>)
        -> (tensor<9x5xi16>, tensor<3xi32>) {
      %u = glow.constant dense<> : tensor<0x5xi16>
      %w = glow.constant dense<[1, 2, 3]> : tensor<3xi32>
      %r = glow.scatter %d, %i, %u
        : (tensor<9x5xi16>, tensor<0xi64>, tensor<0x5xi16>) -> tensor<9x5xi16>
      %y = glow.add %x, %w : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
      func.return %r, %y : tensor<9x5xi16>, tensor<3xi32>
    }
    """)
    data, x = rng.integers(-9, 9, (9, 5), np.int16), rng.integers(-9, 9, 3, np.int32)
    same, found = glow.compile(graph, cache=False)(data, np.zeros(0, np.int64), x)
    np.testing.assert_array_equal(same, data)
    np.testing.assert_array_equal(found, x + np.array([1, 2, 3], np.int32))


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_the_complement_of_narrow_integers_stays_narrow(backend: str) -> None:
    graph = parsed("""
    func.func @main(%x: tensor<4xi8>) -> tensor<4xi32> {
      %u = glow.cast %x : (tensor<4xi8>) -> tensor<4xui2>
      %n = glow.not %u : (tensor<4xui2>) -> tensor<4xui2>
      %y = glow.cast %n : (tensor<4xui2>) -> tensor<4xi32>
      func.return %y : tensor<4xi32>
    }
    """)
    (found,) = glow.compile(graph, backend=backend, cache=False)(np.arange(4, dtype=np.int8))
    np.testing.assert_array_equal(found, [3, 2, 1, 0])


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_a_transposed_convolution_of_no_channels_is_its_bias(
    backend: str, rng: np.random.Generator
) -> None:
    graph = parsed("""
    func.func @main(%x: tensor<2x0x3xf32>, %w: tensor<0x3x2xf32>, %b: tensor<3xf32>)
        -> tensor<2x3x4xf32> {
      %y = glow.transposed_convolution %x, %w, %b
        : (tensor<2x0x3xf32>, tensor<0x3x2xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
      func.return %y : tensor<2x3x4xf32>
    }
    """)
    b = rng.standard_normal(3).astype(np.float32)
    empty = np.zeros((2, 0, 3), np.float32), np.zeros((0, 3, 2), np.float32)
    (found,) = glow.compile(graph, backend=backend, cache=False)(*empty, b)
    np.testing.assert_array_equal(found, np.broadcast_to(b[:, None], (2, 3, 4)))


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_a_convolution_of_no_channels_is_its_bias(backend: str, rng: np.random.Generator) -> None:
    graph = parsed("""
    func.func @main(%x: tensor<2x0x5xf32>, %w: tensor<3x0x2xf32>, %b: tensor<3xf32>)
        -> tensor<2x3x4xf32> {
      %y = glow.convolution %x, %w, %b
        : (tensor<2x0x5xf32>, tensor<3x0x2xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
      func.return %y : tensor<2x3x4xf32>
    }
    """)
    b = rng.standard_normal(3).astype(np.float32)
    empty = np.zeros((2, 0, 5), np.float32), np.zeros((3, 0, 2), np.float32)
    (found,) = glow.compile(graph, backend=backend, cache=False)(*empty, b)
    np.testing.assert_array_equal(found, np.broadcast_to(b[:, None], (2, 3, 4)))


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_bounds_that_the_type_lacks_are_its_nearest_numbers(backend: str) -> None:
    graph = parsed("""
    func.func @main(%x: tensor<4xui8>) -> (tensor<4xui8>, tensor<4xui8>) {
      %low = glow.clip %x min 0 max -1 : (tensor<4xui8>) -> tensor<4xui8>
      %all = glow.clip %x min -3 max 300 : (tensor<4xui8>) -> tensor<4xui8>
      func.return %low, %all : tensor<4xui8>, tensor<4xui8>
    }
    """)
    x = np.array([0, 1, 7, 200], np.uint8)
    low, same = glow.compile(graph, backend=backend, cache=False)(x)
    np.testing.assert_array_equal(low, np.zeros(4, np.uint8))
    np.testing.assert_array_equal(same, x)


def test_exported_norms_of_f64_compute_in_f64(rng: np.random.Generator) -> None:
    graph = parsed("""
    func.func @main(%x: tensor<1x4x5xf64>, %s: tensor<4xf64>) -> tensor<1x4x5xf64> {
      %y = glow.group_norm %x, %s, %s groups 2 epsilon 0.01
        : (tensor<1x4x5xf64>, tensor<4xf64>, tensor<4xf64>) -> tensor<1x4x5xf64>
      func.return %y : tensor<1x4x5xf64>
    }
    """)
    inputs = [100 + rng.standard_normal((1, 4, 5)), rng.standard_normal(4)]
    exported = export_onnx(graph)
    names = [info.name for info in exported.graph.input]
    session = onnxruntime.InferenceSession(exported.SerializeToString())
    (found,) = session.run(None, dict(zip(names, inputs, strict=True)))
    (want,) = glow.compile(graph, "interpreter")(*inputs)
    # the attribute epsilon is an f32; numbers near 100 would lose 1e-5 in f32
    np.testing.assert_allclose(np.asarray(found), want, rtol=0, atol=1e-7)


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_an_epilogue_with_an_operand_twice(backend: str, rng: np.random.Generator) -> None:
    graph = parsed("""
    func.func @main(%x: tensor<3x5xf32>, %w: tensor<5x7xf32>, %m: tensor<3x7xf32>)
        -> tensor<3x7xf32> {
      %p = glow.matmul %x, %w : (tensor<3x5xf32>, tensor<5x7xf32>) -> tensor<3x7xf32>
      %y = glow.multiply_add %p, %m, %m
        : (tensor<3x7xf32>, tensor<3x7xf32>, tensor<3x7xf32>) -> tensor<3x7xf32>
      func.return %y : tensor<3x7xf32>
    }
    """)
    x, w, m = (rng.standard_normal(s).astype(np.float32) for s in ((3, 5), (5, 7), (3, 7)))
    (found,) = glow.compile(graph, backend=backend, cache=False)(x, w, m)
    np.testing.assert_allclose(found, x @ w * m + m, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_a_group_of_nearly_equal_elements_keeps_its_variance(backend: str) -> None:
    """onnxruntime subtracts the square of a mean, and is off by 2e-3 here."""
    graph = parsed("""
    func.func @main(%x: tensor<1x8xf32>, %s: tensor<8xf32>) -> tensor<1x8xf32> {
      %y = glow.group_norm %x, %s, %s groups 4
        : (tensor<1x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<1x8xf32>
      func.return %y : tensor<1x8xf32>
    }
    """)
    x = np.array([[0, 1, 0, 0.01, 2, 2 + 2.0**-10, 5, 9]], np.float32)
    (found,) = glow.compile(graph, backend=backend, cache=False)(x, np.ones(8, np.float32))
    pairs = x.astype(np.float64).reshape(4, 2)
    apart = pairs - pairs.mean(1, keepdims=True)
    wanted = apart / np.sqrt(pairs.var(1, keepdims=True) + 1e-5) + 1
    np.testing.assert_allclose(found, wanted.reshape(1, 8), rtol=0, atol=1e-6)
