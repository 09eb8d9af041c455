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
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .arguments import (
    Parser,
    add_image_arguments,
    add_model_arguments,
    count,
    number,
    run_tool,
)

if TYPE_CHECKING:
    from rich.console import Console


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
        "their first dimension, .npz files an array for each input by name (any name if there is "
        "one input)",
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
        "--percentile", type=number, default=99.99, metavar="P", help="default: 99.99"
    )
    group.add_argument(
        "--schema",
        default="asymmetric",
        help="asymmetric (default), symmetric, symmetric_uint8 or power_of_two",
    )
    group.add_argument("--storage", default="i8", help="i4, u4, i8 (default), u8, i16, u16")


def _run(args: argparse.Namespace, console: Console) -> int:
    # what answers --help does not load numpy and the compiler
    from .profile_values import run

    return run(args, console)


def main(args: Sequence[str] | None = None) -> int:
    """
    Runs the tool with `args`, by default those of the process. Returns the exit code.

    Errors are printed on stderr in one line, with exit code 1.
    """
    return run_tool("glow-profile", _arguments, _run, args)


if __name__ == "__main__":
    sys.exit(main())
