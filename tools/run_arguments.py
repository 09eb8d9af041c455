"""The options of `glow-run`."""

from __future__ import annotations

import argparse

from . import time_profiles, vta_arguments
from .arguments import (
    Parser,
    add_cpu_options,
    add_image_arguments,
    add_model_arguments,
    add_quantization_arguments,
    amount,
    count,
    seed,
)


def run_parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line of `glow-run`."""
    parser = Parser(
        prog="glow-run",
        description="Compile a network (.onnx, or .mlir of the graph dialect) and run it.",
    )
    parser.add_argument(
        "model",
        help="an ONNX file, text of the graph dialect or of a later stage (.mlir), or a VTA "
        "program (.vta)",
    )
    _input_arguments(parser)
    _compilation_arguments(parser)
    _running_arguments(parser)
    _output_arguments(parser)
    add_quantization_arguments(parser, few_bits=True)
    vta_arguments.add_arguments(parser)
    return parser


def _input_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("inputs")
    group.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="a .npy, .npz or .pb file or an image; may repeat; inputs not given are random",
    )
    group.add_argument("--seed", type=seed, default=0, help="of random inputs; default 0")
    group.add_argument(
        "--data",
        metavar="DIR|FILE",
        help="many samples, as for glow-profile: --compare float uses all, else the first batch",
    )
    group.add_argument("--limit", type=count, metavar="N", help="the first N samples of --data")
    add_image_arguments(group)


def _compilation_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("compilation")
    group.add_argument("--backend", default="cpu", help="default: cpu")
    add_model_arguments(group)
    add_cpu_options(group, "target_cpu", "target_features", "conv_algorithm")
    group.add_argument(
        "--no-winograd",
        action="store_const",
        const="direct",
        dest="conv_algorithm",
        help="the same as --conv-algorithm=direct: sums of products as in the definition",
    )
    add_cpu_options(group, "precision", "memory_budget", "schedules", "sanitize")
    group.add_argument(
        "--quantize",
        metavar="FILE.json|dynamic",
        help="a profile of glow-profile, choices of glow-tune-quantization, or dynamic: matrix "
        "products find the range of their operand while running",
    )
    _conversion_arguments(group)
    group.add_argument(
        "--no-cache", action="store_true", help="neither read nor keep compiled code"
    )
    group.add_argument("--dump-stages", metavar="DIR", help="write the IR of every stage here")


def _conversion_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--convert-to",
        choices=("f16", "bf16"),
        help="store in these floats what the backend supports in them",
    )
    group.add_argument(
        "--keep-wide",
        action="append",
        default=[],
        metavar="NAME,KIND",
        help="values, or operators such as softmax, that --convert-to leaves in f32; may repeat",
    )
    group.add_argument(
        "--ranges",
        metavar="PROFILE.json",
        help="values that were beyond the range of --convert-to stay in f32",
    )
    group.add_argument(
        "--overflow",
        choices=("saturate", "refuse"),
        default="saturate",
        help="what --convert-to does with constants beyond the range: saturate them with a warning "
        "(default), or stop with an error",
    )


def _running_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("running")
    add_cpu_options(group, "threads", "pin")
    group.add_argument(
        "--repeat", type=count, default=1, metavar="N", help="timed runs after the first one"
    )
    time_profiles.add_arguments(group)
    group.add_argument(
        "--compare",
        metavar="BACKEND",
        help="run on another backend as well, or on onnxruntime, and report differences; "
        "the exit code is 1 if one is above the tolerance. float: compare each value of a "
        "quantized network with that in float",
    )
    group.add_argument(
        "--tolerance",
        type=amount,
        help="largest difference relative to the largest value; default 1e-4, 16-bit floats 1e-2",
    )


def _output_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument("--output", metavar="FILE.npz", help="write the outputs")
    group.add_argument("--top-k", type=count, default=5, metavar="K", help="classes to show")
    group.add_argument("--labels", metavar="FILE", help="names of the classes, one in each line")
