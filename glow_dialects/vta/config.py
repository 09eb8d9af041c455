"""
The machine: the sizes of a VTA, from which elements, depths and the widths of all fields follow,
its design, the lengths of its queues, and the start of its DRAM.

The accelerator has three engines, LOAD, COMPUTE and STORE, and on-chip memories that hold elements:
small matrices, addressed by their number. Every size is a parameter; the defaults are those of
hardware version 0.0.2 of Apache TVM's `tvm-vta`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum

from xdsl.utils.str_enum import StrEnum

from ...lazy import lazy_property
from .designs import FUNCTIONAL, Design, find_design
from .timing import VtaTiming


class Engine(StrEnum):
    """The units that run concurrently, in the order of the chain of token queues."""

    LOAD = "load"
    COMPUTE = "compute"
    STORE = "store"

    @property
    def prev(self) -> Engine | None:
        """The neighbour that the flags `pop_prev` and `push_prev` mean."""
        return {Engine.COMPUTE: Engine.LOAD, Engine.STORE: Engine.COMPUTE}.get(self)

    @property
    def next(self) -> Engine | None:
        """The neighbour that the flags `pop_next` and `push_next` mean."""
        return {Engine.LOAD: Engine.COMPUTE, Engine.COMPUTE: Engine.STORE}.get(self)


class VtaMemory(StrEnum):
    """Memory types of LOAD and STORE. `acc8` is int8 in DRAM, widened into the accumulators."""

    UOP = "uop"
    WGT = "wgt"
    INP = "inp"
    ACC = "acc"
    OUT = "out"
    ACC_8BIT = "acc8"

    @property
    def code(self) -> int:
        """The number in the field `memory_type`."""
        return _MEMORY_CODES[self]

    @property
    def engine(self) -> Engine:
        """The engine that moves data of this type."""
        return _MEMORY_ENGINES.get(self, Engine.COMPUTE)

    @property
    def buffer(self) -> VtaMemory:
        """The buffer on the chip: `out` and `acc8` are views of the accumulators."""
        return VtaMemory.ACC if self in (VtaMemory.OUT, VtaMemory.ACC_8BIT) else self

    @property
    def pads(self) -> bool:
        """Whether a LOAD can surround the data by zeros: activations and accumulators only."""
        return self in (VtaMemory.INP, VtaMemory.ACC, VtaMemory.ACC_8BIT)


_MEMORY_CODES = {memory: i for i, memory in enumerate(VtaMemory)}
_MEMORY_ENGINES = {
    VtaMemory.INP: Engine.LOAD,
    VtaMemory.WGT: Engine.LOAD,
    VtaMemory.OUT: Engine.STORE,
}


class Opcode(IntEnum):
    """The field `opcode`."""

    LOAD = 0
    STORE = 1
    GEMM = 2
    FINISH = 3
    ALU = 4


class AluOpcode(StrEnum):
    """
    The operations of `vta.alu` on the old accumulator and a second operand. `shr` is an arithmetic
    shift to the right, to the left by a negative amount.
    """

    MIN = "min"
    MAX = "max"
    ADD = "add"
    SHR = "shr"
    MUL = "mul"

    @property
    def code(self) -> int:
        """The number in the field `alu_opcode`."""
        return _ALU_CODES[self]


_ALU_CODES = {opcode: i for i, opcode in enumerate(AluOpcode)}

OPCODE_BITS = 3
MEMORY_TYPE_BITS = 3
ALU_OPCODE_BITS = 3
WORD_BITS = 64
WORDS = 2
"""An instruction is two words of 64 bits."""
_FIELD_BITS = {
    *("sram_base_bits", "dram_base_bits", "size_bits", "stride_bits"),
    *("pad_bits", "loop_bits", "imm_bits"),
}
_FROM_ZERO = {"queue_length", "base_address"}


@dataclass(frozen=True)
class VtaConfig:
    """
    A VTA.

    The GEMM core multiplies `batch` x `block_in` activations by `block_out` x `block_in` weights
    into `batch` x `block_out` accumulators per cycle. `*_bits` are the widths of the numbers,
    `*_depth` the numbers of elements of the buffers (powers of two, from 2 on). The next group are
    the widths, in bits, of instruction fields. `design` is a name of `designs.py`.

    Raises ValueError for an unknown design, and for sizes that no machine can have.
    """

    batch: int = 1
    block_in: int = 16
    block_out: int = 16

    inp_bits: int = 8
    wgt_bits: int = 8
    acc_bits: int = 32
    out_bits: int = 8
    uop_bits: int = 32

    inp_depth: int = 2048
    wgt_depth: int = 1024
    acc_depth: int = 2048
    uop_depth: int = 8192

    sram_base_bits: int = 16
    dram_base_bits: int = 32
    size_bits: int = 16
    stride_bits: int = 16
    pad_bits: int = 4
    loop_bits: int = 14
    imm_bits: int = 16

    design: str = FUNCTIONAL.name
    """The design: `functional`, `xilinx-hls`, `chisel` or `intelfocl`."""
    queue_length: int = 0
    """The tokens that a queue between two engines holds; 0 for the number of the design."""
    base_address: int = 0
    """The first byte of DRAM that programs may use."""

    def __post_init__(self) -> None:
        find_design(self.design)
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, str):
                continue
            least = 0 if f.name in _FROM_ZERO else 1
            if value < least:
                raise ValueError(
                    f"expected {f.name} of a VTA to be at least {least}, found {value}"
                )
            if f.name.endswith("_depth") and (value < 2 or value & (value - 1)):
                raise ValueError(
                    f"expected {f.name} of a VTA to be a power of 2 above 1, found {value}"
                )
            if f.name in _FIELD_BITS and value > WORD_BITS // 2:
                raise ValueError(f"expected {f.name} of a VTA to be at most 32, found {value}")
        for memory, bits in self._element_bits.items():
            if bits % 8:
                raise ValueError(f"expected elements of {memory} of whole bytes, found {bits} bits")

    @lazy_property
    def _element_bits(self) -> dict[VtaMemory, int]:
        inputs, outputs = self.batch * self.block_in, self.batch * self.block_out
        return {
            VtaMemory.UOP: self.uop_bits,
            VtaMemory.WGT: self.block_out * self.block_in * self.wgt_bits,
            VtaMemory.INP: inputs * self.inp_bits,
            VtaMemory.ACC: outputs * self.acc_bits,
            VtaMemory.OUT: outputs * self.out_bits,
            VtaMemory.ACC_8BIT: outputs * 8,
        }

    @lazy_property
    def _depths(self) -> dict[VtaMemory, int]:
        return {
            VtaMemory.UOP: self.uop_depth,
            VtaMemory.WGT: self.wgt_depth,
            VtaMemory.INP: self.inp_depth,
            VtaMemory.ACC: self.acc_depth,
            VtaMemory.OUT: self.acc_depth,
            VtaMemory.ACC_8BIT: self.acc_depth,
        }

    def element_bytes(self, memory: VtaMemory) -> int:
        """Returns bytes of one element in DRAM."""
        return self._element_bits[memory] // 8

    def depth(self, memory: VtaMemory) -> int:
        """Returns elements that the buffer on the chip holds."""
        return self._depths[memory]

    @lazy_property
    def capabilities(self) -> Design:
        """The capabilities of the design."""
        return find_design(self.design)

    @property
    def queue_limit(self) -> int | None:
        """The tokens that a queue between two engines holds; None for no limit."""
        return self.queue_length or self.capabilities.queue_length

    @property
    def usable_micro_ops(self) -> int:
        """Micro-ops that the buffer holds, of those that fields can number."""
        most = self.capabilities.micro_ops
        return self.uop_depth if most is None else min(self.uop_depth, most)

    @property
    def log_uop_depth(self) -> int:
        """Bits of the number of a micro-op."""
        return self.uop_depth.bit_length() - 1

    @property
    def log_wgt_depth(self) -> int:
        """Bits of the number of an element of WGT."""
        return self.wgt_depth.bit_length() - 1

    @property
    def log_inp_depth(self) -> int:
        """Bits of the number of an element of INP."""
        return self.inp_depth.bit_length() - 1

    @property
    def log_acc_depth(self) -> int:
        """Bits of the number of an element of ACC."""
        return self.acc_depth.bit_length() - 1


DEFAULT = VtaConfig()


def changed(machine: VtaConfig | VtaTiming) -> dict[str, int | str]:
    """Returns the fields of a machine that differ from the default."""
    values = {f.name: (getattr(machine, f.name), f.default) for f in fields(machine)}
    return {name: value for name, (value, default) in values.items() if value != default}
