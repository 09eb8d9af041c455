"""
Makes the file of a network, for a batch of images, and random inputs; `run.py` starts it.

    python -m glow.benchmarks.cases NETWORK FOLDER FEED [--batch 1]

NETWORK is a name or an .onnx file. Files of named networks are kept in FOLDER; the inputs are
written to FEED, an .npz file. The path of the model is printed. This is a process of its own, since
large networks take several times the memory of their files.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from glow.interface.signature import TensorInfo
from glow.loading import load_model
from glow.runtime.signature import signature_of
from glow.tools.inputs import random_array
from glow.tools.output_file import save_arrays
from onnx import GraphProto, ModelProto, ValueInfoProto, numpy_helper


def with_batch(model: ModelProto, batch: int) -> ModelProto:
    """
    Returns a copy of a model for inputs with `batch` instead of 1 in dimension 0.

    Reshapes of activations to `[1, ...]` keep dimension 0 instead. Raises ValueError if an input
    has another dimension 0, or an output does not follow.
    """
    made = ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    graph.ClearField("value_info")
    for value in _inputs(graph):
        _set_batch(value, batch)
    _keep_batch(graph)
    for value in graph.output:
        value.type.tensor_type.ClearField("shape")
    inferred = onnx.shape_inference.infer_shapes(made, strict_mode=True)
    for value in inferred.graph.output:
        sizes = [d.dim_value for d in value.type.tensor_type.shape.dim]
        if not sizes or sizes[0] != batch:
            raise ValueError(f"output {value.name} has the shape {sizes}, not {batch} of something")
    made.graph.ClearField("output")
    made.graph.output.extend(inferred.graph.output)
    return made


def _inputs(graph: GraphProto) -> list[ValueInfoProto]:
    constants = {t.name for t in graph.initializer}
    return [value for value in graph.input if value.name not in constants]


def _set_batch(value: ValueInfoProto, batch: int) -> None:
    sizes = value.type.tensor_type.shape.dim
    if not sizes or sizes[0].dim_value != 1:
        raise ValueError(f"input {value.name} is not a batch of one")
    sizes[0].dim_value = batch


def _keep_batch(graph: GraphProto) -> None:
    """
    Writes 0, which keeps the size, instead of 1 into the target shapes of reshapes of activations.
    """
    tensors = {t.name: t for t in graph.initializer}
    kept: dict[str, str] = {}
    for node in graph.node:
        if node.op_type != "Reshape" or node.input[0] in tensors or node.input[1] not in tensors:
            continue
        name = node.input[1]
        sizes = numpy_helper.to_array(tensors[name]).copy()
        if not sizes.size or sizes[0] != 1:
            continue
        if name not in kept:
            sizes[0] = 0
            kept[name] = f"{name}_any_batch"
            graph.initializer.append(numpy_helper.from_array(sizes, kept[name]))
        node.input[1] = kept[name]


def model_file(name: str, folder: Path, batch: int) -> Path:
    """
    Returns a file as it is; a name as the file of that network. Other batches are files in
    `folder`.
    """
    from glow.benchmarks.networks import network_file

    folder.mkdir(parents=True, exist_ok=True)
    path = Path(name) if Path(name).suffix == ".onnx" else network_file(name, folder)
    if batch == 1:
        return path
    target = folder / f"{path.stem}-batch{batch}.onnx"
    if not target.exists() or target.stat().st_mtime < path.stat().st_mtime:
        partial = target.with_suffix(f".{os.getpid()}.part")
        partial.write_bytes(with_batch(onnx.load(path), batch).SerializeToString())
        partial.replace(target)
    return target


def random_feed(path: Path, seed: int) -> dict[str, np.ndarray]:
    """Returns random inputs of an ONNX model; dimensions without a size are 1."""
    rng = np.random.default_rng(seed)
    return {info.name: random_array(info, rng) for info in _input_infos(path)}


def _input_infos(path: Path) -> Sequence[TensorInfo]:
    """Returns the inputs of an ONNX model, with the ranges of those that are indices."""
    found: list[TensorInfo] = []
    symbols: dict[str, int] = {}
    for value in _inputs(onnx.load(path, load_external_data=False).graph):
        kind = value.type.tensor_type
        for i, d in enumerate(kind.shape.dim):
            if not d.dim_value:
                symbols[d.dim_param or f"{value.name}_dim{i}"] = 1
        shape = [d.dim_value or 1 for d in kind.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        found.append(TensorInfo(value.name, shape, dtype))
    if all(info.dtype.kind == "f" for info in found):
        return found
    # how large indices may be follows from the network
    return signature_of(load_model(path, symbols=symbols)).inputs


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a network and inputs for it.")
    parser.add_argument("network", help="a name or an .onnx file")
    parser.add_argument("folder", type=Path)
    parser.add_argument("feed")
    parser.add_argument("--batch", type=int, default=1)
    options = parser.parse_args()
    path = model_file(options.network, options.folder, options.batch)
    save_arrays(options.feed, random_feed(path, 0))
    print(path)


if __name__ == "__main__":
    main()
