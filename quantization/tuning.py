"""
Mixed precision: which products are quantized, how wide, and which stay float.

The question is that of Ristretto (Gysel et al., "Hardware-oriented Approximation of Convolutional
Neural Networks", 2016): the cheapest numbers within a stated loss. Trying all of them is out of the
question, so

1. each product is quantized alone, which gives its own part of the loss;
2. all are quantized. If the loss is too large, the products that lose most are made wider (i16), or
   float if i16 for all is not enough: how many of them must be is found by bisection;
3. each of these is then tried in cheaper numbers, those that lose least first, and keeps them if
   the loss stays within the limit.

Every trial is compiled and run on the data. The cost is that of the operators as the backend
estimates it, without those that compute in the loops of others; or the median of measured runs.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ..compiler import compile
from ..errors import QuantizationError
from ..glow_dialects.glow.base import DataParallel, Node
from ..interface.backend import Backend, find_backend
from ..models.compiled_model import CompiledModel
from ..passes.graph.value_keys import value_keys
from ..runtime.signature import main_function
from .metrics import METRICS, Outputs
from .options import Quantization
from .quantize import quantize
from .tuning_state import Trial, TuningState

if TYPE_CHECKING:
    from .profiles import Profile

FLOAT = "float"
WIDE = "i16"
_RUNS = 5
"""The least number of runs whose median is a measured cost."""


@dataclass(frozen=True)
class ProductLoss:
    """The loss of one product that is quantized alone."""

    name: str
    operator: str
    alone: Trial | None
    """The loss of each product alone; None if time ran out before."""
    saved: float
    """Seconds that it saves alone; 0 if that is not known."""
    choice: str
    """`float` or a storage, of the best trial."""


@dataclass(frozen=True)
class Tuning:
    """The result of a tuning."""

    choices: Quantization
    best: Trial
    exact: Trial
    """Everything in float."""
    products: list[ProductLoss]
    """The products in descending order of their loss."""
    finished: bool
    """False if time was over before everything was tried."""
    trials: int


@dataclass(frozen=True)
class Goal:
    """The task of a tuning."""

    max_loss: float
    metric: str = "error"
    labels: np.ndarray | None = None
    """The class of each sample, for the metric `labels`."""
    seconds: float = 600.0
    """The time in seconds after which the search stops with its best choice."""
    measured: bool = False
    """Whether cost is measured instead of estimated."""

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise QuantizationError(
                f"expected a metric of {', '.join(METRICS)}, found {self.metric!r}"
            )
        if not self.max_loss >= 0:
            raise QuantizationError(f"expected a loss of at least 0, found {self.max_loss}")
        if not self.seconds > 0:
            raise QuantizationError(f"expected more than 0 seconds, found {self.seconds}")


class Tuner:
    """
    The search for one network. `graph` is what `optimized_graph` returns, which is not changed.

    `options` are what products are quantized by as usual. All batches are kept in memory. `state`
    is a file for what was tried, which `resume` continues; `on_trial` is called after each trial.
    Raises QuantizationError for a profile of another network, without data or products, and for a
    state of something else.
    """

    def __init__(
        self,
        graph: ModuleOp,
        profile: Profile,
        batches: Sequence[Mapping[str, np.ndarray]],
        goal: Goal,
        options: Quantization | None = None,
        backend: str | Backend = "cpu",
        cache: bool | str | Path = True,
        state: Path | None = None,
        resume: bool = False,
        on_trial: Callable[[Trial], None] | None = None,
    ):
        if not batches:
            raise QuantizationError("there are no data: tuning needs at least one batch")
        self._end = time.monotonic() + goal.seconds
        self.graph, self.profile, self.batches, self.goal = graph, profile, batches, goal
        self.options = options or Quantization()
        is_name = isinstance(backend, str)
        self.backend = find_backend(backend, cache=cache) if is_name else backend
        self._on_trial = on_trial
        report = quantize(graph.clone(), profile, self.options, self.backend)
        self.products = report.quantized
        if not self.products:
            why = "; ".join(f"{name}: {reason}" for name, reason in report.kept.items())
            raise QuantizationError(f"no product is quantized, so there is nothing to tune: {why}")
        self.state = TuningState(self._identity(), state)
        if resume:
            self.state.load()
        exact = compile(graph, self.backend)
        self.reference = _outputs(exact, batches)
        METRICS[goal.metric](self.reference, self.reference, goal.labels)
        if self.state.find(self._all(FLOAT)) is None:
            self._keep(Trial(self._all(FLOAT), 0.0, 0.0, self._cost(exact)))

    def tune(self) -> Tuning:
        """Searches until everything is tried, or time is over."""
        alone: dict[str, Trial] = {}
        finished = True
        try:
            self.trial({})
            for name in self.products:
                alone[name] = self.trial({p: FLOAT for p in self.products if p != name})
            self._search(alone)
        except _OutOfTimeError:
            finished = False
        exact = self.state.trials[frozenset(self._all(FLOAT).items())]
        within = [t for t in self.state.trials.values() if t.loss <= self.goal.max_loss]
        best = min(within, key=lambda t: (t.cost, t.error))
        table = [self._row(name, alone.get(name), exact, best) for name in self.products]
        table.sort(key=lambda row: _severity(row.alone), reverse=True)
        choices = self._options(best.choices)
        return Tuning(choices, best, exact, table, finished, len(self.state.trials))

    # the search

    def _search(self, alone: Mapping[str, Trial]) -> None:
        order = sorted(self.products, key=lambda p: _severity(alone[p]), reverse=True)
        if self._is_within({}):
            return
        fallback = WIDE if self._is_within(self._all(WIDE)) else FLOAT
        too_few, enough = 0, len(order)
        while enough - too_few > 1:
            middle = (too_few + enough) // 2
            if self._is_within(dict.fromkeys(order[:middle], fallback)):
                enough = middle
            else:
                too_few = middle
        self._refine(dict.fromkeys(order[:enough], fallback))

    def _refine(self, choices: dict[str, str]) -> None:
        """Tries cheaper numbers for each product that is not quantized as usual."""
        for name in reversed(list(choices)):
            rest = {p: c for p, c in choices.items() if p != name}
            for other in (rest, {**rest, name: WIDE}, {**rest, name: FLOAT}):
                if other == choices or not self._is_within(other):
                    continue
                if self.trial(other).cost < self.trial(choices).cost:
                    choices = other
                    break

    def _is_within(self, choices: Mapping[str, str]) -> bool:
        return self.trial(choices).loss <= self.goal.max_loss

    # trials

    def trial(self, choices: Mapping[str, str]) -> Trial:
        """Compiles and runs the network with these numbers, unless that was done before."""
        known = self.state.find(choices)
        if known is not None:
            return known
        if time.monotonic() > self._end:
            raise _OutOfTimeError
        module = self.graph.clone()
        quantize(module, self.profile, self._options(choices), self.backend)
        model = compile(module, self.backend)
        found = _outputs(model, self.batches)
        loss = METRICS[self.goal.metric](self.reference, found, self.goal.labels)
        error = METRICS["error"](self.reference, found, None)
        return self._keep(Trial(dict(choices), loss, error, self._cost(model)))

    def _keep(self, trial: Trial) -> Trial:
        self.state.add(trial)
        if self._on_trial is not None:
            self._on_trial(trial)
        return trial

    def _all(self, choice: str) -> dict[str, str]:
        return dict.fromkeys(self.products, choice)

    def _options(self, choices: Mapping[str, str]) -> Quantization:
        # a product may be called as an operator is, such as matmul
        alike = {op.name.removeprefix("glow.") for op in main_function(self.graph).body.walk()}
        floats = [p for p, c in choices.items() if c == FLOAT]
        kept = tuple(f"%{p}" if p in alike else p for p in floats)
        wide = tuple(f"{p}={c}" for p, c in choices.items() if c != FLOAT)
        o = self.options
        return replace(o, keep_float=(*o.keep_float, *kept), storages=(*o.storages, *wide))

    def _cost(self, model: CompiledModel) -> float:
        """Returns seconds of a run on one batch."""
        if self.goal.measured:
            times: list[float] = []
            for i in range(max(_RUNS, len(self.batches))):
                feed = self.batches[i % len(self.batches)]
                start = time.perf_counter()
                model.run(None, feed)
                times.append(time.perf_counter() - start)
            return median(times)
        stage = "optimized" if "optimized" in model.stages else "imported"
        nodes = main_function(model.stages[stage]).body.block.ops
        return sum(
            self.backend.cost(op.call)
            for op in nodes
            if isinstance(op, Node) and not isinstance(op, DataParallel)
        )

    def _row(self, name: str, alone: Trial | None, exact: Trial, best: Trial) -> ProductLoss:
        keys = value_keys(main_function(self.graph)).values()
        operator = next((k.operator for k in keys if k.name == name), "")
        saved = 0.0 if alone is None else exact.cost - alone.cost
        choice = best.choices.get(name, self.options.activations)
        return ProductLoss(name, operator, alone, saved, choice)

    def _identity(self) -> dict[str, str]:
        """Returns the identity of the task to which a state belongs."""
        keys = value_keys(main_function(self.graph)).values()
        data, seen = hashlib.sha256(), hashlib.sha256()
        for feed in self.batches:
            for name, array in sorted(feed.items()):
                data.update(f"{name} {array.dtype} {array.shape}".encode())
                data.update(np.ascontiguousarray(array).tobytes())
        for name, value in self.profile.values.items():
            seen.update(f"{name} {value.histogram.low} {value.histogram.high}".encode())
        goal = self.goal
        return {
            "network": hashlib.sha256(" ".join(k.key for k in keys).encode()).hexdigest(),
            "profile": seen.hexdigest(),
            "data": data.hexdigest(),
            "options": str(replace(self.options, profile=None)),
            "metric": goal.metric + (" measured" if goal.measured else ""),
        }


class _OutOfTimeError(Exception):
    """There is no time for another trial."""


def _severity(trial: Trial | None) -> tuple[float, float]:
    return (-1.0, -1.0) if trial is None else (trial.loss, trial.error)


def _outputs(model: CompiledModel, batches: Sequence[Mapping[str, np.ndarray]]) -> Outputs:
    return [model.run(None, dict(feed)) for feed in batches]
