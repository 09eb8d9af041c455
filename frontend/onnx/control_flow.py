"""
Operators with subgraphs.

A branch whose condition is known is converted in place, and so are the steps of a short loop whose
number is known: nothing of them is left in the graph. All others become `glow.if` and `glow.loop`.
If that cannot be, because shapes differ from step to step, say, what decides has to be known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.ir import SSAValue

from ...errors import ModelError
from ...glow_dialects.glow.arithmetic import SubOp
from ...glow_dialects.glow.shape import GatherOp
from .bodies import add_branch, add_loop
from .builder import known_array, rank, shape, size
from .loops import loop
from .node import OnnxNode, normal_axis
from .problems import Reported, SizeNeeded, Unsupported
from .subgraphs import (
    MOST_NODES,
    MOST_STEPS,
    Subgraphs,
    as_scalar,
    expect_carried,
    joined_rows,
    no_rows,
    step_body,
    value_needed,
)


def branch(node: OnnxNode, subgraphs: Subgraphs) -> list[SSAValue]:
    """Returns the results of an If: of the one branch, if the condition is known."""
    names, condition = ("then_branch", "else_branch"), node.input(0)
    known = known_array(condition)
    if known is not None:
        return subgraphs.run(node.attr(names[0 if node.known_number(0) else 1]), ())
    try:
        bodies = [subgraphs.body(node.attr(name), ()) for name in names]
        return add_branch(node.build, as_scalar(node, condition), bodies)
    except Reported:
        raise
    except (Unsupported, SizeNeeded) as reason:
        raise value_needed(node, 0, reason) from reason


def scan(node: OnnxNode, subgraphs: Subgraphs) -> list[SSAValue]:
    """
    Converts a Scan: the states go from step to step, and each step has a slice of the other inputs.
    """
    if node.opset < 9:
        raise Unsupported("before opset 9, batches have sequences of several lengths")
    count, body = node.attr("num_scan_inputs"), node.attr("body")
    states, sources = node.values[: len(node.inputs) - count], node.values[-count:]
    axes, backward = _per_input(node, "scan_input", sources)
    lengths = {shape(x)[axis] for x, axis in zip(sources, axes, strict=True)}
    if len(lengths) != 1:
        raise ModelError(f"expected one number of steps, found {sorted(lengths)}")
    (steps,) = lengths
    if steps * len(body.node) > MOST_NODES or not steps:
        try:
            return _scan_loop(node, subgraphs, states, sources, steps)
        except Reported:
            raise
        except (Unsupported, SizeNeeded) as reason:
            if not 0 < steps <= MOST_STEPS:
                raise reason from None
    outputs: list[list[SSAValue]] = []
    for step in range(steps):
        slices = []
        for x, axis, reverse in zip(sources, axes, backward, strict=True):
            slices.append(_slice(node, x, axis, steps - 1 - step if reverse else step))
        results = subgraphs.run(body, [*states, *slices])
        states = results[: len(states)]
        outputs.append(results[len(states) :])
    return [*states, *joined_rows(node, outputs)]


def _scan_loop(
    node: OnnxNode,
    subgraphs: Subgraphs,
    states: Sequence[SSAValue],
    sources: Sequence[SSAValue],
    steps: int,
) -> list[SSAValue]:
    """Returns the results of a Scan as a loop, whose steps take slices of the sources."""
    build = node.build
    axes, backward = _per_input(node, "scan_input", sources)
    in_front = [_moved(node, x, axis, 0) for x, axis in zip(sources, axes, strict=True)]

    def arguments(given: Sequence[SSAValue]) -> Sequence[SSAValue]:
        step, *carried = given
        last = build.constant(np.array(steps - 1, np.int64))
        found = list(carried)
        for x, reverse in zip(in_front, backward, strict=True):
            place = build.op(SubOp, last, step) if reverse else step
            row = build.op(GatherOp, x, build.reshape(place, [1]), axis=0)
            found.append(build.reshape(row, shape(x)[1:]))
        return found

    types = [v.type for v in states]
    body = step_body(node, subgraphs, types, arguments)
    expect_carried(types, body.types()[: len(states)])
    if not steps:
        rows = [no_rows(node, t) for t in body.types()[len(states) :]]
        return [*states, *_placed(node, rows)]
    results, _ = add_loop(build, body, steps, states, None, None)
    return [*results[: len(states)], *_placed(node, results[len(states) :])]


def _moved(node: OnnxNode, x: SSAValue, axis: int, to: int) -> SSAValue:
    """Returns a value with one axis at another place."""
    order = [d for d in range(rank(x)) if d != axis]
    order.insert(to, axis)
    return node.build.transpose(x, order)


def _placed(node: OnnxNode, stacked: Sequence[SSAValue]) -> list[SSAValue]:
    """Returns stacked rows along the axes and in the direction that the node states."""
    axes = node.ints("scan_output_axes") or [0] * len(stacked)
    backward = node.ints("scan_output_directions") or [0] * len(stacked)
    found: list[SSAValue] = []
    for x, axis, reverse in zip(stacked, axes, backward, strict=True):
        if reverse and size(x):
            places = node.build.constant(np.arange(shape(x)[0], dtype=np.int64)[::-1].copy())
            x = node.build.op(GatherOp, x, places, axis=0)
        found.append(_moved(node, x, 0, normal_axis(axis, rank(x))))
    return found


def _per_input(
    node: OnnxNode, prefix: str, values: Sequence[SSAValue]
) -> tuple[list[int], list[int]]:
    """Axes, and whether they run backward."""
    axes = node.ints(f"{prefix}_axes") or [0] * len(values)
    backward = node.ints(f"{prefix}_directions") or [0] * len(values)
    return [normal_axis(a, rank(x)) for a, x in zip(axes, values, strict=True)], backward


def _slice(node: OnnxNode, x: SSAValue, axis: int, place: int) -> SSAValue:
    """Returns the slice at a place of an axis, without that axis."""
    starts = [place if d == axis else 0 for d in range(rank(x))]
    sizes = [1 if d == axis else s for d, s in enumerate(shape(x))]
    one = node.build.slice(x, starts, sizes)
    return node.build.reshape(one, [s for d, s in enumerate(shape(x)) if d != axis])


CONTROL_FLOW: dict[str, Callable[[OnnxNode, Subgraphs], list[SSAValue]]] = {
    "If": branch,
    "Scan": scan,
    "Loop": loop,
}
