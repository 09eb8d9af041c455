"""
The elements that an instruction of the `vta` dialect reads and writes.

Elements of a buffer are numbered; those of DRAM are bytes. The micro-ops in the buffer at that
moment determine the accesses of GEMM and ALU instructions, so `Accesses` follows the loads of
micro-ops.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.utils.exceptions import VerifyException

from ...glow_dialects.vta import (
    AluOp,
    GemmOp,
    LoadOp,
    Loop,
    MicroOpsOp,
    StoreOp,
    Transfer,
    VtaConfig,
    VtaInstruction,
    VtaMemory,
)
from ...glow_dialects.vta.dram import MICRO_OP_FIELDS

DST, SRC, WGT = range(len(MICRO_OP_FIELDS))


@dataclass(frozen=True)
class VtaAccess:
    """Reads or writes `elements`, numbers in any order, of the buffer `memory`."""

    memory: VtaMemory
    writes: bool
    elements: np.ndarray | slice


@dataclass(frozen=True)
class DramAccess:
    """Reads or writes `rows` rows of `size` bytes, `pitch` bytes apart, from byte `first` on."""

    writes: bool
    first: int
    rows: int
    size: int
    pitch: int

    @property
    def end(self) -> int:
        return self.first + (self.rows - 1) * self.pitch + self.size


def dram_access(op: VtaInstruction, config: VtaConfig) -> DramAccess | None:
    """Returns the DRAM that an instruction accesses, if it moves anything."""
    if not isinstance(op, Transfer):
        return None
    rows, columns, stride = op.shape()
    if not rows or not columns:
        return None
    size = config.element_bytes(op.memory_type)
    first = op.dram_base(config) * size
    return DramAccess(isinstance(op, StoreOp), first, rows, columns * size, stride * size)


class Accesses:
    """
    The accesses of each instruction to the buffers. Call `of` for the instructions of COMPUTE in
    their order, because it also executes the loads of micro-ops.
    """

    def __init__(self, config: VtaConfig):
        self._config = config
        self._micro_ops = np.zeros((config.uop_depth, len(MICRO_OP_FIELDS)), np.int64)
        self._loaded = np.zeros(config.uop_depth, np.bool_)
        self._tables: dict[MicroOpsOp, np.ndarray] = {}
        self._known: dict[tuple, list[VtaAccess]] = {}

    def of(self, op: VtaInstruction) -> list[VtaAccess]:
        """
        Returns the accesses to INP, WGT and ACC; those to UOP are of one engine only.

        Raises VerifyException if micro-ops are not known or lead outside a buffer.
        """
        match op:
            case StoreOp():
                return self._moved(op, writes=False)
            case LoadOp() if op.memory_type is VtaMemory.UOP:
                self._load_micro_ops(op)
                return []
            case LoadOp():
                return self._moved(op, writes=True)
            case Loop():
                return self._repeated(op)
            case _:
                return []

    def _moved(self, op: Transfer, writes: bool) -> list[VtaAccess]:
        rows, columns, _ = op.shape()
        if not columns:
            return []
        top, bottom, left, right = op.padding
        begin = op.sram.value.data
        end = begin + (top + rows + bottom) * (left + columns + right)
        return [VtaAccess(op.memory_type.buffer, writes, slice(begin, end))]

    def _load_micro_ops(self, op: LoadOp) -> None:
        rows, columns, _ = op.shape()
        if not rows or not columns:
            return
        region = op.region_op
        begin, first = op.sram.value.data, op.dram.value.data
        self._known.clear()
        if not isinstance(region, MicroOpsOp):
            self._loaded[begin : begin + columns] = False
            return
        table = self._tables.get(region)
        if table is None:
            values = np.array(region.ops.get_values(), np.int64)
            table = self._tables[region] = values.reshape(-1, len(MICRO_OP_FIELDS))
        self._micro_ops[begin : begin + columns] = table[first : first + columns]
        self._loaded[begin : begin + columns] = True

    def _repeated(self, op: Loop) -> list[VtaAccess]:
        key = _key(op)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._walk(op)
        return found

    def _walk(self, op: Loop) -> list[VtaAccess]:
        fields = op.fields(self._config)
        begin, end = fields["uop_bgn"], fields["uop_end"]
        if begin == end or not fields["iter_out"] or not fields["iter_in"]:
            return []
        if not self._loaded[begin:end].all():
            missing = begin + int(np.argmin(self._loaded[begin:end]))
            raise VerifyException(
                f"expected micro-op {missing} to be loaded from a table of vta.micro_ops before"
            )
        operands = [("dst", DST, VtaMemory.ACC, True), *_sources(op)]
        return [
            VtaAccess(memory, writes, self._indices(fields, name, column, memory))
            for name, column, memory, writes in operands
        ]

    def reads_written(self, op: Loop) -> tuple[np.ndarray, ...]:
        """
        Returns the accumulators of an instruction in each of its iterations, in their order: those
        that it writes, and one array for each operand among them that it reads.
        """
        if isinstance(op, GemmOp) and op.reset is not None:
            return (self._sequence(op, "dst", DST),)
        sources = [
            (name, column) for name, column, memory, _ in _sources(op) if memory is VtaMemory.ACC
        ]
        written = self._sequence(op, "dst", DST)
        return written, written, *(self._sequence(op, name, column) for name, column in sources)

    def key(self, op: Loop) -> tuple:
        """Returns the key of instructions that reach the same elements."""
        begin, end = op.uops.get_values()
        return *_key(op), self._micro_ops[begin:end].tobytes()

    def _sequence(self, op: Loop, name: str, column: int) -> np.ndarray:
        """Returns the elements that one operand reaches, in the order of the iterations."""
        fields = op.fields(self._config)
        found = self._micro_ops[fields["uop_bgn"] : fields["uop_end"], column]
        for x in ("in", "out"):
            steps = np.arange(fields[f"iter_{x}"]) * fields[f"{name}_factor_{x}"]
            found = (steps[:, None] + found).reshape(-1)
        return found

    def _indices(
        self, fields: dict[str, int], name: str, column: int, memory: VtaMemory
    ) -> np.ndarray:
        """Returns the elements that one operand reaches in all iterations."""
        found = np.unique(self._micro_ops[fields["uop_bgn"] : fields["uop_end"], column])
        loops = [(fields[f"iter_{x}"], fields[f"{name}_factor_{x}"]) for x in ("out", "in")]
        last = int(found[-1]) + sum((count - 1) * step for count, step in loops)
        if last >= self._config.depth(memory):
            raise VerifyException(
                f"expected {name} below {self._config.depth(memory)}, the number of elements of "
                f"{memory}, found {last}"
            )
        for count, step in loops:
            if step:
                found = np.unique(found[:, None] + np.arange(count) * step)
        return found


def _key(op: Loop) -> tuple:
    wgt, reads = (op.wgt, op.reset) if isinstance(op, GemmOp) else (None, op.properties.get("imm"))
    return type(op), op.uops, op.loop, op.dst, op.src, wgt, reads is None


def _sources(op: Loop) -> list[tuple[str, int, VtaMemory, bool]]:
    """
    Returns the operands that are only read: fields, column of the micro-op, buffer, and False.
    """
    if isinstance(op, GemmOp) and op.reset is None:
        return [("src", SRC, VtaMemory.INP, False), ("wgt", WGT, VtaMemory.WGT, False)]
    if isinstance(op, AluOp) and op.imm is None:
        return [("src", SRC, VtaMemory.ACC, False)]
    return []
