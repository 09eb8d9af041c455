"""The work of `glow-tune-quantization`: trials of choices for the products of a network."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

from ..errors import QuantizationError
from ..progress_bar import progress_bar
from ..quantization import Profile, Quantization, optimized_graph, save_choices
from ..quantization.tuning import Goal, Tuner
from ..runtime.signature import signature_of
from ..wording import counted
from .arguments import (
    quantization_options,
)
from .datasets import open_dataset
from .inputs import Preprocessing, read_labels
from .output_file import completed, expect_directory
from .report import seconds, signal_to_noise
from .tables import DataTable

if TYPE_CHECKING:
    from rich.table import Table
    from xdsl.dialects.builtin import ModuleOp

    from ..quantization.tuning import Trial, Tuning


def _labels(path: str | None) -> np.ndarray | None:
    if path is None:
        return None
    words = read_labels(path).split()
    if wrong := [w for w in words if not w.isdecimal()]:
        raise QuantizationError(f"{path}: expected numbers of classes, found {wrong[0]!r}")
    return np.array([int(w) for w in words])


def _data(args: argparse.Namespace, graph: ModuleOp) -> Sequence[Mapping[str, np.ndarray]]:
    preprocessing = Preprocessing(
        args.image_mean, args.image_scale, args.image_channel_order, args.image_layout
    )
    data = open_dataset(args.data, signature_of(graph).inputs, preprocessing, args.limit)
    batches = list(data)
    if data.left_over:
        warnings.warn(
            f"{counted(data.left_over, 'sample')} left out: a batch has {data.batch_size}",
            stacklevel=2,
        )
    return batches


def _tune(args: argparse.Namespace, goal: Goal) -> Tuning:
    profile = Profile.load(args.profile)
    given = quantization_options(args)
    options = Quantization(profile=args.profile, **given)  # pyright: ignore[reportArgumentType]
    graph = optimized_graph(args.model, dict(args.define_symbol), args.max_elements)
    state = Path(args.state or f"{args.output}.state")
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with progress_bar(*columns) as bar:
        task = bar.add_task("tuning", total=None)
        trials = 0

        def on_trial(trial: Trial) -> None:
            nonlocal trials
            trials += 1
            bar.update(task, description=f"trial {trials}: loss {trial.loss:.3g}", advance=1)

        tuner = Tuner(
            graph,
            profile,
            _data(args, graph),
            goal,
            options,
            args.backend,
            not args.no_cache,
            state,
            args.resume,
            on_trial,
        )
        # one trial for each product, and the search for how many stay wider
        products = len(tuner.products)
        bar.update(task, total=3 + products + products.bit_length(), completed=trials)
        return tuner.tune()


def loss_table(tuning: Tuning) -> Table:
    """Returns the products, those that lose most first."""
    title = "each product, quantized alone"
    table = DataTable(title).texts("product", "operator")
    table.numbers("loss", "signal to noise", "saves").texts("choice")
    for row in tuning.products:
        numbers = ["not tried"] * 3
        if row.alone is not None:
            alone = row.alone
            saved = seconds(row.saved) if row.saved > 0 else "-"
            numbers = [f"{alone.loss:.3g}", signal_to_noise(alone.error), saved]
        operator = row.operator.removeprefix("glow.")
        table.add_row(row.name, operator, *numbers, row.choice)
    return table


def run(args: argparse.Namespace, console: Console) -> int:
    """Runs the command of the arguments, and returns the exit code."""
    output = Path(args.output)
    expect_directory(output)
    if args.metric == "labels" and args.labels is None:
        raise QuantizationError(
            "the metric labels needs the class of each sample: give --labels FILE"
        )
    labels, measured = _labels(args.labels), args.cost == "measured"
    goal = Goal(args.max_loss, args.metric, labels, args.time, measured)
    tuning = _tune(args, goal)
    best, exact = tuning.best, tuning.exact
    console.print(loss_table(tuning))
    if not tuning.finished:
        console.print(
            f"time was over after {args.time:g} s: --resume --time continues", soft_wrap=True
        )
    console.print(
        f"{counted(tuning.trials, 'trial')}; best: loss {best.loss:.3g} by {args.metric} "
        f"({signal_to_noise(best.error)}), {seconds(best.cost)} {args.cost}, "
        f"in float {seconds(exact.cost)}",
        soft_wrap=True,
    )
    more = {
        "loss": best.loss,
        "metric": args.metric,
        "cost": best.cost,
        "losses": {row.name: row.alone.loss for row in tuning.products if row.alone is not None},
    }
    with completed(args.output) as where:
        save_choices(replace(tuning.choices, profile=args.profile), where, more)
    console.print(f"choices written to {output}", soft_wrap=True)
    return 0
