"""The work of `glow-profile`: a network runs on data, and its values are counted."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress

from ..errors import QuantizationError
from ..progress_bar import progress_bar
from ..quantization import Histogram, Profile, Profiler, calibrate
from ..quantization.pictures import draw_profile
from ..wording import counted
from .datasets import open_dataset
from .inputs import Preprocessing
from .output_file import completed, expect_directory, expect_folder

LISTED = 10
"""The number of values with NaN or infinity that are named."""


def _expect_sense(args: argparse.Namespace) -> None:
    """Raises QuantizationError for arguments that do not go together."""
    if args.merge is not None and (args.model or args.data or args.add):
        raise QuantizationError("--merge takes profiles only: no model, no --data and no --add")
    if args.merge is None and not (args.model and args.data):
        raise QuantizationError("expected a model and --data, or profiles to --merge")
    if args.output is None and args.pictures is None:
        raise QuantizationError("expected -o FILE.json to write the profile, or --pictures DIR")
    # an error of the output is reported before a long run
    if args.output is not None:
        expect_directory(args.output)
    if args.pictures is not None:
        expect_folder(args.pictures)
        one = Histogram.of(np.zeros(1))
        calibrate(one, args.calibration, args.schema, args.storage, args.percentile)


def _run(args: argparse.Namespace) -> Profile:
    """Returns the profile of the model on the data, with a bar that shows progress on stderr."""
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
    with progress_bar(*columns) as bar:
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
    _expect_sense(args)
    before = Profile.load(args.add) if args.add is not None else None
    profile = _merged(args.merge) if args.merge is not None else _run(args)
    if before is not None:
        profile = before.merge(profile)
    _report(profile, console)
    if args.output is not None:
        with completed(args.output) as where:
            profile.save(where)
        console.print(f"profile written to {args.output}")
    if args.pictures is not None:
        written = draw_profile(
            profile, args.pictures, args.calibration, args.schema, args.storage, args.percentile
        )
        console.print(f"{counted(len(written), 'picture')} written to {args.pictures}")
    return 0
