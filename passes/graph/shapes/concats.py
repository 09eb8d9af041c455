"""Concatenations of concatenations, of neighbouring slices, and of equal splats."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ....glow_dialects.glow.constant import SplatOp
from ....glow_dialects.glow.shape import ConcatOp, SliceOp
from ..rewriting import Build, defining_op
from .slices import cut, parts
from .table import simplification


def _inner(value: SSAValue, outer: ConcatOp) -> ConcatOp | None:
    """Returns the concatenation along the same axis that makes `value`, if nothing else uses it."""
    found = defining_op(value, ConcatOp)
    if found is None or found.axis != outer.axis or not value.has_one_use():
        return None
    return found


@simplification(ConcatOp)
def concat_of_concats(node: ConcatOp, build: Build) -> SSAValue | None:
    """
    Removes inner concatenations along the same axis that nothing else uses.

    Only the outermost one takes them in, all at once, so that a long chain is not copied
    repeatedly.
    """
    user = node.result.get_user_of_unique_use()
    if isinstance(user, ConcatOp) and user.axis == node.axis:
        return None
    operands: list[SSAValue] = []
    pending = list(reversed(node.inputs))
    while pending:
        operand = pending.pop()
        inner = _inner(operand, node)
        if inner is None:
            operands.append(operand)
        else:
            pending += reversed(inner.inputs)
    if len(operands) == len(node.inputs):
        return None
    return build(ConcatOp, *operands, axis=node.axis)


@simplification(ConcatOp)
def concat_of_splats(node: ConcatOp, build: Build) -> SSAValue | None:
    splats = [operand.owner for operand in node.inputs if isinstance(operand.owner, SplatOp)]
    # as text, because 0.0 and -0.0 are equal but not the same
    if len(splats) < len(node.inputs) or len({str(s.value) for s in splats}) > 1:
        return None
    return build(SplatOp, result_types=[node.result.type], value=splats[0].value)


def follows(left: SliceOp, right: SliceOp, axis: int) -> bool:
    """Returns whether `right` goes on along `axis` where `left` ends."""
    if left.input is not right.input:
        return False
    starts, sizes, strides = parts(left)
    starts[axis] += sizes[axis] * strides[axis]
    sizes[axis] = right.call.ints("sizes")[axis]
    return parts(right) == (starts, sizes, strides)


def _runs(node: ConcatOp, axis: int) -> list[list[SSAValue]]:
    """Returns the operands, grouped into slices that follow each other."""
    runs: list[list[SSAValue]] = []
    for operand in node.inputs:
        last = defining_op(runs[-1][-1], SliceOp) if runs else None
        this = defining_op(operand, SliceOp)
        if last is not None and this is not None and follows(last, this, axis):
            runs[-1].append(operand)
        else:
            runs.append([operand])
    return runs


@simplification(ConcatOp)
def rejoin_slices(node: ConcatOp, build: Build) -> SSAValue | None:
    """Joins neighbouring slices of one tensor to one slice."""
    axis = node.axis.value.data
    runs = _runs(node, axis)
    if len(runs) == len(node.inputs):
        return None
    joined = [run[0] if len(run) == 1 else _join(build, run, axis) for run in runs]
    return joined[0] if len(joined) == 1 else build(ConcatOp, *joined, axis=node.axis)


def _join(build: Build, run: list[SSAValue], axis: int) -> SSAValue:
    first = defining_op(run[0], SliceOp)
    assert first is not None
    starts, sizes, strides = parts(first)
    sizes[axis] = sum(op.call.ints("sizes")[axis] for v in run if (op := defining_op(v, SliceOp)))
    return cut(build, first.input, starts, sizes, strides)
