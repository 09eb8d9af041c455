"""The lowering of instructions on buffers to those of the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from glow.errors import CompileError
from glow.glow_dialects.elements import offset_of, strides_of, type_bytes
from glow.glow_dialects.glow import arithmetic, constant, matrix
from glow.glow_dialects.glow_inst.instruction import Instruction, OperatorInstruction, buffer_of
from glow.glow_dialects.glow_inst.memory import AllocActivationOp, WeightOp
from glow.glow_dialects.glow_inst.stacked import CopyOp
from glow.glow_dialects.plan_attributes import ARENA_SIZE, WEIGHTS_SIZE
from glow.runtime.memory_plan import function_bytes
from glow.runtime.signature import main_function
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from .dialect import LANES, WORDS, compute, fill, load, matmul_row, store

Words = np.ndarray  # where each element of a tensor lies in memory
Fields = dict[str, int]


def memory_map(main: FuncOp) -> dict[SSAValue, int]:
    """Returns the first word of each buffer: weights, then activations, then inputs and outputs."""
    arena = function_bytes(main, WEIGHTS_SIZE)
    end = arena + function_bytes(main, ARENA_SIZE)
    places: dict[SSAValue, int] = {}
    for argument in main.body.block.args:
        if argument.type.element_type != f32:  # pyright: ignore
            raise CompileError(f"expected inputs and outputs of f32, found {argument.type}")
        places[argument], end = end // 4, end + type_bytes(argument.type)  # pyright: ignore
    if end > 4 * WORDS:
        raise CompileError(f"the network needs {end} bytes, the machine has {4 * WORDS}")
    for op in main.body.block.ops:
        if isinstance(op, AllocActivationOp | WeightOp) and op.offset is not None:
            start = arena if isinstance(op, AllocActivationOp) else 0
            places[op.result] = (start + op.offset.value.data) // 4
    return places


def words_of(value: SSAValue, places: dict[SSAValue, int]) -> Words:
    t, first = value.type, places[buffer_of(value)]
    grid = np.indices(t.get_shape())  # pyright: ignore
    offsets = (stride * index for stride, index in zip(strides_of(t), grid, strict=True))  # pyright: ignore
    return np.asarray(sum(offsets, first + offset_of(t)))  # pyright: ignore


def transfer(row: Words) -> Fields:
    """Returns the fields of an instruction that reads or writes a row."""
    stride = row[1] - row[0] if len(row) > 1 else 0
    return {"address": int(row[0]), "stride": int(stride), "count": len(row)}


def pieces(*tensors: Words) -> Iterator[list[Fields]]:
    """Yields the rows of tensors of the same shape, in pieces that fit into a register."""
    *outer, size = tensors[0].shape or (1,)
    for place in np.ndindex(*outer):
        for start in range(0, size, LANES):
            rows = (np.atleast_1d(words[place]) for words in tensors)
            yield [transfer(row[start : start + LANES]) for row in rows]


def copy(op: CopyOp, to: Words, source: Words) -> Iterator[Operation]:
    for written, read in pieces(to, source):
        yield from (load.of(register=0, **read), store.of(**written))


def splat(op: OperatorInstruction, to: Words) -> Iterator[Operation]:
    yield fill.of(value=float(op.call.get("value")))
    yield from (store.of(**written) for (written,) in pieces(to))


def elementwise(op: OperatorInstruction, to: Words, a: Words, b: Words) -> Iterator[Operation]:
    for written, first, second in pieces(to, a, b):
        yield from (load.of(register=0, **first), load.of(register=1, **second))
        yield from (compute.of(function=FUNCTION[op.OPERATOR]), store.of(**written))


def matmul(op: OperatorInstruction, to: Words, a: Words, b: Words) -> Iterator[Operation]:
    a = a.T if op.call.get("transpose_lhs") else a
    b = b.T if op.call.get("transpose_rhs") else b
    for i, j in np.ndindex(len(a), -(-b.shape[1] // LANES)):
        columns = slice(j * LANES, (j + 1) * LANES)
        yield fill.of(value=0.0)
        for k in range(0, len(b), LANES):
            row, tile = transfer(a[i, k : k + LANES]), b[k : k + LANES, columns]
            yield load.of(register=1, **row)
            step = transfer(tile[:, 0])["stride"]
            yield matmul_row.of(inner=row["count"], row_stride=step, **transfer(tile[0]))
        yield store.of(**transfer(to[i, columns]))


FUNCTION = {arithmetic.AddOp: "add", arithmetic.MulOp: "mul", arithmetic.MaximumOp: "max"}
RULES: dict[type, Callable[..., Iterator[Operation]]] = {
    **dict.fromkeys(FUNCTION, elementwise),
    **{matrix.MatMulOp: matmul, constant.SplatOp: splat, CopyOp: copy},
}


class LowerToVectorMachinePass(ModulePass):
    """Replace instructions on buffers by those of the machine, one after the other."""

    name = "lower-to-vector-machine"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main, program = main_function(op), Block()
        places = memory_map(main)
        for i in main.body.block.ops:
            if isinstance(i, Instruction):
                rule = RULES[i.OPERATOR if isinstance(i, OperatorInstruction) else type(i)]
                program.add_ops(rule(i, *(words_of(o, places) for o in i.operands)))
        program.add_op(ReturnOp())
        main.detach()
        op.body.block.add_op(FuncOp("main", ([], []), Region(program)))
