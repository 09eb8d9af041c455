"""
Bodies as regions of scalar nodes, as in stacks and epilogues.

Nodes compute in the compute types of elements. A number that a conversion rounds to a narrower
float is widened again by the next node, which changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f64, i1, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, traits_def, var_operand_def
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from ..elements import compute_type, storage_type
from ..glow.base import DataParallel
from ..glow.constant import SplatOp
from ..glow.logic import CastOp
from ..glow.primitives import PRIMITIVE_NODES
from ..glow.quantization import StorageCastOp
from ..operator import Call
from ..scalar import COMPARISONS, Expr, Number, Primitive, arguments, convert, fold_in_order
from ..substitution import substitute
from .body import Body


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends the text of a body with the elements to write."""

    name = "glow_nest.yield"

    values = var_operand_def()

    traits = traits_def(IsTerminator())
    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, *values: SSAValue):
        super().__init__(operands=[list(values)])


class _Nodes:
    """The algebra that adds a node to a block for each operation."""

    def __init__(self, block: Block):
        self._block = block

    def constant(
        self, value: Number, like: Sequence[SSAValue], element: Attribute | None
    ) -> SSAValue:
        t = element if element is not None else like[0].type
        number = FloatAttr(value, f64) if isinstance(value, float) else IntegerAttr(value, i64)
        return self._add(
            SplatOp.create(result_types=[compute_type(t)], properties={"value": number})
        )

    def convert(self, value: SSAValue, target: Attribute | None) -> SSAValue:
        assert target is not None
        return self.widened(self._add(_node(CastOp, [value], target)))

    def bitcast(self, value: SSAValue, target: Attribute) -> SSAValue:
        return self._add(_node(PRIMITIVE_NODES[Primitive.BITCAST], [value], target))

    def apply(self, kind: Primitive, args: Sequence[SSAValue]) -> SSAValue:
        result = i1 if kind in COMPARISONS else args[kind is Primitive.SELECT].type
        return self._add(_node(PRIMITIVE_NODES[kind], args, result))

    def widened(self, value: SSAValue) -> SSAValue:
        wide = compute_type(value.type)
        return value if wide == value.type else self._add(_node(CastOp, [value], wide))

    def _add(self, node: Operation) -> SSAValue:
        self._block.add_op(node)
        return node.results[0]


def _node(kind: type[DataParallel], args: Sequence[SSAValue], result: Attribute) -> Operation:
    return kind.create(operands=args, result_types=[result])


def body_region(body: Body, elements: Sequence[Attribute]) -> Region:
    """Returns the region of a body that is given these elements."""
    block = Block(arg_types=[compute_type(e) for e in elements])
    block.add_op(YieldOp(*add_nodes(block, body, block.args)))
    return Region(block)


def add_nodes(block: Block, body: Body, given: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """
    Adds the nodes of a body to a block, and returns its results. Values that are given have the
    types in which elements compute, and results have them, too.
    """
    known = fold_in_order(body.order, given, _Nodes(block))
    return [known[r] for r in body.results]


def body_of(block: Block) -> Body:
    """
    Returns the body that a block of scalar nodes means, which computes on stored numbers. Its
    terminator has the results.
    """
    *nodes, last = block.ops
    known: dict[SSAValue, Expr] = dict(zip(block.args, arguments(len(block.args)), strict=True))
    for node in nodes:
        (result,) = node.results
        if not all(o in known for o in node.operands):
            raise VerifyException(f"{node.name} in a body uses what is not defined before it there")
        given = [known[o] for o in node.operands]
        if isinstance(node, SplatOp):
            known[result] = _number(Call.get(node.call, "value"), storage_type(result.type))
        elif isinstance(node, StorageCastOp):
            (known[result],) = given
        elif isinstance(node, CastOp) and result.type == compute_type(node.operands[0].type):
            known[result] = _unless_converted(node, given[0], result.type)
        else:
            assert isinstance(node, DataParallel)
            known[result] = substitute(node.scalar(node.call), given, storage_type(result.type))
    if not all(o in known for o in last.operands):
        raise VerifyException("a result of a body is not defined there")
    elements = tuple(storage_type(o.type) for o in last.operands)
    return Body(tuple(known[o] for o in last.operands), elements)


def _number(value: Number, element: Attribute) -> Expr:
    """Returns a number that is rounded to an element type."""
    wide = compute_type(element)
    number = Expr.constant(value, wide)
    return number if wide == element else convert(number, element)


def _unless_converted(node: Operation, value: Expr, target: Attribute) -> Expr:
    """
    Returns a conversion, unless it only widens the result of a rounding, which the computation
    widens anyway.
    """
    source = node.operands[0].type
    if source != target and value.kind is Primitive.CONVERT and value.target == source:
        return value
    return Expr(Primitive.CONVERT, (value,), target=target)


def write_body(printer: Printer, body: Body, elements: Sequence[Attribute]) -> None:
    """Prints a body that is given these elements as a region."""
    printer.print_region(body_region(body, elements))


def read_body(
    parser: AttrParser,
    given: Sequence[Attribute],
    made: Sequence[Attribute],
) -> Body:
    """Parses the region of a body that is given elements of some types and makes others."""
    assert isinstance(parser, Parser)
    position = parser.pos
    block = parser.parse_region().block
    try:
        for node in block.ops:
            node.verify()
            if node.next_op is None and not isinstance(node, YieldOp):
                raise VerifyException(f"expected a body that ends with {YieldOp.name}")
            if node.next_op is not None and not isinstance(node, DataParallel | SplatOp):
                raise VerifyException(f"expected scalar nodes in the body, found {node.name}")
    except VerifyException as error:
        parser.raise_error(str(error), position, parser.pos)
    if block.last_op is None:
        parser.raise_error(f"expected a body that ends with {YieldOp.name}", position, parser.pos)
    _expect(parser, position, "arguments", given, block.args)
    _expect(parser, position, "results", made, block.last_op.operands)
    return Body(body_of(block).results, tuple(made))


def _expect(
    parser: Parser,
    position: int,
    what: str,
    elements: Sequence[Attribute],
    values: Sequence[SSAValue],
) -> None:
    """Expects values of the types in which elements compute."""
    wanted, found = [compute_type(e) for e in elements], [v.type for v in values]
    if wanted != found:
        texts = [", ".join(map(str, types)) or "none" for types in (wanted, found)]
        message = f"expected {what} of the body of types {texts[0]}, found {texts[1]}"
        parser.raise_error(message, position, parser.pos)
