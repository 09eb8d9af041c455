"""
Gradients, and optimisers: one step for each of any number of tensors (ONNX,
ai.onnx.preview.training).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.arithmetic import AddOp, DivOp, MulOp, PowOp, SqrtOp, SubOp
from ....glow_dialects.glow.logic import LessOp, SelectOp
from ..builder import GraphBuilder, element, known_array, shape, size
from ..gradients import DOMAIN, names_of
from ..node import OnnxNode, converter
from ..problems import Unsupported


class Step:
    """One step of an optimiser: arithmetic on tensors, and the rate and number of the step."""

    def __init__(self, node: OnnxNode, like: SSAValue):
        self.node = node
        self.build: GraphBuilder = node.build
        self.like = like
        self.rate = self.spread(node.input(0))
        self.number = self.spread(node.input(1))

    def spread(self, scalar: SSAValue) -> SSAValue:
        cast = self.build.cast(scalar, element(self.like))
        return self.build.broadcast(self.build.reshape(cast, []), shape(self.like))

    def attribute(self, name: str) -> float:
        return float(self.node.attr(name, 0.0))

    def times(self, value: SSAValue, number: float) -> SSAValue:
        return self.build.with_number(MulOp, value, number)

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.build.op(AddOp, a, b)

    def is_later(self) -> SSAValue:
        """Returns whether this is not the first step."""
        later = self.build.op(LessOp, self.build.splat_like(0, self.like), self.number)
        assert element(later) == i1
        return later

    def regularized(self, x: SSAValue, gradient: SSAValue) -> SSAValue:
        return self.add(self.times(x, self.attribute("norm_coefficient")), gradient)

    def root(self, x: SSAValue) -> SSAValue:
        """Returns the root, a little above 0."""
        return self.build.with_number(AddOp, self.build.op(SqrtOp, x), self.attribute("epsilon"))

    def decayed(self, old: SSAValue, new: SSAValue, name: str) -> SSAValue:
        """Returns `beta * old + (1 - beta) * new`"""
        beta = self.attribute(name)
        return self.add(self.times(old, beta), self.times(new, 1 - beta))

    def correction(self, name: str) -> SSAValue:
        """Returns `1 - beta ** number`"""
        power = self.build.op(
            PowOp, self.build.splat_like(self.attribute(name), self.like), self.number
        )
        return self.build.op(SubOp, self.build.splat_like(1, self.like), power)


def adagrad(s: Step, x: SSAValue, gradient: SSAValue, squares: SSAValue) -> list[SSAValue]:
    """Converts a step of Adagrad (Duchi et al. 2011)."""
    build, g = s.build, s.regularized(x, gradient)
    growth = build.with_number(AddOp, s.times(s.number, s.attribute("decay_factor")), 1)
    total = s.add(squares, build.op(MulOp, g, g))
    step = build.op(DivOp, build.op(MulOp, build.op(DivOp, s.rate, growth), g), s.root(total))
    return [build.op(SubOp, x, step), total]


def momentum(s: Step, x: SSAValue, gradient: SSAValue, velocity: SSAValue) -> list[SSAValue]:
    """Returns a velocity, with the gradient here, or where the velocity leads (Nesterov)."""
    build, g = s.build, s.regularized(x, gradient)
    pushed = build.op(SelectOp, s.is_later(), s.times(g, s.attribute("beta")), g)
    faster = s.add(s.times(velocity, s.attribute("alpha")), pushed)
    ahead = faster
    if s.node.attr("mode") == "nesterov":
        ahead = s.add(g, s.times(faster, s.attribute("alpha")))
    return [build.op(SubOp, x, build.op(MulOp, s.rate, ahead)), faster]


def adam(
    s: Step, x: SSAValue, gradient: SSAValue, mean: SSAValue, square: SSAValue
) -> list[SSAValue]:
    """Converts a step of Adam (Kingma and Ba 2015)."""
    build, g = s.build, s.regularized(x, gradient)
    first = s.decayed(mean, g, "alpha")
    second = s.decayed(square, build.op(MulOp, g, g), "beta")
    scale = build.op(DivOp, build.op(SqrtOp, s.correction("beta")), s.correction("alpha"))
    rate = build.op(SelectOp, s.is_later(), build.op(MulOp, s.rate, scale), s.rate)
    step = build.op(DivOp, build.op(MulOp, rate, first), s.root(second))
    kept = s.times(build.op(SubOp, x, step), 1 - s.attribute("norm_coefficient_post"))
    return [kept, first, second]


_RULES: dict[str, tuple[Callable[..., Sequence[SSAValue]], int]] = {
    "Adagrad": (adagrad, 3),
    "Momentum": (momentum, 3),
    "Adam": (adam, 4),
}
"""The rule, and how many tensors it takes for each that it trains."""


@converter(*_RULES, domain=DOMAIN)
def optimiser(node: OnnxNode) -> list[SSAValue]:
    rule, kinds = _RULES[node.proto.op_type]
    tensors = node.values_from(2)
    count, left = divmod(len(tensors), kinds)
    if left:
        raise ModelError(
            f"expected {kinds} inputs for each tensor that is trained, found {len(tensors)} in all"
        )
    steps = [rule(Step(node, tensors[i]), *tensors[i::count]) for i in range(count)]
    return [step[kind] for kind in range(kinds - 1) for step in steps]


@converter("Gradient", domain=DOMAIN)
def gradient(node: OnnxNode) -> Sequence[SSAValue]:
    """
    Converts the gradient of `y`, which is the last input (see `with_targets`), with respect to
    `xs`, where these and `zs` have the values that they have in the graph.
    """
    *given, y = node.values
    xs, zs = names_of(node.proto, "xs"), names_of(node.proto, "zs")
    if list(node.proto.input[:-1]) != [*xs, *zs]:
        raise Unsupported("it differentiates at other values than those of xs and zs")
    if size(y) != 1:
        raise Unsupported(f"it differentiates {shape(y)} numbers instead of one")
    values = given[: len(xs)]
    for name, value in zip(xs, values, strict=True):
        if known_array(value) is not None:
            raise Unsupported(f"it differentiates with respect to the constant {name!r}")
    return node.build.gradients(y, values)
