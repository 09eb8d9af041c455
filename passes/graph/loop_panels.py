"""
Matrices that a loop reads in each of its steps, packed before the first one.

The matrix of a product in a body is the same in all steps if it is what the loop reads. If there
are many steps, each of them repays panels, in whose order the kernel of the product reads them
(`glow_cpu.packed_matmul`), or another form of the matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...glow_dialects.elements import is_float
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.control import LoopOp
from ...glow_dialects.glow.matrix import MatMulOp
from ...glow_dialects.glow_cpu.packed import PackedMatMulOp
from ...glow_dialects.machine import MachineDescription
from ...glow_dialects.operator import element_of, shape_of
from ...glow_dialects.timings import TIMINGS
from .panels import panel_width, panels
from .rewriting import Build, replace_node

Product: TypeAlias = Callable[[SSAValue, Build], SSAValue]
"""Builds a product in a body on a matrix in another form."""
Repack: TypeAlias = Callable[[Node, SSAValue, Build], "tuple[SSAValue, Product] | None"]
"""
`repack(node, matrix, build)` returns another form of the right operand of a node in a body, which
is a matrix that the loop reads, and the product with that; None if the node stays.
"""


def pack_before_loops(module: ModuleOp, machine: MachineDescription) -> None:
    """Packs the matrices that products in loops of many steps read into panels."""

    def panelled(node: Node, matrix: SSAValue, build: Build) -> tuple[SSAValue, Product] | None:
        if not isinstance(node, MatMulOp):
            return None
        columns = shape_of(node.result.type)[-1]
        width = panel_width(columns, machine.lanes(32), machine.panel_vectors)
        if not _is_packed(node, width):
            return None
        made = panels(matrix, node.transpose_rhs.value.data != 0, width, build)
        lhs = node.lhs
        return made, lambda w, inner: inner(PackedMatMulOp, lhs, w, columns=columns)

    repack_before_loops(module, panelled)


def _is_packed(node: MatMulOp, width: int) -> bool:
    """Returns whether a product of matrices of floats has more than one panel."""
    shape = shape_of(node.result.type)
    is_matrix = len(shape) == 2 and is_float(element_of(node.result.type))
    return is_matrix and not node.transpose_lhs.value.data and shape[-1] > width


def repack_before_loops(module: ModuleOp, repack: Repack) -> None:
    """Lets products in loops of many steps read matrices in another form."""
    for loop in [op for op in module.walk() if isinstance(op, LoopOp)]:
        if loop.most >= TIMINGS.least_packed_steps:
            _repack(loop, repack)


def _repack(loop: LoopOp, repack: Repack) -> None:
    body, build = loop.body.block, Build()
    first = len(body.args) - len(loop.reads)
    outside: dict[SSAValue, SSAValue] = dict(zip(body.args[first:], loop.reads, strict=True))
    added: list[SSAValue] = []
    for node in list(body.ops):
        if not isinstance(node, Node) or len(node.operands) != 2:
            continue
        matrix = outside.get(node.operands[1])
        found = None if matrix is None else repack(node, matrix, build)
        if found is None:
            continue
        added.append(found[0])
        argument = body.insert_arg(found[0].type, len(body.args))
        inner = Build()
        product = found[1](argument, inner)
        replace_node(node, inner.ops, product)
    if added:
        _read_also(loop, added, build)


def _read_also(loop: LoopOp, values: list[SSAValue], build: Build) -> None:
    """
    Lets a loop, whose body has arguments for them, read further values, and none that is not used.
    """
    block, region = loop.parent, loop.detach_region(loop.body)
    assert block is not None
    body, reads = region.block, [*loop.reads, *values]
    for i in reversed(range(len(reads))):
        argument = body.args[len(body.args) - len(reads) + i]
        if argument.first_use is None:
            body.erase_arg(argument)
            del reads[i]
    new = LoopOp(loop.most, loop.carried, reads, region, loop.trips, loop.going)
    new.attributes |= loop.attributes
    block.insert_ops_before([*build.ops, new], loop)
    for old, value in zip(loop.results, new.results, strict=True):
        value.name_hint = old.name_hint
        old.replace_all_uses_with(value)
    loop.detach()
    loop.erase()
