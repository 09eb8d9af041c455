"""
The pass that replaces functions of `math` on f32 by functions of arithmetic.

LLVM would call the C library for each lane. The replacement runs on whole vectors, and its
accuracy, which `elementary` states, is the same on every machine. A kernel calls it, and LLVM puts
it in the place of each call; so the IR has the arithmetic once, however many vectors a kernel
computes. Functions on f64 and on vectors of one lane or of several dimensions stay calls of the C
library. 16-bit floats are computed as f32 before this pass.

`sin` and `cos` of arguments beyond 1e5 would need hundreds of bits of pi. If one lane holds such a
number (or NaN, or an infinity), the C library computes all lanes in f64, in a branch beside the
fast path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from math import inf

from xdsl.context import Context
from xdsl.dialects import arith, func, math, memref, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    FunctionType,
    ModuleOp,
    VectorType,
    f32,
    f64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ..glow_dialects.glow.machine import machine_of
from ..glow_dialects.glow_nest.body import Body
from ..glow_dialects.machine import MachineDescription
from ..glow_dialects.scalar import Expr, Primitive, arguments
from ..passes.levels import KERNELS
from ..passes.nested_operations import operations_of
from ..passes.visited_operation import each
from .elementary import MODERATE_EXP, SIN_COS_LIMIT, Elementary
from .kernels.codegen.algebra import ArithAlgebra, Value
from .kernels.codegen.emit import Emitter
from .kernels.codegen.types import vector_type
from .llvm.convert import INLINED


def lanes_of_f32(t: Attribute) -> int | None:
    """
    Returns the length of a vector of f32, of one dimension and several lanes, 1 for f32 itself;
    None for other types.
    """
    if t == f32:
        return 1
    if isinstance(t, VectorType) and t.element_type == f32 and len(t.get_shape()) == 1:
        (lanes,) = t.get_shape()
        return lanes if lanes > 1 else None
    return None


EXPANDED: Mapping[type[Operation], Callable[..., Expr]] = {
    math.ExpOp: Elementary.exp,
    math.LogOp: Elementary.log,
    math.TanhOp: Elementary.tanh,
    math.ErfOp: Elementary.erf,
    math.PowFOp: Elementary.powf,
    math.SinOp: Elementary.sin,
    math.CosOp: Elementary.cos,
}
_WITH_ONE: Mapping[type[Operation], Callable[..., Expr]] = {
    math.ErfOp: Elementary.one_plus_erf,
    math.ExpOp: Elementary.one_plus_exp,
}
"""The sums of functions and one that are functions of their own."""
_OR_LIBRARY = (math.SinOp, math.CosOp)
"""The functions that the C library computes where a lane is out of range."""


_Function = Callable[..., Expr]


@cache
def _body(function: _Function, operands: int, has_fma: bool) -> Body:
    return Body((function(Elementary(has_fma), *arguments(operands)),), (f32,))


def _sum_with_one(op: Operation) -> arith.AddfOp | None:
    """
    Returns the addition of one to a function, if nothing else uses its result and the sum is a
    function of its own.
    """
    added = op.results[0].get_user_of_unique_use()
    if type(op) not in _WITH_ONE or not isinstance(added, arith.AddfOp):
        return None
    return added if any(_number(operand.owner) == 1.0 for operand in added.operands) else None


def _number(op: Operation | Block) -> float | None:
    """Returns the constant that all lanes of the result of an operation have; None if not known."""
    if isinstance(op, vector.BroadcastOp):
        op = op.source.owner
    if not isinstance(op, arith.ConstantOp):
        return None
    match op.value:
        case FloatAttr():
            return op.value.value.data
        case DenseIntOrFPElementsAttr() if op.value.is_splat():
            number = op.value.get_values()[0]
            return None if isinstance(number, tuple) else float(number)
        case _:
            return None


def _bounds(value: SSAValue) -> tuple[float, float]:
    """Returns numbers between which a value is, where it is not NaN, as far as operations tell."""
    op = value.owner
    number = _number(op)
    if number is not None:
        return number, number
    if not isinstance(op, arith.MaximumfOp | arith.MinimumfOp):
        return -inf, inf
    combine = max if isinstance(op, arith.MaximumfOp) else min
    (a, b), (c, d) = (_bounds(operand) for operand in op.operands)
    return combine(a, c), combine(b, d)


def _function_of(op: Operation) -> _Function:
    """Returns the function that takes the place of an operation."""
    if isinstance(op, math.ExpOp):
        (least, most), (low, high) = _bounds(op.operands[0]), MODERATE_EXP
        if low <= least and most <= high:
            return Elementary.moderate_exp
    return EXPANDED[type(op)]


def _define(
    function: func.FuncOp, value_of: _Function, kind: type[Operation], machine: MachineDescription
) -> None:
    """Fills in a function that computes one of `EXPANDED`."""
    block, (t,) = function.body.block, function.function_type.outputs
    for argument, hint in zip(block.args, "xy", strict=False):
        argument.name_hint = hint
    emitter, lanes = Emitter(block), lanes_of_f32(t)
    assert lanes is not None
    algebra = ArithAlgebra(emitter, machine, lanes)
    values = [Value(a, f32) for a in block.args]

    def fast() -> SSAValue:
        body = _body(value_of, len(values), machine.has_fma)
        return algebra.evaluate(body, values)[0].ssa

    if kind in _OR_LIBRARY:
        (x,) = values
        inside = _is_within(algebra, x, SIN_COS_LIMIT)
        floats = vector_type(f32, lanes)
        result = emitter.choose(inside, fast, lambda: _library(emitter, x.ssa, kind, lanes), floats)
    else:
        result = fast()
    block.add_op(func.ReturnOp(result))
    emitter.finish()


def _is_within(algebra: ArithAlgebra, x: Value, limit: float) -> SSAValue:
    """Returns whether no lane is larger than a limit, or NaN."""
    e, size = algebra.emitter, algebra.apply(Primitive.ABS, (x,)).ssa
    if algebra.lanes > 1:
        kind = vector.CombiningKindAttr(vector.CombiningKindFlag.MAXIMUMF)
        size = e.op(vector.ReductionOp, (size,), f32, {"kind": kind})
    return e.compare("ole", size, e.constant(f32, limit))


def _library(e: Emitter, x: SSAValue, kind: type[Operation], lanes: int) -> SSAValue:
    """Returns the function of the C library on f64, lane by lane."""
    if lanes == 1:
        return e.cast("truncf", e.op(kind, (e.cast("extf", x, f64),), f64), f32)
    buffer = memref.AllocaOp.get(f32, None, [lanes])
    e.add(buffer)
    e.store(x, buffer.memref, e.index(0))
    for lane in e.loop(lanes):
        value = e.load(buffer.memref, e.index(lane), f32, 1)
        e.store(_library(e, value, kind, 1), buffer.memref, e.index(lane))
    return e.load(buffer.memref, e.index(0), f32, lanes)


class _Functions:
    """The functions that a module has for those of `math`, each made when it is first called."""

    def __init__(self, module: ModuleOp):
        self._block = module.body.block
        self._machine = machine_of(module)
        ops = [op for op in self._block.ops if isinstance(op, func.FuncOp)]
        self._names = {op.sym_name.data for op in ops}

    def call(self, value_of: _Function, op: Operation) -> func.CallOp:
        """Returns a call of a function with the operands of an operation of `math`."""
        t = op.results[0].type
        lanes = f"_x{t.get_shape()[0]}" if isinstance(t, VectorType) else ""
        name = f"glow_{value_of.__name__}{lanes}"
        if name not in self._names:
            self._names.add(name)
            types = FunctionType.from_lists([t] * len(op.operands), [t])
            made = func.FuncOp(name, types, visibility="private")
            made.attributes.update(INLINED)
            _define(made, value_of, type(op), self._machine)
            self._block.add_op(made)
        return func.CallOp(name, op.operands, (t,))


@dataclass(frozen=True)
class ExpandMathPass(ModulePass):
    """
    Replaces exp, log, tanh, erf, sin, cos and powf on f32, scalar or vector, by private
    functions of arithmetic.

    ```mlir
    %r = math.exp %x : vector<16xf32>
    // becomes a call of a function of about 20 operations
    %r = func.call @glow_exp_x16(%x) : (vector<16xf32>) -> vector<16xf32>
    ```

    `1 + erf(x)` and `1 + exp(x)` are functions of their own, and so is the exponential of numbers
    between bounds that keep it from overflowing. On a machine without fused multiply-add, results
    are as accurate, but take more operations.
    """

    name = "glow-expand-math"
    level = KERNELS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = _Functions(op)
        for target in each([o for o in operations_of(op) if type(o) in EXPANDED]):
            if lanes_of_f32(target.results[0].type) is None:
                continue
            added = _sum_with_one(target)
            function = _function_of(target) if added is None else _WITH_ONE[type(target)]
            call = functions.call(function, target)
            Rewriter.replace_op(target, call)
            if added is not None:
                Rewriter.replace_op(added, [], call.results)
