"""A network of attention with two symbols, with a mask or without, and inputs for it."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH = 5


def attention(masked: bool) -> bytes:
    """
    Returns a network in which each position [batch, sequence, 5] is replaced by the mean of all,
    by softmax; of those that a mask has, if it is `masked`.
    """
    nodes = [
        helper.make_node("Transpose", ["x"], ["xt"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["x", "xt"], ["scores"]),
        helper.make_node("Softmax", ["hidden" if masked else "scores"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "x"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "sequence", WIDTH])]
    if masked:
        nodes[2:2] = [
            helper.make_node("Cast", ["mask"], ["kept"], to=TensorProto.FLOAT),
            helper.make_node("Sub", ["kept", "one"], ["missing"]),
            helper.make_node("Mul", ["missing", "much"], ["penalty"]),
            helper.make_node("Unsqueeze", ["penalty", "axis"], ["row"]),
            helper.make_node("Add", ["scores", "row"], ["hidden"]),
        ]
        inputs.append(
            helper.make_tensor_value_info("mask", TensorProto.INT64, ["batch", "sequence"])
        )
    constants = {
        "one": np.float32(1),
        "much": np.float32(1e9),
        "axis": np.array([1], np.int64),
    }
    graph = helper.make_graph(
        nodes,
        "attention",
        inputs,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", "sequence", WIDTH])],
        [numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    onnx.checker.check_model(made)
    return made.SerializeToString()


def feed(rng: np.random.Generator, batch: int, sequence: int) -> dict[str, np.ndarray]:
    x = rng.standard_normal((batch, sequence, WIDTH)).astype(np.float32)
    mask = np.ones((batch, sequence), np.int64)
    mask[0, sequence // 2 + 1 :] = 0
    return {"x": x, "mask": mask}
