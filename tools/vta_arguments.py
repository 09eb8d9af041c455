"""The options of `glow-run` for compiled VTA programs."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import GlowError
from ..runtime.vta.magic import is_container

_COMPILER_OPTIONS = (
    *("compare", "dump_stages", "conv_algorithm", "precision", "target_cpu", "profile"),
    *("quantize", "convert_to", "ranges"),
)
"""Options, by name, that mean nothing to a program that is already compiled."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("VTA programs (.vta), which run on the simulator")
    group.add_argument(
        "--statistics",
        action="store_true",
        help="print estimated cycles, use of the engines, and DRAM traffic, by layer if known",
    )
    group.add_argument(
        "--trace",
        metavar="FILE",
        help="write the estimated timeline: as a drawing if FILE ends in .svg, else as JSON for "
        "Perfetto",
    )


def is_program(args: argparse.Namespace) -> bool:
    """
    Returns whether the model is a VTA program. Raises GlowError for options that do not fit what it
    is.
    """
    if not is_container(Path(args.model)):
        for name in ("statistics", "trace"):
            if getattr(args, name):
                raise GlowError(f"--{name} is for VTA programs (.vta), found {args.model}")
        return False
    for name in _COMPILER_OPTIONS:
        if getattr(args, name) is not None:
            option = name.replace("_", "-")
            raise GlowError(f"{args.model} is a compiled VTA program: --{option} means nothing")
    return True
