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
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects import math, memref, vector
from xdsl.dialects.builtin import ModuleOp, VectorType, f32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.traits import IsolatedFromAbove

from ..glow_dialects.glow.machine import machine_of
from ..passes.levels import KERNELS
from ..passes.looked_at import each
from . import elementary
from .kernels.codegen.emit import Emitter
from .lanes import Lanes

Expansion = Callable[..., SSAValue]


def lanes_of_f32(t: Attribute) -> int | None:
    """
    Returns the length of a one-dimensional vector of f32, 1 for f32 itself; None for other types.
    """
    if t == f32:
        return 1
    if isinstance(t, VectorType) and t.element_type == f32 and len(t.get_shape()) == 1:
        return t.get_shape()[0]
    return None


def _or_library(
    fast: Callable[[Lanes, SSAValue], SSAValue], library: type[Operation]
) -> Callable[[Lanes, SSAValue], SSAValue]:
    """Returns `fast` where all lanes are within its range, otherwise `library` in f64."""

    def expansion(v: Lanes, x: SSAValue) -> SSAValue:
        e, size = v.emitter, v.abs(x)
        if v.lanes > 1:
            kind = vector.CombiningKindAttr(vector.CombiningKindFlag.MAXIMUMF)
            size = e.op(vector.ReductionOp, (size,), f32, {"kind": kind})
        limit = e.constant(f32, elementary.SIN_COS_LIMIT)
        inside = v.compare("ole", size, limit)
        return e.choose(inside, lambda: fast(v, x), lambda: _library(v, x, library), v.floats)

    return expansion


def _library(v: Lanes, x: SSAValue, kind: type[Operation]) -> SSAValue:
    """Returns the function of the C library on f64, lane by lane."""
    if v.lanes == 1:
        d = v.widened()
        return v.narrow(d.float_op(kind, v.widen(x)))
    e = v.emitter
    buffer = memref.AllocaOp.get(f32, None, [v.lanes])
    e.add(buffer)
    e.store(x, buffer.memref, e.index(0))
    for lane in e.loop(v.lanes):
        value = e.load(buffer.memref, e.index(lane), f32, 1)
        e.store(_library(replace(v, lanes=1), value, kind), buffer.memref, e.index(lane))
    return e.load(buffer.memref, e.index(0), f32, v.lanes)


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


def _expanded(op: Operation, v: Lanes) -> SSAValue:
    """Returns the result of an operation; vectors of one lane are computed as scalars."""
    expansion, operands, t = EXPANSIONS[type(op)], op.operands, op.results[0].type
    if v.lanes > 1 or t == f32:
        return expansion(v, *operands)
    result = expansion(v, *(v.emitter.extract(o, 0) for o in operands))
    return v.emitter.op(vector.BroadcastOp, (result,), t)


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
        emitters: dict[Block, Emitter] = {}
        for target in each([o for o in op.walk() if type(o) in EXPANSIONS]):
            lanes = lanes_of_f32(target.results[0].type)
            if lanes is None:
                continue
            scope = _scope(target)
            emitter = emitters.setdefault(scope, Emitter(scope))
            operations = Block()
            with emitter.inside(operations):
                result = _expanded(target, Lanes(emitter, f32, lanes, has_fma))
            made = list(operations.ops)
            for new in made:
                new.detach()
            Rewriter.replace_op(target, made, [result])
        for emitter in emitters.values():
            emitter.finish()
