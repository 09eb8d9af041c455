"""
`glow-profile` runs a network on data and writes a profile of its values.

```
glow-profile model.onnx --data pictures/ -o profile.json
glow-profile --merge monday.json tuesday.json -o both.json --pictures drawings/
```
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import QuantizationError
from ..wording import counted
from .arguments import (
    Parser,
    add_image_arguments,
    add_model_arguments,
    count,
    run_tool,
)

if TYPE_CHECKING:
    from rich.console import Console

    from ..quantization import Profile

LISTED = 10
"""The number of values with NaN or infinity that are named."""


def _arguments() -> argparse.ArgumentParser:
    parser = Parser(
        prog="glow-profile",
        description="Run a network on data and write the histograms of its values, which guide "
        "quantization.",
    )
    parser.add_argument(
        "model", nargs="?", help="an ONNX file, or text of the graph dialect (.mlir)"
    )
    group = parser.add_argument_group("data")
    group.add_argument(
        "--data",
        metavar="DIR|FILE",
        help="images, .npy or .npz files: a directory of them, or one; arrays have samples along "
        "their first dimension, .npz files an array for each input by name",
    )
    group.add_argument("--limit", type=count, metavar="N", help="use the first N samples only")
    add_image_arguments(group)
    group = parser.add_argument_group("running")
    group.add_argument("--backend", default="cpu", help="default: cpu")
    group.add_argument("--threads", type=count, default=1, metavar="N", help="default: 1")
    add_model_arguments(group)
    group.add_argument(
        "--no-cache", action="store_true", help="neither read nor keep compiled code"
    )
    group.add_argument(
        "--bins", type=count, metavar="N", default=2048, help="of each histogram; default: 2048"
    )
    group.add_argument(
        "--nan",
        choices=("refuse", "ignore"),
        default="refuse",
        help="what to do with NaN and infinity: stop with an error (default), or count them apart",
    )
    _output_arguments(parser)
    return parser


def _output_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument("-o", "--output", metavar="FILE.json", help="write the profile")
    group.add_argument("--add", metavar="FILE.json", help="a profile to which this run is added")
    group.add_argument(
        "--merge", nargs="+", metavar="FILE.json", help="put profiles together; needs no model"
    )
    group.add_argument(
        "--pictures", metavar="DIR", help="draw the histogram of each value here, as SVG"
    )
    group.add_argument(
        "--calibration",
        default="min-max",
        help="whose range the pictures show: min-max (default), percentile, entropy or mse",
    )
    group.add_argument(
        "--percentile", type=float, default=99.99, metavar="P", help="default: 99.99"
    )
    group.add_argument(
        "--schema",
        default="asymmetric",
        help="asymmetric (default), symmetric, symmetric_uint8 or power_of_two",
    )
    group.add_argument("--storage", default="i8", help="i4, u4, i8 (default), u8, i16, u16")


def _expect_sense(args: argparse.Namespace) -> None:
    """Raises QuantizationError for arguments that do not go together."""
    if args.merge is not None and (args.model or args.data or args.add):
        raise QuantizationError("--merge takes profiles only: no model, no --data and no --add")
    if args.merge is None and not (args.model and args.data):
        raise QuantizationError("expected a model and --data, or profiles to --merge")
    if args.output is None and args.pictures is None:
        raise QuantizationError("expected -o FILE.json to write the profile, or --pictures DIR")
    # an error of the output is reported before a long run
    if args.output is not None and not Path(args.output).absolute().parent.is_dir():
        raise QuantizationError(f"{args.output}: its directory does not exist")
    if args.pictures is not None:
        from ..quantization import Histogram, calibrate

        one = Histogram.of(np.zeros(1))
        calibrate(one, args.calibration, args.schema, args.storage, args.percentile)


def _run(args: argparse.Namespace) -> Profile:
    """Returns the profile of the model on the data, with a bar that shows progress on stderr."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress

    from ..quantization import Profiler
    from .datasets import open_dataset
    from .inputs import Preprocessing

    profiler = Profiler(
        args.model,
        args.bins,
        args.nan,
        args.backend,
        args.threads,
        dict(args.define_symbol),
        args.max_elements,
        not args.no_cache,
    )
    preprocessing = Preprocessing(
        args.image_mean, args.image_scale, args.image_channel_order, args.image_layout
    )
    data = open_dataset(args.data, profiler.program.get_inputs(), preprocessing, args.limit)
    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    screen = Console(stderr=True)
    hidden = not screen.is_terminal
    with Progress(*columns, console=screen, transient=True, disable=hidden) as bar:
        task = bar.add_task("profiling", total=data.count())
        for feed in data:
            profiler.add(feed)
            bar.update(task, completed=profiler.samples)
    if data.left_over:
        warnings.warn(
            f"{counted(data.left_over, 'sample')} left out: a batch has {data.batch_size}",
            stacklevel=2,
        )
    return profiler.profile()


def _merged(paths: Sequence[str]) -> Profile:
    from ..quantization import Profile

    first, *others = (Profile.load(path) for path in paths)
    return first.merge(*others)


def _report(profile: Profile, console: Console) -> None:
    console.print(f"{counted(len(profile.values), 'value')}, {counted(profile.samples, 'sample')}")
    wrong = [v for v in profile.values.values() if v.histogram.nans or v.histogram.infinities]
    for value in wrong[:LISTED]:
        h = value.histogram
        console.print(
            f"ignored in {value.key.name} ({value.key.operator}): "
            f"{h.nans} NaN, {h.infinities} infinite; {counted(h.count, 'number')} counted"
        )
    if len(wrong) > LISTED:
        console.print(f"and in {counted(len(wrong) - LISTED, 'more value')}")


def run(args: argparse.Namespace, console: Console) -> int:
    """Runs the command of the arguments, and returns the exit code."""
    from ..quantization import Profile
    from ..quantization.pictures import draw_profile

    _expect_sense(args)
    before = Profile.load(args.add) if args.add is not None else None
    profile = _merged(args.merge) if args.merge is not None else _run(args)
    if before is not None:
        profile = before.merge(profile)
    _report(profile, console)
    if args.output is not None:
        profile.save(Path(args.output))
        console.print(f"profile written to {args.output}")
    if args.pictures is not None:
        written = draw_profile(
            profile, args.pictures, args.calibration, args.schema, args.storage, args.percentile
        )
        console.print(f"{counted(len(written), 'picture')} written to {args.pictures}")
    return 0


def main(args: Sequence[str] | None = None) -> int:
    """
    Returns the command line: `args` are by default those of the process. Returns the exit code.

    Errors are printed on stderr in one line, with exit code 1.
    """
    return run_tool("glow-profile", _arguments, run, args)


if __name__ == "__main__":
    sys.exit(main())
