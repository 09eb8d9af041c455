"""Warnings of `glow-run` about options that change nothing, with the reason."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import QuantizationError
from ..model_forms import is_text
from .arguments import quantization_choices
from .inputs import IMAGE_SUFFIXES

if TYPE_CHECKING:
    from ..models.compiled_model import CompiledModel

_IMAGES = ("image_mean", "image_scale", "image_channel_order", "image_layout")
_CONVERSION = ("overflow", "keep_wide", "ranges")
_STATIC = (
    *("calibration", "percentile", "schema", "activations", "weight_calibration"),
    *("weight_schema", "weights", "bias", "per_tensor", "everything", "storages"),
)
"""Choices of quantization that need a profile."""


def warn_before_run(args: argparse.Namespace) -> None:
    """Warns of options that other options make meaningless."""
    for names, reason in _by_options(args):
        _warn(args, names, reason)


def warn_after_run(
    args: argparse.Namespace,
    model: CompiledModel,
    origins: Mapping[str, str],
    classified: bool,
) -> None:
    """
    Warns of options that the network or the backend makes meaningless. `origins` are the sources of
    inputs, and `classified` is whether an output has scores of classes.
    """
    if "random" not in origins.values():
        _warn(args, ["seed"], "no input is random")
    if not classified:
        _warn(args, ["top_k", "labels"], "no output has scores of classes")
    # a backend that makes use of threads keeps their number
    if getattr(model.backend, "threads", None) is None:
        _warn(args, ["threads"], f"the backend {model.backend.name} runs on one thread")
    if not model.backend.keeps_code:
        _warn(args, ["no_cache"], f"the backend {model.backend.name} keeps no code")


def _by_options(args: argparse.Namespace) -> Iterator[tuple[list[str], str]]:
    if args.data is None:
        yield ["limit"], "there is no --data"
        if not any(Path(spec).suffix.lower() in IMAGE_SUFFIXES for spec in args.input):
            yield list(_IMAGES), "no input is an image"
    elif args.input and args.compare != "float":
        yield ["data"], "the inputs are given by --input"
    if args.compare in (None, "float"):
        yield ["tolerance"], "there is no --compare with a backend"
    if args.convert_to is None:
        yield list(_CONVERSION), "there is no --convert-to"
    if args.threads == 1:
        yield ["pin"], "there are no further --threads"
    if is_text(args.model):
        yield ["max_elements"], "the model is no ONNX model"
    yield from _of_quantization(args)


def _of_quantization(args: argparse.Namespace) -> Iterator[tuple[list[str], str]]:
    try:
        choices = quantization_choices(args)
    except (QuantizationError, OSError):
        return  # compilation reports the error
    if choices is None:
        return
    if choices.profile is None:
        yield list(_STATIC), "--quantize dynamic takes ranges of bytes while it runs"
    elif choices.calibration != "percentile":
        yield ["percentile"], "it is for --calibration percentile"


def _warn(args: argparse.Namespace, names: list[str], reason: str) -> None:
    ignored = [f"--{name.replace('_', '-')}" for name in names if name in args.given]
    if ignored:
        verb = "changes" if len(ignored) == 1 else "change"
        warnings.warn(f"{', '.join(ignored)} {verb} nothing: {reason}", stacklevel=3)
