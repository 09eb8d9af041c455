"""
Optimizers: what a step makes of parameters, their gradients, and what it keeps for the next step.

They append nodes to the graph of a training step, so that the step is one program. Numbers that
change from step to step, such as the learning rate, are inputs of it.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from math import cos, inf, pi, sqrt
from numbers import Real
from typing import TypeAlias

from ..errors import GlowError
from ..glow_dialects.glow.arithmetic import MaximumOp, SqrtOp
from ..nn.tensor import Tensor, elementwise

Schedule: TypeAlias = "Callable[[int], float]"
"""`schedule(step)` is the learning rate of a step; the first one is 1."""


class Optimizer(abc.ABC):
    """A rule that changes parameters."""

    STATE: Sequence[str] = ()
    """The names of the tensors that are kept for each parameter. They begin as zeros."""

    def __init__(
        self,
        rate: float | Schedule,
        clip_norm: float | None = None,
        weight_decay: float = 0.0,
    ):
        """
        `rate` is the learning rate, or a schedule of it. With `clip_norm`, gradients are scaled so
        that the norm of all of them together is at most that (Pascanu et al. 2013). Raises
        GlowError for numbers that no optimizer can use.
        """
        self.weight_decay = _within("weight_decay", weight_decay)
        self.schedule: Schedule = rate if callable(rate) else constant(rate)
        if clip_norm is not None and (not isinstance(clip_norm, Real) or not clip_norm > 0):
            raise GlowError(f"expected a positive norm to clip gradients to, found {clip_norm!r}")
        self.clip_norm = clip_norm

    def numbers(self, step: int) -> dict[str, float]:
        """Returns the numbers that `update` takes, by name, for a step."""
        return {"rate": self.schedule(step)}

    @abc.abstractmethod
    def update(
        self,
        parameter: Tensor,
        gradient: Tensor,
        state: Mapping[str, Tensor],
        numbers: Mapping[str, Tensor],
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Returns the new value of a parameter, and its new state."""

    def with_penalty(self, parameter: Tensor, gradient: Tensor) -> Tensor:
        """Returns a gradient with that of the penalty `weight_decay / 2 * parameter**2`."""
        return gradient + parameter * self.weight_decay if self.weight_decay else gradient

    def clipped(self, gradients: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Returns gradients whose common norm is at most `clip_norm`."""
        if self.clip_norm is None or not gradients:
            return dict(gradients)
        squares = [(g * g).sum() for g in gradients.values()]
        widest = max((s.dtype for s in squares), key=lambda t: t.itemsize)
        norm = elementwise(SqrtOp, _sum([s.cast(widest) for s in squares])) / self.clip_norm
        scale = 1.0 / elementwise(MaximumOp, norm, 1.0)
        return {name: g * scale.cast(g.dtype) for name, g in gradients.items()}


def _within(name: str, value: float, below: float = inf) -> float:
    """Returns a number. Raises GlowError unless it is at least 0 and below another one."""
    if not isinstance(value, Real) or not 0 <= value < below:
        limit = "finite" if below == inf else f"below {below:g}"
        raise GlowError(
            f"{name}: expected a number that is at least 0 and {limit}, found {value!r}"
        )
    return float(value)


def _expect_steps(rate: float, steps: int, warmup: int) -> None:
    """Raises GlowError for what makes no schedule."""
    constant(rate)
    if not isinstance(steps, Real) or not isinstance(warmup, Real) or not 0 <= warmup <= steps:
        raise GlowError(
            "expected a schedule of at least 0 steps, and a warmup of at least 0 and at most as "
            f"many, found {steps!r} and a warmup of {warmup!r}"
        )


def _sum(tensors: Sequence[Tensor]) -> Tensor:
    total = tensors[0]
    for tensor in tensors[1:]:
        total = total + tensor
    return total


class SGD(Optimizer):
    """
    Stochastic gradient descent: `v = momentum * v + g + weight_decay * p; p = p - rate * v`
    (Sutskever et al. 2013). Nesterov's form subtracts `rate * (g + momentum * v)`.
    """

    def __init__(
        self,
        rate: float | Schedule,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        clip_norm: float | None = None,
    ):
        super().__init__(rate, clip_norm, weight_decay)
        self.momentum, self.nesterov = _within("momentum", momentum), nesterov
        self.STATE = ("velocity",) if momentum else ()

    def update(
        self,
        parameter: Tensor,
        gradient: Tensor,
        state: Mapping[str, Tensor],
        numbers: Mapping[str, Tensor],
    ) -> tuple[Tensor, dict[str, Tensor]]:
        gradient = self.with_penalty(parameter, gradient)
        if not self.momentum:
            return parameter - gradient * numbers["rate"], {}
        velocity = state["velocity"] * self.momentum + gradient
        step = gradient + velocity * self.momentum if self.nesterov else velocity
        return parameter - step * numbers["rate"], {"velocity": velocity}


class Adam(Optimizer):
    """
    Adam (Kingma and Ba 2015, algorithm 1). `weight_decay` is added to the gradient, as the gradient
    of a penalty.
    """

    STATE = ("mean", "square")

    def __init__(
        self,
        rate: float | Schedule = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
        weight_decay: float = 0.0,
        clip_norm: float | None = None,
    ):
        super().__init__(rate, clip_norm, weight_decay)
        if not isinstance(betas, list | tuple) or len(betas) != 2:
            raise GlowError(f"expected two betas, such as (0.9, 0.999), found {betas!r}")
        first, second = (_within("betas", beta, below=1.0) for beta in betas)
        self.betas, self.epsilon = (first, second), _within("epsilon", epsilon)

    def numbers(self, step: int) -> dict[str, float]:
        first, second = (1 - beta**step for beta in self.betas)
        rate = self.schedule(step)
        return {"rate": rate, "step": rate / first, "root": 1 / sqrt(second)}

    def update(
        self,
        parameter: Tensor,
        gradient: Tensor,
        state: Mapping[str, Tensor],
        numbers: Mapping[str, Tensor],
    ) -> tuple[Tensor, dict[str, Tensor]]:
        gradient = self.with_penalty(parameter, gradient)
        first, second = self.betas
        mean = state["mean"] * first + gradient * (1 - first)
        square = state["square"] * second + gradient * gradient * (1 - second)
        root = elementwise(SqrtOp, square) * numbers["root"] + self.epsilon
        parameter = self.decayed(parameter, numbers["rate"])
        return parameter - mean * numbers["step"] / root, {"mean": mean, "square": square}

    def decayed(self, parameter: Tensor, rate: Tensor) -> Tensor:
        """Returns the parameter that the step is subtracted from."""
        return parameter


class AdamW(Adam):
    """Adam that decays weights beside the gradient (Loshchilov and Hutter 2019, algorithm 2)."""

    def __init__(
        self,
        rate: float | Schedule = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
        weight_decay: float = 0.01,
        clip_norm: float | None = None,
    ):
        super().__init__(rate, betas, epsilon, weight_decay, clip_norm)

    def with_penalty(self, parameter: Tensor, gradient: Tensor) -> Tensor:
        return gradient

    def decayed(self, parameter: Tensor, rate: Tensor) -> Tensor:
        return parameter - parameter * rate * self.weight_decay


class Adagrad(Optimizer):
    """
    Adagrad (Duchi et al. 2011): `s = s + g * g; p = p - rate * g / (sqrt(s) + epsilon)`.
    `weight_decay` is added to the gradient, as the gradient of a penalty.
    """

    STATE = ("square",)

    def __init__(
        self,
        rate: float | Schedule = 1e-2,
        epsilon: float = 1e-10,
        weight_decay: float = 0.0,
        clip_norm: float | None = None,
    ):
        super().__init__(rate, clip_norm, weight_decay)
        self.epsilon = _within("epsilon", epsilon)

    def update(
        self,
        parameter: Tensor,
        gradient: Tensor,
        state: Mapping[str, Tensor],
        numbers: Mapping[str, Tensor],
    ) -> tuple[Tensor, dict[str, Tensor]]:
        gradient = self.with_penalty(parameter, gradient)
        square = state["square"] + gradient * gradient
        root = elementwise(SqrtOp, square) + self.epsilon
        return parameter - gradient * numbers["rate"] / root, {"square": square}


class RMSprop(Optimizer):
    """
    RMSprop (Tieleman and Hinton 2012, lecture 6.5): `s = decay * s + (1 - decay) * g * g;
    v = momentum * v + g / (sqrt(s) + epsilon); p = p - rate * v`. The centered form subtracts the
    square of the mean gradient from s below the root (Graves 2013, section 2). `weight_decay` is
    added to the gradient, as the gradient of a penalty.
    """

    def __init__(
        self,
        rate: float | Schedule = 1e-2,
        decay: float = 0.99,
        epsilon: float = 1e-8,
        momentum: float = 0.0,
        centered: bool = False,
        weight_decay: float = 0.0,
        clip_norm: float | None = None,
    ):
        super().__init__(rate, clip_norm, weight_decay)
        self.decay = _within("decay", decay, below=1.0)
        self.epsilon = _within("epsilon", epsilon)
        self.momentum, self.centered = _within("momentum", momentum), centered
        kept = {"square": True, "mean": centered, "velocity": bool(momentum)}
        self.STATE = tuple(name for name, used in kept.items() if used)

    def update(
        self,
        parameter: Tensor,
        gradient: Tensor,
        state: Mapping[str, Tensor],
        numbers: Mapping[str, Tensor],
    ) -> tuple[Tensor, dict[str, Tensor]]:
        gradient = self.with_penalty(parameter, gradient)
        share = 1 - self.decay
        variance = state["square"] * self.decay + gradient * gradient * share
        new = {"square": variance}
        if self.centered:
            new["mean"] = mean = state["mean"] * self.decay + gradient * share
            # rounding may give a difference below 0
            variance = elementwise(MaximumOp, variance - mean * mean, 0.0)
        step = gradient / (elementwise(SqrtOp, variance) + self.epsilon)
        if self.momentum:
            new["velocity"] = step = state["velocity"] * self.momentum + step
        return parameter - step * numbers["rate"], new


def constant(rate: float) -> Schedule:
    """Returns the same rate for all steps. Raises GlowError for what is no number."""
    if not isinstance(rate, Real):
        raise GlowError(f"expected a learning rate that is a number or a schedule, found {rate!r}")
    number = float(rate)
    return lambda step: number


def linear(rate: float, steps: int, warmup: int = 0) -> Schedule:
    """
    Returns a rate that rises from 0 to `rate` in `warmup` steps, and falls to 0 after `steps`.
    Raises GlowError for a warmup that is longer.
    """
    _expect_steps(rate, steps, warmup)

    def at(step: int) -> float:
        if step <= warmup:
            return rate * step / warmup
        return rate * max(0.0, (steps + 1 - step) / (steps + 1 - warmup))

    return at


def cosine(rate: float, steps: int, warmup: int = 0) -> Schedule:
    """
    Returns a rate that rises from 0 to `rate` in `warmup` steps, and falls to 0 after `steps` as
    half a period of a cosine (Loshchilov and Hutter 2017). Raises GlowError for a warmup that is
    longer.
    """
    _expect_steps(rate, steps, warmup)

    def at(step: int) -> float:
        if step <= warmup:
            return rate * step / warmup
        done = min(1.0, (step - warmup) / (steps + 1 - warmup))
        return rate * (1 + cos(pi * done)) / 2

    return at
