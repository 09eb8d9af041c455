"""The output of `glow-run` for networks in other numbers than those of the model."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ..errors import InputError
from .arguments import quantization_choices
from .datasets import open_dataset
from .inputs import preprocessing_of

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from ..models.compiled_model import CompiledModel


FLOAT = "float"
"""The value of `--compare` that compares with the network in floats."""


def pipeline_of(args: argparse.Namespace) -> str | None:
    """Returns the passes that change the numbers of the optimized graph; None if there are none."""
    choices = quantization_choices(args)
    passes = [] if choices is None else [str(choices)]
    if choices is None and args.weights is not None:
        # most runs quantize nothing
        from ..quantization.weights import WeightQuantization

        passes.append(WeightQuantization(args.weights, args.group).pipeline)
    if args.convert_to is not None:
        passes.append(_conversion(args))
    return ",".join(passes) or None


def _conversion(args: argparse.Namespace) -> str:
    """Returns the pass for `--convert-to`."""
    keep = [name for text in args.keep_wide for name in text.split(",") if name]
    wide = []
    if args.ranges is not None:
        # only this option reads a profile
        from .quantization_effects import beyond_range

        wide = beyond_range(args.ranges, args.convert_to)
    lists = "".join(
        f" {option}={','.join(map(json.dumps, names))}"
        for option, names in (("keep", keep), ("wide", wide))
        if names
    )
    return f'glow-convert-to{{element="{args.convert_to}" overflow="{args.overflow}"{lists}}}'


def show_report(args: argparse.Namespace, model: CompiledModel, console: Console) -> None:
    """Prints what was quantized, what stays float and why, and which conversions remain."""
    choices = quantization_choices(args)
    if choices is None and args.weights is None:
        return
    if choices is None:
        # most runs quantize nothing
        from ..quantization.weights import weight_lines

        for line in weight_lines(model.stages["quantized"]):
            console.print(line, soft_wrap=True)
        return
    # most runs quantize nothing
    from .quantization_effects import show_changes

    show_changes(choices, model, console)


def batches_of(
    args: argparse.Namespace, model: CompiledModel, feed: Mapping[str, np.ndarray]
) -> Iterable[Mapping[str, np.ndarray]]:
    """Returns the samples of `--data`, else the inputs of the run."""
    if args.data is None:
        return [feed]
    return open_data(args, model)


def open_data(args: argparse.Namespace, model: CompiledModel) -> Iterable[Mapping[str, np.ndarray]]:
    return open_dataset(args.data, model.get_inputs(), preprocessing_of(args), args.limit)


def first_batch(args: argparse.Namespace, model: CompiledModel) -> dict[str, np.ndarray]:
    """Returns the first samples of `--data`. Raises InputError if there are none."""
    for feed in open_data(args, model):
        return dict(feed)
    raise InputError(f"{args.data}: there are no data")
