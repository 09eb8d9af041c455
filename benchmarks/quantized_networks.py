"""
Makes the quantized versions of a network, for `quantized.py`, in a process of its own.

    python -m glow.benchmarks.quantized_networks NETWORK FOLDER KIND

KIND is `qdq` for static quantization by onnxruntime's quantizer, `ours` for our own, exported as an
ONNX model, or `dynamic` for onnxruntime's dynamic quantization of matrix products. NETWORK is a
name or an .onnx file. Activations are u8 by minimum and maximum over a few random inputs, weights
i8 with a scale for each output channel. The path of the model is printed.
"""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import onnx

SAMPLES = 4
"""The number of inputs from which ranges are taken."""
OPSET = 13
"""The first with a scale for each channel."""


def inputs(path: Path) -> Iterator[dict[str, np.ndarray]]:
    """Yields random inputs of a model; the first is the one that the benchmark runs on."""
    from glow.benchmarks.cases import random_feed

    for seed in range(SAMPLES):
        yield random_feed(path, seed)


def static(source: Path, target: Path) -> None:
    """Quantizes by onnxruntime, with QuantizeLinear and DequantizeLinear."""
    from onnxruntime.quantization import (
        CalibrationDataReader,
        QuantFormat,
        QuantType,
        quantize_static,
    )
    from onnxruntime.quantization.shape_inference import quant_pre_process

    feeds = inputs(source)

    class Reader(CalibrationDataReader):
        def get_next(self) -> Mapping[str, np.ndarray] | None:  # pyright: ignore
            return next(feeds, None)

    prepared = target.with_suffix(".prepared.onnx")
    quant_pre_process(_recent(source, prepared), prepared, skip_symbolic_shape=True)
    quantize_static(
        prepared,
        target,
        Reader(),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
    )
    prepared.unlink()


def dynamic(source: Path, target: Path) -> None:
    """Quantizes matrix products by onnxruntime; the left operand is quantized at run time."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(
        source,
        target,
        op_types_to_quantize=["MatMul"],
        per_channel=True,
        weight_type=QuantType.QInt8,
    )


def ours(source: Path, target: Path) -> None:
    """Profiles and quantizes by our own tools."""
    from glow import quantization
    from glow.frontend.onnx.export import export_onnx

    profile = quantization.profile(str(source), inputs(source))
    graph = quantization.optimized_graph(str(source))
    quantization.quantize(graph, profile, quantization.Quantization(activations="u8"))
    onnx.save(export_onnx(graph), target)


KINDS: Mapping[str, Callable[[Path, Path], None]] = {
    "qdq": static,
    "ours": ours,
    "dynamic": dynamic,
}


def _recent(source: Path, target: Path) -> Path:
    """Returns the model, converted to an opset that can be quantized."""
    model = onnx.load(source)
    version = max(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    if version >= OPSET:
        return source
    onnx.save(onnx.version_converter.convert_version(model, OPSET), target)
    return target


def quantized_file(network: str, folder: Path, kind: str) -> Path:
    """
    Returns the file of a quantized network in `folder`, made if it is not there yet or too old.
    """
    from glow.benchmarks.cases import model_file

    source = model_file(network, folder, 1)
    target = folder / f"{source.stem}-{kind}.onnx"
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        partial = target.with_suffix(f".{os.getpid()}.part")
        KINDS[kind](source, partial)
        partial.replace(target)
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a quantized network.")
    parser.add_argument("network", help="a name or an .onnx file")
    parser.add_argument("folder", type=Path)
    parser.add_argument("kind", choices=list(KINDS))
    options = parser.parse_args()
    logging.getLogger().setLevel(logging.ERROR)
    print(quantized_file(options.network, options.folder, options.kind))


if __name__ == "__main__":
    main()
