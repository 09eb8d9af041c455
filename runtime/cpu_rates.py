"""The estimated speed of a CPU from its description: the roofline of its cores."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from xdsl.dialects.builtin import BFloat16Type, Float64Type, IntegerType
from xdsl.ir import Attribute

from ..glow_dialects.elements import storage_type
from ..glow_dialects.machine import MachineDescription
from ..glow_dialects.operator import Call, element_of
from ..glow_dialects.timings import TIMINGS
from ..glow_dialects.work import products_of
from ..interface.backend import Rates

_CPUINFO = Path("/proc/cpuinfo")


@cache
def clock() -> float:
    """Returns cycles per second of the first processor, as Linux reports them."""
    try:
        found = re.search(r"^cpu MHz\s*: ([0-9.]+)", _CPUINFO.read_text(), re.MULTILINE)
    except OSError:
        found = None
    return float(found[1]) * 1e6 if found else TIMINGS.usual_clock


def lane_bits(machine: MachineDescription, element: Attribute, product: bool) -> int:
    """Returns the share of a vector register that one operation on elements takes."""
    match storage_type(element):
        case Float64Type():
            return 64
        case BFloat16Type() if product and machine.has_bf16_dot:
            return 16
        case IntegerType(width=width) if product:
            # one instruction adds products of two neighbours of 16 bits, or of four bytes
            if width.data > 16:
                return 32
            return 8 if width.data == 8 and machine.int8_dots else 16
        case IntegerType(width=width):
            return max(8, width.data)
        case _:
            return 32  # narrow floats compute in f32


def cpu_rates(machine: MachineDescription, call: Call, threads: int) -> Rates:
    """
    Returns the rates of `threads` cores of a machine: those of the vector unit for the type of the
    first operand, and of memory as `Timings.flops_per_byte` relates it to the vector unit.
    """
    product = products_of(call) > 0
    element = element_of((*call.operands, *call.results)[0])
    lanes = machine.lanes(lane_bits(machine, element, product))
    fused = 2 if product and machine.has_fma else 1
    starts = clock() * TIMINGS.vector_units * threads
    cycles = starts * TIMINGS.product_efficiency
    memory = starts * 2 * machine.lanes(32) / TIMINGS.flops_per_byte
    return Rates(cycles * fused * lanes, memory)
