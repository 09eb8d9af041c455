"""Reports of `glow-run` on a network in other numbers: the changes, and how far values move."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import ml_dtypes
from rich.text import Text

from ..context import make_context
from ..quantization import Comparison, Profile, name_values, optimized_graph, quantize
from ..quantization.conversions import conversion_lines, remaining_conversions
from ..quantization.observed import ObservedGraph
from ..runtime.stages import apply_pass, parse_pipeline
from ..wording import counted
from .report import decibels
from .tables import DataTable

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from ..models.compiled_model import CompiledModel
    from ..quantization.options import Quantization


def beyond_range(path: str, element: str) -> list[str]:
    """
    Returns values that were larger than what a type of floats holds, by a profile, with a warning
    that names them. Raises QuantizationError for a wrong file.
    """
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


def show_changes(choices: Quantization, model: CompiledModel, console: Console) -> None:
    """Prints what the choices quantized, what stays float and why, and which conversions remain."""
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
    pipeline: str,
    batches: Iterable[Mapping[str, np.ndarray]],
    random: bool,
    console: Console,
) -> None:
    """
    Prints how far each value is from that of the network in floats, worst first, and the same of
    the outputs of `model`; and, if inputs are `random`, that this says little. The passes
    `pipeline` change the numbers.
    """
    graph = optimized_graph(args.model, dict(args.define_symbol), args.max_elements)
    name_values(graph)
    changed = graph.clone()
    for p in parse_pipeline(pipeline):
        apply_pass(p, make_context(), changed)
    cache = not args.no_cache
    exact = ObservedGraph(graph, threads=args.threads, cache=cache)
    found = ObservedGraph(changed, threads=args.threads, cache=cache)
    infos = model.get_outputs()
    sized = [i for i, info in enumerate(infos) if None not in info.shape]
    nodes, outputs, samples = Comparison(), Comparison(), 0
    for feed in batches:
        values = exact.run(feed)
        nodes.add(values, found.run(feed))
        both = exact.outputs, model.run(None, dict(feed))
        outputs.add(*({infos[i].name: arrays[i] for i in sized} for arrays in both))
        samples += _rows(feed)
    measured = counted(samples, "random sample" if random else "sample")
    console.print(comparison_table(nodes, f"each value against float, {measured}"))
    if sized:
        console.print(comparison_table(outputs, f"outputs against float, {measured}", True))
    if others := [info.name for i, info in enumerate(infos) if i not in sized]:
        text = f"not compared, because data decide the size: {', '.join(others)}"
        console.print(text, soft_wrap=True)
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
