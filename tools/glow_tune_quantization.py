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
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .arguments import (
    Parser,
    add_image_arguments,
    add_model_arguments,
    add_quantization_arguments,
    count,
    number,
    run_tool,
)

if TYPE_CHECKING:
    from rich.console import Console


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
        "--max-loss", type=number, required=True, metavar="L", help="the largest loss to accept"
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
        "--time", type=number, default=600.0, metavar="SECONDS", help="stop then; default: 600"
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


def _run(args: argparse.Namespace, console: Console) -> int:
    # what answers --help does not load numpy and the compiler
    from .tune_quantization import run

    return run(args, console)


def main(args: Sequence[str] | None = None) -> int:
    """
    Runs the tool with `args`, by default those of the process. Returns the exit code.

    Errors are printed on stderr in one line, with exit code 1.
    """
    return run_tool("glow-tune-quantization", _arguments, _run, args)


if __name__ == "__main__":
    sys.exit(main())
