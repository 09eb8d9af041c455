"""
Replaces functions of one byte by tables of all their results.

In a quantized network, a number that is stored in a byte often passes through several operators
until it is a byte again: a swish dequantizes, takes a sigmoid, quantizes, multiplies, and quantizes
once more. Its result depends on the first byte alone, so there are 256 results. The pass computes
them with numpy, and `glow.int_lookup_table` picks one for each element.

A value has its function from the first byte on which it depends, across all data-parallel nodes
whose other operands are the same number everywhere. A table takes the place of a function where
looking up is fewer operations on the machine than what nothing else needs of it, and the tensor has
a few times as many elements as the table.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ...glow_dialects.costs import computed_element, looked_up_byte
from ...glow_dialects.elements import is_byte, num_elements
from ...glow_dialects.glow.base import DataParallel, Node
from ...glow_dialects.glow.indexing import IntLookupTableOp
from ...glow_dialects.glow.machine import machine_of
from ...glow_dialects.glow.quantization import StorageCastOp
from ...glow_dialects.glow_vec import TABLE_BYTES
from ...glow_dialects.machine import MachineDescription
from ...glow_dialects.operator import element_of, shape_of
from ...glow_dialects.scalar import weight_of
from ..levels import GRAPH
from ..visited_operation import each
from .rewriting import Build, erase_if_dead, has_symbols, replace_node, splat_value, tensor_nodes

_LEAST_ELEMENTS = 4 * TABLE_BYTES


@dataclass(frozen=True)
class ByteFunction:
    """The way from the bytes of one value to another value."""

    byte: SSAValue
    nodes: tuple[DataParallel, ...] = ()
    """Each behind those that it depends on; the last one makes the value."""

    def table(self, build: Build) -> SSAValue:
        """Returns the results for all bytes, in the order of their bits as unsigned numbers."""
        # glow-opt on text without such functions needs no numpy
        import numpy as np

        from ...semantics.arrays import numpy_dtype
        from ...semantics.registry import evaluate

        stored = numpy_dtype(element_of(self.byte.type))
        arrays = {self.byte: np.arange(TABLE_BYTES, dtype=np.uint8).view(stored)}
        for node in self.nodes:
            given: list[np.ndarray] = []
            for operand in node.operands:
                number = splat_value(operand)
                dtype = numpy_dtype(element_of(operand.type))
                known = arrays.get(operand)
                given.append(np.full(TABLE_BYTES, number, dtype) if known is None else known)
            (arrays[node.results[0]],) = evaluate(node.on_elements(node.call), given)
        last = self.nodes[-1].results[0]
        return build.constant(arrays[last], "table", element_of(last.type))


class ByteFunctions:
    """The functions of the values of a module, each from the first byte on which it depends."""

    def __init__(self) -> None:
        self.of: dict[SSAValue, ByteFunction] = {}

    def visit(self, node: Node) -> None:
        """Finds the function of a node's result, if its operands are functions of one byte."""
        if not isinstance(node, DataParallel) or node.depends_on_place(node.call):
            return
        found = [self._of(v) for v in node.operands if splat_value(v) is None]
        functions = [f for f in found if f is not None]
        if not functions or len(functions) < len(found):
            return
        byte = functions[0].byte
        if any(f.byte is not byte for f in functions):
            return
        before = dict.fromkeys(n for f in functions for n in f.nodes)
        self.of[node.results[0]] = ByteFunction(byte, (*before, node))

    def needed(self) -> set[Operation]:
        """Returns the nodes whose results are needed as they are, though all bytes had tables."""
        found: set[Operation] = set()
        for value in reversed(self.of):
            users = [use.operation for use in value.uses]
            if not is_byte(element_of(value.type)) and any(
                user in found or not user.results or user.results[0] not in self.of
                for user in users
            ):
                found.add(self.of[value].nodes[-1])
        return found

    def _of(self, value: SSAValue) -> ByteFunction | None:
        if value in self.of:
            return self.of[value]
        return ByteFunction(value) if is_byte(element_of(value.type)) else None


def repays(
    function: ByteFunction, needed: AbstractSet[Operation], machine: MachineDescription
) -> bool:
    """Returns whether looking up takes fewer operations than those nodes that it saves."""
    is_known = not has_symbols(function.nodes[-1])
    if is_known and num_elements(shape_of(function.byte.type)) < _LEAST_ELEMENTS:
        return False
    count = sum(weight_of(n.scalar(n.call)) for n in function.nodes if n not in needed)
    return looked_up_byte(machine) < computed_element(count, machine)


class UseLookupTablesPass(ModulePass):
    """Looks up the results of functions of one byte in tables."""

    name = "glow-use-lookup-tables"
    level = GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions, machine = ByteFunctions(), machine_of(op)
        for node in tensor_nodes(op):
            functions.visit(node)
        needed = functions.needed()
        # last ones first: what only they use is gone before its turn
        for node in each([f.nodes[-1] for f in reversed(functions.of.values())]):
            if node.parent is None or node.results[0].first_use is None:
                continue
            # the table of its operand serves, since such a cast is free
            if isinstance(node, StorageCastOp):
                continue
            function = functions.of[node.results[0]]
            if is_byte(element_of(node.results[0].type)) and repays(function, needed, machine):
                _look_up(node, function)


def _look_up(node: Node, function: ByteFunction) -> None:
    """Replaces the last node of a function, and those that only it used."""
    build, operands = Build(), list(node.operands)
    found = build(IntLookupTableOp, function.byte, function.table(build))
    replace_node(node, build.ops, found)
    erase_if_dead(operands)
