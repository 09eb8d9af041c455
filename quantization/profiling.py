"""Makes profiles: runs an instrumented network on data and counts the numbers of its values."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ..compiler import CompiledModel, compile
from ..context import make_context
from ..errors import CompileError, QuantizationError, UnsupportedError
from ..glow_dialects.operator import text_of
from ..interface.backend import Backend, find_backend
from ..interface.symbols import checked_sizes
from ..loading import load_model
from ..model_forms import Model
from ..passes.graph.profile import ProfilePass, profiled_places
from ..passes.graph.value_keys import profiled_values
from ..runtime.cpu_backend import CpuBackend
from ..runtime.signature import main_function, signature_of
from ..runtime.stages import Stages
from ..wording import counted
from .histogram import DEFAULT_BINS, Histogram
from .profiles import Profile, ValueProfile

NAN_CHOICES = ("refuse", "ignore")
INTERPRETER = "interpreter"
_OPTIMIZED = "optimized"


def optimized_graph(
    model: Model, symbols: Mapping[str, int] | None = None, max_elements: int | None = None
) -> ModuleOp:
    """
    Returns the graph whose values are profiled: after the optimisations of a compilation in float,
    before operators are decomposed. Raises ModelError, UnsupportedError and CompileError as
    compiling does.
    """
    stages = CpuBackend().optimizing_stages()
    return Stages(load_model(model, checked_sizes(symbols), max_elements), stages)[_OPTIMIZED]


class Profiler:
    """
    A network that counts the numbers of its values, batch by batch.

    `bins` is the number of bins of each histogram. `nan` is the treatment of values with NaN or
    infinity: `refuse` raises an error, `ignore` counts them apart. `backend` runs the network; if
    it is `cpu` and cannot, the interpreter does, with a warning.
    """

    def __init__(
        self,
        model: Model,
        bins: int = DEFAULT_BINS,
        nan: str = "refuse",
        backend: str | Backend = "cpu",
        threads: int = 1,
        symbols: Mapping[str, int] | None = None,
        max_elements: int | None = None,
        cache: bool | str | Path = True,
    ):
        if nan not in NAN_CHOICES:
            raise QuantizationError(f"expected nan to be refuse or ignore, found {nan!r}")
        graph = optimized_graph(model, symbols, max_elements)
        keys = profiled_values(main_function(graph)).values()
        if not keys:
            raise QuantizationError("the network has no values of floats to profile")
        ProfilePass(as_outputs=True).apply(make_context(), graph)
        main = main_function(graph)
        name = text_of(main.attributes.get("glow.model"))
        self._arguments, results = profiled_places(main)
        shown = enumerate(signature_of(graph).shown)
        self._results = {i: results[number] for i, number in shown if number in results}
        # in the order of computation, so that an error names the value where it began
        self._values = {key.name: ValueProfile(key, Histogram.empty(bins)) for key in keys}
        self._refuse = nan == "refuse"
        self._model = name or ""
        self.program = runnable(graph, backend, threads, cache)
        self.samples = 0
        """The number of counted inputs: the sum of the first dimensions of the first input."""

    def add(self, feed: Mapping[str, np.ndarray]) -> None:
        """
        Runs on one batch and counts. Raises InputError for wrong inputs, and QuantizationError,
        naming the first value and how many there are, for NaN and infinity that are refused; then
        nothing of the batch is counted.
        """
        outputs = self.program.run(None, feed)
        seen = dict(self._seen(feed, outputs))
        if self._refuse:
            self._expect_finite(seen)
        for name, value in self._values.items():
            value.histogram.add(seen[name])
        self.samples += _batch_size(self.program)

    def _seen(
        self, feed: Mapping[str, np.ndarray], outputs: list[np.ndarray]
    ) -> Iterator[tuple[str, np.ndarray]]:
        infos = self.program.get_inputs()
        for index, key in self._arguments.items():
            yield key.name, np.asarray(feed[infos[index].name])
        for index, key in self._results.items():
            yield key.name, outputs[index]

    def _expect_finite(self, seen: Mapping[str, np.ndarray]) -> None:
        wrong = [name for name in self._values if not np.isfinite(seen[name]).all()]
        if not wrong:
            return
        key, array = self._values[wrong[0]].key, seen[wrong[0]]
        wide = array.astype(np.float64)
        nans, infinities = int(np.isnan(wide).sum()), int(np.isinf(wide).sum())
        others = f", and {counted(len(wrong) - 1, 'other value')}" if len(wrong) > 1 else ""
        samples = counted(self.samples, "sample")
        raise QuantizationError(
            f"value {key.name!r} ({key.operator}) has {nans} NaN and "
            f"{counted(infinities, 'infinite number')} of {array.size} after {samples}{others}; "
            'look at the data, or ignore such numbers (nan="ignore", --nan ignore)'
        )

    def profile(self) -> Profile:
        """
        Returns the profile of the batches so far. Raises QuantizationError if there were no
        batches.
        """
        if not self.samples:
            raise QuantizationError("there are no data: a profile needs at least one batch")
        return Profile(dict(self._values), self.samples, self._model)


def profile(
    model: Model,
    batches: Iterable[Mapping[str, np.ndarray]],
    *,
    bins: int = DEFAULT_BINS,
    nan: str = "refuse",
    backend: str | Backend = "cpu",
    threads: int = 1,
    symbols: Mapping[str, int] | None = None,
    cache: bool | str | Path = True,
    on_batch: Callable[[int], None] | None = None,
) -> Profile:
    """
    Runs a network in float on data, and returns the histograms of all its values.

    `model` and `symbols` are those of `glow.compile`. `batches` are arrays by the names of inputs,
    of the declared shapes and dtypes; one batch is in memory at a time. `bins` is how many bins a
    histogram has. `nan` is `refuse`, or `ignore` to count NaN and infinity apart. `backend` is
    `cpu` (with the interpreter for networks that it cannot compile) or another. `on_batch` is
    called after each batch with the number of samples so far.

    Raises QuantizationError if there are no batches, or for NaN and infinity, with the name of the
    first value that has them; and InputError and others as compiling and running do.
    """
    profiler = Profiler(model, bins, nan, backend, threads, symbols, cache=cache)
    for feed in batches:
        profiler.add(feed)
        if on_batch is not None:
            on_batch(profiler.samples)
    return profiler.profile()


def runnable(
    graph: ModuleOp, backend: str | Backend, threads: int, cache: bool | str | Path
) -> CompiledModel:
    """
    Returns a graph, compiled; for the interpreter, with a warning, if a backend that is given by
    name cannot and may be replaced (`cpu` may). Raises CompileError and UnsupportedError if another
    one cannot.
    """
    try:
        return compile(graph, backend, threads, cache=cache)
    except (CompileError, UnsupportedError) as error:
        # an instance was chosen with its options
        if not isinstance(backend, str) or not find_backend(backend).is_replaceable:
            raise
        warnings.warn(f"using the slow interpreter, because: {error}", stacklevel=3)
        return compile(graph, INTERPRETER)


def _batch_size(program: CompiledModel) -> int:
    infos = program.get_inputs()
    return infos[0].shape[0] if infos and infos[0].shape else 1
