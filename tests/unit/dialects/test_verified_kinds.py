"""The memory of right operations hides no wrong one."""

from __future__ import annotations

import pytest
from glow.context import make_context
from glow.glow_dialects import verified_kinds
from xdsl.dialects import arith, func, scf, test
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Block, Operation, Region
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

TEXT = """
func.func @f(%a: i32, %b: i32) -> i32 {
  %c = arith.addi %a, %b : i32
  func.return %c : i32
}
"""


@pytest.fixture
def function() -> func.FuncOp:
    """Returns a function that is right, and whose kinds are known."""
    module = Parser(make_context(), TEXT).parse_module()
    for _ in range(2):
        module.verify()
    (found,) = module.ops
    assert isinstance(found, func.FuncOp)
    return found


def the(kind: type[Operation], function: func.FuncOp) -> Operation:
    (found,) = (op for op in function.body.block.ops if isinstance(op, kind))
    return found


def test_types(function: func.FuncOp) -> None:
    a, b = test.TestOp.create(result_types=[i32, i64]).results
    wrong = arith.AddiOp.create(operands=[a, b], result_types=[i32])
    with pytest.raises(VerifyException):
        wrong.verify()
    with pytest.raises(VerifyException):
        arith.AddiOp.create(operands=[a, a], result_types=[i64]).verify()
    with pytest.raises(VerifyException):
        arith.AddiOp.create(operands=[a], result_types=[i32]).verify()
    arith.AddiOp.create(operands=[b, b], result_types=[i64]).verify()


def test_an_operation_that_changes(function: func.FuncOp) -> None:
    add = the(arith.AddiOp, function)
    add.properties["unknown"] = StringAttr("x")
    with pytest.raises(VerifyException, match="property 'unknown' is not defined"):
        function.verify()
    add.attributes["unknown"] = add.properties.pop("unknown")
    function.verify()
    add.properties["overflowFlags"] = StringAttr("x")
    with pytest.raises(VerifyException):
        function.verify()


def loop(blocks: int) -> scf.ForOp:
    bounds = [arith.ConstantOp(IntegerAttr.from_index_int_value(i)).result for i in range(3)]
    body = Region([Block(arg_types=[bounds[0].type]) for _ in range(blocks)])
    for block in body.blocks:
        block.add_op(scf.YieldOp())
    return scf.ForOp(bounds[0], bounds[1], bounds[2], [], body)


def test_traits_look_around_each_time(function: func.FuncOp) -> None:
    right = loop(1)
    right.verify()
    end = right.body.block.last_op
    assert end is not None
    end.detach()
    the(func.ReturnOp, function).detach()
    function.body.block.add_op(end)
    with pytest.raises(VerifyException, match="expects parent"):
        function.verify()


def test_regions() -> None:
    loop(1).verify()
    with pytest.raises(VerifyException, match="expected a single block"):
        loop(2).verify()


@pytest.mark.parametrize("count", [3, 1000])
def test_much_data_is_not_kept_alive(count: int) -> None:
    data = DenseIntOrFPElementsAttr.from_list(TensorType(i32, [count]), list(range(count)))
    op = arith.ConstantOp(data)
    op.verify()
    assert (verified_kinds._kind(op) in verified_kinds._right) == (count == 3)
    op.properties["more"] = data
    with pytest.raises(VerifyException):
        op.verify()
