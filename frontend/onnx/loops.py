"""
Loops of ONNX.

The steps of a short loop whose number is known are converted in place; other loops become
`glow.loop`. If that cannot be, because shapes differ from step to step, say, what decides has to be
known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from ...glow_dialects.glow.arithmetic import MinimumOp
from ...glow_dialects.glow.logic import LessOp
from ...glow_dialects.glow.shape import ReshapeOp
from .bodies import ConvertedBody, add_loop, known_true
from .builder import known_array
from .checked_values import Counted, Exceeded
from .known_steps import known_steps
from .node import OnnxNode, not_constant
from .problems import Reported, SeparateSteps, SizeNeeded, Unsupported
from .subgraphs import (
    LIMIT,
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

MOST_STEPS_OF_SEQUENCES = 1024
"""Steps of a loop that carries a sequence, which cannot be anything but nodes of the graph."""


def loop(node: OnnxNode, subgraphs: Subgraphs) -> list[SSAValue]:
    """Converts a Loop: its steps if they are known and few, else as a loop."""
    trips = node.optional(0)
    known = trips is None or known_array(trips) is not None
    most = None if trips is None or not known else int(node.known_number(0))
    condition = node.optional(1)
    known = known and (condition is None or known_array(condition) is not None)
    counted = _counted_steps(node, subgraphs) if known else None
    steps = Steps(_fewest(most, counted), counted is not None)
    few = steps.most is None or steps.most * len(node.attr("body").node) <= MOST_NODES
    ways = [_unrolled, _as_loop] if few else [_as_loop, _unrolled]
    first, *others = ways if known else [_as_loop]
    try:
        return first(node, subgraphs, steps)
    except Reported:
        raise
    except (Unsupported, SizeNeeded) as reason:
        return _other_way(node, subgraphs, steps, others, reason)


def _counted_steps(node: OnnxNode, subgraphs: Subgraphs) -> int | None:
    """Returns the number of steps after which the condition ends a loop, if it can be known."""
    if node.optional(1) is not None and not node.known_number(1):
        return 0
    try:
        states = node.values_from(2)
        return known_steps(_loop_body(node, subgraphs, states), states)
    except Reported:
        raise
    except (Unsupported, SizeNeeded):
        return None


def _fewest(*numbers: int | None) -> int | None:
    """Returns the least of the numbers that are known."""
    return min((n for n in numbers if n is not None), default=None)


@dataclass(frozen=True)
class Steps:
    """The number of steps of a Loop, as far as it is known."""

    most: int | None
    exact: bool
    """Whether it has as many, so that its condition decides nothing."""


Way: TypeAlias = Callable[[OnnxNode, Subgraphs, Steps], list[SSAValue]]
"""Converts a Loop in one of several ways."""


def _other_way(
    node: OnnxNode,
    subgraphs: Subgraphs,
    steps: Steps,
    others: Sequence[Way],
    reason: Exception,
) -> list[SSAValue]:
    """
    Converts a Loop in another way than that which failed for a reason. If that fails, too, it
    raises an error about the second way; without another way, about values that have to be known.
    """
    for way in others:
        try:
            return way(node, subgraphs, steps)
        except Reported:
            raise
        except (Unsupported, SizeNeeded) as other:
            raise _deeper(reason, other) from None
    if isinstance(reason, SeparateSteps):
        raise reason
    undecided = [i for i in (0, 1) if node.optional(i) is not None]
    undecided = [i for i in undecided if known_array(node.input(i)) is None]
    raise value_needed(node, undecided[0], reason) from reason


def _deeper(reason: Exception, other: Exception) -> Exception:
    """Returns that of two errors about ways to convert a Loop which says more."""
    if isinstance(other, SeparateSteps):
        reason, other = other, reason
    if isinstance(reason, SeparateSteps):
        # what forbids a loop of the program also forbids programs for its steps
        return other if type(other) is Unsupported else reason
    return other if type(reason) is Unsupported else reason


def _unrolled(node: OnnxNode, subgraphs: Subgraphs, steps: Steps) -> list[SSAValue]:
    """Returns the results of the steps of a Loop, whose conditions have to be known."""
    body, states = node.attr("body"), node.values_from(2)
    going = node.optional(1) is None or bool(node.known_number(1))
    outputs: list[list[SSAValue]] = []
    most, limit = steps.most, MOST_STEPS_OF_SEQUENCES if _has_sequence(states) else MOST_STEPS
    while going and (most is None or len(outputs) < most):
        if len(outputs) == limit:
            raise SeparateSteps(f"more than {limit} steps would become nodes of the graph")
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
    return [*states, *(joined_rows(node, outputs) if wanted else [])]


def _rows_of_none(
    node: OnnxNode, subgraphs: Subgraphs, states: Sequence[SSAValue]
) -> list[SSAValue]:
    """Returns the stacked outputs of a Loop without steps."""
    types = _loop_body(node, subgraphs, states).types()[1 + len(states) :]
    return [no_rows(node, t) for t in types]


def _has_sequence(states: Sequence[SSAValue]) -> bool:
    return not all(isinstance(v.type, TensorType) for v in states)


def _loop_body(node: OnnxNode, subgraphs: Subgraphs, states: Sequence[SSAValue]) -> ConvertedBody:
    if _has_sequence(states):
        raise Unsupported(
            "it carries a sequence, so its steps become nodes: their number has to be known when "
            f"the model is compiled, and to be at most {MOST_STEPS_OF_SEQUENCES}"
        )

    def arguments(given: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [given[0], known_true(node.build), *given[1:]]

    types = [v.type for v in states]
    body = step_body(node, subgraphs, types, arguments)
    expect_carried(types, body.types()[1 : 1 + len(states)])
    return body


def _as_loop(node: OnnxNode, subgraphs: Subgraphs, steps: Steps) -> list[SSAValue]:
    """
    Returns the results of a Loop as a loop. Its stacked results have as many rows as there may be
    steps; data decides how many are used.
    """
    build, states = node.build, node.values_from(2)
    trips, going = (None if v is None else as_scalar(node, v) for v in node.inputs[:2])
    bound = steps.most if trips is None or steps.exact else _upper_bound(trips)
    body = _loop_body(node, subgraphs, states)
    rows = len(body.results) - 1 - len(states)
    if rows and bound is None:
        problem = SeparateSteps if trips is None else Unsupported
        raise problem("its outputs have a row for each step, of which there may be any number")
    if bound is not None and bound < 1:
        return [*states, *(no_rows(node, t) for t in body.types()[1 + len(states) :])]
    condition = known_array(body.results[0])
    always = steps.exact or (condition is not None and bool(condition.all()))
    if going is None and not always:
        going = known_true(build)
    elif always and (going is None or known_array(going) is not None):
        going = None
    if trips is None and going is None and not steps.exact:
        raise Unsupported("it never ends: the condition is always true, without a trip count")
    if going is None:
        del body.results[0]
    else:
        with build.inside(body.block):
            body.results[0] = as_scalar(node, body.results[0])
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
