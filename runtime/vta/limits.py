"""
The limits of a design. It refuses instructions that it does not know, amounts by which it does not
shift, and iterations too close to each other. `glow_dialects/vta/designs.py` has the capabilities
of the designs.
"""

from __future__ import annotations

import numpy as np

from ...glow_dialects.vta.config import VtaConfig
from .plans import Factors
from .words import Alu, AluOp, Gemm, Instruction, MemoryCode, Transfer, decode_micro_ops, error_at


class Limits:
    """
    The limits of one machine. Each method raises VtaError for instructions that it cannot execute.
    """

    def __init__(self, config: VtaConfig):
        self._config = config
        self._design = config.capabilities
        self._far: set[tuple] = set()
        """Loops that keep the distance."""

    def transfer(self, i: Transfer) -> None:
        """Checks a LOAD or STORE that moves something."""
        design, pads = self._design, i.width != i.x_size or i.height != i.y_size
        if i.memory is MemoryCode.ACC_8BIT and not design.loads_bytes:
            self._refuse(i, "has no loads of acc8", "load inp, and multiply it by an identity")
        if pads and i.memory is not MemoryCode.INP and not design.pads_accumulators:
            self._refuse(i, "cannot surround accumulators by zeros", "reset them before")
        if pads and not i.y_size and not design.loads_padding_alone:
            self._refuse(
                i, "never ends a load that has padding but no rows", "load zeros from DRAM"
            )

    def micro_ops(self, i: Instruction, end: int) -> None:
        """Checks an instruction that uses micro-ops up to number `end - 1`."""
        most = self._config.usable_micro_ops
        if end > most:
            self._refuse(i, f"holds {most} micro-ops", f"do without number {end - 1}")

    def alu(self, i: Alu) -> None:
        """Checks the operation of an ALU instruction."""
        if i.op is AluOp.MUL and not self._design.multiplies:
            self._refuse(i, "cannot multiply in the ALU", "add shifted numbers")

    def shift(self, i: Alu, amounts: np.ndarray | np.int32) -> None:
        """Checks the amounts of a shift: one number, or those in accumulators."""
        low, high = self._design.shifts if i.use_imm else self._design.register_shifts
        wrong = (amounts < low) | (amounts > high)
        if np.any(wrong):
            worst = int(np.reshape(amounts, -1)[np.argmax(wrong)])
            raise error_at(
                i, f"a shift by {worst} places; it can be {low} to {high} in {self._design.name}"
            )

    def stored(self, i: Transfer, computed: np.ndarray) -> None:
        """Checks a STORE of accumulators. `computed` has those that GEMM or ALU computed."""
        if not computed.all():
            number = i.sram_base + int(np.argmin(computed))
            self._refuse(
                i,
                "stores what GEMM or ALU computed, not what was loaded or reset, such as "
                f"ACC[{number}]",
                "add 0 in the ALU before",
            )

    def distance(self, i: Gemm | Alu, words: np.ndarray) -> None:
        """
        Checks the accumulators that an instruction with the micro-ops `words` reads and writes.
        """
        key = (words.tobytes(), *i[2:])
        least = self._design.distance
        if least == 1 or key in self._far or (isinstance(i, Gemm) and i.reset):
            return
        self._far.add(key)
        dst, src, _ = decode_micro_ops(words, self._config)
        written = Factors(i.dst_out, i.dst_in).indices(dst, i.iter_out, i.iter_in)
        read = [written]
        if isinstance(i, Alu) and not i.use_imm:
            read.append(Factors(i.src_out, i.src_in).indices(src, i.iter_out, i.iter_in))
        for places in read:
            for distance in range(1, least):
                near = np.flatnonzero(places[distance:] == written[:-distance])
                if near.size:
                    n = int(near[0])
                    self._refuse(
                        i,
                        f"reads an accumulator no sooner than {least} iterations after its write, "
                        f"but iteration {n + distance} reads ACC[{written[n]}], which iteration "
                        f"{n} writes",
                        "let other accumulators come between",
                    )

    def _refuse(self, i: Instruction, what: str, advice: str) -> None:
        raise error_at(i, self._design.lacks(what, advice))
