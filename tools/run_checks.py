"""The checks of `glow-run` whose errors are reported before a network runs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import GlowError, QuantizationError
from ..interface.backend import backend_names, foreign_options, option_owners
from ..model_forms import is_text
from .output_file import expect_directory, expect_folder
from .quantized_runs import FLOAT

if TYPE_CHECKING:
    from ..models.compiled_model import CompiledModel

ONNXRUNTIME = "onnxruntime"
"""The value of `--compare` that compares with the results of onnxruntime."""
_QUANTIZED = "quantized"
"""The stage that changes the numbers of a network."""


def check_options(args: argparse.Namespace) -> None:
    """Raises GlowError for options that no compilation and no run can use."""
    for name in (args.output, args.profile):
        # --profile without a file is True
        if isinstance(name, str):
            expect_directory(name)
    if args.dump_stages is not None:
        expect_folder(args.dump_stages)
    flags = _number_flags(args)
    if args.compare == FLOAT:
        if not flags:
            raise QuantizationError("--compare float: expected --quantize or --convert-to, too")
    elif args.compare not in (None, ONNXRUNTIME, *(names := backend_names())):
        raise GlowError(
            f"--compare: no backend is called {args.compare!r}; "
            f"expected {', '.join(names)}, {ONNXRUNTIME} or {FLOAT}"
        )
    owners = option_owners(["quantize"])
    if flags and args.backend in backend_names() and args.backend not in owners:
        raise foreign_options(flags, owners, args.backend)


def check_model(args: argparse.Namespace, model: CompiledModel) -> None:
    """
    Raises GlowError for options that change the numbers of a network, if the model is the file of a
    stage that comes after this change.
    """
    # an ONNX model begins with the first stage, and its modules are not needed
    if _number_flags(args) and is_text(args.model) and _QUANTIZED not in model.stages:
        raise GlowError(
            f"{args.model} is behind the stage that quantizes: start from the model, or from a "
            "file of an earlier stage"
        )


def _number_flags(args: argparse.Namespace) -> list[str]:
    """Returns the given options that change the numbers of a network."""
    names = ("quantize", "weights", "convert_to")
    return [f"--{n.replace('_', '-')}" for n in names if getattr(args, n) is not None]
