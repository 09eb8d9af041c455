"""Random programs of the `vta` dialect, valid for their configuration but without purpose."""

from __future__ import annotations

from random import Random

from glow.glow_dialects.vta import (
    CONFIG,
    AluOp,
    AluOpcode,
    ConfigAttr,
    Engine,
    FinishOp,
    GemmOp,
    LoadOp,
    MicroOpsOp,
    RegionKind,
    RegionOp,
    StoreOp,
    VtaConfig,
    VtaInstruction,
    VtaMemory,
)
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Block, Region

CONFIGS = (
    VtaConfig(),
    # everything small: fields move into the first word
    VtaConfig(
        block_in=8, block_out=4, inp_depth=64, wgt_depth=32, acc_depth=128, uop_depth=256
    ),
    VtaConfig(
        batch=2, acc_bits=16, uop_bits=64, inp_depth=4096, wgt_depth=2, acc_depth=1024,
        uop_depth=4096,
        sram_base_bits=12, dram_base_bits=20, size_bits=11, stride_bits=13, pad_bits=3,
        loop_bits=9, imm_bits=8,
    ),
    VtaConfig(block_in=32, block_out=32, inp_depth=512, wgt_depth=256, acc_depth=512),
)  # fmt: skip
LOADED = tuple(memory for memory in VtaMemory if memory is not VtaMemory.OUT)


def _engines(random: Random, engine: Engine) -> tuple[Engine, ...]:
    return tuple(e for e in (engine.prev, engine.next) if e is not None and random.random() < 0.3)


def _number(random: Random, limit: int) -> int:
    """Returns a number from 0 to `limit`, often one of the two."""
    return random.choice((0, limit, random.randint(0, limit), random.randint(0, min(limit, 5))))


class RandomProgram:
    """Makes one program; the methods make valid instructions of it."""

    def __init__(self, seed: int, config: VtaConfig):
        self.random = Random(seed)
        self.config = config
        self.regions: list[RegionOp | MicroOpsOp] = []
        self._end = 0

    def build(self, length: int) -> func.FuncOp:
        """Returns `length` instructions and FINISH."""
        for i in range(self.random.randint(0, 4)):
            self.region(f"r{i}")
        kinds = (self.load, self.load, self.store, self.gemm, self.alu)
        ops = [self.random.choice(kinds)() for _ in range(length)]
        end = FinishOp.of(*self._tokens(Engine.COMPUTE))
        block = Block([*self.regions, *ops, end, func.ReturnOp()])
        function = func.FuncOp("main", FunctionType.from_lists([], []), Region(block))
        function.attributes[CONFIG] = ConfigAttr(self.config)
        return function

    def _tokens(self, engine: Engine) -> tuple[tuple[Engine, ...], tuple[Engine, ...]]:
        return _engines(self.random, engine), _engines(self.random, engine)

    def region(self, name: str) -> None:
        """Places a region or a table of micro-ops after the last one."""
        start, c = self._end, self.config
        if self.random.random() < 0.4:
            sources = max(c.inp_depth, c.acc_depth)
            depths = (c.acc_depth, sources, c.wgt_depth)
            rows = [
                [_number(self.random, d - 1) for d in depths]
                for _ in range(self.random.randint(1, 7))
            ]
            op: RegionOp | MicroOpsOp = MicroOpsOp.of(name, start, rows)
            size = len(rows) * c.element_bytes(VtaMemory.UOP)
        else:
            size = self.random.randint(1, 9) * 4096
            op = RegionOp.of(
                self.random.choice((RegionKind.INPUT, RegionKind.OUTPUT)), name, start, size
            )
        self.regions.append(op)
        # addresses at which elements of all kinds can begin
        self._end += -(-size // 4096) * 4096

    def _place(self, memory: VtaMemory, extent: int):
        """
        Returns a region that holds `extent` elements, and the first of them; or a place in DRAM.
        """
        size = self.config.element_bytes(memory)
        for region in self.random.sample(self.regions, len(self.regions)):
            micro_ops = isinstance(region, MicroOpsOp)
            if micro_ops != (memory is VtaMemory.UOP):
                continue
            if memory is VtaMemory.OUT and region.kind.data is RegionKind.INPUT:  # pyright: ignore
                continue
            count = (len(region.ops) // 3) if micro_ops else region.num_bytes // size
            if extent <= count:
                return region.result, self.random.randint(0, count - extent)
        # behind all regions
        first = -(-self._end // size)
        limit = (1 << self.config.dram_base_bits) - 1
        return None, self.random.randint(first, max(first, limit))

    def _shape(self, memory: VtaMemory, pad: tuple[int, ...]) -> tuple[int, int, int, int]:
        """Returns rows, columns, stride and a place in the buffer where they fit."""
        c, depth = self.config, self.config.depth(memory)
        top, bottom, left, right = pad
        rows = 1 if memory is VtaMemory.UOP else self.random.randint(0, 6)
        columns = self.random.randint(0, 8)
        high = (top + rows + bottom) * (left + columns + right)
        if high > depth:
            rows = columns = high = 0
        stride = self.random.choice((columns, self.random.randint(0, (1 << c.stride_bits) - 1)))
        return rows, columns, stride, self.random.randint(0, depth - max(high, 1))

    def load(self) -> VtaInstruction:
        memory = self.random.choice(LOADED)
        pad = (0, 0, 0, 0)
        if memory.pads and self.random.random() < 0.5:
            limit = (1 << self.config.pad_bits) - 1
            pad = tuple(_number(self.random, min(limit, 3)) for _ in range(4))
        rows, columns, stride, sram = self._shape(memory, pad)
        extent = max(rows - 1, 0) * stride + columns
        region, dram = self._place(memory, extent)
        pop, push = self._tokens(memory.engine)
        return LoadOp.of(memory, sram, region, dram, rows, columns, stride, pad, pop, push)

    def store(self) -> VtaInstruction:
        rows, columns, stride, sram = self._shape(VtaMemory.OUT, (0, 0, 0, 0))
        region, dram = self._place(VtaMemory.OUT, max(rows - 1, 0) * stride + columns)
        pop, push = self._tokens(Engine.STORE)
        return StoreOp.of(sram, region, dram, rows, columns, stride, pop, push)

    def _range(self) -> tuple[int, int]:
        begin, end = sorted(_number(self.random, self.config.uop_depth) for _ in range(2))
        return min(begin, self.config.uop_depth - 1), end

    def _pair(self, limit: int) -> tuple[int, int]:
        return _number(self.random, limit), _number(self.random, limit)

    def gemm(self) -> VtaInstruction:
        c = self.config
        return GemmOp.of(
            self._range(),
            self._pair((1 << c.loop_bits) - 1),
            self._pair(c.acc_depth - 1),
            self._pair(c.inp_depth - 1),
            self._pair(c.wgt_depth - 1),
            self.random.random() < 0.3,
            *self._tokens(Engine.COMPUTE),
        )

    def alu(self) -> VtaInstruction:
        c = self.config
        high = (1 << (c.imm_bits - 1)) - 1
        imm = self.random.choice((None, 0, high, -high - 1, self.random.randint(-high, high)))
        return AluOp.of(
            self.random.choice(list(AluOpcode)),
            self._range(),
            self._pair((1 << c.loop_bits) - 1),
            self._pair(c.acc_depth - 1),
            self._pair(c.acc_depth - 1),
            imm,
            *self._tokens(Engine.COMPUTE),
        )
