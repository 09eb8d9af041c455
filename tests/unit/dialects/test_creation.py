"""Operations made by `creation.create`, beside those of xDSL's constructor."""

from __future__ import annotations

import pytest
from glow.glow_dialects import glow_vec
from glow.glow_dialects import llvm_extended as lx
from glow.glow_dialects.creation import append, create
from xdsl.dialects import arith, llvm, scf
from xdsl.dialects.builtin import IntegerAttr, f32, i1, i32
from xdsl.ir import Attribute, Block, Operation, Region

# fadd, addi and getelementptr have defaults
CASES: list[tuple[type[Operation], list[Attribute], list[Attribute], dict[str, Attribute]]] = [
    (llvm.FAddOp, [f32, f32], [f32], {}),
    (llvm.StoreOp, [f32, llvm.LLVMPointerType()], [], {"alignment": IntegerAttr(4, 64)}),
    (arith.AddiOp, [i32, i32], [i32], {}),
    (arith.ConstantOp, [], [i32], {"value": IntegerAttr(3, i32)}),
    (lx.GEPOp, [llvm.LLVMPointerType()], [llvm.LLVMPointerType()], {"elem_type": f32}),
    (glow_vec.PrefetchOp, [f32], [], {"locality": IntegerAttr(3, i32)}),
    (scf.IfOp, [i1], [f32, i32], {}),
]


@pytest.mark.parametrize(("kind", "operands", "results", "properties"), CASES)
def test_equals_the_constructor(
    kind: type[Operation],
    operands: list[Attribute],
    results: list[Attribute],
    properties: dict[str, Attribute],
) -> None:
    values = Block(arg_types=operands).args
    usual = kind.create(operands=values, result_types=results, properties=properties)
    before = [v.uses.get_length() for v in values]
    quick = create(kind, values, results, properties)
    for name, value in vars(usual).items():
        if name not in ("results", "_operand_uses", "_successor_uses"):
            assert getattr(quick, name) == value, name
    assert [v.uses.get_length() for v in values] == [n + 1 for n in before]
    assert [(r.op, r.index, r.type) for r in quick.results] == [
        (quick, i, t) for i, t in enumerate(results)
    ]
    quick.erase()
    assert [v.uses.get_length() for v in values] == before


def test_regions_and_properties_belong_to_the_operation() -> None:
    condition = Block(arg_types=[i1]).args
    regions = [Region(Block()), Region()]
    given: dict[str, Attribute] = {}
    made = create(scf.IfOp, condition, (), given, regions)
    assert [r.parent for r in regions] == [made, made]
    assert list(made.regions) == regions
    made.properties["more"] = f32
    assert not given


def test_appended_operations_are_in_a_block() -> None:
    block, usual = Block(), Block()
    made = [create(arith.ConstantOp, (), (i32,), {"value": IntegerAttr(n, i32)}) for n in range(3)]
    for op in made:
        append(block, op)
        usual.add_op(op.clone())
    assert list(block.ops) == made
    assert list(reversed(block.ops)) == made[::-1]
    assert [op.parent for op in made] == [block] * 3
    assert block.is_structurally_equivalent(usual)
    made[1].detach()
    assert list(block.ops) == [made[0], made[2]]
