"""
Quantized networks as ONNX's reference evaluator computes them: products of integers are exact.

onnxruntime is no oracle for these. On x86 CPUs without VNNI it multiplies unsigned by signed bytes
with `vpmaddubsw`, which saturates the sum of two products at 16 bits, so its results depend on the
machine. It stays an oracle for floats, and for QDQ networks as long as each node runs by itself:
then products are those of floats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.ops.op_max_pool import MaxPool as ReferenceMaxPool

CONTRIB = "com.microsoft"
_SKIPPED = {"channels_last", "opset"}
"""Attributes of onnxruntime's operators that those of ONNX do not have; tests give defaults."""
_OPSET = 21
"""The evaluator has conversions from 19 on; the operators of tests mean the same as in 13 to 18."""


@dataclass(frozen=True)
class _Between:
    """An operator of onnxruntime that stands for one of ONNX between conversions."""

    operator: str
    operands: int = 1
    """The number of quantized operands; all if 0. Their types follow the result's."""


_MEANINGS = {
    "QLinearAdd": _Between("Add", 2),
    "QLinearMul": _Between("Mul", 2),
    "QLinearSigmoid": _Between("Sigmoid"),
    "QLinearLeakyRelu": _Between("LeakyRelu"),
    "QLinearGlobalAveragePool": _Between("GlobalAveragePool"),
    "QLinearAveragePool": _Between("AveragePool"),
    "QLinearSoftmax": _Between("Softmax"),
    "QLinearConcat": _Between("Concat", 0),
}


class MaxPool(ReferenceMaxPool):
    """
    Max pooling of integers too, which have no NaN to pad with as the evaluator does; f64 is exact.
    """

    def _run(self, x: np.ndarray, **attributes: Any) -> tuple[np.ndarray, ...]:  # pyright: ignore
        pooled, *places = super()._run(x.astype(np.float64), **attributes)
        return (pooled.astype(x.dtype), *places)


def by_reference(model: onnx.ModelProto, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """
    Returns all outputs of a model. Operators of onnxruntime are first written with those of ONNX,
    by the definitions of onnxruntime's ContribOperators.md.
    """
    plain = onnx.ModelProto()
    plain.CopyFrom(model)
    del plain.graph.node[:]
    for node in model.graph.node:
        plain.graph.node.extend(_meaning(node) if node.domain == CONTRIB else [node])
    (version,) = (o.version for o in model.opset_import if not o.domain)
    del plain.opset_import[:]
    plain.opset_import.append(helper.make_opsetid("", max(version, _OPSET)))
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(plain, new_ops=[MaxPool]).run(None, dict(inputs))  # pyright: ignore


def _meaning(node: NodeProto) -> Iterator[NodeProto]:
    """Yields the nodes that compute what one of onnxruntime's operators does."""
    if node.op_type == "QGemm":
        yield from _matrix_product(node)
        return
    meaning, names = _MEANINGS[node.op_type], list(node.input)
    if meaning.operands:
        *names, scale, zero_point = names
    else:
        scale, zero_point, *names = names
    base = node.output[0]
    floats = [f"{base}.operand{i}" for i in range(len(names) // 3)]
    for i, name in enumerate(floats):
        yield helper.make_node("DequantizeLinear", names[3 * i : 3 * i + 3], [name])
    yield _float_node(meaning.operator, floats, f"{base}.float", node)
    yield helper.make_node("QuantizeLinear", [f"{base}.float", scale, zero_point], [base])


def _float_node(operator: str, inputs: Sequence[str], output: str, node: NodeProto) -> NodeProto:
    made = helper.make_node(operator, inputs, [output])
    made.attribute.extend(a for a in node.attribute if a.name not in _SKIPPED)
    return made


def _matrix_product(node: NodeProto) -> Iterator[NodeProto]:
    """
    Yields integers with a bias of their sum's scale, which is one for each column or for all.
    Without a scale of the result, that is float. The second matrix has its columns as rows
    (`transB`).
    """
    a, a_scale, a_zero, b, b_scale, b_zero, c, *result = node.input
    base = node.output[0]

    def made(operator: str, inputs: Sequence[str], output: str, **attributes: Any) -> NodeProto:
        return helper.make_node(operator, inputs, [output], **attributes)

    yield made("Transpose", [b], f"{base}.b", perm=[1, 0])
    yield made("MatMulInteger", [a, f"{base}.b", a_zero, b_zero], f"{base}.products")
    total = f"{base}.products"
    if c:
        yield made("Add", [total, c], f"{base}.total")
        total = f"{base}.total"
    yield made("Mul", [a_scale, b_scale], f"{base}.scale")
    yield made("Cast", [total], f"{base}.real", to=onnx.TensorProto.FLOAT)
    scaled = f"{base}.scaled" if result else base
    yield made("Mul", [f"{base}.real", f"{base}.scale"], scaled)
    if result:
        yield made("QuantizeLinear", [scaled, *result], base)
