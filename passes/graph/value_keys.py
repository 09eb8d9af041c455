"""
Names and structural keys of the values of a graph, under which profiles know them.

The key of a value is a hash of how it is computed: the operator, its properties, and the keys of
its operands down to the inputs of the network. Left out are shapes, so that the batch size does not
matter, and the bytes of constants, so that weights may be trained further; constants have their
element type and their shape without dimensions of 1. The local key is a hash of the operator, its
properties and its constants alone: it stays as it is when the graph before it changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...glow_dialects.elements import is_float
from ...glow_dialects.glow.constant import ConstantOp, SplatOp
from ...glow_dialects.glow.shape import BroadcastOp, ReshapeOp, SliceOp
from ...glow_dialects.operator import element_of, shape_of, text_of
from ...table import Table
from ..visited_operation import each

INPUT = "input"
"""Takes the place of an operator for arguments of the function."""
_NAME = "glow.name"

_Token: TypeAlias = "Callable[[Operation], str]"
_TOKENS: Table[type[Operation], _Token] = Table("a token")


@dataclass(frozen=True)
class ValueKey:
    """The identity of a value."""

    name: str
    """The name in the printed graph, without `%`. An unnamed value has the name of its operator."""
    operator: str
    """The name of the operation, or `input`."""
    key: str
    """16 hexadecimal digits: the operator and all that it depends on."""
    local_key: str
    """16 hexadecimal digits: the operator with its constants."""
    constant: bool = False
    """Whether it is known at compile time: a constant or splat, perhaps broadcast or reshaped."""


def value_keys(main: FuncOp) -> dict[SSAValue, ValueKey]:
    """Returns every argument and every result of an operation of a graph, in order."""
    found: dict[SSAValue, ValueKey] = {}
    taken: dict[str, int] = {}
    for argument in main.body.block.args:
        found[argument] = _argument(argument, main, _unique(argument.name_hint or INPUT, taken))
    for op in each(main.body.block.ops):
        for value in op.results:
            name = _unique(value.name_hint or op.name.rpartition(".")[2], taken)
            found[value] = _result(value, op, name, [found[o] for o in op.operands])
    return found


def profiled_values(main: FuncOp) -> dict[SSAValue, ValueKey]:
    """Returns the values of a graph that a profile observes: floats that are not constant."""
    return {v: k for v, k in value_keys(main).items() if not k.constant and _is_float_tensor(v)}


def _is_float_tensor(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and is_float(element_of(value.type))


def _argument(argument: BlockArgument, main: FuncOp, name: str) -> ValueKey:
    given = main.arg_attrs.data[argument.index].data.get(_NAME) if main.arg_attrs else None
    public = text_of(given)
    public = str(argument.index) if public is None else public
    kind = _kind(argument)
    return ValueKey(name, INPUT, _hash(INPUT, public, kind), _hash(INPUT, kind))


def _result(value: SSAValue, op: Operation, name: str, operands: list[ValueKey]) -> ValueKey:
    if isinstance(op, BroadcastOp | ReshapeOp) and operands[0].constant:
        # whether a constant is broadcast may depend on the batch size
        first = operands[0]
        return ValueKey(name, op.name, first.key, first.local_key, True)
    token = _TOKENS.get(type(op), _properties)(op)
    own = (op.name, token, str(op.results.index(value)), str(element_of(value.type)))
    if isinstance(op, ConstantOp | SplatOp):
        return ValueKey(name, op.name, _hash(*own), _hash(*own), True)
    kind = _kind(value)
    known = [o.key if o.constant else "" for o in operands]
    return ValueKey(
        name, op.name, _hash(*own, kind, *(o.key for o in operands)), _hash(*own, kind, *known)
    )


def _kind(value: SSAValue) -> str:
    """Returns the element type and the rank."""
    return f"{element_of(value.type)} {len(shape_of(value.type))}"


def _properties(op: Operation) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(op.properties.items()))


@_TOKENS.entry(ConstantOp)
def _constant(op: Operation) -> str:
    return str([d for d in shape_of(op.results[0].type) if d != 1])


@_TOKENS.entry(SliceOp)
def _slice(op: Operation) -> str:
    """Returns a dimension that is taken whole may be the batch."""
    assert isinstance(op, SliceOp)
    ranges = zip(
        *(op.call.ints("starts"), op.call.ints("sizes"), op.call.ints("strides")),
        shape_of(op.input.type),
        strict=True,
    )
    return str([(a, n, s) if n != whole else "all" for a, n, s, whole in ranges])


def _unique(name: str, taken: dict[str, int]) -> str:
    """Returns the name as xDSL prints it: later values of the same name get a number."""
    count = taken.get(name, 0)
    taken[name] = count + 1
    return f"{name}_{count}" if count else name


def _hash(*parts: str) -> str:
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()
