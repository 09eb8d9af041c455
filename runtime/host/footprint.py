"""The memory that a partition takes on its device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...glow_dialects.elements import type_bytes
from ...glow_dialects.glow.constant import ConstantOp
from ...interface.program import MeasuredProgram, Program
from ..memory_plan import plan_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ...passes.partition.partitions import Partition

ALLOCATED = "allocated"
"""The stage of a backend whose memory is planned (`glow-allocate`)."""


@dataclass(frozen=True)
class Footprint:
    """Bytes."""

    weights: int
    """Loaded once, for all runs."""
    arena: int
    """Bytes for activations, kept from run to run."""
    tensors: int
    """The bytes while it runs: inputs, outputs, and activations that are not in an arena."""

    @property
    def resident(self) -> int:
        """The bytes that a partition takes as long as it is loaded."""
        return self.weights + self.arena

    def __str__(self) -> str:
        return (
            f"{self.resident + self.tensors} bytes: {self.weights} for weights, {self.arena} for "
            f"its arena, and {self.tensors} for tensors while it runs"
        )


def footprint_of(stages: Mapping[str, ModuleOp], partition: Partition) -> Footprint:
    """
    Returns the memory of a partition: from the memory plan if its backend makes one, otherwise the
    partitioner's estimate (see `passes.partitions`), but at least its constants, inputs and
    outputs.
    """
    ends = sum(partition.input_bytes) + sum(partition.output_bytes)
    if ALLOCATED in stages:
        plan = plan_of(stages[ALLOCATED])
        return Footprint(plan.weight_bytes, plan.arena_bytes, ends)
    constants = sum(
        type_bytes(op.result.type) for op in partition.function.walk() if isinstance(op, ConstantOp)
    )
    weights = max(partition.weight_bytes, constants)
    return Footprint(weights, 0, max(partition.activation_bytes, ends))


def measured(program: Program, planned: Footprint) -> Footprint:
    """
    Returns the memory of a program that is made, as far as it knows that better than a plan does.
    """
    if not isinstance(program, MeasuredProgram):
        return planned
    found = program.memory
    return replace(planned, weights=found.weights, arena=found.arena)
