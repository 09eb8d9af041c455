"""
Creation of the operations that code generators make by the ten thousand.

`Operation.create` of xDSL takes any iterables and assigns each list through a property, which takes
longer than everything else that a generator does for an operation. `create` fills the same fields
for the common form: known operands and results, no attributes, no successors, no location. `append`
puts a new operation at the end of a block.
"""

# the fields that xDSL's own constructor fills have no other way in
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TypeVar

from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, SSAValues, Use
from xdsl.irdl import IRDLOperation
from xdsl.irdl.operations import OptionalDef

Op = TypeVar("Op", bound=Operation)


def create(
    kind: type[Op],
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute],
    properties: Mapping[str, Attribute] = {},
    regions: Sequence[Region] = (),
) -> Op:
    """
    Returns an operation equal to `kind.create(...)` of the same operands, types of results and
    properties, and regions. Definitions are not checked, as there.
    """
    op = kind.__new__(kind)
    op._operands = SSAValues(operands)
    uses: list[Use] = []
    for index, operand in enumerate(operands):
        use = Use(op, index)
        operand.add_use(use)
        uses.append(use)
    op._operand_uses = tuple(uses)
    op.results = SSAValues([OpResult(t, op, index) for index, t in enumerate(result_types)])
    op.properties = dict(properties)
    op.attributes = {}
    op.location = UNKNOWN_LOC
    for region in regions:
        op.add_region(region)
    defaults = _defaults(kind)
    if defaults is None:
        op.__post_init__()
    else:
        for name, value in defaults:
            op.properties.setdefault(name, value)
    return op


def append(block: Block, op: Operation) -> None:
    """
    Adds an operation that no block has, and within whose regions the block is not, at the end of a
    block. `Block.add_op` of xDSL checks both.
    """
    last = block._last_op
    op.parent = block
    block._last_op = op
    if last is None:
        block._first_op = op
    else:
        last._next_op = op
        op._prev_op = last


@cache
def _defaults(kind: type[Operation]) -> tuple[tuple[str, Attribute], ...] | None:
    """
    Returns the defaults of properties that operations get when they are made; None if more happens
    then.
    """
    if kind.__post_init__ is not IRDLOperation.__post_init__:
        return None
    assert issubclass(kind, IRDLOperation)
    definition = kind.get_irdl_definition()
    if any(d.default_value is not None for d in definition.attributes.values()):
        return None
    return tuple(
        (name, d.default_value)
        for name, d in definition.properties.items()
        if d.default_value is not None and not isinstance(d, OptionalDef)
    )
