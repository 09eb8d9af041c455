"""Small ONNX models for the tests of the frontend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper


def value(
    name: str, shape: Sequence[int | str | None] | None, dtype: int = TensorProto.FLOAT
) -> ValueInfoProto:
    """Returns a graph input or output."""
    return helper.make_tensor_value_info(name, dtype, shape)  # pyright: ignore


def model(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[str | ValueInfoProto],
    weights: Mapping[str, np.ndarray] | Sequence[TensorProto] = (),
    opset: int = 17,
    **options: Any,
) -> ModelProto:
    """
    Returns a model; weights are named arrays or tensors. Outputs without a type get an empty one.
    """
    if isinstance(weights, Mapping):
        weights = [numpy_helper.from_array(a, name) for name, a in weights.items()]
    declared = [ValueInfoProto(name=o) if isinstance(o, str) else o for o in outputs]
    graph = helper.make_graph(list(nodes), "test", list(inputs), declared, list(weights))
    opsets = options.pop("opset_imports", [helper.make_opsetid("", opset)])
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, **options)


node: Any = helper.make_node
"""A node: operator, names of inputs and outputs, attributes by name."""
