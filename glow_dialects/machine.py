"""
The description of a processor: the facts that layouts, packed weights and kernels depend on.

`#glow.machine<...>` on a module is such a description (see `glow_dialects.glow.machine`). Nothing
here imports xDSL, because a program that is restored from the cache needs a description, but no IR.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum

from .instruction_kinds import BYTE_DOTS, LOOKUP_RULES, UNSIGNED_LHS, DotKind, LookupKind

LINE_BYTES = 64
"""Bytes of a line of a cache, and of a row of a tile register."""
ALLOCATED_ALIGNMENT = 16
"""The multiple of bytes at which allocators place arrays, on 64-bit systems."""
_LEAST_BLOCK = 8
"""Channels of a block, as far as registers allow."""
_POINTS = 6
"""
The points of a register tile beyond which wider tiles, which load less for each product, pay off.
"""
_RANGES = {
    "vector_registers": range(4, 1025),
    "l1_bytes": range(1, 1 << 48),
    "l2_bytes": range(1, 1 << 48),
    "l3_bytes": range(1, 1 << 48),
}
_MOST_BITS = 1 << 16
"""Bits of the widest vectors that an instruction set has room for (RISC-V V)."""
KINDS: Mapping[str, tuple[type[StrEnum], Sequence[StrEnum]]] = {
    "int8_dots": (DotKind, BYTE_DOTS),
    "byte_lookups": (LookupKind, tuple(LookupKind)),
}
"""The facts that are lists of instructions, and those that each may have."""
_OUTSIDE_KERNELS = frozenset({"has_bf16_dot"})
"""The facts that no kernel's code depends on, beyond the types of its operands."""


