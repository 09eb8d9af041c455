"""`glow-run --profile`: where the time of a network goes, in tables and as a trace."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import GlowError

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from ..models.compiled_model import CompiledModel

RUNS = 20
"""The number of runs that are measured by default."""
FILE_WIDTH = 160
"""The characters of a line of the table if it does not go to a screen."""


def add_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--profile",
        nargs="?",
        const=True,
        type=_trace_file,
        metavar="FILE.json",
        help="measure each instruction of the running network (backend cpu; --repeat runs, "
        f"default {RUNS}), and with a file write a timeline of one run as JSON for Perfetto",
    )


def _trace_file(text: str) -> str:
    if not text.endswith(".json"):
        # most likely the value of a flag that has no file
        raise argparse.ArgumentTypeError(
            f"expected a file that ends in .json, found {text!r}; without a file, put --profile "
            "behind the model"
        )
    return text


def is_timed(args: argparse.Namespace) -> bool:
    """Returns whether a profile is wanted. Raises GlowError for a backend that has none."""
    if args.profile is None:
        return False
    if args.backend != "cpu":
        raise GlowError(f"--profile measures programs of the backend cpu, found {args.backend!r}")
    return True


def show(
    args: argparse.Namespace, model: CompiledModel, feed: dict[str, np.ndarray], console: Console
) -> None:
    """Measures and prints, if that is wanted."""
    if not is_timed(args):
        return
    # most runs are not measured
    from .time_tables import instruction_table, kind_table

    inputs = [feed[info.name] for info in model.get_inputs()]
    profile = model.profile(*inputs, repeat=args.repeat if args.repeat > 1 else RUNS)
    shown = console.width
    if not console.is_terminal:
        console.width = max(shown, FILE_WIDTH)
    console.print(kind_table(profile), instruction_table(profile))
    console.width = shown
    if args.profile is not True:
        profile.write_trace(args.profile)
        console.print(f"timeline of one run written to {args.profile}")
