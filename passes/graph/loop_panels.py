"""
Matrices that a loop reads in each of its steps, packed into panels before the first one.

The matrix of a product in a body is the same in all steps if it is what the loop reads. If there
are many steps, each of them repays the panels, in whose order the kernel of the product reads them
(`glow_cpu.packed_matmul`).
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...glow_dialects.elements import is_float
from ...glow_dialects.glow.control import LoopOp
from ...glow_dialects.glow.matrix import MatMulOp
from ...glow_dialects.glow_cpu.packed import PackedMatMulOp
from ...glow_dialects.machine import MachineDescription
from ...glow_dialects.operator import element_of, shape_of
from ...glow_dialects.timings import TIMINGS
from .panels import panel_width, panels
from .rewriting import Build, replace_node


def pack_before_loops(module: ModuleOp, machine: MachineDescription) -> None:
    """Packs the matrices that products in loops of many steps read."""
    for loop in [op for op in module.walk() if isinstance(op, LoopOp)]:
        if loop.most >= TIMINGS.least_packed_steps:
            _pack(loop, machine)


def _pack(loop: LoopOp, machine: MachineDescription) -> None:
    body, build = loop.body.block, Build()
    first = len(body.args) - len(loop.reads)
    outside: dict[SSAValue, SSAValue] = dict(zip(body.args[first:], loop.reads, strict=True))
    added: list[SSAValue] = []
    for node in list(body.ops):
        if not isinstance(node, MatMulOp) or node.rhs not in outside:
            continue
        columns = shape_of(node.result.type)[-1]
        width = panel_width(columns, machine.lanes(32), machine.panel_vectors)
        if not _is_packed(node, width):
            continue
        turned = node.transpose_rhs.value.data != 0
        added.append(panels(outside[node.rhs], turned, width, build))
        argument = body.insert_arg(added[-1].type, len(body.args))
        inner = Build()
        product = inner(PackedMatMulOp, node.lhs, argument, columns=columns)
        replace_node(node, inner.ops, product)
    if added:
        _read_also(loop, added, build)


def _is_packed(node: MatMulOp, width: int) -> bool:
    """Returns whether a product of matrices of floats has more than one panel."""
    shape = shape_of(node.result.type)
    is_matrix = len(shape) == 2 and is_float(element_of(node.result.type))
    return is_matrix and not node.transpose_lhs.value.data and shape[-1] > width


def _read_also(loop: LoopOp, values: list[SSAValue], build: Build) -> None:
    """Lets a loop, whose body has arguments for them, read further values."""
    block, region = loop.parent, loop.detach_region(loop.body)
    assert block is not None
    reads = [*loop.reads, *values]
    new = LoopOp(loop.most, loop.carried, reads, region, loop.trips, loop.going)
    new.attributes |= loop.attributes
    block.insert_ops_before([*build.ops, new], loop)
    for old, value in zip(loop.results, new.results, strict=True):
        value.name_hint = old.name_hint
        old.replace_all_uses_with(value)
    loop.detach()
    loop.erase()
