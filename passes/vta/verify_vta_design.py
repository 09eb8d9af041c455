"""
Checks that programs for VTA do only what the design of their machine can do.

Designs differ in the instructions that they know, in the memory that their stores read, and in the
distance of two iterations that may use the same accumulator (`glow_dialects/vta/designs.py`).
Stores are checked in the order of the program, which is that of the machine if tokens order all
accesses (`glow-verify-vta-tokens`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from ...glow_dialects.vta import (
    AluOp,
    AluOpcode,
    Design,
    GemmOp,
    LoadOp,
    Loop,
    StoreOp,
    VtaConfig,
    VtaInstruction,
    VtaMemory,
    config_of,
    contents,
    programs,
)
from ..levels import VTA
from ..visited_operation import each
from .vta_accesses import Accesses, VtaAccess


def verify_design(function: func.FuncOp) -> None:
    """
    Checks a program for VTA.

    Raises VerifyException on the first fault; its attribute `operation` is the offending one.
    """
    checker = _Checker(config_of(function))
    for op in each(contents(function)[1]):
        try:
            checker.check(op)
        except VerifyException as e:
            e.operation = op  # pyright: ignore[reportAttributeAccessIssue]
            raise


class _Checker:
    def __init__(self, config: VtaConfig):
        self._design: Design = config.capabilities
        self._accesses = Accesses(config)
        self._follows = self._design.distance > 1 or not self._design.stores_accumulators
        self._far: set[tuple] = set()
        """Loops that keep the distance."""
        self._stored = np.zeros(config.acc_depth, np.bool_)
        """Which accumulators are in the memory that STORE reads."""

    def check(self, op: VtaInstruction) -> None:
        """Raises VerifyException. Call it for all instructions in their order."""
        check = _CHECKS.get(type(op))
        if check is not None:
            check(self, op)
        if not self._follows:
            return
        accesses = self._accesses.of(op)
        if isinstance(op, Loop) and accesses:
            self._check_distance(op)
        if not self._design.stores_accumulators:
            self._follow(op, accesses)

    def load(self, op: LoadOp) -> None:
        (rows, columns, _), design, pads = op.shape(), self._design, any(op.padding)
        if not columns:
            return
        if op.memory_type is VtaMemory.ACC_8BIT and not design.loads_bytes:
            self._fail("has no loads of acc8", "load inp, and multiply it by an identity matrix")
        if pads and op.memory_type is not VtaMemory.INP and not design.pads_accumulators:
            self._fail("cannot surround accumulators by zeros", "reset them before by vta.gemm")
        if pads and not rows and not design.loads_padding_alone:
            self._fail("never ends a load that has padding but no rows", "load zeros from DRAM")

    def alu(self, op: AluOp) -> None:
        design, opcode = self._design, op.opcode.data
        if opcode is AluOpcode.MUL and not design.multiplies:
            self._fail(
                "cannot multiply in the ALU",
                "add shifted numbers, or give the operator to another device",
            )
        if opcode is not AluOpcode.SHR or op.imm is None:
            return
        (low, high), amount = design.shifts, op.imm.value.data
        if not low <= amount <= high:
            self._fail(
                f"cannot shift by {amount} places, only by {low} to {high}", "shift several times"
            )

    def _check_distance(self, op: Loop) -> None:
        key = self._accesses.key(op)
        if self._design.distance == 1 or key in self._far:
            return
        self._far.add(key)
        written, *read = self._accesses.reads_written(op)
        for distance in range(1, self._design.distance):
            for place in read:
                (near,) = np.nonzero(place[distance:] == written[:-distance])
                if near.size:
                    number = int(near[0])
                    self._fail(
                        f"reads an accumulator no sooner than {self._design.distance} iterations "
                        f"after its write, but iteration {number + distance} reads "
                        f"acc[{written[number]}], which iteration {number} writes",
                        "let other accumulators come between",
                    )

    def _follow(self, op: VtaInstruction, accesses: Sequence[VtaAccess]) -> None:
        """Updates the accumulators in the memory that STORE reads, after an instruction."""
        computes = isinstance(op, AluOp) or (isinstance(op, GemmOp) and op.reset is None)
        for access in accesses:
            if access.memory is not VtaMemory.ACC:
                continue
            if access.writes:
                self._stored[access.elements] = computes
            elif isinstance(op, StoreOp):
                self._check_stored(access.elements)

    def _check_stored(self, elements: np.ndarray | slice) -> None:
        if self._stored[elements].all():
            return
        numbers = np.arange(self._stored.size)[elements]
        number = int(numbers[~self._stored[elements]][0])
        self._fail(
            "stores what GEMM or ALU computed, not what was loaded or reset, such as "
            f"acc[{number}]",
            "add 0 in the ALU before",
        )

    def _fail(self, what: str, advice: str) -> NoReturn:
        raise VerifyException(self._design.lacks(what, advice))


_CHECKS: dict[type[VtaInstruction], Callable[[_Checker, Any], None]] = {
    LoadOp: _Checker.load,
    AluOp: _Checker.alu,
}


@dataclass(frozen=True)
class VerifyVtaDesignPass(ModulePass):
    """Checks that programs for VTA use only the features of their design, and changes nothing."""

    name = "glow-verify-vta-design"
    level = VTA

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in each(programs(op)):
            verify_design(function)
