"""What random graphs over all operators have found (`glow.tests.fuzz`), each as a small graph."""

from __future__ import annotations

import glow
import numpy as np
import pytest
from glow.context import make_context
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
