"""The trainer: runs the steps of a training, and keeps its state."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ..errors import GlowError, InputError
from ..interface.backend import find_backend, option_owners
from ..nn.arguments import Described, seed_of
from ..nn.tensor import Tensor
from .checkpoint import read_checkpoint, write_checkpoint
from .data import Batch, Dataset, batches_of
from .execution import Execution, examples, reporting, with_precision
from .interrupts import uninterrupted
from .networks import frozen, network_of, trained_graph, write_model
from .nonfinite import first_nonfinite
from .optimizers import Optimizer
from .processes import Processes
from .progress import ProgressBar
from .quantized import QuantizationAware, QuantizedNetwork
from .report import Report
from .run_report import RunReport
from .step import LOSS, NEW, Kind, Loss, Programs, random_state

if TYPE_CHECKING:
    from ..interface.time_profile import TimeProfile


Callback: TypeAlias = "Callable[[Trainer, Report], object]"
"""Called after each epoch; it may call `trainer.stop()`."""


class Trainer:
    """
    Trains a network: each step is one compiled program of forward pass, backward pass and update.
    """

    def __init__(
        self,
        model: Any,
        loss: Loss,
        optimizer: Optimizer,
        *,
        freeze: Sequence[str] = (),
        seed: int = 0,
        backend: str = "cpu",
        threads: int = 1,
        processes: Processes | None = None,
        quantization: QuantizationAware | None = None,
        precision: str | None = None,
        **options: Any,
    ):
        """
        - `model`: a module of `glow.nn`, a function of tensors, or a model in any form that
          `glow.compile` takes. The parameters of a model are its initializers of floats with at
          least one dimension, and of a graph such constants with a name.
        - `loss`: a function of the outputs of the model and of the targets, such as
          `nn.cross_entropy`.
        - `freeze`: patterns of the names of parameters that do not change, such as `features.*`.
        - `seed`: what the random numbers of dropout follow from.
        - `backend`, `threads`, `options`: as `glow.compile` takes them.
        - `processes`: those that train together, each on its part of every batch. The parameters
          begin as those of the first one.
        - `quantization`: how values are rounded in training and evaluation, as an integer program
          rounds them. The graph of the trained network then has quantized types.
        - `precision`: `bf16` to round the factors of products where that is faster, in steps and in
          evaluation; all else stays in f32 (Micikevicius et al. 2018). It needs AVX512-BF16.

        Programs are compiled for the first batch of each shape. Raises GlowError for a pattern that
        matches nothing, a precision that the CPU lacks, and what `glow.compile` raises for a model.
        """
        self.network = network_of(model)
        self._optional: str | None = None
        """The beginning of the names of states that a checkpoint may lack."""
        if quantization is not None:
            self.network = QuantizedNetwork(self.network, quantization, find_backend(backend))
            self._optional = self.network.ranges
        left = frozen(self.network.trainable, freeze)
        self.trained = [n for n in self.network.values if n in self.network.trainable - left]
        if not self.trained:
            raise GlowError("the model has no parameters to train")
        self.optimizer = optimizer
        self.backend = backend
        self.seed = seed_of(seed)
        self.step = 0
        """The number of steps so far."""
        self.epoch = 0
        """The number of complete epochs so far."""
        self._batch = 0
        self._stopped = False
        self._graphs = Programs(self.network, self.trained, loss, optimizer)
        given = {"backend": backend, "threads": threads, **options}
        self._execution = Execution(self._graphs.state, with_precision(precision, given))
        self._processes = processes
        self._reports = reporting(backend)
        if processes is not None:
            processes.copy_first(self._execution.arrays.values())

    @property
    def _summed(self) -> list[str]:
        """The gradients in the order in which processes add them up: that of the backward pass."""
        return [NEW + self._graphs.own.gradient(name) for name in reversed(self.trained)]

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes files, or the only one."""
        return self._processes is None or self._processes.rank == 0

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """Copies of all parameters by name."""
        values = {**self.network.values, **self._execution.arrays}
        return {name: values[name].copy() for name in self.network.values}

    def fit(
        self,
        dataset: Dataset,
        epochs: int,
        *,
        validation: Dataset | None = None,
        metrics: Mapping[str, Loss] | None = None,
        callbacks: Sequence[Callback] = (),
        accumulate: int = 1,
        checkpoint: str | Path | None = None,
        report: str | Path | None = None,
        progress: bool = True,
    ) -> list[Report]:
        """
        Trains until `epochs` epochs are done, those before a checkpoint included, or until a
        callback stops it. Returns a report of each epoch. The parameters of a module then have
        their new values.

        - `dataset`: `Batches`, another object with `epoch(number)`, or an iterable of pairs of
          inputs and targets.
        - `validation`, `metrics`: data that are evaluated after each epoch, and what is computed
          besides the loss, such as `{"accuracy": nn.accuracy}`.
        - `accumulate`: the number of batches whose mean gradient a step uses; batches at the end of
          an epoch that are too few for a step are left out.
        - `checkpoint`: the file that is written after each epoch.
        - `report`: the file of a page with curves, histograms and the time of a step by operator,
          which is written before the first epoch and after each one.
        - `progress`: whether a bar is shown on a terminal.

        Raises GlowError if the loss is not finite, with the step and the first node that is not, or
        for an epoch without steps, and InputError for batches that do not fit. The state is then
        that before the step.
        """
        if accumulate < 1:
            raise GlowError(f"expected at least 1 batch for a step, found {accumulate}")
        if metrics and validation is None:
            raise GlowError("expected validation data for metrics, found none")
        self._stopped = False
        reports: list[Report] = []
        page = None
        if report is not None and self.is_first:
            page = RunReport(Path(report), "Training")
            page.write()
        while self.epoch < epochs and not self._stopped:
            start = time.perf_counter()
            bar = ProgressBar(dataset, epochs, progress and self.is_first)
            losses = self._run_epoch(dataset, accumulate, bar, page)
            self.epoch, self._batch = self.epoch + 1, 0
            found = {} if validation is None else self.evaluate(validation, metrics)
            seconds = time.perf_counter() - start
            mean = float(np.mean(losses)) if losses else float("nan")
            reports.append(Report(self.epoch, self.step, mean, self._rate(), seconds, found))
            if checkpoint is not None:
                self.save(checkpoint)
            if page is not None:
                self._describe(page, reports)
            for callback in callbacks:
                callback(self, reports[-1])
        self.network.keep(self.parameters)
        return reports

    def stop(self) -> None:
        """Ends `fit` after the epoch."""
        self._stopped = True

    def _run_epoch(
        self, dataset: Dataset, accumulate: int, bar: ProgressBar, page: RunReport | None
    ) -> list[float]:
        losses: list[float] = []
        batches = islice(batches_of(dataset, self.epoch), self._batch, None)
        with bar.epoch(self.epoch, self._batch) as show:
            while len(group := list(islice(batches, accumulate))) == accumulate:
                losses += (found := self._step(group, accumulate))
                if page is not None:
                    page.add_step(self.step, found, self._rate())
                    page.batch = group[-1]
                show(self._batch, losses[-1])
        if not self._batch:
            raise GlowError(
                f"expected at least {accumulate} batches in epoch {self.epoch + 1}, found "
                f"{len(group)}; a data set gives its batches each time that it is iterated"
            )
        return losses

    def _rate(self) -> float:
        """Returns the learning rate of the last step."""
        return self.optimizer.numbers(max(self.step, 1))["rate"]

    def _describe(self, page: RunReport, reports: Sequence[Report]) -> None:
        """Writes the page about the epochs so far."""
        page.epochs = list(reports)
        parameters = self.parameters
        page.weights = {name: parameters[name] for name in self.trained}
        if page.batch is not None:
            page.gradients = self.gradients(page.batch)
            if page.profile is None and self.backend in option_owners(("timed",)):
                page.profile = self.profile(page.batch)
        page.write()

    def gradients(self, batch: Batch) -> dict[str, np.ndarray]:
        """
        Returns the gradients of the loss for a batch by the trained parameters, by name, as the
        next step computes them. The state stays as it is.
        """
        kind, own = Kind(updates=False), self._graphs.own
        _, model = self._execution.program(kind, batch, self._graphs.step, kind)
        random = random_state(self.seed, self.step)
        outputs = model.run(None, self._execution.feed(model, batch, {own.random: random}))
        named = zip((info.name for info in model.get_outputs()), outputs, strict=True)
        found = {name.removeprefix(NEW): array for name, array in named}
        return {name: found[own.gradient(name)] for name in self.trained}

    def profile(self, batch: Batch, repeat: int = 5) -> TimeProfile:
        """
        Runs a step for a batch `repeat` times and once before, and returns the measured times of
        its instructions. The state stays as it is. Raises GlowError for another backend than `cpu`.
        """
        kind = Kind()
        graph, _ = self._execution.program(kind, batch, self._graphs.step, kind)
        model = self._execution.timed(graph)
        random = random_state(self.seed, self.step)
        others = {self._graphs.own.random: random, **self._graphs.numbers(self.step + 1)}
        feed = self._execution.feed(model, batch, others)
        return model.profile(*(feed[info.name] for info in model.get_inputs()), repeat=repeat)

    def train_step(self, batches: Sequence[Batch]) -> list[float]:
        """
        Does one step with the mean gradient of some batches. Returns their losses. Raises GlowError
        if one is not finite. An interrupt (Ctrl-C) waits for the end of a program, so that state
        and number of steps fit each other.
        """
        return self._step(batches, 0)

    def _step(self, batches: Sequence[Batch], of_epoch: int) -> list[float]:
        """Does one step, which takes a number of batches of the epoch, or none of it."""
        if not batches:
            raise InputError("expected at least 1 batch for a step, found none")
        if len(batches) == 1 and self._processes is None:
            return self._run_batches(batches, of_epoch)  # one program does all, or nothing
        before = self.step
        # the first programs of a step change running statistics
        with self._execution.undone(lambda: self.step > before, lambda: self.network.updated):
            return self._run_batches(batches, of_epoch)

    def _run_batches(self, batches: Sequence[Batch], of_epoch: int) -> list[float]:
        numbers = self._graphs.numbers(self.step + 1)
        others, losses, own = self._processes, list[float](), self._graphs.own
        reports = {} if others is None else self._reports
        for i, batch in enumerate(batches):
            last = i == len(batches) - 1
            kind = Kind(i > 0, last and others is None, len(batches), others is not None)
            number, share = self.step * len(batches) + i, 1.0
            if others is not None:
                number = number * others.count + others.rank
                batch, share = others.part(batch)
            given = {own.random: random_state(self.seed, number), own.share: np.array(share, "f4")}
            make = self._graphs.step
            graph, model = self._execution.program(kind, batch, make, kind, **reports)
            feed = self._execution.feed(model, batch, {**numbers, **given})
            sums = others.sums(self._summed) if last and others is not None else None
            with uninterrupted():
                outputs = self._execution.run(model, feed, None if sums is None else sums.add)
                loss = float(outputs[LOSS])
                if kind.updates and np.isfinite(loss):
                    self._count(of_epoch)
            losses.append(loss if others is None else float(others.total([loss * share])[0]))
            if sums is not None:
                sums.finish()
            if not np.isfinite(losses[-1]):
                here = not np.isfinite(loss)
                where = "it is finite in this process"
                if here:
                    where = first_nonfinite(graph, feed, partial(self._execution.outputs, feed))
                raise GlowError(
                    f"the loss is {losses[-1]} in step {self.step + 1}, batch "
                    f"{self._batch + i + 1} of epoch {self.epoch + 1}: {where}"
                )
            self._execution.accept(model)
        if others is not None:
            self._update(others, numbers, of_epoch)
        return losses

    def _count(self, of_epoch: int) -> None:
        """Counts a step, which took a number of batches of the epoch."""
        self.step += 1
        self._batch += of_epoch

    def _update(self, others: Processes, numbers: Mapping[str, np.ndarray], of_epoch: int) -> None:
        """Updates parameters by the sums of all processes' gradients, and counts the step."""
        arrays = self._execution.arrays
        changed = [arrays[name] for name in sorted(self.network.updated)]
        others.add_up(changed)
        for array in changed:
            array /= others.count
        nothing: Batch = ((), ())
        _, model = self._execution.program("update", nothing, lambda *_: self._graphs.update())
        feed = self._execution.feed(model, nothing, numbers)
        with uninterrupted():
            self._execution.run(model, feed)
            self._count(of_epoch)

    def evaluate(
        self, dataset: Dataset, metrics: Mapping[str, Loss] | None = None
    ) -> dict[str, float]:
        """
        Returns the loss and the metrics for a data set, as means over all examples. Normalisations
        and dropout behave as they do after training. Each process evaluates its share of the
        batches.
        """
        chosen, others = metrics or {}, self._processes
        if LOSS in chosen:
            raise GlowError(f"expected another name of a metric than {LOSS!r}")
        names, key = (LOSS, *chosen), ("evaluation", *chosen.items())
        rank, count = (0, 1) if others is None else (others.rank, others.count)
        sums = np.zeros(len(names) + 1)
        for batch in islice(batches_of(dataset, 0), rank, None, count):
            _, model = self._execution.program(key, batch, self._graphs.evaluation, chosen)
            outputs = model.run(None, self._execution.feed(model, batch, {}))
            sums += examples(batch) * np.array([*map(float, outputs), 1.0])
        *found, total = sums if others is None else others.total(list(sums))
        if not total:
            raise InputError("expected data of at least 1 batch to evaluate, found none")
        return {name: float(v / total) for name, v in zip(names, found, strict=True)}

    def save(self, path: str | Path) -> None:
        """
        Writes a checkpoint: all parameters, what the optimizer keeps, and the place in the data.
        The file appears as a whole or not at all; of several processes, the first one writes it.
        Raises GlowError if it cannot be written.
        """
        progress = {"step": self.step, "epoch": self.epoch, "batch": self._batch}
        if self.is_first:
            write_checkpoint(Path(path), self._everything(), {**progress, "seed": self.seed})
        if self._processes is not None:
            self._processes.total([0.0])  # no process reads the file before it is there

    def restore(self, path: str | Path) -> None:
        """
        Continues from a checkpoint. With one thread and the same data, parameters become the same
        to the bit as without an interruption.

        Raises GlowError for a file that is no checkpoint, or that of another network or optimizer.
        """
        arrays, progress = read_checkpoint(Path(path), self._everything(), self._optional)
        self.network.keep(arrays)
        self._execution.restart({name: arrays[name] for name in self._graphs.state()})
        self.step, self.epoch = progress["step"], progress["epoch"]
        self._batch, self.seed = progress["batch"], progress["seed"]

    def _everything(self) -> dict[str, np.ndarray]:
        sums = {self._graphs.own.gradient(name) for name in self.trained}
        kept = {name: a for name, a in self._execution.arrays.items() if name not in sums}
        return {**self.network.values, **kept}

    def graph(
        self, inputs: Mapping[str, Described], then: Callable[..., Tensor] | None = None
    ) -> ModuleOp:
        """
        Returns the graph of the network with the trained parameters, which `glow.compile` takes.

        - `inputs`: a shape for each input by name, or an array like it, in the order of the model.
        - `then`: what is computed of the outputs, such as `nn.softmax`, if the loss takes scores.
        """
        self.network.keep(self.parameters)
        return trained_graph(self.network, inputs, then)

    def export(
        self,
        path: str | Path,
        inputs: Mapping[str, Described],
        then: Callable[..., Tensor] | None = None,
    ) -> None:
        """
        Writes the trained network as an ONNX model; the arguments are those of `graph`. Raises
        UnsupportedError for operators that ONNX cannot express, and GlowError if the file cannot be
        written.
        """
        write_model(path, self.graph(inputs, then))
