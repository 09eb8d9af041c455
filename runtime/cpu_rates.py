"""The estimated speed of a CPU from its description: the roofline of its cores."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from xdsl.dialects.builtin import BFloat16Type, Float64Type, IntegerType
from xdsl.ir import Attribute

from ..backend import Rates
from ..glow_dialects.elements import storage_type
from ..glow_dialects.operator import Call, element_of
from ..glow_dialects.work import products_of
from ..lowering.kernels.machine import MachineDescription
from ..passes.graph.choose_convolutions import FLOPS_PER_BYTE

_CPUINFO = Path("/proc/cpuinfo")
USUAL_CLOCK = 2.5e9
"""Hz; where the system does not tell."""
VECTOR_UNITS = 2
"""Vector instructions that a core starts in a cycle: so on AVX2, AVX-512 and recent Arm cores."""
EFFICIENCY = 0.8
"""The share of the peak that the products of a whole network reach (`glow.benchmarks.kernels`)."""


@cache
def clock() -> float:
    """Cycles per second of the first processor, as Linux reports them."""
    try:
        found = re.search(r"^cpu MHz\s*: ([0-9.]+)", _CPUINFO.read_text(), re.MULTILINE)
    except OSError:
        found = None
    return float(found[1]) * 1e6 if found else USUAL_CLOCK


def lane_bits(machine: MachineDescription, element: Attribute, product: bool) -> int:
    """The share of a vector register that one operation on elements takes."""
    match storage_type(element):
        case Float64Type():
            return 64
        case BFloat16Type() if product and machine.has_bf16_dot:
            return 16
        case IntegerType(width=width) if product:
            # one instruction adds products of two neighbours of 16 bits, or of four bytes
            if width.data > 16:
                return 32
            return 8 if width.data == 8 and machine.has_int8_dot else 16
        case IntegerType(width=width):
            return max(8, width.data)
        case _:
            return 32  # narrow floats compute in f32


def cpu_rates(machine: MachineDescription, call: Call, threads: int) -> Rates:
    """
    The rates of `threads` cores: those of the vector unit for the type of the first operand, and
    of memory as `passes.choose_convolutions` relates it to the vector unit.
    """
    product = products_of(call) > 0
    element = element_of((*call.operands, *call.results)[0])
    lanes = machine.lanes(lane_bits(machine, element, product))
    fused = 2 if product and machine.has_fma else 1
    cores = min(threads, machine.cores)
    cycles = clock() * VECTOR_UNITS * EFFICIENCY * cores
    memory = clock() * VECTOR_UNITS * 2 * machine.lanes(32) * cores / FLOPS_PER_BYTE
    return Rates(cycles * fused * lanes, memory)
