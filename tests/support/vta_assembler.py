"""
An assembler of VTA programs for tests, written from the specification and nothing else.

Instructions are plain records; `assemble` packs their fields from bit 0 up, and a field that does
not fit into the rest of a word of 64 bits begins the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from glow.glow_dialects.vta.config import VtaConfig
from glow.runtime.vta.program import LayerRange, Region, RegionRole, VtaProgram

UOP, WGT, INP, ACC, OUT, ACC_8BIT = range(6)
MIN, MAX, ADD, SHR, MUL = range(5)
FLAGS = ("pop_prev", "pop_next", "push_prev", "push_next")
LOAD_ENGINE, COMPUTE_ENGINE, STORE_ENGINE = range(3)


@dataclass(frozen=True)
class Op:
    """An instruction: its fields by name, and the names of the flags that are set."""

    name: str
    fields: dict[str, int] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()

    def __getitem__(self, name: str) -> int:
        return self.fields[name]

    def having(self, *flags: str) -> Op:
        """Returns the same with more flags."""
        return replace(self, flags=self.flags | set(flags))

    @property
    def engine(self) -> int:
        if self.name == "store":
            return STORE_ENGINE
        loads = self.name == "load" and self["memory_type"] in (INP, WGT)
        return LOAD_ENGINE if loads else COMPUTE_ENGINE


def _transfer(
    name: str,
    memory: int,
    sram: int,
    dram: int,
    y: int,
    x: int,
    stride: int | None,
    pads: Sequence[int],
) -> Op:
    y0, y1, x0, x1 = pads
    return Op(
        name,
        {
            "memory_type": memory,
            "sram_base": sram,
            "dram_base": dram,
            "y_size": y,
            "x_size": x,
            "x_stride": x if stride is None else stride,
            "y_pad_0": y0,
            "y_pad_1": y1,
            "x_pad_0": x0,
            "x_pad_1": x1,
        },
    )


def load(
    memory: int,
    sram: int,
    dram: int,
    y: int = 1,
    x: int = 1,
    stride: int | None = None,
    pads: Sequence[int] = (0, 0, 0, 0),
) -> Op:
    """Pads: rows above and below, elements to the left and right."""
    return _transfer("load", memory, sram, dram, y, x, stride, pads)


def store(
    sram: int, dram: int, y: int = 1, x: int = 1, stride: int | None = None, memory: int = OUT
) -> Op:
    return _transfer("store", memory, sram, dram, y, x, stride, (0, 0, 0, 0))


def nop(engine: int) -> Op:
    """Returns an instruction with flags only: a transfer of no elements."""
    if engine == STORE_ENGINE:
        return store(0, 0, 0, 0)
    return load(UOP if engine == COMPUTE_ENGINE else INP, 0, 0, 0, 0)


def gemm(
    uops: tuple[int, int],
    iterations: tuple[int, int] = (1, 1),
    dst: tuple[int, int] = (0, 0),
    src: tuple[int, int] = (0, 0),
    wgt: tuple[int, int] = (0, 0),
    reset: int = 0,
) -> Op:
    """Returns an instruction from pairs for the outer and the inner loop."""
    return Op("gemm", _loops(uops, iterations, dst, src, reset) | _pair("wgt_factor", wgt))


def alu(
    opcode: int,
    uops: tuple[int, int],
    iterations: tuple[int, int] = (1, 1),
    dst: tuple[int, int] = (0, 0),
    src: tuple[int, int] = (0, 0),
    imm: int | None = None,
) -> Op:
    rest = {"alu_opcode": opcode, "use_imm": int(imm is not None), "imm": imm or 0}
    return Op("alu", _loops(uops, iterations, dst, src, 0) | rest)


def finish() -> Op:
    return Op("finish")


def _pair(name: str, pair: tuple[int, int]) -> dict[str, int]:
    return {f"{name}_out": pair[0], f"{name}_in": pair[1]}


def _loops(
    uops: tuple[int, int],
    iterations: tuple[int, int],
    dst: tuple[int, int],
    src: tuple[int, int],
    reset: int,
) -> dict[str, int]:
    return {
        "reset": reset,
        "uop_bgn": uops[0],
        "uop_end": uops[1],
        **_pair("iter", iterations),
        **_pair("dst_factor", dst),
        **_pair("src_factor", src),
    }


def _log2(depth: int) -> int:
    return depth.bit_length() - 1


def widths(op: Op, config: VtaConfig) -> dict[str, int]:
    """Returns the bits of the fields after the flags, in their order."""
    if op.name in ("load", "store"):
        pads = dict.fromkeys(("y_pad_0", "y_pad_1", "x_pad_0", "x_pad_1"), 4)
        sizes = {"y_size": 16, "x_size": 16, "x_stride": 16}
        return {"memory_type": 3, "sram_base": 16, "dram_base": 32, **sizes, **pads}
    if op.name == "finish":
        return {}
    uop, acc = _log2(config.uop_depth), _log2(config.acc_depth)
    inp, wgt = _log2(config.inp_depth), _log2(config.wgt_depth)
    widths = {"reset": 1, "uop_bgn": uop, "uop_end": uop + 1, "iter_out": 14, "iter_in": 14}
    widths |= {"dst_factor_out": acc, "dst_factor_in": acc}
    if op.name == "gemm":
        widths |= {"src_factor_out": inp, "src_factor_in": inp}
        return widths | {"wgt_factor_out": wgt, "wgt_factor_in": wgt}
    widths |= {"src_factor_out": acc, "src_factor_in": acc}
    return widths | {"alu_opcode": 3, "use_imm": 1, "imm": 16}


_OPCODES = {"load": 0, "store": 1, "gemm": 2, "finish": 3, "alu": 4}


def encode(op: Op, config: VtaConfig) -> tuple[int, int]:
    """Returns the two words of an instruction."""
    fields = [(_OPCODES[op.name], 3), *((int(name in op.flags), 1) for name in FLAGS)]
    fields += [(op[name], width) for name, width in widths(op, config).items()]
    words = [0, 0]
    word = position = 0
    for value, width in fields:
        if position + width > 64:
            word, position = word + 1, 0
        assert -(1 << (width - 1)) <= value < 1 << width, (op, value, width)
        words[word] |= (value & ((1 << width) - 1)) << position
        position += width
    return words[0], words[1]


def micro_ops(ops: Iterable[tuple[int, int, int]], config: VtaConfig) -> np.ndarray:
    """Returns the words of micro-ops (dst, src, wgt)."""
    acc, inp = _log2(config.acc_depth), _log2(config.inp_depth)
    source = max(acc, inp)
    words = [dst | src << acc | wgt << (acc + source) for dst, src, wgt in ops]
    return np.array(words, np.uint32)


def assemble(ops: Sequence[Op], config: VtaConfig) -> np.ndarray:
    """Returns the words, uint64[N, 2]."""
    return np.array([encode(op, config) for op in ops], np.uint64).reshape(-1, 2)


def in_sequence(ops: Sequence[Op]) -> list[Op]:
    """
    Returns the same instructions with tokens that force exactly this order, and FINISH at the end.
    """
    found: list[Op] = []
    for op in [*ops, finish()]:
        before = found[-1].engine if found else op.engine
        if abs(op.engine - before) == 2:
            found.append(nop(COMPUTE_ENGINE))
            _link(found)
            before = COMPUTE_ENGINE
        found.append(op)
        if op.engine != before:
            _link(found)
    return found


def _link(ops: list[Op]) -> None:
    """Makes the last instruction wait for the one before."""
    first, second = ops[-2:]
    forward = second.engine > first.engine
    ops[-2] = first.having("push_next" if forward else "push_prev")
    ops[-1] = second.having("pop_prev" if forward else "pop_next")


def region(
    name: str, kind: RegionRole, address: int, array: np.ndarray | None = None, size: int = 0
) -> Region:
    """Returns a region that holds an array, or `size` bytes of int8."""
    if array is None:
        dtype, shape = (
            (np.dtype(np.int8), (size,)) if kind is not RegionRole.SCRATCH else (None, ())
        )
        return Region(name, kind, address, size, None, dtype, shape)
    contents = None
    if kind in (RegionRole.CONSTANT, RegionRole.MICRO_OPS):
        contents = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return Region(name, kind, address, array.nbytes, contents, array.dtype, array.shape)


def program(
    ops: Sequence[Op],
    config: VtaConfig,
    regions: Sequence[Region],
    layers: Sequence[tuple[str, int, int]] = (),
) -> VtaProgram:
    return VtaProgram(
        config,
        assemble(ops, config),
        tuple(regions),
        tuple(LayerRange(*layer) for layer in layers),
    )
