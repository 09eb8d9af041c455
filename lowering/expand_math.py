"""
The pass that replaces functions of `math` on f32 by arithmetic.

LLVM would call the C library for each lane. The replacement runs on whole vectors, and its
accuracy, which `elementary` states, is the same on every machine. Functions on f64 and on vectors
of several dimensions stay calls of the C library. 16-bit floats are computed as f32 before this
pass.

`sin` and `cos` of arguments beyond 1e5 would need hundreds of bits of pi. If one lane holds such a
number (or NaN, or an infinity), the C library computes all lanes in f64, in a branch beside the
fast path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, math, memref, scf, vector
from xdsl.dialects.builtin import (
    Float32Type,
    IndexType,
    IntegerAttr,
    ModuleOp,
    VectorType,
    f32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsolatedFromAbove

from ..glow_dialects.glow.machine import machine_of
from ..passes.levels import KERNELS
from . import elementary
from .lanes import Constants, Lanes

Expansion = Callable[..., SSAValue]
_INDEX = IndexType()


def lanes_of_f32(t: Attribute) -> tuple[bool, int | None]:
    """
    Returns whether the type is f32 or a one-dimensional vector of it, and the vector's length.
    """
    if isinstance(t, Float32Type):
        return True, None
    if isinstance(t, VectorType) and isinstance(t.element_type, Float32Type):
        shape = t.get_shape()
        return len(shape) == 1, shape[0] if shape else None
    return False, None


def _or_library(
    fast: Callable[[Lanes, SSAValue], SSAValue], library: type[Operation]
) -> Callable[[Lanes, SSAValue], SSAValue]:
    """Returns `fast` where all lanes are within its range, otherwise `library` in f64."""

    def expansion(v: Lanes, x: SSAValue) -> SSAValue:
        size = v.abs(x)
        if v.lanes is not None:
            kind = vector.CombiningKindAttr(vector.CombiningKindFlag.MAXIMUMF)
            size = v.op(vector.ReductionOp, f32, size, properties={"kind": kind})
        one = Lanes(f32, None, v.constants, v.emit, v.has_fma)
        inside = one.compare("ole", size, one.number(elementary.SIN_COS_LIMIT))

        def branch(body: Callable[[Lanes, SSAValue], SSAValue]) -> Region:
            block = Block()
            result = body(Lanes(f32, v.lanes, v.constants, block.add_op, v.has_fma), x)
            block.add_op(scf.YieldOp(result))
            return Region(block)

        choice = scf.IfOp(inside, [v.floats], branch(fast), branch(_library(library)))
        v.emit(choice)
        return choice.results[0]

    return expansion


def _library(kind: type[Operation]) -> Callable[[Lanes, SSAValue], SSAValue]:
    """Returns the function of the C library on f64, lane by lane."""

    def scalar(v: Lanes, x: SSAValue) -> SSAValue:
        d = v.widened()
        return v.narrow(d.op(kind, d.floats, v.widen(x), properties=_EXACT))

    def loop(v: Lanes, x: SSAValue) -> SSAValue:
        assert v.lanes is not None
        index = [arith.ConstantOp(IntegerAttr(i, _INDEX)) for i in (0, 1, v.lanes)]
        zero, one, end = (op.result for op in index)
        buffer = memref.AllocaOp.get(f32, None, [v.lanes])
        for op in (*index, buffer, vector.StoreOp(x, buffer.memref, [zero])):
            v.emit(op)
        block = Block(arg_types=[_INDEX])
        lane = block.args[0]
        s = Lanes(f32, None, v.constants, block.add_op, v.has_fma)
        value = s.op(memref.LoadOp, f32, buffer.memref, lane)
        block.add_ops([memref.StoreOp.get(scalar(s, value), buffer.memref, [lane]), scf.YieldOp()])
        v.emit(scf.ForOp(zero, end, one, [], block))
        load = vector.LoadOp(buffer.memref, [zero], VectorType(f32, [v.lanes]))
        v.emit(load)
        return load.results[0]

    return lambda v, x: scalar(v, x) if v.lanes is None else loop(v, x)


_EXACT: dict[str, Attribute] = {"fastmath": arith.FastMathFlagsAttr("none")}

EXPANSIONS: Mapping[type[Operation], Expansion] = {
    math.ExpOp: elementary.exp,
    math.Exp2Op: elementary.exp2,
    math.LogOp: elementary.log,
    math.TanhOp: elementary.tanh,
    math.ErfOp: elementary.erf,
    math.PowFOp: elementary.powf,
    math.SinOp: _or_library(elementary.sin, math.SinOp),
    math.CosOp: _or_library(elementary.cos, math.CosOp),
}


def _scope(op: Operation) -> Block:
    """Returns the entry block of the function that holds `op`, to which its constants belong."""
    parent = op.parent_op()
    while parent is not None and not parent.has_trait(IsolatedFromAbove):
        parent = parent.parent_op()
    assert parent is not None
    block = parent.regions[0].first_block
    assert block is not None
    return block


@dataclass(frozen=True)
class ExpandMathPass(ModulePass):
    """
    Replace exp, exp2, log, tanh, erf, sin, cos and powf on f32, scalar or vector, by arithmetic.

    ```mlir
    %r = math.exp %x : vector<16xf32>   // becomes about 20 operations on vector<16xf32>
    ```

    On a machine without fused multiply-add, results are as accurate, but take more operations.
    """

    name = "glow-expand-math"
    level = KERNELS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        has_fma = machine_of(op).has_fma
        constants: dict[Block, Constants] = {}
        found = [o for o in op.walk() if type(o) in EXPANSIONS]
        for target in found:
            matches, lanes = lanes_of_f32(target.results[0].type)
            if not matches:
                continue
            scope = constants.setdefault(_scope(target), Constants())
            operations: list[Operation] = []
            v = Lanes(f32, lanes, scope, operations.append, has_fma)
            result = EXPANSIONS[type(target)](v, *target.operands)
            Rewriter.replace_op(target, operations, [result])
        for block, made in constants.items():
            Rewriter.insert_op(made.operations, InsertPoint.at_start(block))
