"""What a schedule needs to know of a processor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class MachineDescription:
    """A processor as the kernel scheduler sees it: its vector unit."""

    vector_bits: int = 512
    """Width of a vector register."""
    vector_registers: int = 32
    has_fma: bool = True
    """Whether a multiplication and an addition are one instruction with one rounding."""

    def lanes(self, element_bits: int) -> int:
        """How many elements of a width fit into a vector register; at least 1."""
        return max(1, self.vector_bits // element_bits)


def describe(features: Mapping[str, bool]) -> MachineDescription:
    """The processor with these features, in LLVM's names. Those not given count as absent."""
    has_fma = bool(features.get("fma"))
    if features.get("avx512f") and features.get("avx512bw") and features.get("avx512vl"):
        return MachineDescription(512, 32, has_fma)
    if features.get("avx2"):
        return MachineDescription(256, 16, has_fma)
    if features.get("neon"):
        return MachineDescription(128, 32, True)
    return MachineDescription(128, 16, has_fma)


def host_machine() -> MachineDescription:
    """The processor that this runs on. Falls back to SSE2 where features are not reported."""
    from llvmlite import binding

    return describe(binding.get_host_cpu_features())
