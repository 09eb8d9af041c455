"""
A simulator of VTA, exact to the bit in function.

It executes the binary words of a program, in an order that the dependence tokens permit. It refuses
everything without a defined result on the machine: reads of unwritten memory, addresses out of
range, operations beyond its design (`limits.py`), and deadlock. Every error names the instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from ...lazy import lazy_property
from .dram import Dram, DramError
from .limits import Limits
from .plans import AluPlan, Factors, GemmPlan, Indices, PlanKind, Plans, pieces
from .program import Region, VtaProgram
from .tokens import Dependences, check_finish_waits, dependences
from .words import (
    Alu,
    AluOp,
    Finish,
    Gemm,
    Instruction,
    MemoryCode,
    Transfer,
    VtaError,
    decode_instructions,
    element_bytes,
    error_at,
)

_EXACT_PRODUCTS = 1 << 10
"""The number of int8 products whose sum is at most 2**24, which float32 holds exactly."""


class Simulator:
    """
    A program on a VTA of its own, which is reset in every run. Runs on several threads at once are
    safe.

    Raises VtaError for words that are no instructions, and for deadlock.
    """

    def __init__(self, program: VtaProgram):
        _check_numbers(program)
        self.program = program
        self.instructions = decode_instructions(program.instructions, program.config)
        self._plans = Plans(program.config)

    @lazy_property
    def dependences(self) -> Dependences:
        """The instructions that wait for each other. Raises VtaError, see `tokens.dependences`."""
        return dependences(self.instructions, self.program.config)

    @lazy_property
    def _order(self) -> list[int]:
        order = self.dependences.order()
        check_finish_waits(self.dependences, order)
        return order

    def run(self, inputs: Sequence[np.ndarray], shuffle: int | None = None) -> list[np.ndarray]:
        """
        Returns the outputs, from inputs in the order, shapes and dtypes of the program's.

        Instructions whose order tokens leave open are executed in the order of the program, or with
        the seed `shuffle` in a random one. Raises VtaError for operations that the machine cannot
        execute, and InputError for wrong inputs.
        """
        order = self._order
        if shuffle is not None:
            order = self.dependences.order(shuffle)
        try:
            dram = Dram(self.program)
            machine = _Machine(self.program, dram, self._plans)
        except (MemoryError, ValueError):
            raise VtaError(
                "the DRAM and the scratchpads of this program take more memory than there is"
            ) from None
        for region, array in zip(self.program.inputs, inputs, strict=True):
            _check_input(region, array)
            dram.fill(region, region.pack(array))
        for number in order:
            machine.execute(self.instructions[number])
        return [_output(region, dram) for region in self.program.outputs]


def simulate(program: VtaProgram, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """
    Runs a program once. Returns outputs by name, from inputs by name. Raises VtaError for
    operations that the machine cannot execute, and InputError for wrong inputs.
    """
    names = [region.name for region in program.inputs]
    if sorted(inputs) != sorted(names):
        raise InputError(f"the program has the inputs {names}, found {sorted(inputs)}")
    outputs = Simulator(program).run([inputs[name] for name in names])
    return {r.name: array for r, array in zip(program.outputs, outputs, strict=True)}


def _check_numbers(program: VtaProgram) -> None:
    c = program.config
    if (c.inp_bits, c.wgt_bits, c.acc_bits, c.out_bits, c.uop_bits) != (8, 8, 32, 8, 32):
        raise VtaError(
            "the simulator computes int8 x int8 -> int32, with int8 outputs and 32-bit micro-ops; "
            f"this program is for inp {c.inp_bits}, wgt {c.wgt_bits}, acc {c.acc_bits}, out "
            f"{c.out_bits} and uop {c.uop_bits} bits"
        )


def _check_input(region: Region, array: np.ndarray) -> None:
    if array.shape != region.shape or array.dtype != region.dtype:
        raise InputError(
            f"input {region.name!r} is {region.dtype}{list(region.shape)}, "
            f"found {array.dtype}{list(array.shape)}"
        )


def _output(region: Region, dram: Dram) -> np.ndarray:
    data, written = dram.contents(region)
    size = region.stored_bytes
    if written is not None and not written[:size].all():
        missing = int(np.flatnonzero(~written[:size])[0])
        raise VtaError(
            f"output {region.name!r}: the program has not written all of it; the first missing "
            f"byte is {missing} of {size}"
        )
    return region.unpack(data)


class _Machine:
    """The scratchpads, and the effects of instructions on them."""

    def __init__(self, program: VtaProgram, dram: Dram, plans: Plans):
        c = self._config = program.config
        self._dram = dram
        self._plans = plans
        self._limits = Limits(c)
        self._uop = np.zeros(c.uop_depth, np.uint32)
        # floats, because products are computed by BLAS; weights are transposed
        floats = np.float32 if c.block_in <= _EXACT_PRODUCTS else np.float64
        self._inp = np.zeros((c.inp_depth, c.batch, c.block_in), floats)
        self._wgt = np.zeros((c.wgt_depth, c.block_in, c.block_out), floats)
        self._acc = np.zeros((c.acc_depth, c.batch * c.block_out), np.int32)
        depths = {
            MemoryCode.UOP: c.uop_depth,
            MemoryCode.INP: c.inp_depth,
            MemoryCode.WGT: c.wgt_depth,
            MemoryCode.ACC: c.acc_depth,
        }
        self._valid = {memory: np.zeros(depth, bool) for memory, depth in depths.items()}
        for view in (MemoryCode.OUT, MemoryCode.ACC_8BIT):
            self._valid[view] = self._valid[MemoryCode.ACC]
        self._computed = np.zeros(c.acc_depth, bool)
        """Which accumulators are in a memory that GEMM and ALU alone write."""
        self._stores_all = c.capabilities.stores_accumulators

    def execute(self, i: Instruction) -> None:
        """Raises VtaError."""
        _EXECUTE[type(i)](self, i)

    def finish(self, i: Finish) -> None:
        pass

    def transfer(self, i: Transfer) -> None:
        if i.x_size == 0:
            return
        self._check_transfer(i)
        try:
            if i.store:
                self._store(i)
            else:
                self._load(i)
        except DramError as e:
            raise error_at(i, str(e)) from None

    def _check_transfer(self, i: Transfer) -> None:
        if i.store != (i.memory is MemoryCode.OUT):
            verb = "STORE moves OUT only" if i.store else "LOAD does not move OUT"
            raise error_at(i, verb)
        padded = i.width != i.x_size or i.height != i.y_size
        if padded and (i.store or i.memory in (MemoryCode.WGT, MemoryCode.UOP)):
            raise error_at(i, "only LOADs of INP and ACC can pad")
        self._limits.transfer(i)
        end = i.sram_base + i.width * i.height
        if i.memory is MemoryCode.UOP:
            self._limits.micro_ops(i, end)
        depth = self._valid[i.memory].size
        if end > depth:
            raise error_at(
                i, f"elements {i.sram_base} to {end - 1} of {i.memory.name}, which has {depth}"
            )

    def _load(self, i: Transfer) -> None:
        shape = (i.height, i.width)
        target, dtype, element = self._target(i)
        end = i.sram_base + i.width * i.height
        target = target[i.sram_base : end].reshape(*shape, *target.shape[1:])
        valid = self._valid[i.memory][i.sram_base : end].reshape(shape)
        if i.memory in (MemoryCode.ACC, MemoryCode.ACC_8BIT):
            self._computed[i.sram_base : end] = False
        inner = (
            slice(i.y_pad_0, i.y_pad_0 + i.y_size),
            slice(i.x_pad_0, i.x_pad_0 + i.x_size),
        )
        if i.y_size != i.height or i.x_size != i.width:
            target[...] = 0
            valid[...] = True
        if i.y_size == 0:
            return
        size = element_bytes(self._config, i.memory)
        data, written = self._dram.rows(
            i.dram_base * size, dtype, (i.x_size, *element), i.y_size, i.x_stride * size
        )
        target[inner] = data.swapaxes(2, 3) if i.memory is MemoryCode.WGT else data
        valid[inner] = True if written is None else written

    def _target(self, i: Transfer) -> tuple[np.ndarray, np.dtype, tuple[int, ...]]:
        """Returns the scratchpad, and the dtype and shape of an element in DRAM."""
        c = self._config
        flat = (c.batch * c.block_out,)
        targets = {
            MemoryCode.UOP: (self._uop, "<u4", ()),
            MemoryCode.INP: (self._inp, "i1", (c.batch, c.block_in)),
            MemoryCode.WGT: (self._wgt, "i1", (c.block_out, c.block_in)),
            MemoryCode.ACC: (self._acc, "<i4", flat),
            MemoryCode.ACC_8BIT: (self._acc, "i1", flat),
        }
        target, dtype, element = targets[i.memory]
        return target, np.dtype(dtype), element

    def _store(self, i: Transfer) -> None:
        if i.y_size == 0:
            return
        places = slice(i.sram_base, i.sram_base + i.y_size * i.x_size)
        self._check_valid(i, MemoryCode.ACC, places, 0)
        if not self._stores_all:
            self._limits.stored(i, self._computed[places])
        size = element_bytes(self._config, MemoryCode.OUT)
        rows = self._acc[places].astype(np.int8).reshape(i.y_size, i.x_size * size)
        self._dram.store(i.dram_base * size, rows, i.x_stride * size)

    def gemm(self, i: Gemm) -> None:
        loops = (
            Factors(i.dst_out, i.dst_in),
            Factors(i.src_out, i.src_in),
            Factors(i.wgt_out, i.wgt_in),
        )
        if i.reset:
            for plan, (dst,) in self._planned(i, PlanKind.RESET, loops[:1]):
                self._acc[dst:][plan] = 0
                self._valid[MemoryCode.ACC][dst:][plan] = True
                self._computed[dst:][plan] = False
            return
        for plan, bases in self._planned(i, PlanKind.GEMM, loops):
            self._multiply(i, plan, bases)

    def _planned(
        self, i: Gemm | Alu, kind: PlanKind, loops: Sequence[Factors]
    ) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Returns plans of the pieces of an instruction, and the offsets of their indices."""
        if not i.iterations:
            return
        if i.uop_end > self._uop.size:
            raise error_at(i, f"micro-op {i.uop_end - 1}, but there are {self._uop.size}")
        self._limits.micro_ops(i, i.uop_end)
        self._check_valid(i, MemoryCode.UOP, slice(i.uop_begin, i.uop_end), 0)
        words = self._uop[i.uop_begin : i.uop_end]
        self._limits.distance(i, words)
        for piece in pieces(i.iter_out, i.iter_in, words.size):
            plan, operands = self._plans.find(kind, words, loops, piece)
            for memory, last in zip(_OPERANDS[kind], operands.last, strict=True):
                if last >= self._valid[memory].size:
                    depth = self._valid[memory].size
                    raise error_at(i, f"element {last} of {memory.name}, which has {depth}")
            yield plan, operands.bases

    def _multiply(self, i: Gemm, plan: GemmPlan, bases: Sequence[int]) -> None:
        d, s, w = bases
        self._check_valid(i, MemoryCode.ACC, plan.dst, d)
        self._check_valid(i, MemoryCode.INP, plan.src, s)
        self._check_valid(i, MemoryCode.WGT, plan.wgt, w)
        self._computed[d:][plan.dst] = True
        acc, inp, wgt = self._acc[d:], self._inp[s:], self._wgt[w:]
        step = max(_EXACT_PRODUCTS // self._config.block_in, 1)
        for product in plan.products:
            for k in range(0, product.wgt.shape[1], step):
                part = slice(k, k + step)
                acc[product.dst] += _sums(
                    inp.take(product.src[:, :, part], axis=0),
                    wgt.take(product.wgt[:, part], axis=0),
                )

    def alu(self, i: Alu) -> None:
        self._limits.alu(i)
        loops = (Factors(i.dst_out, i.dst_in), Factors(i.src_out, i.src_in))
        kind = PlanKind.IMMEDIATE if i.use_imm else PlanKind.ALU
        for plan, bases in self._planned(i, kind, loops[:1] if i.use_imm else loops):
            self._combine(i, plan, bases[0])

    def _combine(self, i: Alu, plan: AluPlan, base: int) -> None:
        self._check_valid(i, MemoryCode.ACC, plan.used, base)
        acc = self._acc[base:]
        compute = _COMPUTE[i.op]
        for dst, src in plan.steps:
            operand = np.int32(i.imm) if i.use_imm else acc[src]
            if i.op is AluOp.SHR:
                self._limits.shift(i, operand)
            acc[dst] = compute(acc[dst], operand)
            self._computed[base:][dst] = True

    def _check_valid(self, i: Instruction, memory: MemoryCode, places: Indices, base: int) -> None:
        valid = self._valid[memory][base:][places]
        if valid.all():
            return
        n = int(np.flatnonzero(~valid)[0])
        place = places.start + n if isinstance(places, slice) else int(places[n])
        raise error_at(i, f"it reads {memory.name}[{base + place}], which nobody has written")


def _sums(src: np.ndarray, wgt: np.ndarray) -> np.ndarray:
    """
    Returns sums over k and i of src[g, r, k, b, i] * wgt[g, k, i, o], floats that are exact:
    int32[g * r, b * o].
    """
    groups, rows, count, batch, inner = src.shape
    outer = wgt.shape[-1]
    left = src.swapaxes(2, 3).reshape(groups, rows * batch, count * inner)
    sums = left @ wgt.reshape(groups, count * inner, outer)
    return sums.astype(np.int32).reshape(groups * rows, batch * outer)


def _shift(values: np.ndarray, places: np.ndarray | np.int32) -> np.ndarray:
    left = np.left_shift(values, np.maximum(-places, 0))
    return np.right_shift(left, np.maximum(places, 0))


_COMPUTE: dict[AluOp, Callable[[np.ndarray, np.ndarray | np.int32], np.ndarray]] = {
    AluOp.MIN: np.minimum,
    AluOp.MAX: np.maximum,
    AluOp.ADD: np.add,
    AluOp.SHR: _shift,
    AluOp.MUL: np.multiply,
}

_OPERANDS: dict[PlanKind, tuple[MemoryCode, ...]] = {
    PlanKind.GEMM: (MemoryCode.ACC, MemoryCode.INP, MemoryCode.WGT),
    PlanKind.RESET: (MemoryCode.ACC,),
    PlanKind.ALU: (MemoryCode.ACC, MemoryCode.ACC),
    PlanKind.IMMEDIATE: (MemoryCode.ACC,),
}

_EXECUTE: dict[type, Callable[[_Machine, Any], None]] = {
    Transfer: _Machine.transfer,
    Gemm: _Machine.gemm,
    Alu: _Machine.alu,
    Finish: _Machine.finish,
}
