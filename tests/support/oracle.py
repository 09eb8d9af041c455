"""Single operators: ours in numpy, and ONNX's in onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import onnxruntime
from glow.glow_dialects.glow import Node
from glow.glow_dialects.operator import with_shape
from glow.glow_dialects.python_values import Python
from glow.semantics import element_type, evaluate
from onnx import helper
from xdsl.dialects import test
from xdsl.ir import Attribute

OPSET = 21


def run_node(
    operator: type[Node],
    *arrays: np.ndarray,
    result_types: Sequence[Attribute] | None = None,
    **properties: Python,
) -> np.ndarray:
    """Returns the one result of an operator on arrays, whose dtypes say its operand types."""
    types = [with_shape(element_type(a.dtype), a.shape) for a in arrays]
    operands = test.TestOp.create(result_types=types).results
    op = operator.of(*operands, result_types=result_types, **properties)
    op.verify()
    (result,) = evaluate(op.call, arrays)
    return result


def run_onnx(operator: str, *arrays: np.ndarray, opset: int = OPSET, **attributes) -> np.ndarray:
    """Returns the first output of an ONNX operator in onnxruntime."""
    names = [f"x{i}" for i in range(len(arrays))]
    node = helper.make_node(operator, names, ["y"], **attributes)
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in zip(names, arrays, strict=True)
    ]
    # without a type, the output's is inferred
    output = onnx.ValueInfoProto(name="y")
    model = helper.make_model(
        helper.make_graph([node], "oracle", inputs, [output]),
        opset_imports=[helper.make_opsetid("", opset)],
        ir_version=10,
    )
    (result,) = run_onnx_model(model, dict(zip(names, arrays, strict=True)))
    return result


def run_onnx_model(model: onnx.ModelProto, feed: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Returns all outputs of a model in onnxruntime."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return [np.asarray(result) for result in session.run(None, dict(feed))]


def close(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-5) -> None:
    """
    Returns whether shapes and dtypes are equal, and no difference is above `tolerance` times the
    largest value or 1.

    Terms of about 1 may cancel, so smaller values are not known more precisely.
    """
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    if not found.size:
        return
    wide = expected.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    scale = max(1.0, np.abs(finite).max(initial=0.0))
    np.testing.assert_allclose(found.astype(np.float64), wide, rtol=0, atol=tolerance * scale)
