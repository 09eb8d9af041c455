"""
VTA in plain Python, one number at a time, as the specification says it. Slow and obvious.

It executes records of `vta_assembler`, not words, in the order in which they are given. None is a
number that nobody has written.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from glow.glow_dialects.vta.config import VtaConfig

from .vta_assembler import ACC, ACC_8BIT, ADD, INP, MAX, MIN, MUL, SHR, UOP, WGT, Op


class ReferenceError_(Exception):
    """Something that has no defined result; `number` is the instruction's."""

    def __init__(self, number: int, what: str):
        super().__init__(f"instruction {number}: {what}")
        self.number = number


def wrapped(value: int, bits: int) -> int:
    """Returns two's complement."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def combine(opcode: int, x: int, y: int) -> int:
    """Returns an ALU operation."""
    if opcode == SHR:
        assert -31 <= y <= 31, "undefined shift"
        return wrapped(x >> y if y >= 0 else x << -y, 32)
    return wrapped({MIN: min(x, y), MAX: max(x, y), ADD: x + y, MUL: x * y}[opcode], 32)


class Reference:
    """The machine, with DRAM as a dictionary of bytes by address."""

    def __init__(self, config: VtaConfig, dram: dict[int, int | None]):
        self.config = config
        self.dram = dram
        self.sram: dict[int, list[list[int | None]]] = {
            UOP: self._empty(config.uop_depth, 1),
            INP: self._empty(config.inp_depth, config.batch * config.block_in),
            WGT: self._empty(config.wgt_depth, config.block_out * config.block_in),
            ACC: self._empty(config.acc_depth, config.batch * config.block_out),
        }

    @staticmethod
    def _empty(depth: int, numbers: int) -> list[list[int | None]]:
        return [[None] * numbers for _ in range(depth)]

    def run(self, ops: Sequence[Op]) -> None:
        for number, op in enumerate(ops):
            try:
                getattr(self, op.name)(op)
            except (AssertionError, IndexError, KeyError) as e:
                raise ReferenceError_(number, repr(e)) from e

    def finish(self, op: Op) -> None:
        pass

    def load(self, op: Op) -> None:
        if op["x_size"] == 0:
            return
        memory = op["memory_type"]
        buffer = self.sram[ACC if memory == ACC_8BIT else memory]
        numbers = len(buffer[0])
        size = {UOP: 4, ACC: 4}.get(memory, 1)
        place = op["sram_base"]
        for y in range(-op["y_pad_0"], op["y_size"] + op["y_pad_1"]):
            for x in range(-op["x_pad_0"], op["x_size"] + op["x_pad_1"]):
                assert place < len(buffer), "out of range"
                if 0 <= y < op["y_size"] and 0 <= x < op["x_size"]:
                    element = op["dram_base"] + y * op["x_stride"] + x
                    start = element * numbers * size
                    buffer[place] = [self._read(start + n * size, size) for n in range(numbers)]
                    if None in buffer[place]:
                        buffer[place] = [None] * numbers
                else:
                    buffer[place] = [0] * numbers
                place += 1

    def _read(self, address: int, size: int) -> int | None:
        values = [self.dram[address + n] for n in range(size)]
        if None in values:
            return None
        number = sum(value << (8 * n) for n, value in enumerate(values) if value is not None)
        return wrapped(number, 8 * size)

    def store(self, op: Op) -> None:
        if op["x_size"] == 0:
            return
        for y in range(op["y_size"]):
            for x in range(op["x_size"]):
                numbers = self._get(ACC, op["sram_base"] + y * op["x_size"] + x)
                element = op["dram_base"] + y * op["x_stride"] + x
                for n, number in enumerate(numbers):
                    address = element * len(numbers) + n
                    assert address in self.dram
                    self.dram[address] = number & 0xFF

    def _get(self, memory: int, place: int) -> list[int]:
        numbers = self.sram[memory][place]
        assert None not in numbers, "nobody has written it"
        return [n for n in numbers if n is not None]

    def _micro_op(self, place: int) -> tuple[int, int, int]:
        word = self._get(UOP, place)[0] & 0xFFFFFFFF
        acc, inp, wgt = (len(self.sram[memory]).bit_length() - 1 for memory in (ACC, INP, WGT))
        source = max(acc, inp)
        dst = word & ((1 << acc) - 1)
        src = word >> acc & ((1 << source) - 1)
        return dst, src, word >> (acc + source) & ((1 << wgt) - 1)

    def _iterations(self, op: Op):
        for i in range(op["iter_out"]):
            for j in range(op["iter_in"]):
                for k in range(op["uop_bgn"], op["uop_end"]):
                    dst, src, wgt = self._micro_op(k)
                    dst += i * op["dst_factor_out"] + j * op["dst_factor_in"]
                    src += i * op["src_factor_out"] + j * op["src_factor_in"]
                    yield i, j, dst, src, wgt

    def gemm(self, op: Op) -> None:
        c = self.config
        for i, j, dst, src, wgt in self._iterations(op):
            if op["reset"]:
                self.sram[ACC][dst] = [0] * (c.batch * c.block_out)
                continue
            wgt += i * op["wgt_factor_out"] + j * op["wgt_factor_in"]
            acc, inp, weights = self._get(ACC, dst), self._get(INP, src), self._get(WGT, wgt)
            for b in range(c.batch):
                for o in range(c.block_out):
                    total = acc[b * c.block_out + o]
                    for n in range(c.block_in):
                        total += inp[b * c.block_in + n] * weights[o * c.block_in + n]
                    acc[b * c.block_out + o] = wrapped(total, 32)
            self.sram[ACC][dst] = list(acc)

    def alu(self, op: Op) -> None:
        for _, _, dst, src, _ in self._iterations(op):
            old = self._get(ACC, dst)
            other = [op["imm"]] * len(old) if op["use_imm"] else self._get(ACC, src)
            self.sram[ACC][dst] = [
                combine(op["alu_opcode"], x, y) for x, y in zip(old, other, strict=True)
            ]


def memory_of(regions: Sequence[tuple[int, np.ndarray | int]]) -> dict[int, int | None]:
    """Returns DRAM with arrays at addresses, or with unwritten bytes."""
    dram: dict[int, int | None] = {}
    for address, contents in regions:
        if isinstance(contents, int):
            dram.update(dict.fromkeys(range(address, address + contents)))
        else:
            values = np.ascontiguousarray(contents).reshape(-1).view(np.uint8).tolist()
            dram.update(enumerate(values, address))
    return dram
