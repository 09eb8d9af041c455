"""
Functions, loops and branches.

A loop becomes a body block that branches back to itself at its end; in front of it stands a guard
if it may run zero times. Loops that run once or never, as far as is known, leave no blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, llvm, scf
from xdsl.dialects.builtin import DenseArrayBase, MemRefType
from xdsl.ir import Block, SSAValue

from ...glow_dialects.elements import offset_of
from .function import FunctionConverter, converts
from .linear import Linear, combine
from .types import (
    BRANCH_WEIGHTS,
    WRITTEN_OUT,
    convert_type,
    element_size,
    failure,
    i32,
    i64,
    index_array,
    int_attr,
)

_NSW = {"overflowFlags": int_attr(1, i32)}
_MOST_WEIGHT = 2**31 - 1


def branch(block: Block, target: Block, values: Sequence[SSAValue]) -> None:
    """Ends `block` with a jump."""
    block.add_op(llvm.BrOp.create(operands=values, successors=(target,)))


def branch_if(
    block: Block,
    condition: SSAValue,
    then: tuple[Block, Sequence[SSAValue]],
    otherwise: tuple[Block, Sequence[SSAValue]],
    weights: tuple[int, int] | None = None,
) -> None:
    """
    Ends `block` with a choice between two targets. The weights say how often each of them is taken,
    relative to the other one.
    """
    attributes = {} if weights is None else {BRANCH_WEIGHTS: index_array(*weights)}
    block.add_op(
        llvm.CondBrOp.create(
            operands=(condition, *then[1], *otherwise[1]),
            successors=(then[0], otherwise[0]),
            properties={"operandSegmentSizes": index_array(1, len(then[1]), len(otherwise[1]))},
            attributes=attributes,
        )
    )


@converts(scf.YieldOp, scf.ConditionOp)
def convert_end(op: scf.YieldOp | scf.ConditionOp, fn: FunctionConverter) -> None:
    """Leaves the values at the end of a region to the operation around it, which reads them."""


@converts(func.ReturnOp)
def convert_return(op: func.ReturnOp, fn: FunctionConverter) -> None:
    fn.add(llvm.ReturnOp.create(operands=fn.values(op.arguments)))


@converts(func.CallOp)
def convert_call(op: func.CallOp, fn: FunctionConverter) -> None:
    arguments = [
        _pointer_argument(a, fn) if isinstance(a.type, MemRefType) else fn.value(a)
        for a in op.arguments
    ]
    if len(op.results) > 1:
        raise failure(op, f"expected at most one result, found {len(op.results)}")
    fn.callees.add(op.callee.string_value())
    results = fn.call(op.callee, arguments, [convert_type(r.type) for r in op.results])
    fn.define_all(op.results, results)


@converts(llvm.CallIntrinsicOp)
def convert_call_intrinsic(op: llvm.CallIntrinsicOp, fn: FunctionConverter) -> None:
    """Converts the call of an LLVM intrinsic by its name, on numbers, which earlier passes emit."""
    types = [convert_type(r.type) for r in op.results]
    fn.define_all(op.results, fn.call(op.intrin, fn.values(op.args), types))


def _pointer_argument(memref: SSAValue, fn: FunctionConverter) -> SSAValue:
    """
    Returns the argument for a memref: the address to which the callee adds the offset in the type.
    """
    buffer = fn.buffers[memref]
    t = memref.type
    assert isinstance(t, MemRefType)
    ahead = Linear(-offset_of(t) * element_size(t.element_type))
    return fn.pointer(buffer.base, combine([(buffer.start, 1), (buffer.offset, 1), (ahead, 1)]))


@converts(scf.ForOp)
def convert_for(op: scf.ForOp, fn: FunctionConverter) -> None:
    if any(isinstance(a.type, MemRefType) for a in op.iter_args):
        raise failure(op, "a memref cannot be carried by a loop")
    trips = _trip_count(op, fn)
    if trips == 0:
        fn.alias(op.results, op.iter_args)
    elif trips == 1:
        fn.alias(op.body.block.args, (op.lb, *op.iter_args))
        fn.convert_ops(op.body.block)
        fn.alias(op.results, _yielded(op.body.block))
    else:
        _convert_loop(op, fn, trips)


def _trip_count(op: scf.ForOp, fn: FunctionConverter) -> int | None:
    lower, upper, step = (fn.constant_int(v) for v in (op.lb, op.ub, op.step))
    if step is not None and step <= 0:
        raise failure(op, f"expected a positive step, found {step}")
    if lower is None or upper is None or step is None:
        return None
    return max(0, -(-(upper - lower) // step))


def _yielded(block: Block) -> Sequence[SSAValue]:
    terminator = block.last_op
    return terminator.operands if isinstance(terminator, scf.YieldOp | scf.ConditionOp) else ()


def _convert_loop(op: scf.ForOp, fn: FunctionConverter, trips: int | None) -> None:
    guarded = trips is None
    lower, upper, step = fn.values((op.lb, op.ub, op.step))
    initial = fn.values(op.iter_args)
    types = [v.type for v in initial]
    body = fn.new_block([lower.type, *types])
    with fn.inside(body) as inner:
        final = _convert_region(op.body.block, body.args, fn)
        following = fn.emit(llvm.AddOp, (body.args[0], step), lower.type, _NSW)
        again = fn.compare(llvm.ICmpPredicateFlag.SLT, following, upper)
    outer = fn.scopes[-1]
    exit_block = fn.new_block(types if guarded else ())
    if guarded:
        enter = fn.compare(llvm.ICmpPredicateFlag.SLT, lower, upper)
        branch_if(outer.block, enter, (body, [lower, *initial]), (exit_block, initial))
    else:
        branch(outer.block, body, [lower, *initial])
    leaving = (exit_block, final if guarded else ())
    # LLVM guesses from the depth of loops which values to keep in registers, unless it knows
    weights = None if trips is None else (min(trips - 1, _MOST_WEIGHT), 1)
    branch_if(inner.block, again, (body, [following, *final]), leaving, weights)
    if WRITTEN_OUT in op.attributes and trips is not None and inner.block is body:
        first, distance = (fn.constant_int(v) or 0 for v in (op.lb, op.step))
        assert body.last_op is not None
        body.last_op.attributes[WRITTEN_OUT] = DenseArrayBase.from_list(
            i64, (first, distance, trips)
        )
    outer.block = exit_block
    fn.define_all(op.results, exit_block.args if guarded else final)


@converts(scf.WhileOp)
def convert_while(op: scf.WhileOp, fn: FunctionConverter) -> None:
    """
    Converts a loop whose first region decides, each time, whether the second one runs. No memref is
    carried.
    """
    before, after = op.before_region.block, op.after_region.block
    if not isinstance(before.last_op, scf.ConditionOp):
        raise failure(op, "expected the first region to end with scf.condition")
    initial = fn.values(op.arguments)
    head = fn.new_block([v.type for v in initial])
    with fn.inside(head) as deciding:
        goes_on, *values = _convert_region(before, head.args, fn)
    body = fn.new_block([v.type for v in values])
    exit_block = fn.new_block([v.type for v in values])
    with fn.inside(body) as inner:
        following = _convert_region(after, body.args, fn)
    outer = fn.scopes[-1]
    branch(outer.block, head, initial)
    branch_if(deciding.block, goes_on, (body, values), (exit_block, values))
    branch(inner.block, head, following)
    outer.block = exit_block
    fn.define_all(op.results, exit_block.args)


@converts(scf.IfOp)
def convert_if(op: scf.IfOp, fn: FunctionConverter) -> None:
    condition = fn.value(op.cond)
    if any(isinstance(r.type, MemRefType) for r in op.results):
        raise failure(op, "a memref cannot be the result of a branch")
    starts: list[Block] = []
    ends: list[tuple[Block, list[SSAValue]]] = []
    for region in (op.true_region, op.false_region):
        if region.blocks:
            starts.append(fn.new_block())
            with fn.inside(starts[-1]) as scope:
                values = _convert_region(region.block, (), fn)
            ends.append((scope.block, values))
    merge = fn.new_block([convert_type(r.type) for r in op.results])
    for end, values in ends:
        branch(end, merge, values)
    then, otherwise = [*starts, merge][:2]
    outer = fn.scopes[-1]
    branch_if(outer.block, condition, (then, ()), (otherwise, ()))
    outer.block = merge
    fn.define_all(op.results, merge.args)


def _convert_region(
    source: Block, arguments: Sequence[SSAValue], fn: FunctionConverter
) -> list[SSAValue]:
    """Converts a block, of which the arguments are given. Returns what its last operation takes."""
    fn.define_all(source.args, arguments)
    fn.convert_ops(source)
    return fn.values(_yielded(source))
