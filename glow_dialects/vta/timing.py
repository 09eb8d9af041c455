"""
The speed of a machine, with which the choice of tiles and the estimates of the simulator compute.

The intervals and the shared port of 64 bits are those of the design for Xilinx FPGAs in `tvm-vta`.
It says nothing about `start` and `dram_latency`: their defaults are assumptions, to be replaced by
what is measured on a board.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class VtaTiming:
    """
    The speed of a VTA. Times are cycles of its clock.

    Raises ValueError for numbers that no machine can have.
    """

    bytes_per_cycle: int = 8
    """The bytes per cycle of each direction of the AXI port."""
    dram_latency: int = 40
    """The cycles from the beginning of a transfer to its first byte; an assumption."""
    gemm_interval: int = 1
    alu_interval: int = 2
    alu_lanes: int | None = None
    """Numbers that the ALU computes at once; None is a whole accumulator, batch x block_out."""
    start: int = 16
    """
    The cycles from the beginning of a GEMM or ALU to the end of its first iteration; an assumption.
    """
    clock_mhz: float = 100.0

    def __post_init__(self) -> None:
        lanes = 1 if self.alu_lanes is None else self.alu_lanes
        positive = (self.bytes_per_cycle, self.gemm_interval, self.alu_interval, lanes)
        if min(positive) < 1 or min(self.dram_latency, self.start) < 0 or self.clock_mhz <= 0:
            raise ValueError(f"no VTA has this timing: {self}")
