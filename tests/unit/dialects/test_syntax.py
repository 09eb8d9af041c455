"""Operators with any properties parse as they were printed."""

from __future__ import annotations

import math
from io import StringIO

import pytest
from glow.context import make_context
from glow.glow_dialects.glow.base import Node, OnlyMovesData, short_name
from glow.glow_dialects.glow.constant import ConstantOp
from glow.glow_dialects.glow.convolution import ConvolutionOp
from glow.glow_dialects.glow_inst import INSTRUCTIONS
from glow.glow_dialects.operators import OPERATORS
from glow.glow_dialects.syntax import default_of
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import test
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import VarOperandDef
from xdsl.irdl.operations import OptPropertyDef, PropertyDef
from xdsl.parser import Parser
from xdsl.printer import Printer

CONTEXT = make_context()
WORDS = st.integers(-(2**63), 2**63 - 1)
SHAPES = st.lists(st.sampled_from([1, 2, 5]), max_size=5)
ARRAY = DenseArrayBase.from_list(i64, [])
VALUES: list[tuple[Attribute, st.SearchStrategy[Attribute]]] = [
    (IntegerAttr(0, i64), st.builds(lambda v: IntegerAttr(v, i64), WORDS)),
    (IntegerAttr(0, i1), st.builds(lambda v: IntegerAttr(int(v), i1), st.booleans())),
    (IntegerAttr(0, i32), st.builds(lambda v: IntegerAttr(v, i32), st.integers(-9, 9))),
    (FloatAttr(0, f64), st.builds(lambda v: FloatAttr(v, f64), st.floats(allow_nan=False))),
    (FloatAttr(0, f32), st.builds(lambda v: FloatAttr(v, f32), st.sampled_from([0.5, math.inf]))),
    (ARRAY, st.builds(lambda v: DenseArrayBase.from_list(i64, v), st.lists(WORDS, max_size=4))),
    # xDSL 0.74 reads a string that is not ASCII as bytes, in the generic form and by itself
    (StringAttr(""), st.builds(StringAttr, st.text('a\\"\n{}', max_size=9))),
    (DictionaryAttr({}), st.builds(lambda v: DictionaryAttr({"c": IntegerAttr(v, i64)}), WORDS)),
]
"""Attributes of each kind, after one that tells whether a property may be of that kind."""
WRITTEN = [operator for operator in OPERATORS if operator is not ConstantOp]
PLAIN = [o for o in WRITTEN if not o.get_irdl_definition().properties]
WITH_PROPERTIES = [o for o in WRITTEN if o not in PLAIN]


@st.composite
def properties_of(draw: st.DrawFn, operator: type[Node], result: Attribute) -> dict[str, Attribute]:
    """Returns values that the definitions of the properties allow; defaults among them."""
    found: dict[str, Attribute] = {}
    for name, definition in operator.get_irdl_definition().properties.items():
        default = default_of(definition, result)
        if draw(st.booleans()) and (default or isinstance(definition, OptPropertyDef)):
            continue
        if default is not None and draw(st.booleans()):
            found[name] = default
        else:
            found[name] = draw(values_of(definition))
    return found


def values_of(definition: PropertyDef) -> st.SearchStrategy[Attribute]:
    known = [some for one, some in VALUES if definition.constr.verifies(one)]
    assert known, f"no attributes of the kind of {definition}"
    return st.one_of(*known)


def number_of_operands(draw: st.DrawFn, operator: type[Node]) -> int:
    operands = operator.get_irdl_definition().operands
    if any(isinstance(d, VarOperandDef) for _, d in operands):
        return draw(st.integers(1, 3))
    return len(operands)


@st.composite
def nodes(draw: st.DrawFn, operator: type[Node]) -> ModuleOp:
    types = [TensorType(f32, draw(SHAPES)) for _ in range(number_of_operands(draw, operator))]
    results = [TensorType(f32, draw(SHAPES)) for _ in operator.get_irdl_definition().results]
    source = test.TestOp(result_types=types)
    node = operator.create(
        operands=source.results,
        result_types=results,
        properties=draw(properties_of(operator, results[0])),
        attributes=draw(st.sampled_from([{}, {"note": StringAttr("kept")}])),
    )
    return ModuleOp([source, node])


@st.composite
def instructions(draw: st.DrawFn, operator: type[Node]) -> ModuleOp:
    instruction = INSTRUCTIONS[operator]
    outs = instruction.num_results()
    count = outs + number_of_operands(draw, operator)
    types = [MemRefType(f32, draw(SHAPES)) for _ in range(count)]
    source = test.TestOp(result_types=types)
    values = source.results
    properties = draw(properties_of(operator, types[0]))
    return ModuleOp([source, instruction.on(values[:outs], values[outs:], properties)])


def printed(module: ModuleOp, generic: bool = False) -> str:
    out = StringIO()
    Printer(out, print_generic_format=generic).print_op(module)
    return out.getvalue()


def check_round_trip(module: ModuleOp) -> Operation:
    for generic in (False, True):
        text = printed(module, generic)
        again = Parser(CONTEXT, text).parse_module()
        assert again.is_structurally_equivalent(module), text
        assert sorted(printed(again, generic)) == sorted(text)
    op = module.body.block.last_op
    assert op is not None
    return op


def has_instruction(operator: type[Node]) -> bool:
    return not operator.has_trait(OnlyMovesData)


@settings(max_examples=40)
@given(st.data(), st.sampled_from(PLAIN))
def test_operators_without_properties_parse_as_they_are_printed(
    data: st.DataObject, operator: type[Node]
) -> None:
    check_round_trip(data.draw(nodes(operator)))
    if has_instruction(operator):
        check_round_trip(data.draw(instructions(operator)))


@pytest.mark.parametrize("operator", WITH_PROPERTIES, ids=short_name)
def test_operators_parse_as_they_are_printed(operator: type[Node]) -> None:
    @settings(max_examples=8)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        module = data.draw(nodes(operator))
        node, text = check_round_trip(module), printed(module)
        for name, definition in operator.get_irdl_definition().properties.items():
            if node.properties.get(name) == default_of(definition, node.results[0].type):
                assert f" {name} " not in text
        if has_instruction(operator):
            check_round_trip(data.draw(instructions(operator)))

    check()


def test_defaults_hold_for_generic_text_and_for_nodes_made_in_python() -> None:
    x, w, b = "tensor<1x3x8x8xf32>", "tensor<4x3x3x3xf32>", "tensor<4xf32>"
    module = Parser(
        CONTEXT,
        f"""
        %x, %w, %b = "test.op"() : () -> ({x}, {w}, {b})
        %y = "glow.convolution"(%x, %w, %b) : ({x}, {w}, {b}) -> tensor<1x4x6x6xf32>
        """,
    ).parse_module()
    module.verify()
    (source, node) = module.body.block.ops
    assert isinstance(node, ConvolutionOp)
    assert node.call.ints("strides") == node.call.ints("dilations") == (1, 1)
    assert node.call.ints("pads") == (0, 0, 0, 0)
    made = ConvolutionOp.create(
        operands=source.results, result_types=[r.type for r in node.results]
    )
    assert made.properties == node.properties
