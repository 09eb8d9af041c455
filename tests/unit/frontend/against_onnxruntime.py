"""Models of a few operators, compared with onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnxruntime as ort
from glow.frontend.onnx import import_onnx
from glow.runtime.interpreter import interpret
from glow.tests.unit.frontend.models import model, value
from hypothesis import settings
from hypothesis import strategies as st
from onnx import ModelProto, NodeProto, helper

SETTINGS = settings(max_examples=25, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.integers(1, 6)
Arrays = Mapping[str, np.ndarray]


def floats(seed: int, *shape: int, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def reference(made: ModelProto, inputs: Arrays) -> list[np.ndarray]:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(made.SerializeToString(), options, ["CPUExecutionProvider"])
    return session.run(None, dict(inputs))  # pyright: ignore


def check(
    nodes: Sequence[NodeProto] | NodeProto,
    inputs: Arrays,
    weights: Arrays | None = None,
    outputs: Sequence[str] = ("y",),
    opset: int = 17,
    tolerance: float = 1e-5,
) -> None:
    """Compares the model on `inputs` with onnxruntime, relative to the largest element."""
    nodes = [nodes] if isinstance(nodes, NodeProto) else nodes
    declared = [
        value(name, a.shape, helper.np_dtype_to_tensor_dtype(a.dtype)) for name, a in inputs.items()
    ]
    made = model(nodes, declared, outputs, weights or {}, opset)
    wanted = reference(made, inputs)
    module = import_onnx(made)
    module.verify()
    found = interpret(module, inputs)
    for name, want in zip(outputs, wanted, strict=True):
        have = found[name]
        assert (have.dtype, have.shape) == (want.dtype, want.shape)
        # at least 1, as terms of about 1 may cancel in the only element there is
        scale = float(np.abs(want[np.isfinite(want)]).max(initial=1.0))
        np.testing.assert_allclose(have, want, rtol=tolerance, atol=tolerance * scale)


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)
