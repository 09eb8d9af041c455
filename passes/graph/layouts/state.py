"""
The blocked versions of the values of a graph, and the table of rules that make them.

A rule is a function `(layouts, node) -> Blocked | Plain | None`. It gets the blocked versions of
the node's operands, adds nodes that compute the result, and returns that; None leaves the node as
it is, on plain tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias, TypeVar

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from ....glow_dialects.glow.base import Node
from ....glow_dialects.glow.constant import ConstantOp, SplatOp
from ....glow_dialects.glow.shape import BroadcastOp, PadOp, ReshapeOp, SliceOp
from ....glow_dialects.glow_cpu.blocked import PackChannelsOp, UnpackChannelsOp, num_blocks
from ....glow_dialects.machine import MachineDescription
from ....glow_dialects.operator import element_of, shape_of, with_shape
from ....glow_dialects.python_values import Python, to_python
from ....glow_dialects.quant import QuantizedType
from ....semantics.arrays import constant_reader, lazy_constant
from ....semantics.blocked import pack_channels
from ....table import Table

CHANNEL = 1
"""The dimension of channels."""


@dataclass(frozen=True)
class Blocked:
    """The blocked version [N, ceil(C / b), *spatial, b] of a tensor [N, C, *spatial]."""

    value: SSAValue
    channels: int
    fill: float | None = 0.0
    """
    The value of lanes without a channel; None if they differ. It has no meaning if there are no
    such lanes.
    """

    @property
    def block(self) -> int:
        return shape_of(self.value.type)[-1]

    @property
    def is_full(self) -> bool:
        """Whether every lane has a channel."""
        return self.channels % self.block == 0


@dataclass(frozen=True)
class Plain:
    """A value that takes the place of a result itself, instead of its blocked version."""

    value: SSAValue


N = TypeVar("N", bound=Node)
Rule: TypeAlias = "Callable[[Layouts, N], Blocked | Plain | None]"
_RULES: Table[type[Node], Rule[Any]] = Table("a rule for blocked tensors")


def rule(*operators: type[Node]) -> Callable[[Rule[N]], Rule[N]]:
    """Registers how operators work on blocked tensors."""
    return _RULES.entry(*operators)


def rule_of(operator: type[Operation]) -> Rule | None:
    return _RULES.get(operator)


class Layouts:
    """The blocked versions of values so far. New nodes are inserted before the current node."""

    def __init__(self, machine: MachineDescription, block: int | None = None):
        self.machine = machine
        self.block = block or machine.channel_block
        """Channels of a vector: of a block, unless `blocks` says otherwise."""
        self.blocks: Mapping[SSAValue, int] = {}
        """Channels of a block of values for which they are not `block`."""
        self._blocked: dict[SSAValue, Blocked] = {}
        self._replaced: set[SSAValue] = set()
        """Values whose node works on blocked tensors now, so that they have to be unpacked."""
        self._unpacked: dict[SSAValue, SSAValue] = {}
        self._pads: dict[tuple[SSAValue, float], list[PadOp]] = {}
        self._node: Operation | None = None
        self.demand: Mapping[SSAValue, int] = {}
        """Above 0 for values that more users want blocked than plain."""

    def visit(self, node: Operation) -> None:
        self._node = node

    def add(
        self,
        operator: type[Node],
        *operands: SSAValue,
        result_types: Sequence[Attribute] | None = None,
        **properties: Python,
    ) -> SSAValue:
        """Returns `operator.of(...)` in front of the current node; returns its only result."""
        return self._insert(operator.of(*operands, result_types=result_types, **properties))

    def _insert(self, new: Node) -> SSAValue:
        node = self._node
        assert node is not None
        assert node.parent is not None
        new.location = node.location
        if node.results:
            new.results[0].name_hint = node.results[0].name_hint
        node.parent.insert_op_before(new, node)
        return new.results[0]

    # versions of values

    def replace(self, value: SSAValue, blocked: Blocked) -> None:
        """Replaces a value by its blocked version. From now on only that version is computed."""
        self._blocked[value] = blocked
        self._replaced.add(value)

    def blocked(self, value: SSAValue) -> Blocked | None:
        """Returns the blocked version of a value, if there is one."""
        return self._blocked.get(value)

    def prefers_blocks(self, operands: Sequence[SSAValue], result: SSAValue) -> bool:
        """
        Returns whether an operator that works on either layout should take blocked operands: if all
        that are not known at compile time are blocked, or some are and the result's users want it
        so.
        """
        known = (ConstantOp, SplatOp, BroadcastOp)
        plain = [v for v in operands if v not in self._blocked]
        if len(plain) == len(operands):
            return False
        computed = [v for v in plain if not isinstance(v.owner, known)]
        return not computed or self.demand.get(result, 0) > 0

    def block_of(self, value: SSAValue) -> int:
        """Returns the number of channels that a block of a value should have."""
        return self.blocks.get(value, self.block)

    def packed(self, value: SSAValue, block: int) -> Blocked:
        """
        Returns the blocked version of a value of rank 2 or more, which is packed into blocks of
        that many channels if there is none.
        """
        found = self._blocked.get(value)
        if found is None:
            found = self._packed(value, block)
            if not isinstance(value.owner, ConstantOp | SplatOp | BroadcastOp):
                self._blocked[value] = found
        return found

    def common_block(self, values: Sequence[SSAValue]) -> int | None:
        """Returns the block that the blocked ones of some values share; None if they do not."""
        blocks = {self._blocked[v].block for v in values if v in self._blocked}
        return blocks.pop() if len(blocks) == 1 else None

    def _packed(self, value: SSAValue, block: int) -> Blocked:
        batch, channels, *sizes = shape_of(value.type)
        shape = [batch, num_blocks(channels, block), *sizes, block]
        match value.owner:
            case SplatOp() as splat:
                result = with_shape(element_of(value.type), shape)
                same = self.add(SplatOp, result_types=[result], value=splat.value)
                return Blocked(same, channels, float(to_python(splat.value)))
            case ConstantOp() as constant:
                packed = self.constant(constant, lambda a: pack_channels(a, block), shape)
                return Blocked(packed, channels)
            case BroadcastOp() as broadcast:
                return self._repeated(broadcast, shape)
            case _ if prod(sizes) == 1 and channels % block == 0:
                # memory already has the blocked order
                return Blocked(self.reshaped(value, shape), channels)
            case _:
                return Blocked(self.add(PackChannelsOp, value, block=block), channels)

    def _repeated(self, node: BroadcastOp, shape: Sequence[int]) -> Blocked:
        """Returns a broadcast along other dimensions, or along the channels."""
        target, source = shape_of(node.result.type), shape_of(node.input.type)
        aligned = [1] * (len(target) - len(source)) + list(source)
        result = with_shape(element_of(node.result.type), shape)
        if aligned[1] == target[1] and len(source) >= len(target) - 1 and target[1] != 1:
            whole = self.packed(self.reshaped(node.input, aligned), shape[-1])
            repeated = self.add(BroadcastOp, whole.value, result_types=[result])
            return Blocked(repeated, target[1], whole.fill)
        narrow = self.reshaped(self.plain(node.input), [*aligned, 1])
        fill = None if aligned[1] == 1 else 0.0
        return Blocked(self.add(BroadcastOp, narrow, result_types=[result]), target[1], fill)

    def reshaped(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        if shape_of(value.type) == tuple(shape):
            return value
        result = with_shape(element_of(value.type), shape)
        if isinstance(value.owner, ConstantOp):
            return self.constant(value.owner, lambda a: a.reshape(shape), shape)
        return self.add(ReshapeOp, self.plain(value), result_types=[result])

    def plain(self, value: SSAValue) -> SSAValue:
        """Returns the plain version of a value, which is unpacked if need be."""
        if value not in self._replaced:
            return value
        if value not in self._unpacked:
            self._unpacked[value] = self.unpacked(self._blocked[value], shape_of(value.type))
        return self._unpacked[value]

    def unpacked(self, found: Blocked, shape: Sequence[int]) -> SSAValue:
        """Returns the plain version of a value, of `shape`."""
        batch, channels, *sizes = shape
        if prod(sizes) != 1:
            return self.add(UnpackChannelsOp, found.value, channels=channels)
        # without spatial extent, memory already has the plain order
        element = element_of(found.value.type)
        lanes = num_blocks(channels, found.block) * found.block
        whole = with_shape(element, [batch, lanes, *sizes])
        value = self.add(ReshapeOp, found.value, result_types=[whole])
        if found.is_full:
            return value
        return self.add(SliceOp, value, sizes=list(shape))

    def constant(
        self,
        source: ConstantOp | SplatOp,
        change: Callable[[np.ndarray], np.ndarray],
        shape: Sequence[int],
    ) -> SSAValue:
        """
        Returns a rearranged constant, of `shape`; with the stored numbers of one that is quantized
        per axis. Large ones are rearranged when bytes are needed.
        """
        read, element = constant_reader(source.result), element_of(source.result.type)
        assert read is not None
        hint = source.result.name_hint or "constant"
        if isinstance(element, QuantizedType) and element.is_per_axis:
            element = element.storage
        return self._insert(lazy_constant(shape, element, hint, lambda: change(read())))

    # borders

    def padded(
        self,
        blocked: SSAValue,
        low: Sequence[int],
        high: Sequence[int],
        number: float = 0.0,
    ) -> SSAValue:
        """
        Returns a tensor with a number around its spatial dimensions; the tensor itself if nothing
        is added.
        """
        if not any((*low, *high)):
            return blocked
        made = self._pads.setdefault((blocked, number), [])
        last = len(shape_of(blocked.type)) - 2 - len(low)
        around = [[0, 0, *side, *[0] * last] for side in (low, high)]
        for pad in made:
            if [list(pad.call.ints("low")), list(pad.call.ints("high"))] == around:
                return pad.result
        new = PadOp.of(blocked, low=around[0], high=around[1], value=number)
        made.append(new)
        return self._insert(new)

    def merge_borders(self) -> None:
        """
        Gives each value one border of a number, the largest that is wanted; its users read parts of
        it. So the value is computed where all of them read it.
        """
        for (value, number), pads in self._pads.items():
            if len(pads) < 2:
                continue
            sides = [(p.call.ints("low"), p.call.ints("high")) for p in pads]
            low, high = (
                [max(widths) for widths in zip(*side, strict=True)]
                for side in zip(*sides, strict=True)
            )
            self.visit(pads[0])
            whole = self.add(PadOp, value, low=low, high=high, value=number)
            for pad in pads:
                if pad.result.type == whole.type:
                    pad.result.replace_all_uses_with(whole)
                    pad.detach()
                    pad.erase()
                    continue
                self.visit(pad)
                part = self.add(
                    SliceOp,
                    whole,
                    starts=[a - b for a, b in zip(low, pad.call.ints("low"), strict=True)],
                    sizes=list(shape_of(pad.result.type)),
                )
                pad.result.replace_all_uses_with(part)
                pad.detach()
                pad.erase()
