"""
Makes numbers of bodies operands where bodies differ in nothing else.

The layers of a quantized network compute the same with other scales and zero points, which are
numbers in the bodies of stacks and epilogues. Each of these instructions would be a kernel of its
own. Of instructions that are equal but for such numbers, those that differ become weights of one
element, which the instructions read as broadcast operands: then the bodies are equal, and one
kernel serves all.

A number stays in the body where the code that computes with it depends on it: 0, 1 and -1, powers
of two that divide, and all that powers, shifts and divisions of integers take.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...glow_dialects.elements import (
    compute_type,
    element_bytes,
    is_float,
    memref_of,
    storage_type,
    strides_of,
    tensor_type,
)
from ...glow_dialects.glow import arithmetic, logic
from ...glow_dialects.glow.constant import SplatOp
from ...glow_dialects.glow.quantization import StorageCastOp
from ...glow_dialects.glow_inst.instruction import Instruction, OperatorInstruction
from ...glow_dialects.glow_inst.memory import TensorViewOp, WeightOp
from ...glow_dialects.glow_inst.stacked import StackedOp, YieldOp
from ...glow_dialects.glow_nest.body_text import add_nodes
from ...glow_dialects.operator import Call
from ...glow_dialects.views import view_type
from ..levels import PROGRAM
from ..visited_operation import each, visit
from .formulas import Formula, formula_of
from .loops import SPLAT, is_loop
from .program import memref, tidy
from .replanning import changing

_TAKING_ANY_NUMBER = (
    *(arithmetic.AddOp, arithmetic.SubOp, arithmetic.MulOp, arithmetic.MultiplyAddOp),
    *(arithmetic.DivOp, arithmetic.MinimumOp, arithmetic.MaximumOp),
    *(logic.EqualOp, logic.LessOp, logic.LessEqualOp, logic.SelectOp),
)
_SIMPLE = (-1, 0, 1)
_LEAST_BYTES = 4
"""The size of the smallest numbers that become operands: the types in which bodies compute."""


@dataclass
class _Variant:
    """Instructions whose bodies are equal."""

    facts: Sequence[object]
    instructions: list[Instruction] = field(default_factory=list)


def _body(op: Instruction) -> Block | None:
    if isinstance(op, StackedOp):
        return op.body.block
    if isinstance(op, OperatorInstruction) and op.epilogue is not None:
        return op.epilogue.block
    return None


def _outline(op: Instruction) -> tuple[object, ...]:
    """
    Returns facts that are equal for instructions with equal bodies up to numbers and quantized
    types. The names of nodes stand for the bodies, which is quick and only a first sieve.
    """
    body = _body(op)
    nodes = () if body is None else tuple(node.name for node in body.ops)
    views = [memref(v) for v in op.operands]
    return op.name, nodes, tuple((t.get_shape(), strides_of(t)) for t in views)


def _facts(op: Instruction) -> Sequence[object]:
    """Returns all that decides about the kernel of an instruction, besides its outline."""
    body = _body(op)
    nodes = [] if body is None else list(body.ops)
    arguments = () if body is None else body.args
    values = [*arguments, *(r for node in nodes for r in node.results)]
    place = {value: i for i, value in enumerate(values)}
    return [
        op.properties,
        [memref(v).element_type for v in op.operands],
        [v.type for v in values],
        [node.properties for node in nodes],
        [place[o] for node in nodes for o in node.operands],
    ]


def _variants(instructions: Iterable[Instruction]) -> list[_Variant]:
    """Returns instructions of one outline, those that are equal together."""
    found: list[_Variant] = []
    for op in instructions:
        facts = _facts(op)
        variant = next((v for v in found if v.facts == facts), None)
        if variant is None:
            variant = _Variant(facts)
            found.append(variant)
        variant.instructions.append(op)
    return found


def _takes_any_number(node: Operation, splat: SplatOp, value: float) -> bool:
    """Returns whether the code of a node is the same for any number in place of `splat`."""
    if isinstance(node, arithmetic.DivOp):
        is_power_of_two = math.frexp(abs(value))[0] == 0.5
        return is_float(splat.result.type) and not is_power_of_two
    if isinstance(node, logic.CastOp):
        return is_float(node.result.type)
    return isinstance(node, _TAKING_ANY_NUMBER)


def _is_free(splat: SplatOp) -> bool:
    """Returns whether a number may become an operand."""
    value, element = Call.get(splat.call, "value"), splat.result.type
    if not math.isfinite(value) or value in _SIMPLE or element_bytes(element) < _LEAST_BYTES:
        return False
    return all(_takes_any_number(u.operation, splat, value) for u in splat.result.uses)


class _Template:
    """The body of a variant in primitive nodes, of which copies replace the bodies."""

    def __init__(self, variant: _Variant, formula: Formula):
        self.variant = variant
        self.block = block = Block(arg_types=formula.given)
        given = [self._converted(a, compute_type(a.type)) for a in block.args]
        results = add_nodes(block, formula.body, given)
        stored = [
            self._converted(v, storage_type(element))
            for v, element in zip(results, formula.made, strict=True)
        ]
        made = [self._converted(v, e) for v, e in zip(stored, formula.made, strict=True)]
        block.add_op(YieldOp(*made))
        splats = [op for op in block.ops if isinstance(op, SplatOp)]
        self.free = [splat for splat in splats if _is_free(splat)]

    def _converted(self, value: SSAValue, element: Attribute) -> SSAValue:
        if value.type == element:
            return value
        same = storage_type(value.type) == storage_type(element)
        kind = StorageCastOp if same else logic.CastOp
        node = kind.create(operands=[value], result_types=[element])
        self.block.add_op(node)
        return node.results[0]

    def form(self) -> str:
        """Returns a text that is equal for templates that are equal but for free numbers."""
        op, free = self.variant.instructions[0], set(self.free)
        operands = [
            f"{q} {storage_type(memref(v).element_type)}" for q, v in op.qualified_operands()
        ]
        lines = [", ".join(operands)]
        if isinstance(op, OperatorInstruction) and not is_loop(op):
            lines.append(", ".join(f"{n} {op.properties[n]}" for n in sorted(op.properties)))
        place: dict[SSAValue, int] = {a: i for i, a in enumerate(self.block.args)}
        for node in self.block.ops:
            place.update((r, len(place)) for r in node.results)
            given = [place[o] for o in node.operands]
            types = [str(storage_type(r.type)) for r in node.results]
            properties = "" if node in free else str(node.properties)
            lines.append(f"{node.name} {given} {types} {properties}")
        return "\n".join(lines)

    def number(self, i: int) -> tuple[Attribute, int | float]:
        """Returns the type and the value of a free number."""
        splat = self.free[i]
        return splat.result.type, Call.get(splat.call, "value")

    def take(self, columns: Sequence[Sequence[int]]) -> None:
        """Makes free numbers arguments, those of a column one argument."""
        for column in columns:
            argument = self.block.insert_arg(self.number(column[0])[0], len(self.block.args))
            for i in column:
                self.free[i].result.replace_all_uses_with(argument)
                self.free[i].detach()
                self.free[i].erase()


def _columns(templates: Sequence[_Template]) -> list[list[int]]:
    """
    Returns the free numbers that are not the same in all templates, those that are equal in each
    template together.
    """
    columns: dict[tuple[object, ...], list[int]] = {}
    for i in range(len(templates[0].free)):
        numbers = tuple(t.number(i) for t in templates)
        if any(n != numbers[0] for n in numbers):
            columns.setdefault(numbers, []).append(i)
    return list(columns.values())


class _Numbers:
    """The numbers of a program that are weights of one element."""

    def __init__(self):
        self._weights: dict[tuple[Block, Attribute, int | float], WeightOp] = {}
        self._views: dict[tuple[WeightOp, tuple[int, ...]], SSAValue] = {}

    def view(
        self, user: Operation, number: tuple[Attribute, int | float], shape: tuple[int, ...]
    ) -> SSAValue:
        """Returns a number as often as a shape has elements, for an instruction that reads it."""
        block, (element, value) = user.parent, number
        assert block is not None
        weight = self._weights.get((block, element, value))
        if weight is None:
            t = tensor_type(element, (1,))
            dense = DenseIntOrFPElementsAttr.from_list(t, [value])  # pyright: ignore
            weight = WeightOp.create(result_types=[memref_of(t)], properties={"value": dense})
            block.insert_op_before(weight, user)
            self._weights[block, element, value] = weight
        view = self._views.get((weight, shape))
        if view is None:
            t = view_type(element, shape, (0,) * len(shape))
            if t == weight.result.type:
                return weight.result
            op = TensorViewOp.create(operands=[weight.result], result_types=[t])
            block.insert_op_after(op, weight)
            view = self._views[weight, shape] = op.result
        return view


def _with(op: Instruction, body: Region, numbers: Sequence[SSAValue]) -> Instruction:
    """Returns an instruction with another body, which takes further operands."""
    match op:
        case StackedOp():
            return StackedOp(op.outs, op.inouts, [*op.ins, *numbers], body)
        case OperatorInstruction() if is_loop(op):
            return StackedOp(op.dests, (), [*op.sources, *numbers], body)
        case OperatorInstruction():
            is_inout = op.inout is not None
            extras = [*op.extras, *numbers]
            return type(op).on(op.dests, op.sources, op.operator_properties, extras, body, is_inout)
        case _:
            raise AssertionError(f"{op.name} has no body")


def _share(templates: Sequence[_Template], numbers: _Numbers) -> None:
    """Lets the instructions of templates that differ in numbers have equal bodies."""
    columns = _columns(templates)
    for template in templates:
        values = [template.number(column[0]) for column in columns]
        template.take(columns)
        body = Region(template.block)
        for op in each(template.variant.instructions):
            shape = memref(op.written()[0]).get_shape()
            views = [numbers.view(op, value, shape) for value in values]
            Rewriter.replace_op(op, _with(op, body.clone(), views), [])


def share_bodies(blocks: Sequence[Block]) -> None:
    """Makes numbers operands where bodies of instructions differ in nothing else."""
    alike: dict[object, list[Instruction]] = defaultdict(list)
    for block in blocks:
        for op in each(list(block.ops)):
            if isinstance(op, Instruction) and _has_formula(op):
                alike[_outline(op)].append(op)
    forms: dict[object, list[_Template]] = defaultdict(list)
    for outline, instructions in alike.items():
        variants = _variants(instructions) if len(instructions) > 1 else []
        for variant in variants if len(variants) > 1 else []:
            visit(variant.instructions[0])
            formula = formula_of(variant.instructions[0])
            assert formula is not None
            template = _Template(variant, formula)
            forms[outline, template.form()].append(template)
    numbers = _Numbers()
    for templates in forms.values():
        if len(templates) > 1:
            _share(templates, numbers)
    for block in blocks:
        visit(block.parent_op())
        tidy(block)


def _has_formula(op: Instruction) -> bool:
    """Returns whether an instruction computes elements by a formula that has numbers."""
    if isinstance(op, OperatorInstruction):
        return op.epilogue is not None or (is_loop(op) and type(op) is not SPLAT)
    return isinstance(op, StackedOp)


@dataclass(frozen=True)
class ShareBodiesPass(ModulePass):
    """Makes numbers of bodies operands where bodies differ in nothing else."""

    name = "glow-share-bodies"
    level = PROGRAM

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with changing(op) as blocks:
            share_bodies(list(blocks))
