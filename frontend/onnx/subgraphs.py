"""The conversion of subgraphs, in the forms that branches, scans and loops share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from onnx import GraphProto
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute, SSAValue

from ...errors import ModelError
from .bodies import ConvertedBody
from .builder import rank, shape, size
from .node import OnnxNode, normal_axis, not_constant
from .problems import SeparateSteps, Unsupported


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


def value_needed(node: OnnxNode, index: int, reason: Exception) -> Exception:
    """
    Returns the error that an input has to be known, for a reason; the reason itself if it cannot be
    known before the program runs.
    """
    problem = not_constant(f"input {node.input_name(index)!r}", node.input(index), node.build)
    return reason if type(problem) is Unsupported else problem


def as_scalar(node: OnnxNode, value: SSAValue) -> SSAValue:
    """Returns a value of one element without dimensions."""
    if size(value) != 1:
        raise ModelError(f"expected one element, found {value.type}")
    return node.build.reshape(value, [])


def step_body(
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


def no_rows(node: OnnxNode, row: Attribute) -> SSAValue:
    """Returns rows of no steps."""
    assert isinstance(row, TensorType)
    return node.build.splat(0, row.element_type, [0, *row.get_shape()])


def expect_carried(before: Sequence[Attribute], after: Sequence[Attribute]) -> None:
    for i, (a, b) in enumerate(zip(before, after, strict=True)):
        if a != b:
            raise SeparateSteps(f"state {i} is {a} before a step and {b} behind it")


def joined_rows(node: OnnxNode, steps: Sequence[Sequence[SSAValue]]) -> list[SSAValue]:
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
