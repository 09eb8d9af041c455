"""
The capabilities of published designs of VTA, which compiler, verifier and simulator use.

All designs read the same words. They differ in the instructions that they know, in the results of
these for some operands, and in the number of operations in flight. A new design is one more entry
of `DESIGNS`; nothing else asks for names. `docs/vta.md` lists the designs, with the source of each
capability in `apache/tvm-vta`.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_SHIFT = 31
"""Places by which a number of 32 bits can be shifted."""


@dataclass(frozen=True)
class Design:
    """
    The capabilities of a design. The defaults are those of a machine without limits.

    Ranges of shift amounts are (least, greatest); amounts below 0 shift to the left.
    """

    name: str
    loads_bytes: bool = True
    """Whether `acc8` loads exist: numbers of 8 bits, widened into accumulators."""
    multiplies: bool = True
    """Whether the ALU multiplies."""
    shifts: tuple[int, int] = (-MOST_SHIFT, MOST_SHIFT)
    """The immediate amounts."""
    register_shifts: tuple[int, int] = (-MOST_SHIFT, MOST_SHIFT)
    """The amounts in accumulators."""
    pads_accumulators: bool = True
    """Whether loads of accumulators can surround them by zeros."""
    loads_padding_alone: bool = True
    """Whether a load of no rows writes its padding."""
    stores_accumulators: bool = True
    """
    Whether STORE reads accumulators. Otherwise it reads a memory of its own, to which GEMM without
    reset and ALU write their results; loaded or reset accumulators are not there.
    """
    distance: int = 1
    """
    An iteration of GEMM or ALU reads no accumulator that one of the `distance - 1` iterations
    before it in the same instruction writes.
    """
    micro_ops: int | None = None
    """Micro-ops that the buffer holds, if that is less than fields can number."""
    queue_length: int | None = None
    """The tokens that a queue between two engines holds; None for no limit."""
    full_queues_block: bool = True
    """Whether a push into a full queue waits. Otherwise the token is lost."""

    def lacks(self, what: str, advice: str) -> str:
        """Returns a message about a missing capability, with advice."""
        return f"the design {self.name} {what}: {advice}"


FUNCTIONAL = Design("functional")
"""The functional simulator (`src/sim/sim_driver.cc`)."""

XILINX_HLS = Design(
    "xilinx-hls",
    loads_bytes=False,
    multiplies=False,
    shifts=(-16, 15),
    register_shifts=(-16, 15),
    stores_accumulators=False,
    distance=3,
    queue_length=8,
)
"""The design for Xilinx FPGAs (`hardware/xilinx/src/vta.cc`)."""

CHISEL = Design(
    "chisel",
    loads_bytes=False,
    multiplies=False,
    register_shifts=(0, MOST_SHIFT),
    loads_padding_alone=False,
    stores_accumulators=False,
    distance=2,
    micro_ops=2048,
    queue_length=255,
    full_queues_block=False,
)
"""The design in Chisel (`hardware/chisel/src/main/scala/core`)."""

INTELFOCL = Design("intelfocl", pads_accumulators=False, stores_accumulators=False)
"""The design in OpenCL for Intel FPGAs (`hardware/intelfocl/src/vta.cl`)."""

DESIGNS = {d.name: d for d in (FUNCTIONAL, XILINX_HLS, CHISEL, INTELFOCL)}


def find_design(name: str) -> Design:
    """Raises ValueError for an unknown name."""
    found = DESIGNS.get(name)
    if found is None:
        raise ValueError(f"expected design to be one of {', '.join(DESIGNS)}, found {name}")
    return found
