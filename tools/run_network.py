"""The work of `glow-run`: a network is compiled, runs, and is reported on."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .. import compile as glow_compile
from ..errors import GlowError
from ..wording import counted
from . import quantized_runs, time_profiles
from .arguments import cpu_options
from .compile_progress import shown_progress
from .ignored_options import warn_after_run, warn_before_run
from .inputs import load_inputs, preprocessing_of, read_labels
from .output_file import save_arrays
from .report import (
    difference,
    difference_table,
    error_table,
    input_table,
    is_classification,
    memory_table,
    summary_table,
    time_table,
    top_table,
)
from .run_checks import ONNXRUNTIME, check_model, check_options
from .run_programs import compile_times, dump_stages, programs_of
from .sizes import specialized

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..interface.signature import TensorInfo
    from ..models.compiled_model import CompiledModel


def _labels(path: str | None) -> list[str]:
    if path is None:
        return []
    return read_labels(path).splitlines()


def _timed_runs(
    model: CompiledModel, feed: dict[str, np.ndarray], repeat: int
) -> tuple[dict[str, np.ndarray], float, list[float]]:
    """
    Returns outputs by name, the time of the first run, and those of `repeat` more if that is above
    1.
    """
    runs: list[float] = []
    outputs: Sequence[object] = []
    for _ in range(1 + repeat * (repeat > 1)):
        start = time.perf_counter()
        outputs = model.run(None, feed)
        runs.append(time.perf_counter() - start)
    return _named(model, outputs), runs[0], runs[1:]


def _named(model: CompiledModel, outputs: Sequence[object]) -> dict[str, np.ndarray]:
    """Returns outputs by name, elements of sequences as `name[index]`, without those not there."""
    found: dict[str, np.ndarray] = {}
    for info, value in zip(model.get_outputs(), outputs, strict=True):
        if isinstance(value, list):
            found |= {f"{info.name}[{i}]": np.asarray(part) for i, part in enumerate(value)}
        elif value is not None:
            found[info.name] = np.asarray(value)
    return found


def _onnxruntime(path: str, feed: dict[str, np.ndarray]) -> Sequence[object]:
    try:
        # only for comparisons: it is an extra of the package
        import onnxruntime
    except ImportError:
        raise GlowError("onnxruntime is not installed: pip install glow-compiler[bench]") from None
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, feed)


def _reference(args: argparse.Namespace, feed: dict[str, np.ndarray]) -> Sequence[object]:
    if args.compare == ONNXRUNTIME:
        return _onnxruntime(args.model, feed)
    model = glow_compile(args.model, backend=args.compare, symbols=dict(args.define_symbol))
    return model.run(None, feed)


def _compare(
    args: argparse.Namespace,
    model: CompiledModel,
    feed: dict[str, np.ndarray],
    outputs: dict[str, np.ndarray],
    console: Console,
) -> bool:
    """Prints the differences; True if all are within the tolerance."""
    expected = _named(model, _reference(args, feed))
    if missing := outputs.keys() ^ expected.keys():
        raise GlowError(f"--compare {args.compare}: only one of both computes {min(missing)}")
    differences = {name: difference(found, expected[name]) for name, found in outputs.items()}
    limit = args.tolerance
    if limit is None:
        half = any(a.dtype.itemsize == 2 and a.dtype.kind in "fV" for a in outputs.values())
        limit = 1e-2 if half else 1e-4
    console.print(difference_table(differences, args.compare, limit))
    return all(d.relative <= limit for d in differences.values())


def _precision_errors(
    args: argparse.Namespace, feed: dict[str, np.ndarray], outputs: dict[str, np.ndarray]
) -> Table:
    """Returns the differences of outputs from the outputs that the same backend computes in f32."""
    exact = glow_compile(
        args.model,
        symbols=dict(args.define_symbol),
        cache=not args.no_cache,
        max_elements=args.max_elements,
        **cpu_options(args, "threads", "pin", "precision"),
    )
    expected = _named(exact, exact.run(None, feed))
    return error_table({name: (found, expected[name]) for name, found in outputs.items()})


def _inputs(
    args: argparse.Namespace, model: CompiledModel
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Returns the inputs of the run by name, and where each comes from."""
    infos = model.get_inputs()
    if args.data is not None and not args.input:
        feed = quantized_runs.first_batch(args, model)
        return feed, {info.name: f"{args.data}, first batch" for info in infos}
    rng = np.random.default_rng(args.seed)
    return load_inputs(args.input, infos, preprocessing_of(args), rng)


