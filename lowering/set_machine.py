"""
The pass `glow-set-machine`: what processor a module is for.

It gives the module the attribute `glow.machine`, which the passes after it read: block sizes of
layouts, panels of packed weights, algorithms of convolutions, and kernels follow from it. Without
the attribute, a module is for a processor with AVX-512.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..errors import CompileError
from ..glow_dialects.glow.machine import MACHINE, MachineAttr
from ..glow_dialects.machine import DEFAULT_MACHINE
from .target import find_target


@dataclass(frozen=True)
class SetMachinePass(ModulePass):
    """Says what processor the module is for: one that LLVM knows by name, or given facts."""

    name = "glow-set-machine"

    target_cpu: str | None = None
    """
    LLVM's name of a CPU, such as `haswell`, or `native`. Options for single facts override its
    facts.
    """
    target_features: str | None = None
    """The differences from that CPU, for example `"-fma"`."""
    target_triple: str | None = None
    """LLVM's triple of the target, if it is not that of the CPU."""
    vector_bits: int | None = None
    """Width of a vector register, a power of two; without a CPU, 512."""
    vector_registers: int | None = None
    """The number of vector registers; without a CPU, 32."""
    has_fma: bool | None = None
    """Whether the machine has fused multiply-add; without a CPU, true."""
    int8_dots: tuple[str, ...] | None = None
    """Kinds of `glow_vec.dot` for bytes that the machine has: `vpdpbusd`, `sdot`, `usdot`."""
    byte_lookups: tuple[str, ...] | None = None
    """Kinds of `glow_vec.lookup` that the machine has: `vpermi2b`, `pshufb`, `tbl`."""
    has_bf16_dot: bool | None = None
    """Whether the machine has products of pairs of bf16 (AVX512-BF16)."""
    has_int8_tiles: bool | None = None
    """Whether the machine has tile registers for products of bytes (AMX)."""
    has_bf16_tiles: bool | None = None
    """Whether the machine has tile registers for products of bf16 (AMX)."""
    l1_bytes: int | None = None
    """Size of a core's first data cache; without a CPU, 32 KiB."""
    l2_bytes: int | None = None
    """Size of a core's second cache; without a CPU, 1 MiB."""
    l3_bytes: int | None = None
    """Size of the last cache, which cores share; without a CPU, 4 MiB."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Raises CompileError, naming the option, for what no machine can be."""
        target = (self.target_cpu, self.target_features, self.target_triple)
        machine = DEFAULT_MACHINE if target == (None,) * 3 else find_target(*target).describe()
        given = {name: getattr(self, name) for name in machine.facts()}
        given = {name: value for name, value in given.items() if value is not None}
        try:
            op.attributes[MACHINE] = MachineAttr(replace(machine, **given))
        except ValueError as error:
            raise CompileError(str(error)) from error
