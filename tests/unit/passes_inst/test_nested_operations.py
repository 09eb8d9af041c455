"""The operations within an operation."""

from glow.passes.nested_operations import operations_of
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i1, i32
from xdsl.ir import Block, Region


def test_order_is_that_of_a_walk() -> None:
    number = arith.ConstantOp(IntegerAttr(1, i32))
    condition = arith.ConstantOp(IntegerAttr(1, i1))
    inner = scf.IfOp(
        condition, (), Region(Block([arith.ConstantOp(IntegerAttr(2, i32))])), Region()
    )
    outer = scf.IfOp(condition, (), Region(Block([inner])), Region(Block([number.clone()])))
    module = ModuleOp([number, condition, outer])
    assert operations_of(module) == list(module.walk())
    assert len(operations_of(module)) == 7
