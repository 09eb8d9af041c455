"""
`glow-tune`: measure schedules of the kernels of a network, and keep those that are faster than the
cost model's choice.

```
glow-tune model.onnx --seconds 120 -o model.tuned
glow-run model.onnx --schedules model.tuned
```
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .arguments import Parser, add_cpu_options, add_model_arguments, run_tool

if TYPE_CHECKING:
    from rich.console import Console


def _arguments() -> argparse.ArgumentParser:
    parser = Parser(
        prog="glow-tune",
        description="Measure schedules of the kernels of a network on this machine, one thread, "
        "and keep those that are faster than the choice of the cost model.",
    )
    parser.add_argument("model", help="an ONNX file, or text of the graph dialect (.mlir)")
    group = parser.add_argument_group("search")
    group.add_argument(
        "--seconds", type=_seconds, default=60.0, metavar="S", help="the time to search; default 60"
    )
    group.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write the schedules here, beside those of other kernels that are there; default: the "
        "file of this machine in the cache, which compilation reads unless told otherwise",
    )
    group = parser.add_argument_group("compilation", "As the network is to be compiled afterwards.")
    add_model_arguments(group)
    add_cpu_options(group, "threads", "conv_algorithm", "precision")
    group.add_argument(
        "--quantize",
        metavar="FILE.json",
        help="a profile of glow-profile, or choices of glow-tune-quantization",
    )
    return parser


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, found {text!r}")
    return found


def _run(args: argparse.Namespace, console: Console) -> int:
    # what answers --help does not load numpy and the compiler
    from .tune_schedules import run

    return run(args, console)


def main(args: Sequence[str] | None = None) -> int:
    """
    Runs the tool with `args`, by default those of the process. Returns the exit code.

    Errors are printed on stderr in one line, with exit code 1.
    """
    return run_tool("glow-tune", _arguments, _run, args)


if __name__ == "__main__":
    sys.exit(main())
