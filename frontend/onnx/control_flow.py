"""
Operators with subgraphs.

A branch whose condition is known is converted in place, and so are the steps of a short loop whose
number is known: nothing of them is left in the graph. All others become `glow.if` and `glow.loop`.
If that cannot be, because shapes differ from step to step, say, what decides has to be known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import numpy as np
from onnx import GraphProto
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute, SSAValue

from ...errors import ModelError
from ...glow_dialects.glow.arithmetic import MinimumOp, SubOp
from ...glow_dialects.glow.logic import LessOp
from ...glow_dialects.glow.shape import GatherOp, ReshapeOp
from .bodies import ConvertedBody, add_branch, add_loop, known_true
from .builder import known_array, rank, shape, size
from .checked_values import Counted, Exceeded
from .node import OnnxNode, normal_axis, not_constant
from .problems import Reported, SeparateSteps, SizeNeeded, Unsupported


class Subgraphs(Protocol):
    """The ways in which the subgraphs of a node are converted."""

    def run(self, graph: GraphProto, values: Sequence[SSAValue]) -> list[SSAValue]:
        """Converts a subgraph in place for values of its inputs; returns those of its outputs."""
        ...

    def body(
        self,
        graph: GraphProto,
        types: Sequence[Attribute],
        arguments: Callable[[Sequence[SSAValue]], Sequence[SSAValue]] = list,
    ) -> ConvertedBody:
        """
        Converts a subgraph to a body with arguments of these types, of which a function makes its
        inputs. Raises Unsupported.
        """
        ...


MOST_STEPS = 256
"""Steps of a loop that become nodes of the graph, if nothing else can be."""
MOST_NODES = 512
"""Nodes that the steps of a loop may become if it can be a loop of the program as well."""
LIMIT = 2**24
"""Steps after which a loop that nothing else limits ends with an error."""


def branch(node: OnnxNode, subgraphs: Subgraphs) -> list[SSAValue]:
    """Returns the results of an If: of the one branch, if the condition is known."""
    names, condition = ("then_branch", "else_branch"), node.input(0)
    known = known_array(condition)
    if known is not None:
        return subgraphs.run(node.attr(names[0 if node.known_number(0) else 1]), ())
    try:
        bodies = [subgraphs.body(node.attr(name), ()) for name in names]
        return add_branch(node.build, _scalar(node, condition), bodies)
    except Reported:
        raise
    except (Unsupported, SizeNeeded) as reason:
        raise _needed(node, 0, reason) from reason


def _needed(node: OnnxNode, index: int, reason: Exception) -> Exception:
    """
    Returns the error that an input has to be known, for a reason; the reason itself if it cannot be
    known before the program runs.
    """
    problem = not_constant(f"input {node.input_name(index)!r}", node.input(index), node.build)
    return reason if type(problem) is Unsupported else problem


def _scalar(node: OnnxNode, value: SSAValue) -> SSAValue:
    """Returns a value of one element without dimensions."""
    if size(value) != 1:
        raise ModelError(f"expected one element, found {value.type}")
    return node.build.reshape(value, [])


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
    return [*states, *_joined(node, outputs)]


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
    body = _step_body(node, subgraphs, types, arguments)
    _expect_carried(types, body.types()[: len(states)])
    if not steps:
        rows = [_empty(node, t) for t in body.types()[len(states) :]]
        return [*states, *_placed(node, rows)]
    results, _ = add_loop(build, body, steps, states, None, None)
    return [*results[: len(states)], *_placed(node, results[len(states) :])]


def _step_body(
    node: OnnxNode,
    subgraphs: Subgraphs,
    states: Sequence[Attribute],
    arguments: Callable[[Sequence[SSAValue]], Sequence[SSAValue]],
) -> ConvertedBody:
    """Returns the body of a loop on the number of the step, and states of these types."""
    randoms = node.build.randoms
    body = subgraphs.body(node.attr("body"), [TensorType(i64, []), *states], arguments)
    if node.build.randoms > randoms:
        raise Unsupported("random numbers in its body would be the same in each step")
    return body


def _empty(node: OnnxNode, row: Attribute) -> SSAValue:
    """Returns rows of no steps."""
    assert isinstance(row, TensorType)
    return node.build.splat(0, row.element_type, [0, *row.get_shape()])


def _expect_carried(before: Sequence[Attribute], after: Sequence[Attribute]) -> None:
    for i, (a, b) in enumerate(zip(before, after, strict=True)):
        if a != b:
            raise SeparateSteps(f"state {i} is {a} before a step and {b} behind it")


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


def _joined(node: OnnxNode, steps: Sequence[Sequence[SSAValue]]) -> list[SSAValue]:
    """Returns the outputs of the steps, one beside the other along axes of their own."""
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


def loop(node: OnnxNode, subgraphs: Subgraphs) -> list[SSAValue]:
    """Converts a Loop: its steps if they are known and few, else as a loop."""
    trips = node.optional(0)
    known = trips is None or known_array(trips) is not None
    most = None if trips is None or not known else int(node.known_number(0))
    condition = node.optional(1)
    known = known and (condition is None or known_array(condition) is not None)
    few = most is None or most * len(node.attr("body").node) <= MOST_NODES
    ways = [_unrolled, _as_loop] if few else [_as_loop, _unrolled]
    first, *others = ways if known else [_as_loop]
    try:
        return first(node, subgraphs, most)
    except Reported:
        raise
    except (Unsupported, SizeNeeded) as reason:
        return _other_way(node, subgraphs, most, others, reason)


Way: TypeAlias = Callable[[OnnxNode, Subgraphs, "int | None"], list[SSAValue]]
"""Converts a Loop of at most so many steps, if these are known."""


def _other_way(
    node: OnnxNode,
    subgraphs: Subgraphs,
    most: int | None,
    others: Sequence[Way],
    reason: Exception,
) -> list[SSAValue]:
    """
    Converts a Loop in another way than that which failed for a reason. If that fails, too, it
    raises an error about the second way; without another way, about values that have to be known.
    """
    for way in others:
        try:
            return way(node, subgraphs, most)
        except Reported:
            raise
        except (Unsupported, SizeNeeded) as other:
            raise _deeper(reason, other) from None
    if isinstance(reason, SeparateSteps):
        raise reason
    undecided = [i for i in (0, 1) if node.optional(i) is not None]
    undecided = [i for i in undecided if known_array(node.input(i)) is None]
    raise _needed(node, undecided[0], reason) from reason


def _deeper(reason: Exception, other: Exception) -> Exception:
    """Returns that of two errors about ways to convert a Loop which says more."""
    if isinstance(other, SeparateSteps):
        reason, other = other, reason
    if isinstance(reason, SeparateSteps):
        # what forbids a loop of the program also forbids programs for its steps
        return other if type(other) is Unsupported else reason
    return other if type(reason) is Unsupported else reason


def _unrolled(node: OnnxNode, subgraphs: Subgraphs, most: int | None) -> list[SSAValue]:
    """Returns the results of the steps of a Loop, whose conditions have to be known."""
    body, states = node.attr("body"), node.values_from(2)
    going = node.optional(1) is None or bool(node.known_number(1))
    outputs: list[list[SSAValue]] = []
    while going and (most is None or len(outputs) < most):
        if len(outputs) == MOST_STEPS:
            raise SeparateSteps(f"more than {MOST_STEPS} steps would become nodes of the graph")
        step = node.build.constant(np.array(len(outputs), np.int64))
        condition, *results = subgraphs.run(body, [step, known_true(node.build), *states])
        states = results[: len(states)]
        outputs.append(results[len(states) :])
        if most is None or len(outputs) < most:
            known = known_array(condition)
            if known is None:
                raise not_constant("the condition of the loop", condition, node.build)
            going = bool(known.reshape(-1)[0])
    wanted = len(body.output) - 1 - len(states)
    if wanted and not outputs:
        return [*states, *_rows_of_none(node, subgraphs, states)]
    return [*states, *(_joined(node, outputs) if wanted else [])]


def _rows_of_none(
    node: OnnxNode, subgraphs: Subgraphs, states: Sequence[SSAValue]
) -> list[SSAValue]:
    """Returns the stacked outputs of a Loop without steps."""
    types = _loop_body(node, subgraphs, states).types()[1 + len(states) :]
    return [_empty(node, t) for t in types]


def _loop_body(node: OnnxNode, subgraphs: Subgraphs, states: Sequence[SSAValue]) -> ConvertedBody:
    if not all(isinstance(v.type, TensorType) for v in states):
        raise Unsupported(
            "it carries a sequence, so its steps have to become nodes: their number must be known "
            f"when the model is compiled, and at most {MOST_STEPS}"
        )

    def arguments(given: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [given[0], known_true(node.build), *given[1:]]

    types = [v.type for v in states]
    body = _step_body(node, subgraphs, types, arguments)
    _expect_carried(types, body.types()[1 : 1 + len(states)])
    return body


def _as_loop(node: OnnxNode, subgraphs: Subgraphs, most: int | None) -> list[SSAValue]:
    """
    Returns the results of a Loop as a loop. Its stacked results have as many rows as there may be
    steps; data decides how many are used.
    """
    build, states = node.build, node.values_from(2)
    trips, going = (None if v is None else _scalar(node, v) for v in node.inputs[:2])
    bound = most if trips is None else _upper_bound(trips)
    body = _loop_body(node, subgraphs, states)
    rows = len(body.results) - 1 - len(states)
    if rows and bound is None:
        problem = SeparateSteps if trips is None else Unsupported
        raise problem("its outputs have a row for each step, of which there may be any number")
    if bound is not None and bound < 1:
        return [*states, *(_empty(node, t) for t in body.types()[1 + len(states) :])]
    condition = known_array(body.results[0])
    always = condition is not None and bool(condition.all())
    if going is None and not always:
        going = known_true(build)
    elif always and (going is None or known_array(going) is not None):
        going = None
    if trips is None and going is None:
        raise Unsupported("it never ends: the condition is always true, without a trip count")
    if going is None:
        del body.results[0]
    else:
        with build.inside(body.block):
            body.results[0] = _scalar(node, body.results[0])
    exact = trips is None or known_array(trips) is not None
    limit = LIMIT if bound is None else min(bound, LIMIT)
    given = trips if not exact or going is not None else None
    results, count = add_loop(build, body, limit, states, given, going)
    if bound is None or bound > LIMIT:
        top = build.constant(np.array(limit, np.int32))
        build.verdicts.append(Exceeded(build.op(LessOp, top, count), node.name))
    stacked = results[len(states) :]
    if not exact or going is not None:
        for value in stacked:
            build.counted[value] = Counted(0, count)
    return results


def _upper_bound(value: SSAValue) -> int | None:
    """Returns a number that the only element of a value does not exceed; None if it may be any."""
    known = known_array(value)
    if known is not None:
        return int(known.reshape(-1)[0])
    owner = value.owner
    if isinstance(owner, ReshapeOp):
        return _upper_bound(owner.input)
    if isinstance(owner, MinimumOp):
        bounds = [b for v in owner.operands if (b := _upper_bound(v)) is not None]
        return min(bounds, default=None)
    return None


CONTROL_FLOW: dict[str, Callable[[OnnxNode, Subgraphs], list[SSAValue]]] = {
    "If": branch,
    "Scan": scan,
    "Loop": loop,
}
