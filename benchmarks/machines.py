"""The kinds of machines for which results are published, and what results say about a machine."""

from __future__ import annotations

import platform
from pathlib import Path

import llvmlite.binding as llvm
from glow.benchmarks.kernels import least_times, peak_program
from glow.glow_dialects.machine import MachineDescription
from glow.lowering.host_machine import host_machine, usable_cores

KINDS = ("AVX2", "AVX-512", "AMX")
"""The widest instructions of the machines for which results are kept, a file for each."""

_PEAK_RUNS = 20


def kind(machine: MachineDescription) -> str:
    """Returns the widest instructions of a machine: one of `KINDS`, or the width of its vectors."""
    if machine.has_int8_tiles or machine.has_bf16_tiles:
        return "AMX"
    return {512: "AVX-512", 256: "AVX2"}.get(machine.vector_bits, f"{machine.vector_bits} bits")


def features(machine: MachineDescription) -> str:
    """Returns the widest instructions of a machine, and those for narrow numbers."""
    names = [kind(machine), *(str(dot) for dot in machine.int8_dots)]
    return ", ".join([*names, "bf16 dot products"] if machine.has_bf16_dot else names)


def cpu_name() -> str:
    """Returns the name that Linux has for the CPU."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def peak() -> float:
    """Returns the GFLOP/s of fused multiplications and additions in f32 that a core reaches."""
    run, flops = peak_program()
    return flops / least_times([run], _PEAK_RUNS)[0] / 1e9


def this_machine() -> dict[str, str]:
    """Returns what results say about this machine."""
    description = host_machine()
    return {
        "cpu": cpu_name(),
        "architecture": llvm.get_host_cpu_name(),
        "kind": kind(description),
        "features": features(description),
        "peak": f"{peak():.3g}",
        "cores": str(usable_cores()),
        "system": platform.system(),
    }
