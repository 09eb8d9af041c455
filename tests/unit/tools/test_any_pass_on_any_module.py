"""Every pass on modules that it does not expect: valid IR results, or one clear error."""

from __future__ import annotations

import pytest
from glow.context import make_context
from glow.errors import GlowError
from glow.passes.verify_dominance import verify_dominance
from glow.universe import PASSES, UNIVERSE
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException

MODULES = {
    "nothing": "builtin.module {}",
    "no main": "func.func @other() { func.return }",
    "declaration": "func.func private @main(tensor<4xf32>) -> tensor<4xf32>",
    "identity": """
        func.func @main(%x: tensor<4xf32> {glow.name = "x"})
            -> (tensor<4xf32> {glow.name = "y"}) {
          func.return %x : tensor<4xf32>
        }""",
    "no names": """
        func.func @main(%x: tensor<3x1xf32>) -> tensor<3x1xf32> {
          %y = glow.exp %x : (tensor<3x1xf32>) -> tensor<3x1xf32>
          func.return %y : tensor<3x1xf32>
        }""",
    "empty tensor": """
        func.func @main(%x: tensor<0x3xf32> {glow.name = "x"})
            -> (tensor<0x3xf32> {glow.name = "y"}) {
          %y = glow.relu %x : (tensor<0x3xf32>) -> tensor<0x3xf32>
          func.return %y : tensor<0x3xf32>
        }""",
    "number": """
        func.func @main(%x: tensor<f64> {glow.name = "x"}) -> (tensor<f64> {glow.name = "y"}) {
          %y = glow.mul %x, %x : (tensor<f64>, tensor<f64>) -> tensor<f64>
          func.return %y : tensor<f64>
        }""",
    "missing weights": """
        func.func @main() -> (tensor<8x8xf32> {glow.name = "y"}) {
          %w = glow.constant #glow.blob<"no/such/file", 0, 256> : tensor<8x8xf32>
          %y = glow.transpose %w permutation [1, 0]
             : (tensor<8x8xf32>) -> tensor<8x8xf32>
          func.return %y : tensor<8x8xf32>
        }""",
    "quantized": """
        func.func @main(%x: tensor<5xf32> {glow.name = "x"}) -> (tensor<5xf32> {glow.name = "y"}) {
          %q = glow.quantize %x : (tensor<5xf32>) -> tensor<5x!quant.uniform<i8:f32, 0.5:3>>
          %y = glow.dequantize %q : (tensor<5x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<5xf32>
          func.return %y : tensor<5xf32>
        }""",
    "other dialects": """
        func.func @main(%x: tensor<4xf32> {glow.name = "x"}) -> (tensor<4xf32> {glow.name = "y"}) {
          %y = "test.op"(%x) : (tensor<4xf32>) -> tensor<4xf32>
          func.return %y : tensor<4xf32>
        }""",
    "two functions": """
        func.func @helper(%x: tensor<4xf32>) -> tensor<4xf32> {
          %y = glow.neg %x : (tensor<4xf32>) -> tensor<4xf32>
          func.return %y : tensor<4xf32>
        }
        func.func @main(%x: tensor<4xf32> {glow.name = "x"}) -> (tensor<4xf32> {glow.name = "y"}) {
          %y = func.call @helper(%x) : (tensor<4xf32>) -> tensor<4xf32>
          func.return %y : tensor<4xf32>
        }""",
    "branches": """
        func.func @main(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
          cf.cond_br %c, ^bb1, ^bb2
        ^bb1:
          %y = glow.neg %x : (tensor<4xf32>) -> tensor<4xf32>
          func.return %y : tensor<4xf32>
        ^bb2:
          func.return %x : tensor<4xf32>
        }""",
    "instructions": """
        func.func @main(%x: memref<4xf32> {glow.name = "x", glow.qualifier = "in"},
                        %y: memref<4xf32> {glow.name = "y", glow.qualifier = "out"}) {
          %a = glow_inst.alloc_activation : memref<4xf32>
          glow_inst.exp @out %a, @in %x : memref<4xf32>, memref<4xf32>
          glow_inst.neg @out %y, @in %a : memref<4xf32>, memref<4xf32>
          glow_inst.dealloc_activation %a : memref<4xf32>
          func.return
        }""",
    "leak": """
        func.func @main(%y: memref<4xf32> {glow.name = "y", glow.qualifier = "out"}) {
          %a = glow_inst.alloc_activation : memref<4xf32>
          glow_inst.copy @out %y, @in %a : memref<4xf32>, memref<4xf32>
          func.return
        }""",
    "loops": """
        func.func @main(%x: memref<4xf32>) {
          %zero = arith.constant 0 : index
          %one = arith.constant 1 : index
          %four = arith.constant 4 : index
          scf.for %i = %zero to %four step %one {
            %v = memref.load %x[%i] : memref<4xf32>
            %e = math.exp %v : f32
            memref.store %e, %x[%i] : memref<4xf32>
          }
          func.return
        }""",
    "dynamic": """
        func.func @main(%x: tensor<?x4xf32> {glow.name = "x"})
            -> (tensor<?x4xf32> {glow.name = "y"}) {
          func.return %x : tensor<?x4xf32>
        }""",
}


def outcome(name: str, text: str) -> ModuleOp | str:
    """Returns the result of a pass, or the first line of its error."""
    context = make_context()
    module = Parser(context, text).parse_module()
    module.verify()
    try:
        UNIVERSE.all_passes[name]()().apply(context, module)
    except (GlowError, DiagnosticException) as error:
        return str(error).splitlines()[0]
    return module


@pytest.mark.parametrize("name", [*PASSES])
def test_valid_result_or_one_clear_error(name: str) -> None:
    for what, text in MODULES.items():
        result = outcome(name, text)
        if isinstance(result, str):
            assert len(result) > 15, f"{name} on {what!r}: {result}"
            continue
        result.verify()
        verify_dominance(result)
        printed = str(result)
        again = str(Parser(make_context(), printed).parse_module())
        assert again == printed, f"{name} on {what!r}: the result does not parse back"
