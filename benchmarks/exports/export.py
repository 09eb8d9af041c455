"""
Exports architectures as ONNX files, by both exporters of PyTorch, with fixed and symbolic shapes:

    python -m glow.benchmarks.exports.export --folder DIR [NAME...] [--scale full]

Beside each model there is an .npz file with inputs for each of its sizes: arrays called
`INDEX/NAME`. Files that exist are kept.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from math import prod, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import torch  # pyright: ignore[reportMissingImports]

from .architecture import Architecture, Input, Scale
from .images import IMAGES
from .sequences import SEQUENCES
from .text import TEXT
from .vision import VISION

ARCHITECTURES: dict[str, Architecture] = {**IMAGES, **SEQUENCES, **TEXT, **VISION}
EXPORTERS = ("torchscript", "dynamo")
SHAPES = ("fixed", "symbolic")


_GAIN = 1.6
"""The second moment after a matrix by that before: between 1, and 2 for those behind rectifiers."""


def network(scale: Scale, seed: int = 0) -> Any:
    """
    Returns the network of a scale with seeded random weights. Matrices keep the size of activations
    through many layers. Parameters and statistics that a fresh network has constant, such as those
    of normalisations, differ from element to element.
    """
    torch.manual_seed(seed)
    model = scale.build().eval()
    with torch.no_grad():
        for value in model.parameters():
            if value.ndim > 1:
                value.normal_(0.0, sqrt(_GAIN / prod(value.shape[1:])))
        for value in [*model.parameters(), *model.buffers()]:
            if value.is_floating_point() and value.numel() > 1 and value.min() == value.max():
                value.add_(torch.rand_like(value) * 0.2)
    return model


def export(model: Any, scale: Scale, path: Path, exporter: str, symbolic: bool) -> None:
    """Exports a network to `path`. Raises what PyTorch raises."""
    feed = scale.feeds(0)[0]
    args = tuple(torch.from_numpy(feed[i.name]) for i in scale.inputs)
    options: dict[str, Any] = {"input_names": [i.name for i in scale.inputs]}
    if exporter == "torchscript":
        options["dynamic_axes"] = _axes(scale.inputs) if symbolic else None
        options["opset_version"] = 18
    elif symbolic:
        options["dynamic_shapes"] = _dynamic_shapes(model, scale.inputs)
    torch.onnx.export(
        model, args, str(path), dynamo=exporter == "dynamo", external_data=False, **options
    )


def _axes(inputs: Sequence[Input]) -> dict[str, dict[int, str]]:
    return {i.name: i.symbols for i in inputs if i.symbols}


def _dynamic_shapes(model: Any, inputs: Sequence[Input]) -> Any:
    """Returns the symbols of arguments, in the structure of the parameters of `forward`."""
    code = type(model).forward.__code__
    named = max(0, code.co_argcount - 1)
    each = [i.symbols for i in inputs]
    has_rest = bool(code.co_flags & 0x04)
    return (*each[:named], tuple(each[named:])) if has_rest else tuple(each)


def write_feeds(scale: Scale, path: Path) -> None:
    arrays = {
        f"{i}/{name}": array
        for i, feed in enumerate(scale.feeds(1))
        for name, array in feed.items()
    }
    np.savez(path, allow_pickle=False, **arrays)


def model_path(folder: Path, name: str, scale: str, exporter: str, shapes: str) -> Path:
    return folder / f"{name}.{scale}.{exporter}.{shapes}.onnx"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exports what the command line names; returns 0."""
    parser = argparse.ArgumentParser(prog="glow.benchmarks.exports.export", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ARCHITECTURES))
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--scale", choices=["small", "full"], default="small")
    parser.add_argument("--exporter", choices=EXPORTERS, action="append")
    parser.add_argument("--shapes", choices=SHAPES, action="append")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    # neither exporter knows the operator that stands for a whole layer
    torch.backends.mha.set_fastpath_enabled(False)
    for name in options.names or ARCHITECTURES:
        architecture = ARCHITECTURES[name]
        scale = architecture.small if options.scale == "small" else architecture.full
        if scale is None:
            continue
        for exporter in options.exporter or EXPORTERS:
            for shapes in options.shapes or SHAPES:
                path = model_path(options.folder, name, options.scale, exporter, shapes)
                if not path.exists():
                    _exported(scale, path, exporter, shapes)
    return 0


def _exported(scale: Scale, path: Path, exporter: str, shapes: str) -> None:
    """Exports one model, and prints what came of it."""
    start = time.perf_counter()
    partial = path.with_suffix(".part")
    try:
        with torch.no_grad():
            export(network(scale), scale, partial, exporter, shapes == "symbolic")
    except Exception as error:  # an exporter may fail in any way
        partial.unlink(missing_ok=True)
        first = (str(error).strip().splitlines() or [""])[0]
        print(f"{path.stem}: not exported: {type(error).__name__}: {first[:200]}", flush=True)
        return
    write_feeds(scale, path.with_suffix(".npz"))
    partial.rename(path)
    print(f"{path.stem}: {time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
