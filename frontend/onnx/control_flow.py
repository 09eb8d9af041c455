"""
Operators with subgraphs: branches whose condition is known, and loops whose number of steps is.

Their subgraphs are converted in place, those of loops once for each step, so that nothing of them
is left in the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from onnx import GraphProto
from xdsl.ir import SSAValue

from ...errors import ModelError
from .builder import known_array, rank, shape
from .node import OnnxNode, normal_axis, not_constant
from .problems import Unsupported

Run: TypeAlias = Callable[[GraphProto, Sequence[SSAValue]], list[SSAValue]]
"""Converts a subgraph for values of its inputs, and gives those of its outputs."""

MOST_STEPS = 256
"""Steps of a loop that become nodes of the graph."""


def branch(node: OnnxNode, run: Run) -> list[SSAValue]:
    """Returns the branch that the condition of an If names."""
    chosen = "then_branch" if node.known_number(0) else "else_branch"
    return run(node.attr(chosen), ())


def scan(node: OnnxNode, run: Run) -> list[SSAValue]:
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
    outputs: list[list[SSAValue]] = []
    for step in range(_limited(steps)):
        slices = []
        for x, axis, reverse in zip(sources, axes, backward, strict=True):
            slices.append(_slice(node, x, axis, steps - 1 - step if reverse else step))
        results = run(body, [*states, *slices])
        states = results[: len(states)]
        outputs.append(results[len(states) :])
    return [*states, *_joined(node, outputs)]


def _per_input(
    node: OnnxNode, prefix: str, values: Sequence[SSAValue]
) -> tuple[list[int], list[int]]:
    """Axes, and whether they run backward."""
    axes = node.ints(f"{prefix}_axes") or [0] * len(values)
    backward = node.ints(f"{prefix}_directions") or [0] * len(values)
    return [normal_axis(a, rank(x)) for a, x in zip(axes, values, strict=True)], backward


def _limited(steps: int) -> int:
    if steps > MOST_STEPS:
        raise Unsupported(f"a loop of {steps} steps; up to {MOST_STEPS} become nodes of the graph")
    return steps


def _slice(node: OnnxNode, x: SSAValue, axis: int, place: int) -> SSAValue:
    """Returns the slice at a place of an axis, without that axis."""
    starts = [place if d == axis else 0 for d in range(rank(x))]
    sizes = [1 if d == axis else s for d, s in enumerate(shape(x))]
    one = node.build.slice(x, starts, sizes)
    return node.build.reshape(one, [s for d, s in enumerate(shape(x)) if d != axis])


def _joined(node: OnnxNode, steps: Sequence[Sequence[SSAValue]]) -> list[SSAValue]:
    """Returns the outputs of the steps, one beside the other along axes of their own."""
    if not steps:
        raise Unsupported("a loop without steps, the shape of whose outputs nothing tells")
    count = len(steps[0])
    axes = node.ints("scan_output_axes") or [0] * count
    backward = node.ints("scan_output_directions") or [0] * count
    joined: list[SSAValue] = []
    for i in range(count):
        parts = [step[i] for step in steps]
        axis = normal_axis(axes[i], rank(parts[0]) + 1)
        target = [*shape(parts[0])[:axis], 1, *shape(parts[0])[axis:]]
        beside = [node.build.reshape(part, target) for part in parts]
        joined.append(node.build.concat(beside[::-1] if backward[i] else beside, axis))
    return joined


def loop(node: OnnxNode, run: Run) -> list[SSAValue]:
    """
    Converts a Loop: a number of steps, or as long as a condition holds; it has to be known each
    time.
    """
    body, states = node.attr("body"), node.values_from(2)
    most = None if node.optional(0) is None else int(node.known_number(0))
    going = node.optional(1) is None or bool(node.known_number(1))
    outputs: list[list[SSAValue]] = []
    while going and (most is None or len(outputs) < most):
        _limited(len(outputs) + 1)
        step = node.build.constant(np.array(len(outputs), np.int64))
        holds = node.build.constant(np.array(going))
        condition, *results = run(body, [step, holds, *states])
        states = results[: len(states)]
        outputs.append(results[len(states) :])
        if most is None or len(outputs) < most:
            known = known_array(condition)
            if known is None:
                raise not_constant("the condition of the loop", condition, node.build)
            going = bool(known.reshape(-1)[0])
    wanted = len(body.output) - 1 - len(states)
    return [*states, *(_joined(node, outputs) if wanted else [])]


CONTROL_FLOW: dict[str, Callable[[OnnxNode, Run], list[SSAValue]]] = {
    "If": branch,
    "Scan": scan,
    "Loop": loop,
}
