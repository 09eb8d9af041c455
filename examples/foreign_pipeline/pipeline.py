"""
Another compiler on xDSL that uses two passes of this one.

    python examples/foreign_pipeline/pipeline.py

The other compiler has a dialect of its own, `shop`, with one operation, and a lowering of it into
the `glow` dialect. It then runs node lowering, so that only linear algebra is left, and the
scheduler. Nothing of the command-line tools or of `glow.compile` takes part: passes are classes
that one imports, constructs with options, and applies to a module.
"""

from __future__ import annotations

from dataclasses import dataclass

from glow.glow_dialects.glow import GLOW
from glow.glow_dialects.glow.activation import SigmoidOp
from glow.glow_dialects.glow.arithmetic import MulOp
from glow.passes.graph.lower_nodes import LowerNodesPass
from glow.passes.graph.schedule_nodes import ScheduleNodesPass
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp, TensorType
from xdsl.dialects.func import Func
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.passes import ModulePass, PassPipeline
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.traits import Pure


@irdl_op_definition
class SwishOp(IRDLOperation):
    """`x * sigmoid(x)`."""

    name = "shop.swish"

    input = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$input attr-dict `:` type($input) `->` type($result)"


SHOP = Dialect("shop", [SwishOp])


class LowerSwish(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SwishOp, rewriter: PatternRewriter, /) -> None:
        sigmoid = SigmoidOp.of(op.input)
        product = MulOp.of(op.input, sigmoid.result)
        rewriter.replace(op, [sigmoid, product])


@dataclass(frozen=True)
class LowerShopPass(ModulePass):
    """Express the dialect `shop` in the dialect `glow`."""

    name = "lower-shop"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(LowerSwish()).rewrite_module(op)


PROGRAM = """
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = shop.swish %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %b = glow.sub %a, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %b : tensor<2x3xf32>
}
"""


def compile_program(text: str) -> ModuleOp:
    """Parses a program and runs the pipeline on it."""
    context = Context()
    for dialect in (Builtin, Func, GLOW, SHOP):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    pipeline = PassPipeline((LowerShopPass(), LowerNodesPass(backend="cpu"), ScheduleNodesPass()))
    pipeline.apply(context, module)
    module.verify()
    return module


if __name__ == "__main__":
    print(compile_program(PROGRAM))
