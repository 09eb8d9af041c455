"""The machine as options of the passes that need to know it."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import i8
from xdsl.passes import ModulePass

from ...errors import CompileError
from ...glow_dialects.glow_vec import DOT_RULES, DotKind
from .machine import MachineDescription


@dataclass(frozen=True)
class MachinePass(ModulePass):
    """
    A pass for a machine with vector registers of the given width and number, or for the CPU of a
    name, such as `haswell`.
    """

    vector_bits: int = 512
    """Width of a vector register, a power of two."""
    vector_registers: int = 32
    """How many vector registers there are."""
    has_fma: bool = True
    """Whether the machine has fused multiply-add."""
    has_bf16_dot: bool = False
    """Whether products of bf16 may be computed with AVX512-BF16."""
    int8_dots: tuple[str, ...] = ()
    """Kinds of `glow_vec.dot` for bytes that the machine has: `vpdpbusd`, `sdot`, `usdot`."""
    has_int8_tiles: bool = False
    """Whether products of bytes may be computed with tile registers (AMX)."""
    has_bf16_tiles: bool = False
    """Whether products of bf16 may be computed with tile registers (AMX)."""
    l1_bytes: int = MachineDescription.l1_bytes
    """Size of the nearest data cache of a core."""
    l2_bytes: int = MachineDescription.l2_bytes
    """Size of the second cache of a core."""
    target_cpu: str | None = None
    """LLVM's name of a CPU, or `native`; takes the place of the options above."""
    target_features: str | None = None
    """What differs from that CPU, for example `"-fma"`."""

    def machine(self) -> MachineDescription:
        if self.target_cpu is not None or self.target_features is not None:
            from ..target import find_target

            return find_target(self.target_cpu, self.target_features).describe()
        if self.vector_bits < 64 or self.vector_bits & (self.vector_bits - 1):
            raise CompileError(
                f"expected vector-bits to be a power of two from 64, found {self.vector_bits}"
            )
        for name, size in (("l1-bytes", self.l1_bytes), ("l2-bytes", self.l2_bytes)):
            if size < 1:
                raise CompileError(f"expected {name} of at least 1, found {size}")
        if self.vector_registers < 4:
            raise CompileError(
                f"expected vector-registers of at least 4, found {self.vector_registers}"
            )
        return MachineDescription(
            self.vector_bits,
            self.vector_registers,
            self.has_fma,
            l1_bytes=self.l1_bytes,
            l2_bytes=self.l2_bytes,
            has_bf16_dot=self.has_bf16_dot,
            int8_dots=self._int8_dots(),
            has_int8_tiles=self.has_int8_tiles,
            has_bf16_tiles=self.has_bf16_tiles,
        )

    def _int8_dots(self) -> tuple[DotKind, ...]:
        known = [k for k in DotKind if DOT_RULES[k].element == i8]
        for name in self.int8_dots:
            if name not in known:
                raise CompileError(f"expected int8-dots of {', '.join(known)}, found {name!r}")
        return tuple(map(DotKind, self.int8_dots))
