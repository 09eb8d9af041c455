"""The output of `glow-run` for networks in other numbers than those of the model."""

from __future__ import annotations

import argparse
import json
import math
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rich.text import Text

from ..errors import GlowError, InputError, QuantizationError
from ..wording import counted
from .arguments import quantization_choices
from .tables import DataTable

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from ..compiled_model import CompiledModel
    from ..quantization import Comparison

FLOAT = "float"
"""What `--compare` is called to compare with the network in floats."""


def pipeline_of(args: argparse.Namespace) -> str | None:
    """Returns the passes that change the numbers of the optimized graph; None if there are none."""
    choices = quantization_choices(args)
    passes = [] if choices is None else [str(choices)]
    if args.convert_to is not None:
        passes.append(_conversion(args))
    return ",".join(passes) or None


def _conversion(args: argparse.Namespace) -> str:
    """Returns the pass for `--convert-to`."""
    keep = [name for text in args.keep_wide for name in text.split(",") if name]
    wide = [] if args.ranges is None else beyond_range(args.ranges, args.convert_to)
    lists = "".join(
        f" {option}={','.join(map(json.dumps, names))}"
        for option, names in (("keep", keep), ("wide", wide))
        if names
    )
    return f'glow-convert-to{{element="{args.convert_to}" overflow="{args.overflow}"{lists}}}'


def beyond_range(path: str, element: str) -> list[str]:
    """
    Returns values that were larger than what a type of floats holds, by a profile, with a warning
    that names them. Raises QuantizationError for a wrong file.
    """
    import ml_dtypes

    from ..quantization import Profile

    limit = float(ml_dtypes.finfo({"f16": "float16", "bf16": "bfloat16"}[element]).max)
    found = [
        v.key.name
        for v in Profile.load(path).values.values()
        if max(-v.histogram.low, v.histogram.high) > limit
    ]
    if found:
        text = f"beyond the range of {element}, and f32 still: {', '.join(found)}"
        warnings.warn(text, stacklevel=2)
    return found


def show_report(args: argparse.Namespace, model: CompiledModel, console: Console) -> None:
    """Prints what was quantized, what stays float and why, and which conversions remain."""
    choices = quantization_choices(args)
    if choices is None:
        return
    if "quantized" not in model.stages:
        raise GlowError(f"the backend {model.backend.name} does not quantize: use --backend cpu")
    from ..quantization import Profile, quantize
    from ..quantization.conversions import conversion_lines, remaining_conversions

    profile = None if choices.profile is None else Profile.load(choices.profile)
    graph = model.stages["optimized"].clone()
    report = quantize(graph, profile, choices, model.backend)
    for line in report.lines():
        console.print(line, soft_wrap=True)
    for line in conversion_lines(remaining_conversions(model.stages["quantized"])):
        console.print(line, soft_wrap=True)


def compare_with_float(
    args: argparse.Namespace,
    model: CompiledModel,
    batches: Iterable[Mapping[str, np.ndarray]],
    random: bool,
    console: Console,
) -> None:
    """
    Prints how far each value is from that of the network in floats, worst first, and the same of
    the outputs of `model`; and, if inputs are `random`, that this says little. Raises GlowError if
    the network is compiled in floats anyway.
    """
    from ..context import make_context
    from ..quantization import Comparison, name_values, optimized_graph
    from ..quantization.observed import ObservedGraph
    from ..runtime.stages import apply_pass, parse_pipeline

    pipeline = pipeline_of(args)
    if pipeline is None:
        raise QuantizationError("--compare float: expected --quantize or --convert-to, too")
    graph = optimized_graph(args.model, dict(args.define_symbol), args.max_elements)
    name_values(graph)
    changed = graph.clone()
    for p in parse_pipeline(pipeline):
        apply_pass(p, make_context(), changed)
    cache = not args.no_cache
    exact = ObservedGraph(graph, threads=args.threads, cache=cache)
    found = ObservedGraph(changed, threads=args.threads, cache=cache)
    names = [info.name for info in model.get_outputs()]
    nodes, outputs, samples = Comparison(), Comparison(), 0
    for feed in batches:
        values = exact.run(feed)
        nodes.add(values, found.run(feed))
        outputs.add(
            dict(zip(names, exact.outputs, strict=True)),
            dict(zip(names, model.run(None, dict(feed)), strict=True)),
        )
        samples += _rows(feed)
    measured = counted(samples, "random sample" if random else "sample")
    console.print(comparison_table(nodes, f"each value against float, {measured}"))
    console.print(comparison_table(outputs, f"outputs against float, {measured}", True))
    worst = nodes.worst
    assert worst is not None
    console.print(f"worst value: {worst.name}, {decibels(worst.snr_db)}", soft_wrap=True)
    if random:
        console.print(
            "the inputs were random numbers, and ratios on these say little of real data: compare "
            "on samples with --data DIR",
            soft_wrap=True,
        )


def _rows(feed: Mapping[str, np.ndarray]) -> int:
    first = next(iter(feed.values()), None)
    return 1 if first is None or not first.shape else first.shape[0]


def decibels(value: float) -> str:
    """Returns a ratio in dB; that of equal values is infinite."""
    return "exact" if value == math.inf else f"{value:.1f} dB"


def comparison_table(comparison: Comparison, title: str, scores: bool = False) -> DataTable:
    """
    Returns values with the least ratio of signal to noise first; with `scores`, also in how many
    rows the largest element is at the same place.
    """
    table = DataTable(title).texts("value")
    table.numbers("signal to noise", "largest difference", *(["top-1 agreement"] * scores))
    for v in sorted(comparison.values.values(), key=lambda v: v.snr_db):
        agreement = [f"{v.top1_agreement:.1%} of {v.rows}"] * scores
        table.add_row(v.name, Text(decibels(v.snr_db)), f"{v.largest:.3g}", *agreement)
    return table


def batches_of(
    args: argparse.Namespace, model: CompiledModel, feed: Mapping[str, np.ndarray]
) -> Iterable[Mapping[str, np.ndarray]]:
    """Returns the samples of `--data`, else the inputs of the run."""
    if args.data is None:
        return [feed]
    return open_data(args, model)


def open_data(args: argparse.Namespace, model: CompiledModel) -> Iterable[Mapping[str, np.ndarray]]:
    from .datasets import open_dataset
    from .inputs import preprocessing_of

    return open_dataset(args.data, model.get_inputs(), preprocessing_of(args), args.limit)


def first_batch(args: argparse.Namespace, model: CompiledModel) -> dict[str, np.ndarray]:
    """Returns the first samples of `--data`. Raises InputError if there are none."""
    for feed in open_data(args, model):
        return dict(feed)
    raise InputError(f"{args.data}: there are no data")


def signal_to_noise(error: float) -> str:
    """Returns a ratio of noise over signal as the inverse in dB."""
    return decibels(-10 * math.log10(error) if error > 0 else math.inf)
