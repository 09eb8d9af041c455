"""
`glow-tune-quantization`: find the cheapest numbers for the products of a network within a loss.

```
glow-tune-quantization model.onnx --profile profile.json --data pictures/ --max-loss 0.001 \\
    -o choices.json
glow-run model.onnx --quantize choices.json
```
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import QuantizationError
from ..wording import counted
from .arguments import (
    Parser,
    add_image_arguments,
    add_model_arguments,
    add_quantization_arguments,
    count,
    quantization_options,
    run_tool,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from xdsl.dialects.builtin import ModuleOp

    from ..quantization.tuning import Goal, Trial, Tuning


def _arguments() -> argparse.ArgumentParser:
    parser = Parser(
        prog="glow-tune-quantization",
        description="Find which products of a network may be quantized, how wide, and which stay "
        "float, so that it is as cheap as possible within a loss.",
    )
    parser.add_argument("model", help="an ONNX file, or text of the graph dialect (.mlir)")
    group = parser.add_argument_group("data")
    group.add_argument(
        "--profile", required=True, metavar="FILE.json", help="what glow-profile wrote"
    )
    group.add_argument(
        "--data",
        required=True,
        metavar="DIR|FILE",
        help="images, .npy or .npz files to measure the loss on; they are kept in memory",
    )
    group.add_argument("--limit", type=count, metavar="N", help="use the first N samples only")
    add_image_arguments(group)
    group = parser.add_argument_group("goal")
    group.add_argument(
        "--max-loss", type=float, required=True, metavar="L", help="the largest loss to accept"
    )
    group.add_argument(
        "--metric",
        default="error",
        help="the loss: error (noise over signal of the outputs, default; 0.001 is 30 dB), top1 "
        "(part of the samples with another class than in float), or labels (accuracy that is lost)",
    )
    group.add_argument(
        "--labels", metavar="FILE", help="the number of the class of each sample, one in each line"
    )
    group.add_argument(
        "--cost",
        choices=("estimated", "measured"),
        default="estimated",
        help="what is cheap: the backend's estimate (default), or the median of runs",
    )
    group.add_argument(
        "--time", type=float, default=600.0, metavar="SECONDS", help="stop then; default: 600"
    )
    group = parser.add_argument_group("running")
    group.add_argument("--backend", default="cpu", help="default: cpu")
    add_model_arguments(group)
    group.add_argument(
        "--no-cache", action="store_true", help="neither read nor keep compiled code"
    )
    add_quantization_arguments(parser)
    group = parser.add_argument_group("output")
    group.add_argument(
        "-o", "--output", required=True, metavar="FILE.json", help="write the choices"
    )
    group.add_argument(
        "--state", metavar="FILE.json", help="what was tried so far; default: OUTPUT.state"
    )
    group.add_argument("--resume", action="store_true", help="continue what is in the state")
    return parser


def _labels(path: str | None) -> np.ndarray | None:
    if path is None:
        return None
    words = Path(path).read_text(encoding="utf-8").split()
    if wrong := [w for w in words if not w.isdecimal()]:
        raise QuantizationError(f"{path}: expected numbers of classes, found {wrong[0]!r}")
    return np.array([int(w) for w in words])


def _data(args: argparse.Namespace, graph: ModuleOp) -> Sequence[Mapping[str, np.ndarray]]:
    from ..runtime.signature import signature_of
    from .datasets import open_dataset
    from .inputs import Preprocessing

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
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from ..quantization import Profile, Quantization, optimized_graph
    from ..quantization.tuning import Tuner

    profile = Profile.load(args.profile)
    given = quantization_options(args)
    options = Quantization(profile=args.profile, **given)  # pyright: ignore[reportArgumentType]
    graph = optimized_graph(args.model, dict(args.define_symbol), args.max_elements)
    state = Path(args.state or f"{args.output}.state")
    screen = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
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
    from .quantized_runs import signal_to_noise
    from .report import seconds
    from .tables import DataTable

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
    from ..quantization import save_choices
    from ..quantization.tuning import Goal
    from .quantized_runs import signal_to_noise
    from .report import seconds

    output = Path(args.output)
    if not output.absolute().parent.is_dir():
        raise QuantizationError(f"{output}: its directory does not exist")
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
    save_choices(replace(tuning.choices, profile=args.profile), output, more)
    console.print(f"choices written to {output}", soft_wrap=True)
    return 0


def main(args: Sequence[str] | None = None) -> int:
    """
    Returns the command line: `args` are by default those of the process. Returns the exit code.

    Errors are printed on stderr in one line, with exit code 1.
    """
    return run_tool("glow-tune-quantization", _arguments, run, args)


if __name__ == "__main__":
    sys.exit(main())
