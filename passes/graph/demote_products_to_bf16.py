"""
Rounds operands of convolutions and matrix products to bf16, whose sums stay in f32.

On processors that multiply pairs of bf16 in one instruction (AVX512-BF16), this halves the memory
that operands take, and may halve the time. It changes results: each operand keeps 8 significant
bits. Constant filters and matrices are rounded, and put in pairs, at compile time. Images are
rounded where they are made: the cast becomes part of their producer, before the padding of a
convolution.

Of products of matrices that are computed, as in training (Micikevicius et al. 2018, "Mixed
precision training"), the kernel rounds both and puts them in pairs in each run. A cost model
decides whether that is faster than the product in f32. A matrix that a loop of many steps reads is
rounded and put in pairs once, before the loop.

Winograd convolutions, convolutions of few channels, depthwise ones, and those whose filter is
computed stay as they are. `glow-choose-convolutions` makes products of matrices of the last kind
before, where that is faster.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, bf16, f32
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...glow_dialects.glow.arithmetic import AddOp
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.constant import ConstantOp
from ...glow_dialects.glow.machine import machine_of
from ...glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from ...glow_dialects.glow.shape import PadOp
from ...glow_dialects.glow_cpu.blocked import BlockedConvolutionOp, is_blocked_input
from ...glow_dialects.glow_cpu.dot import DotConvolutionOp, DotMatMulOp
from ...glow_dialects.glow_cpu.packed import PackedMatMulOp
from ...glow_dialects.glow_cpu.rounded import RoundedMatMulOp
from ...glow_dialects.machine import MachineDescription
from ...glow_dialects.operator import element_of, shape_of
from ...glow_dialects.product_costs import repays_rounding
from ...glow_dialects.python_values import to_python
from ...semantics.arrays import constant_reader, lazy_constant
from ...semantics.dot import pair_rows
from ..levels import GRAPH
from .loop_panels import Product, repack_before_loops
from .lowerings.precision import cast
from .panels import packed, paired_panels
from .rewriting import Build, RuleTable, apply_rules, defining_op

PAIR = 2


def rounded(build: Build, value: SSAValue) -> SSAValue:
    """Returns a value in bf16; for a padded value, the operand of the padding is rounded."""
    pad = defining_op(value, PadOp)
    if pad is None:
        return cast(build, value, bf16)
    low, high = pad.call.ints("low"), pad.call.ints("high")
    inner = cast(build, pad.input, bf16)
    return build(PadOp, inner, low=list(low), high=list(high), value=float(to_python(pad.value)))


class _Rules:
    """The rules for a machine, with blocks and panels of `lanes` channels."""

    def __init__(self, machine: MachineDescription):
        self.machine, self.lanes = machine, machine.channel_block
        self.table = RuleTable()
        self.table.rule(BlockedConvolutionOp)(self.convolution)
        self.table.rule(PackedMatMulOp)(self.matmul)
        self.table.rule(MatMulOp)(self.matrices)
        self.table.rule(FullyConnectedOp)(self.fully_connected)

    def convolution(self, node: BlockedConvolutionOp, build: Build) -> SSAValue | None:
        filters = node.filter
        if element_of(node.input.type) != f32 or not is_blocked_input(node.call):
            return None
        shape = shape_of(filters.type)
        if not isinstance(filters.owner, ConstantOp) or shape[-2:] != (self.lanes, self.lanes):
            return None
        read = constant_reader(filters)
        assert read is not None
        paired = [*shape[:-2], self.lanes // PAIR, self.lanes, PAIR]
        axis = len(shape) - 2
        hint = filters.name_hint or "filter"
        w = build.add(lazy_constant(paired, bf16, hint, lambda: pair_rows(read(), axis)))
        w.name_hint = filters.name_hint
        return build(
            DotConvolutionOp,
            *(rounded(build, node.input), w, node.bias),
            strides=node.strides,
            dilations=node.dilations,
            group=node.group,
        )

    def matmul(self, node: PackedMatMulOp, build: Build) -> SSAValue | None:
        weights, lanes = node.weights, self.lanes
        columns = node.columns.value.data
        panels, inner, width = shape_of(weights.type)
        if element_of(node.input.type) != f32 or not isinstance(weights.owner, ConstantOp):
            return None
        if inner % PAIR:
            return None
        count = -(-columns // lanes)
        read = constant_reader(weights)
        assert read is not None

        def repacked() -> np.ndarray:
            matrix = read().transpose(1, 0, 2).reshape(inner, panels * width)[:, :columns]
            return pair_rows(packed(matrix, lanes), 1)

        shape = [count, inner // PAIR, lanes, PAIR]
        w = build.add(lazy_constant(shape, bf16, weights.name_hint or "weights", repacked))
        w.name_hint = weights.name_hint
        return build(DotMatMulOp, rounded(build, node.input), w, columns=columns)

    def in_loop(
        self, node: Node, matrix: SSAValue, build: Build
    ) -> tuple[SSAValue, Product] | None:
        """Returns a matrix that a loop reads in pairs of bf16, and the product with it."""
        if not isinstance(node, PackedMatMulOp) or element_of(matrix.type) != f32:
            return None
        _, inner, width = shape_of(matrix.type)
        if inner % PAIR or width % self.lanes:
            return None
        columns, x = node.columns.value.data, node.input
        made = paired_panels(cast(build, matrix, bf16), columns, self.lanes, build)
        return made, lambda w, body: body(DotMatMulOp, rounded(body, x), w, columns=columns)

    def matrices(self, node: MatMulOp, build: Build) -> SSAValue | None:
        """Returns the product of matrices, which its kernel packs, if that is faster."""
        turned = node.transpose_lhs.value.data != 0, node.transpose_rhs.value.data != 0
        return self._computed(node.lhs, node.rhs, turned, build)

    def fully_connected(self, node: FullyConnectedOp, build: Build) -> SSAValue | None:
        product = self._computed(node.input, node.weights, (False, True), build)
        if product is None:
            return None
        return build(AddOp, product, build.broadcast(node.bias, shape_of(product.type)))

    def _computed(
        self, lhs: SSAValue, rhs: SSAValue, turned: tuple[bool, bool], build: Build
    ) -> SSAValue | None:
        rows, terms = reversed(shape_of(lhs.type)[-2:]) if turned[0] else shape_of(lhs.type)[-2:]
        columns = shape_of(rhs.type)[-2 if turned[1] else -1]
        if element_of(lhs.type) != f32 or not repays_rounding(rows, terms, columns, self.machine):
            return None
        return build(RoundedMatMulOp, lhs, rhs, transpose_lhs=turned[0], transpose_rhs=turned[1])


@dataclass(frozen=True)
class DemoteProductsToBf16Pass(ModulePass):
    """Rounds the operands of convolutions and matrix products to bf16."""

    name = "glow-demote-products-to-bf16"
    level = GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rules = _Rules(machine_of(op))
        apply_rules(op, rules.table)
        repack_before_loops(op, rules.in_loop)
