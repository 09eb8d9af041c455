"""An encoder and a decoder of texts of any length, and inputs for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, HEADS, INNER, WORDS, MOST = 24, 3, 40, 50, 21


class _Graph:
    """The nodes and constants of a graph."""

    def __init__(self, rng: np.random.Generator):
        self._rng = rng
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def __call__(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Adds a node, and returns the name of its result."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    def constant(self, value: object, kind: type = np.int64) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value, kind), name))
        return name

    def weight(self, *shape: int) -> str:
        return self.constant(self._rng.standard_normal(shape) / shape[0] ** 0.5, np.float32)

    def product(self, x: str, rows: int, columns: int) -> str:
        return self("Add", self("MatMul", x, self.weight(rows, columns)), self.weight(columns))

    def norm(self, x: str) -> str:
        return self("LayerNormalization", x, self.weight(WIDTH), self.weight(WIDTH), axis=-1)

    def heads(self, x: str) -> str:
        shape = self.constant([0, 0, HEADS, WIDTH // HEADS])
        return self("Transpose", self("Reshape", x, shape), perm=[0, 2, 1, 3])

    def length(self, ids: str) -> str:
        size = self("Gather", self("Shape", ids), self.constant(1))
        return self("Unsqueeze", size, self.constant([0]))

    def block(self, x: str, mask: str) -> str:
        q, k, v = (self.heads(self.product(x, WIDTH, WIDTH)) for _ in range(3))
        scores = self("MatMul", q, self("Transpose", k, perm=[0, 1, 3, 2]))
        powers = self("Softmax", self("Add", scores, mask), axis=-1)
        mixed = self("Transpose", self("MatMul", powers, v), perm=[0, 2, 1, 3])
        mixed = self("Reshape", mixed, self.constant([0, 0, WIDTH]))
        x = self.norm(self("Add", x, self.product(mixed, WIDTH, WIDTH)))
        inner = self("Relu", self.product(x, WIDTH, INNER))
        return self.norm(self("Add", x, self.product(inner, INNER, WIDTH)))

    def embedded(self, ids: str, size: str) -> str:
        words = self("Gather", self.weight(WORDS, WIDTH), ids)
        zero = self.constant([0])
        places = self("Slice", self.weight(MOST, WIDTH), zero, size, zero)
        return self.norm(self("Add", words, places))


def encoder(rng: np.random.Generator) -> bytes:
    """Returns an encoder of `ids` and `mask`, of [1, sequence] with up to 21 words."""
    g = _Graph(rng)
    x = g.embedded("ids", g.length("ids"))
    hidden = g("Sub", g.constant(1, np.float32), g("Cast", "mask", to=TensorProto.FLOAT))
    far = g("Mul", g("Unsqueeze", hidden, g.constant([1, 2])), g.constant(-1e4, np.float32))
    for _ in range(2):
        x = g.block(x, far)
    return model(g.nodes, g.constants, {"ids": 7, "mask": 7}, x, ["sequence", WIDTH])


def decoder(rng: np.random.Generator) -> bytes:
    """Returns a decoder of `ids`, [1, sequence] with up to 21 words, which sees earlier words."""
    g = _Graph(rng)
    size = g.length("ids")
    x = g.embedded("ids", size)
    later = g.constant(-1e4 * np.triu(np.ones((MOST, MOST)), 1), np.float32)
    zeros, axes = g.constant([0, 0]), g.constant([0, 1])
    later = g("Slice", later, zeros, g("Concat", size, size, axis=0), axes)
    for _ in range(2):
        x = g.block(x, later)
    scores = g("MatMul", x, g.weight(WIDTH, WORDS))
    return model(g.nodes, g.constants, {"ids": 7}, scores, ["sequence", WORDS])


def model(
    nodes: Sequence[onnx.NodeProto],
    constants: Sequence[onnx.TensorProto],
    inputs: dict[str, int],
    result: str,
    shape: Sequence[str | int],
) -> bytes:
    """Returns a model whose inputs [1, sequence] have these types and whose result is `y`."""
    nodes = [*nodes, helper.make_node("Identity", [result], ["y"])]
    made = helper.make_graph(
        nodes,
        "rows",
        [helper.make_tensor_value_info(n, t, [1, "sequence"]) for n, t in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, *shape])],
        constants,
    )
    whole = helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(whole)
    return whole.SerializeToString()


def feed(rng: np.random.Generator, length: int, masked: bool) -> dict[str, np.ndarray]:
    ids = rng.integers(0, WORDS, (1, length))
    mask = (rng.random((1, length)) < 0.7).astype(np.int64)
    mask[:, 0] = 1
    return {"ids": ids, "mask": mask} if masked else {"ids": ids}
