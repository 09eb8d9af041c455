"""Small networks, split by hand."""

from __future__ import annotations

import numpy as np
from glow.context import make_context
from glow.tests.support.seeds import generator
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

WIDTH = 7

CHAIN = """
func.func private @first(%x: tensor<1x7xf32>) -> tensor<1x7xf32> attributes {
    glow.device = "d0", glow.backend = "gated"} {
  %w = glow.constant dense<SCALE> : tensor<1x7xf32>
  %y = glow.mul %x, %w : (tensor<1x7xf32>, tensor<1x7xf32>) -> tensor<1x7xf32>
  func.return %y : tensor<1x7xf32>
}
func.func private @second(%x: tensor<1x7xf32>) -> tensor<1x7xf32> attributes {
    glow.device = "d1", glow.backend = "gated"} {
  %y = glow.neg %x : (tensor<1x7xf32>) -> tensor<1x7xf32>
  func.return %y : tensor<1x7xf32>
}
func.func @main(%x: tensor<1x7xf32> {glow.name = "x"}) -> (tensor<1x7xf32> {glow.name = "y"}) {
  %a = func.call @first(%x) : (tensor<1x7xf32>) -> tensor<1x7xf32>
  %y = func.call @second(%a) : (tensor<1x7xf32>) -> tensor<1x7xf32>
  func.return %y : tensor<1x7xf32>
}
"""
"""y = -(x * SCALE), the product on d0 and the rest on d1."""

DIAMOND = """
func.func private @top(%x: tensor<1x7xf32>) -> tensor<1x7xf32> attributes {
    glow.device = "d0", glow.backend = "gated"} {
  %y = glow.neg %x : (tensor<1x7xf32>) -> tensor<1x7xf32>
  func.return %y : tensor<1x7xf32>
}
func.func private @left(%x: tensor<1x7xf32>) -> tensor<1x7xf32> attributes {
    glow.device = "d1", glow.backend = "gated"} {
  %y = glow.abs %x : (tensor<1x7xf32>) -> tensor<1x7xf32>
  func.return %y : tensor<1x7xf32>
}
func.func private @right(%x: tensor<1x7xf32>) -> tensor<1x7xf32> attributes {
    glow.device = "d2", glow.backend = "gated"} {
  %y = glow.relu %x : (tensor<1x7xf32>) -> tensor<1x7xf32>
  func.return %y : tensor<1x7xf32>
}
func.func private @bottom(%x: tensor<1x7xf32>, %y: tensor<1x7xf32>) -> tensor<1x7xf32> attributes {
    glow.device = "d0", glow.backend = "gated"} {
  %z = glow.add %x, %y : (tensor<1x7xf32>, tensor<1x7xf32>) -> tensor<1x7xf32>
  func.return %z : tensor<1x7xf32>
}
func.func @main(%x: tensor<1x7xf32> {glow.name = "x"})
    -> (tensor<1x7xf32> {glow.name = "sum"}, tensor<1x7xf32> {glow.name = "left"}) {
  %a = func.call @top(%x) : (tensor<1x7xf32>) -> tensor<1x7xf32>
  %b = func.call @left(%a) : (tensor<1x7xf32>) -> tensor<1x7xf32>
  %c = func.call @right(%a) : (tensor<1x7xf32>) -> tensor<1x7xf32>
  %d = func.call @bottom(%b, %c) : (tensor<1x7xf32>, tensor<1x7xf32>) -> tensor<1x7xf32>
  func.return %d, %b : tensor<1x7xf32>, tensor<1x7xf32>
}
"""
"""sum = |x| + max(-x, 0) and left = |x|, on d0, d1, d2 and d0."""

SINGLE = """
func.func @main(%x: tensor<1x7xf32> {glow.name = "x"}) -> (tensor<1x7xf32> {glow.name = "y"}) {
  %w = glow.constant dense<SCALE> : tensor<1x7xf32>
  %y = glow.mul %x, %w : (tensor<1x7xf32>, tensor<1x7xf32>) -> tensor<1x7xf32>
  func.return %y : tensor<1x7xf32>
}
"""
"""y = x * SCALE, not split."""


def parse(text: str, scale: float = 3.0) -> ModuleOp:
    return Parser(make_context(), text.replace("SCALE", f"{scale:.6e}")).parse_module()


def row() -> np.ndarray:
    """Returns a random input."""
    return generator().standard_normal((1, WIDTH)).astype(np.float32)