@dataclass(frozen=True)
class MachineDescription:
    """
    A processor as passes see it. The defaults are those of a processor with AVX-512.

    Raises ValueError, which names the fact, for values that no machine has.
    """

    vector_bits: int = 512
    """Width of a vector register: a power of two from 64 to 65,536."""
    vector_registers: int = 32
    """The number of vector registers, from 4 to 1,024."""
    has_fma: bool = True
    """Whether a multiplication and an addition are one instruction with one rounding."""
    int8_dots: tuple[DotKind, ...] = ()
    """Instructions that add products of four neighbouring bytes to lanes of i32."""
    byte_lookups: tuple[LookupKind, ...] = ()
    """Instructions that look up the bytes of a vector in a table, the fastest first."""
    has_bf16_dot: bool = False
    """Whether an instruction adds products of two neighbouring bf16 to lanes of f32."""
    has_int8_tiles: bool = False
    """Whether there are tile registers whose products of bytes add up in i32 (AMX)."""
    has_bf16_tiles: bool = False
    """Whether there are tile registers whose products of bf16 add up in f32 (AMX)."""
    l1_bytes: int = 32 << 10
    """Size of a core's first data cache."""
    l2_bytes: int = 1 << 20
    """Size of a core's second cache."""
    l3_bytes: int = 4 << 20
    """Size of the last cache, which cores share."""

    def __post_init__(self) -> None:
        bits = self.vector_bits
        if not 64 <= bits <= _MOST_BITS or bits & (bits - 1):
            raise ValueError(
                f"expected vector-bits to be a power of two in 64 to {_MOST_BITS}, found {bits}"
            )
        for name, known in _RANGES.items():
            if (found := getattr(self, name)) not in known:
                shown, last = name.replace("_", "-"), known.stop - 1
                raise ValueError(f"expected {shown} in {known.start} to {last}, found {found}")
        for name, (of, known) in KINDS.items():
            found = getattr(self, name)
            for kind in found:
                if kind not in known:
                    shown, named = name.replace("_", "-"), ", ".join(known)
                    raise ValueError(f"expected {shown} of {named}, found {str(kind)!r}")
            # options of passes and text have names
            object.__setattr__(self, name, tuple(map(of, found)))

    # the facts as a whole

    def facts(self) -> Mapping[str, int | bool | tuple[str, ...]]:
        """Returns all facts by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def kernel_identity(self) -> str:
        """
        Returns the facts that the code of kernels depends on, as text that is part of the identity
        of each kernel. What a machine lacks is left out, so a new feature does not rename old
        kernels.
        """
        found = {n: v for n, v in self.facts().items() if v and n not in _OUTSIDE_KERNELS}
        return "; ".join(f"{name} = {_option(value)}" for name, value in found.items())

    def pass_options(self) -> str:
        """Returns all facts as options of the pass `glow-set-machine`."""
        return " ".join(
            f"{name.replace('_', '-')}={_option(value)}"
            for name, value in self.facts().items()
            if value != ()
        )

    def missing_on(self, other: MachineDescription) -> list[str]:
        """Returns the instructions that code for this machine may have and `other` does not."""
        lacking = [
            name.removeprefix("has_").replace("_", " ")
            for name, value in self.facts().items()
            if value is True and not getattr(other, name)
        ]
        kinds = ((getattr(self, name), getattr(other, name)) for name in KINDS)
        return lacking + [str(kind) for own, others in kinds for kind in own if kind not in others]

    # facts that follow from the others

    def byte_dot(self, unsigned: bool) -> DotKind | None:
        """
        Returns the instruction that adds four products of bytes, unsigned or signed, by signed
        ones; None if there is none.
        """
        return next((k for k in self.int8_dots if (k in UNSIGNED_LHS) == unsigned), None)

    def byte_lookup(self, lanes: int) -> LookupKind | None:
        """
        Returns the fastest instruction that looks up so many bytes of a vector in a table; None if
        there is none.
        """
        if lanes > self.lanes(8):
            return None
        return next((k for k in self.byte_lookups if lanes in LOOKUP_RULES[k].lanes), None)

    def lanes(self, element_bits: int) -> int:
        """Returns how many elements of a width fit into a vector register; at least 1."""
        return max(1, self.vector_bits // element_bits)

    @property
    def channel_block(self) -> int:
        """
        Channels that blocked layouts keep together: the floats of one vector register; of narrow
        ones, so many that there are eight, as long as six points fit into a register tile. The
        inner loop of a convolution runs over a block, so it should not be shorter; longer blocks
        waste more where they are not full.
        """
        lanes = self.lanes(32)
        vectors = -(-_LEAST_BLOCK // lanes)
        return lanes * (vectors if self.most_points(vectors) >= _POINTS else 1)

    @property
    def integer_block(self) -> int:
        """
        The most channels of bytes that blocked layouts keep together: with tile registers, those
        of a row of one.
        """
        return max(self.channel_block, LINE_BYTES) if self.has_int8_tiles else self.channel_block

    def fits(self, vectors: int, points: int, is_fused: bool | None = None) -> bool:
        """
        Returns the register rule of products: whether a tile of `vectors` loaded vectors times
        `points` broadcast elements fits, with its accumulators. `is_fused` says whether one
        instruction multiplies and adds; by default, as for floats. Otherwise, a product needs a
        register before it is added; it takes that of the broadcast for the last vector.
        """
        is_fused = self.has_fma if is_fused is None else is_fused
        broadcast = 1 if is_fused or vectors == 1 else 2
        return vectors * points + vectors + broadcast <= self.vector_registers

    def most_points(self, vectors: int, is_fused: bool | None = None) -> int:
        """Returns the largest tile of `vectors` vectors that fits; 0 if none does."""
        points = range(self.vector_registers)
        return max((n for n in points if self.fits(vectors, n, is_fused)), default=0)

    @property
    def broadcasts_operands(self) -> bool:
        """
        Whether a multiplication and addition broadcasts an element of an operand by itself. The
        instruction sets with 32 registers do (AVX-512, NEON); those with fewer (SSE, AVX2) have an
        instruction for it, which takes the place of arithmetic.
        """
        return self.vector_registers >= 32

    @property
    def panel_vectors(self) -> int:
        """
        Width in vectors of the register tile of matrix products: as many as leave room for six
        rows, and at most three, because more do not pay off.
        """
        return max((v for v in (1, 2, 3) if self.most_points(v) >= _POINTS), default=1)


DEFAULT_MACHINE = MachineDescription()
"""The machine of modules without a description."""


def _option(value: int | bool | tuple[str, ...]) -> str:
    return ",".join(value) if isinstance(value, tuple) else str(value).lower()