@contextmanager
def _random_inputs_noted(infos: Sequence[TensorInfo], origins: Mapping[str, str]) -> Iterator[None]:
    """Says on stderr which integers are random if the network fails, which may be their fault."""
    try:
        yield
    except GlowError:
        drawn = [i.name for i in infos if i.dtype.kind in "iu" and origins[i.name] == "random"]
        if drawn:
            print(
                f"glow-run: note: no --input gives {', '.join(drawn)}: random integers",
                file=sys.stderr,
            )
        raise


def _compiled(args: argparse.Namespace) -> CompiledModel:
    with shown_progress() as progress:
        model = glow_compile(
            args.model,
            backend=args.backend,
            symbols=dict(args.define_symbol),
            cache=not args.no_cache,
            max_elements=args.max_elements,
            progress=progress,
            quantize=quantized_runs.pipeline_of(args),
            timed=time_profiles.is_timed(args),
            **cpu_options(args),
        )
        return specialized(args, model)


def _show_outputs(
    args: argparse.Namespace,
    outputs: dict[str, np.ndarray],
    labels: Sequence[str],
    console: Console,
) -> bool:
    """Prints scores of classes and summaries of other outputs; whether there are such scores."""
    classified = {n: a for n, a in outputs.items() if is_classification(a)}
    for name, array in classified.items():
        console.print(top_table(name, array, args.top_k, labels))
    rest = {n: a for n, a in outputs.items() if n not in classified}
    if rest:
        console.print(summary_table(rest))
    return bool(classified)


def run(args: argparse.Namespace, console: Console) -> int:
    """Runs the command of the arguments, and returns the exit code."""
    check_options(args)
    warn_before_run(args)
    labels = _labels(args.labels)
    model = _compiled(args)
    check_model(args, model)
    infos = model.get_inputs()
    feed, origins = _inputs(args, model)
    with _random_inputs_noted(infos, origins):
        programs = programs_of(model, feed)
    times, cached = compile_times(programs), all(made.from_cache for made in programs)
    if args.dump_stages is not None:
        written = dump_stages(programs, Path(args.dump_stages))
        console.print(f"{counted(len(written), 'file')} written to {args.dump_stages}")
    with _random_inputs_noted(infos, origins):
        outputs, first, runs = _timed_runs(model, feed, args.repeat)
    if infos:
        console.print(input_table(infos, origins))
    classified = _show_outputs(args, outputs, labels, console)
    console.print(time_table(times, first, runs, cached))
    plans = [made.memory for made in programs if made.memory is not None]
    console.print(memory_table(plans, model.peak_memory))
    time_profiles.show(args, model, feed, console)
    if args.output is not None:
        save_arrays(args.output, outputs)
        console.print(f"outputs written to {args.output}")
    if args.precision == "bf16":
        console.print(_precision_errors(args, feed, outputs))
    quantized_runs.show_report(args, model, console)
    warn_after_run(args, model, origins, classified)
    if args.compare == quantized_runs.FLOAT:
        batches = quantized_runs.batches_of(args, model, feed)
        random = args.data is None and "random" in origins.values()
        pipeline = quantized_runs.pipeline_of(args)
        assert pipeline is not None, "there are options that change numbers"
        # only this comparison computes a second network value by value
        from .quantization_effects import compare_with_float

        compare_with_float(args, model, pipeline, batches, random, console)
    elif args.compare is not None:
        return 0 if _compare(args, model, feed, outputs, console) else 1
    return 0
