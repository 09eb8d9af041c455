"""Convolutions, matrix products, pools and reductions."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue

from ....glow_dialects.elements import is_float, storage_type
from ....glow_dialects.glow import pooling, reduction
from ....glow_dialects.glow.base import Node
from ....glow_dialects.glow.convolution import ConvolutionOp
from ....glow_dialects.glow.embedding import EmbeddingBagOp
from ....glow_dialects.glow.matrix import DeterminantOp, FullyConnectedOp, MatMulOp
from ....glow_dialects.glow.narrow_weights import BlockQuantizedMatMulOp
from ....glow_dialects.glow.transposed import TransposedConvolutionOp
from ....glow_dialects.operator import element_of, shape_of
from ....glow_dialects.quant import QuantizedType
from ..problems import Unsupported
from .elementwise import hint_of
from .generic import as_formula
from .writer import Writer, exporter, rank

_BYTES = ("i8", "ui8")


def _window(node: Node, *names: str) -> dict[str, Any]:
    return {name: list(node.call.ints(name)) for name in names}


def _is_product_of_bytes(*operands: SSAValue) -> bool:
    """
    Returns whether operands are integers that ONNX can multiply. Raises Unsupported for others.
    """
    elements: list[Attribute] = [storage_type(element_of(v.type)) for v in operands]
    if all(is_float(e) for e in elements):
        return False
    if all(str(e) in _BYTES for e in elements):
        return True
    raise Unsupported(f"a product of {' and '.join(str(v.type) for v in operands)}")


@exporter(ConvolutionOp)
def convolution(writer: Writer, node: ConvolutionOp) -> str:
    x, w, b = writer.inputs(node)
    attributes = _window(node, "strides", "pads", "dilations")
    attributes |= {
        "group": node.group.value.data,
        "kernel_shape": list(shape_of(node.filter.type)[2:]),
    }
    if not _is_product_of_bytes(node.input, node.filter):
        return writer.emit("Conv", x, w, b, hint=hint_of(node), **attributes)
    product = writer.emit("ConvInteger", x, w, **attributes)
    column = [-1] + [1] * (rank(node.result) - 2)
    return writer.emit("Add", product, writer.reshaped(b, column), hint=hint_of(node))


@exporter(TransposedConvolutionOp)
def transposed_convolution(writer: Writer, node: TransposedConvolutionOp) -> str:
    attributes = _window(node, "strides", "pads", "dilations", "output_padding")
    attributes |= {
        "group": node.group.value.data,
        "kernel_shape": list(shape_of(node.filter.type)[2:]),
    }
    return writer.emit("ConvTranspose", *writer.inputs(node), hint=hint_of(node), **attributes)


def _turned(writer: Writer, value: SSAValue, name: str, turn: bool) -> str:
    if not turn:
        return name
    *batch, rows, columns = range(rank(value))
    return writer.emit("Transpose", name, perm=[*batch, columns, rows])


@exporter(MatMulOp)
def matmul(writer: Writer, node: MatMulOp) -> str:
    operator = "MatMulInteger" if _is_product_of_bytes(node.lhs, node.rhs) else "MatMul"
    a, b = writer.inputs(node)
    a = _turned(writer, node.lhs, a, bool(node.transpose_lhs.value.data))
    b = _turned(writer, node.rhs, b, bool(node.transpose_rhs.value.data))
    return writer.emit(operator, a, b, hint=hint_of(node))


@exporter(FullyConnectedOp)
def fully_connected(writer: Writer, node: FullyConnectedOp) -> str:
    x, w, b = writer.inputs(node)
    if not _is_product_of_bytes(node.input, node.weights):
        return writer.emit("Gemm", x, w, b, hint=hint_of(node), transB=1)
    turned = _turned(writer, node.weights, w, turn=True)
    return writer.emit("Add", writer.emit("MatMulInteger", x, turned), b, hint=hint_of(node))


@exporter(pooling.MaxPoolOp, pooling.AvgPoolOp)
def pool(writer: Writer, node: pooling.Pool) -> str:
    attributes = _window(node, "strides", "pads", "dilations")
    if set(attributes["dilations"]) == {1}:
        del attributes["dilations"]  # onnxruntime's quantized pools have none
    attributes["kernel_shape"] = list(node.call.ints("kernel"))
    attributes["ceil_mode"] = int(node.ceil_mode.value.data != 0)
    operator = "MaxPool"
    if isinstance(node, pooling.AvgPoolOp):
        operator = "AveragePool"
        attributes["count_include_pad"] = int(node.count_include_pad.value.data != 0)
    return writer.emit(operator, *writer.inputs(node), hint=hint_of(node), **attributes)


@exporter(pooling.LpPoolOp)
def lp_pool(writer: Writer, node: pooling.LpPoolOp) -> str:
    attributes = _window(node, "kernel", "strides", "pads", "dilations")
    attributes["kernel_shape"] = attributes.pop("kernel")
    attributes["ceil_mode"] = int(node.ceil_mode.value.data != 0)
    p = node.p.value.data
    return writer.emit("LpPool", *writer.inputs(node), hint=hint_of(node), p=p, **attributes)


@exporter(pooling.MaxPoolPlacesOp)
def max_pool_places(writer: Writer, node: pooling.MaxPoolPlacesOp) -> str:
    return as_formula(writer, node)


@exporter(BlockQuantizedMatMulOp)
def block_quantized_matmul(writer: Writer, node: BlockQuantizedMatMulOp) -> str:
    return as_formula(writer, node)


@exporter(EmbeddingBagOp)
def embedding_bag(writer: Writer, node: EmbeddingBagOp) -> str:
    return as_formula(writer, node)


@exporter(DeterminantOp)
def determinant(writer: Writer, node: DeterminantOp) -> str:
    return writer.emit("Det", *writer.inputs(node), hint=hint_of(node))


_REDUCTIONS: dict[type[reduction.Reduction], str] = {
    reduction.ReduceSumOp: "ReduceSum",
    reduction.ReduceMeanOp: "ReduceMean",
    reduction.ReduceMaxOp: "ReduceMax",
    reduction.ReduceMinOp: "ReduceMin",
    reduction.ReduceProdOp: "ReduceProd",
}


@exporter(*_REDUCTIONS)
def reduce(writer: Writer, node: reduction.Reduction) -> str:
    element = element_of(node.input.type)
    if isinstance(element, QuantizedType) or element == i1:
        raise Unsupported(f"a reduction of {node.input.type}")
    axes = writer.ints(node.axes.get_values(), "axes")
    return writer.emit(
        _REDUCTIONS[type(node)],
        writer.name(node.input),
        axes,
        hint=hint_of(node),
        keepdims=int(node.keep_dims.value.data != 0),
        noop_with_empty_axes=1,
    )
