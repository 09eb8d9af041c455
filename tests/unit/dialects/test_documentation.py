"""The example in the documentation of every operation parses, verifies and prints as it parsed."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from glow.context import make_context
from glow.glow_dialects.glow.base import short_name
from glow.glow_dialects.glow_inst import INSTRUCTIONS
from glow.glow_dialects.glow_inst.instruction import OperatorInstruction
from glow.glow_dialects.glow_inst.memory import (
    AllocActivationOp,
    DeallocActivationOp,
    TensorViewOp,
    WeightOp,
)
from glow.glow_dialects.glow_inst.stacked import CopyOp, StackedOp
from glow.glow_dialects.operators import OPERATORS
from xdsl.dialects import test
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser
from xdsl.printer import Printer

DOCUMENTED: list[type[Operation]] = [
    *OPERATORS,
    *(WeightOp, AllocActivationOp, DeallocActivationOp, TensorViewOp, CopyOp, StackedOp),
    OperatorInstruction,
]


class FragmentParser(Parser):
    """Parses operations that use values which nothing defines, and then defines them."""

    def parse_fragment(self) -> ModuleOp:
        ops: list[Operation] = []
        while (op := self.parse_optional_operation()) is not None:
            ops.append(op)
        sources: list[Operation] = []
        for references in self.forward_ssa_references.values():
            for value in references.values():
                source = _source(value.type, needs_alloc=isinstance(ops[0], DeallocActivationOp))
                value.replace_all_uses_with(source.results[0])
                sources.append(source)
        return ModuleOp([*sources, *ops])


def _source(t: Attribute, needs_alloc: bool) -> Operation:
    make = AllocActivationOp if needs_alloc else test.TestOp
    return make.create(result_types=[t])


def example_of(op: type[Operation]) -> str:
    found = re.search(r"```mlir\n(.*?)```", op.__doc__ or "", re.DOTALL)
    assert found is not None, f"{op.__name__} has no example in its documentation"
    return found.group(1)


@pytest.mark.parametrize("op", DOCUMENTED, ids=lambda op: op.__name__)
def test_example(op: type[Operation]):
    module = FragmentParser(make_context(), example_of(op)).parse_fragment()
    module.verify()
    shown = [type(o) for o in module.body.block.ops]
    assert op in shown or any(issubclass(s, op) for s in shown)
    for generic in (False, True):
        text = _printed(module, generic)
        again = Parser(make_context(), text).parse_module()
        again.verify()
        assert module.is_structurally_equivalent(again)
        assert _printed(again, generic) == text


def test_every_instruction_names_its_operator():
    for node, instruction in INSTRUCTIONS.items():
        assert node.name in (instruction.__doc__ or "")
        assert instruction.name == f"glow_inst.{short_name(node)}"


def _printed(module: ModuleOp, generic: bool) -> str:
    out = StringIO()
    Printer(out, print_generic_format=generic).print_op(module)
    return out.getvalue()
