"""
A disassembler: from words to the `vta` dialect.

It drops bits without meaning: padding, the immediate of an ALU instruction that does not use it,
and the fields of FINISH except its flags. Apart from these, encoding the result gives the same
words.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Block, Region

from ...errors import CompileError
from ...glow_dialects.vta import (
    CONFIG,
    AluOp,
    AluOpcode,
    ConfigAttr,
    Engine,
    FinishOp,
    GemmOp,
    LoadOp,
    MicroOpsOp,
    Opcode,
    RegionOp,
    StoreOp,
    VtaConfig,
    VtaInstruction,
    VtaMemory,
)
from ...glow_dialects.vta.dram import MICRO_OP_FIELDS
from ...glow_dialects.vta.fields import (
    FLAGS,
    Layout,
    alu_layout,
    gemm_layout,
    generic_layout,
    memory_layout,
    micro_op_layout,
)
from .words import unpack

Fields = dict[str, int]
Dram = RegionOp | MicroOpsOp
_MEMORIES = {memory.code: memory for memory in VtaMemory}
_ALU_OPCODES = {opcode.code: opcode for opcode in AluOpcode}


class _Regions:
    """Finds the region that an instruction accesses."""

    def __init__(self, regions: Sequence[Dram], config: VtaConfig):
        self._config = config
        self._regions = sorted(regions, key=lambda r: r.first_byte)
        self._starts = [r.first_byte for r in self._regions]
        ends = [r.first_byte + _size_of(r, config) for r in self._regions]
        self._reach = list(accumulate(ends, max))
        """The ends of the regions up to each."""

    def find(self, memory: VtaMemory, f: Fields) -> tuple[Dram | None, int]:
        """
        Returns the region that holds all that is moved, and the number of the first element in it;
        or none and the absolute number.
        """
        size = self._config.element_bytes(memory)
        first = f["dram_base"] * size
        extent = max(f["y_size"] - 1, 0) * f["x_stride"] + f["x_size"]
        i = bisect_right(self._starts, first) - 1
        # several hold it where scratch is used again: the one that begins last, as good as any
        while f["x_size"] and i >= 0 and first + extent * size <= self._reach[i]:
            region = self._regions[i]
            start = region.first_byte
            inside = first + extent * size <= start + _size_of(region, self._config)
            if inside and start % size == 0 and _may_access(region, memory):
                return region, (first - start) // size
            i -= 1
        return None, f["dram_base"]


def _size_of(region: Dram, config: VtaConfig) -> int:
    if isinstance(region, RegionOp):
        return region.num_bytes
    return len(region.ops) // len(MICRO_OP_FIELDS) * config.element_bytes(VtaMemory.UOP)


def _may_access(region: Dram, memory: VtaMemory) -> bool:
    if isinstance(region, MicroOpsOp):
        return memory is VtaMemory.UOP
    return memory is not VtaMemory.OUT or region.kind.data.writable


_Decoder = Callable[[Fields, _Regions], VtaInstruction]


def _tokens(f: Fields, engine: Engine) -> tuple[tuple[Engine, ...], tuple[Engine, ...]]:
    """
    Returns the engines that an instruction pops and pushes. Raises CompileError if there is no
    such.
    """
    found: list[Engine] = []
    for name in FLAGS:
        other = engine.prev if name.endswith("prev") else engine.next
        if not f[name]:
            continue
        if other is None:
            raise CompileError(f"{name} is set, but {engine} has no such neighbour")
        found.append(other)
    pops = f["pop_prev"] + f["pop_next"]
    return tuple(found[:pops]), tuple(found[pops:])


def _transfer(f: Fields, regions: _Regions) -> VtaInstruction:
    memory = _MEMORIES.get(f["memory_type"])
    stores = f["opcode"] == Opcode.STORE
    if memory is None or (memory is VtaMemory.OUT) != stores:
        verb = "stores" if stores else "loads"
        raise CompileError(f"no instruction {verb} memory type {f['memory_type']}")
    region, dram = regions.find(memory, f)
    value = None if region is None else region.result
    shape = (f["y_size"], f["x_size"], f["x_stride"])
    pads = tuple(f[name] for name in ("y_pad_0", "y_pad_1", "x_pad_0", "x_pad_1"))
    if stores:
        pop, push = _tokens(f, Engine.STORE)
        if any(pads):
            raise CompileError(f"a STORE has no padding, found {pads}")
        return StoreOp.of(f["sram_base"], value, dram, *shape, pop=pop, push=push)
    pop, push = _tokens(f, memory.engine)
    return LoadOp.of(memory, f["sram_base"], value, dram, *shape, pads, pop, push)


def _factors(f: Fields, name: str) -> tuple[int, int]:
    return f[f"{name}_factor_out"], f[f"{name}_factor_in"]


def _gemm(f: Fields, _: _Regions) -> VtaInstruction:
    pop, push = _tokens(f, Engine.COMPUTE)
    uops, loop = (f["uop_bgn"], f["uop_end"]), (f["iter_out"], f["iter_in"])
    dst, src, wgt = _factors(f, "dst"), _factors(f, "src"), _factors(f, "wgt")
    return GemmOp.of(uops, loop, dst, src, wgt, bool(f["reset"]), pop, push)


def _alu(f: Fields, _: _Regions) -> VtaInstruction:
    opcode = _ALU_OPCODES.get(f["alu_opcode"])
    if opcode is None:
        raise CompileError(f"there is no ALU opcode {f['alu_opcode']}")
    pop, push = _tokens(f, Engine.COMPUTE)
    uops, loop = (f["uop_bgn"], f["uop_end"]), (f["iter_out"], f["iter_in"])
    imm = f["imm"] if f["use_imm"] else None
    return AluOp.of(opcode, uops, loop, _factors(f, "dst"), _factors(f, "src"), imm, pop, push)


def _finish(f: Fields, _: _Regions) -> VtaInstruction:
    return FinishOp.of(*_tokens(f, Engine.COMPUTE))


_DECODERS: dict[int, tuple[Callable[[VtaConfig], Layout], _Decoder]] = {
    Opcode.LOAD: (memory_layout, _transfer),
    Opcode.STORE: (memory_layout, _transfer),
    Opcode.GEMM: (gemm_layout, _gemm),
    Opcode.ALU: (alu_layout, _alu),
    Opcode.FINISH: (lambda _: generic_layout(), _finish),
}


def decode_instructions(
    words: np.ndarray, config: VtaConfig, regions: Sequence[Dram] = ()
) -> list[VtaInstruction]:
    """
    Returns the instructions that uint64[N, 2] encode, the low word first. Those that access one of
    `regions` refer to it; the others have absolute addresses.

    Raises CompileError, naming the instruction, for words that encode none.
    """
    finder = _Regions(regions, config)
    opcodes = unpack([generic_layout()["opcode"]], words)[:, 0]
    found: list[VtaInstruction | None] = [None] * len(words)
    for opcode in np.unique(opcodes).tolist():
        numbers = np.flatnonzero(opcodes == opcode)
        if opcode not in _DECODERS:
            raise CompileError(f"instruction {numbers[0]}: there is no opcode {opcode}")
        layout_of, decode = _DECODERS[opcode]
        names, values = _unpacked(layout_of, words[numbers], config)
        for i, row in zip(numbers.tolist(), values.tolist(), strict=True):
            try:
                found[i] = decode(dict(zip(names, row, strict=True)), finder)
            except CompileError as e:
                raise CompileError(f"instruction {i}: {e}") from None
    return [op for op in found if op is not None]


def _unpacked(
    layout_of: Callable[[VtaConfig], Layout], words: np.ndarray, config: VtaConfig
) -> tuple[list[str], np.ndarray]:
    try:
        layout = layout_of(config)
    except ValueError as e:
        raise CompileError(str(e)) from None
    return list(layout), unpack(list(layout.values()), words)


def decode_micro_ops(micro_ops: np.ndarray, config: VtaConfig) -> np.ndarray:
    """Returns indices (dst, src, wgt), int64[N, 3], of micro-ops uint32[N]. Raises CompileError."""
    words = micro_ops.astype(np.uint64).reshape(-1, 1)
    return _unpacked(micro_op_layout, words, config)[1]


def decode_program(
    words: np.ndarray, config: VtaConfig, regions: Sequence[Dram] = ()
) -> func.FuncOp:
    """
    Returns a function of `regions`, which it takes over, and the instructions of uint64[N, 2].

    Raises CompileError for words that encode no instruction.
    """
    instructions = decode_instructions(words, config, regions)
    block = Block([*regions, *instructions, func.ReturnOp()])
    function = func.FuncOp("main", FunctionType.from_lists([], []), Region(block))
    function.attributes[CONFIG] = ConfigAttr(config)
    return function
