"""
Operations whose definition holds for the types and attributes that they have.

xDSL checks the constraints of a definition again for each operation, which takes most of the time
of verification, though a module has many operations of the same kind and a pass changes few of
them. A constraint sees nothing but types, attributes and the number of successors, so
`remember_verified_kinds` lets operations of a kind that was found right pass for the whole process.
Traits, and what the class of an operation checks itself, may look around it: they run each time.
Our own contexts call it, importing our dialects does not.
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.ir import Attribute, Operation
from xdsl.irdl import OpDef

_MOST_KINDS = 20_000
_MOST_BYTES = 256
"""Attributes with more data are not kept alive."""
_checked = OpDef.verify
_right: set[Hashable] = set()


def _verify(self: OpDef, op: Operation) -> None:
    kind = _kind(op)
    try:
        known = kind in _right
    except TypeError:  # an attribute that has no hash
        _checked(self, op)
        return
    if known:
        for trait in self.traits:
            trait.verify(op)
        return
    _checked(self, op)
    if _has_much_data(op):
        return
    if len(_right) >= _MOST_KINDS:
        _right.clear()
    _right.add(kind)


def _kind(op: Operation) -> Hashable:
    """Returns all that constraints see of an operation."""
    regions = [
        (len(r.blocks), None if r.first_block is None else tuple(r.first_block.arg_types))
        for r in op.regions
    ]
    return (
        type(op),
        tuple([v.type for v in op.operands]),
        tuple([r.type for r in op.results]),
        tuple(op.properties.items()),
        tuple(op.attributes.items()),
        len(op.successors),
        tuple(regions),
    )


def _has_much_data(op: Operation) -> bool:
    return any(_is_large(a) for a in (*op.properties.values(), *op.attributes.values()))


def _is_large(attribute: Attribute) -> bool:
    data = getattr(attribute, "data", None)
    while isinstance(data, Attribute):
        data = getattr(data, "data", None)
    return isinstance(data, bytes) and len(data) > _MOST_BYTES


def remember_verified_kinds() -> None:
    """Makes xDSL's verification remember. Calling it again changes nothing."""
    OpDef.verify = _verify
