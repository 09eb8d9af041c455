"""Normalisation, softmax and attention."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ....glow_dialects.elements import compute_type, is_float
from ....glow_dialects.glow import normalization as n
from ....glow_dialects.glow.attention import AttentionOp, MaskedAttentionOp
from ....glow_dialects.operator import element_of, shape_of
from .elementwise import hint_of
from .writer import Writer, code_of, exporter, rank

_SOFTMAX = {n.SoftmaxOp: "Softmax", n.LogSoftmaxOp: "LogSoftmax"}


@exporter(n.SoftmaxOp, n.LogSoftmaxOp)
def softmax(writer: Writer, node: n.SoftmaxOp | n.LogSoftmaxOp) -> str:
    operator, axis = _SOFTMAX[type(node)], node.axis.value.data
    return writer.emit(operator, writer.name(node.input), hint=hint_of(node), axis=axis)


@exporter(n.BatchNormOp)
def batch_norm(writer: Writer, node: n.BatchNormOp) -> str:
    epsilon = node.call.float("epsilon")
    inputs = writer.inputs(node)
    return writer.emit("BatchNormalization", *inputs, hint=hint_of(node), epsilon=epsilon)


@exporter(n.LocalResponseNormOp)
def local_response_norm(writer: Writer, node: n.LocalResponseNormOp) -> str:
    """
    Exports by other operators where onnxruntime lacks this one: for even sizes, and for other
    tensors than images.
    """
    call = node.call
    size = call.int("size")
    numbers = {"alpha": call.float("alpha"), "beta": call.float("beta"), "bias": call.float("k")}
    if size % 2 and rank(node.input) == 4:
        inputs = writer.inputs(node)
        return writer.emit("LRN", *inputs, hint=hint_of(node), size=size, **numbers)
    x, t = writer.name(node.input), node.input.type
    sums = _sums_of_neighbours(writer, node.input, writer.emit("Mul", x, x), size)
    scaled = writer.emit("Mul", sums, writer.number(numbers["alpha"] / size, t))
    base = writer.emit("Add", scaled, writer.number(numbers["bias"], t))
    power = writer.emit("Pow", base, writer.number(numbers["beta"], t))
    return writer.emit("Div", x, power, hint=hint_of(node))


def _sums_of_neighbours(writer: Writer, like: SSAValue, x: str, size: int) -> str:
    """Returns the sum of `size` channels around each channel."""
    channels, low = shape_of(like.type)[1], (size - 1) // 2
    pads = [0] * (2 * rank(like))
    pads[1], pads[rank(like) + 1] = low, size - 1 - low
    zero = writer.number(0.0, like.type)
    padded = writer.emit("Pad", x, writer.ints(pads), zero, mode="constant")
    axis = writer.ints([1], "axis")
    parts = [
        writer.emit("Slice", padded, writer.ints([i]), writer.ints([i + channels]), axis)
        for i in range(size)
    ]
    return writer.emit("Sum", *parts)


@exporter(n.LayerNormOp)
def layer_norm(writer: Writer, node: n.LayerNormOp) -> str:
    axis, epsilon = node.axis.value.data, node.call.float("epsilon")
    inputs = writer.inputs(node)
    stash = _stash_type(node.input)
    return writer.emit(
        "LayerNormalization",
        *inputs,
        hint=hint_of(node),
        axis=axis,
        epsilon=epsilon,
        stash_type=stash,
    )


@exporter(n.RmsNormOp)
def rms_norm(writer: Writer, node: n.RmsNormOp) -> str:
    """
    Writes a product with the inverse root of the mean of squares; the opset has no such operator.
    """
    x, t = writer.name(node.input), node.input.type
    axes = writer.ints(range(node.axis.value.data, rank(node.input)), "axes")
    mean = writer.emit("ReduceMean", writer.emit("Mul", x, x), axes, keepdims=1)
    epsilon = writer.number(node.call.float("epsilon"), t, "epsilon")
    root = writer.emit("Sqrt", writer.emit("Add", mean, epsilon))
    normal = writer.emit("Div", x, root)
    return writer.emit("Mul", normal, writer.name(node.scale), hint=hint_of(node))


@exporter(n.GroupNormOp)
def group_norm(writer: Writer, node: n.GroupNormOp) -> str:
    writer.needs(21)
    groups, epsilon = node.groups.value.data, node.call.float("epsilon")
    inputs = writer.inputs(node)
    stash = _stash_type(node.input)
    return writer.emit(
        "GroupNormalization",
        *inputs,
        hint=hint_of(node),
        num_groups=groups,
        epsilon=epsilon,
        stash_type=stash,
    )


def _stash_type(x: SSAValue) -> int:
    """Returns the type, as ONNX numbers it, of the mean and the variance."""
    return code_of(compute_type(element_of(x.type)))


@exporter(AttentionOp, MaskedAttentionOp)
def attention(writer: Writer, node: AttentionOp | MaskedAttentionOp) -> str:
    """Exports attention as products and a softmax, with heads before positions."""
    query, key, value = (
        writer.emit("Transpose", _wide(writer, v), perm=perm)
        for v, perm in zip(node.operands[:3], _HEADS_FIRST, strict=True)
    )
    members = node.members(node.call)
    if members > 1:
        images, keys, groups, width = shape_of(node.key.type)
        key = _repeated(writer, key, [images, groups, width, keys], members)
        width = shape_of(node.value.type)[3]
        value = _repeated(writer, value, [images, groups, keys, width], members)
    scores = writer.emit("MatMul", query, key)
    real = compute_type(element_of(node.query.type))
    scores = writer.emit("Mul", scores, writer.number(node.call.float("scale"), real, "scale"))
    if isinstance(node, MaskedAttentionOp):
        scores = writer.emit("Add", scores, _wide(writer, node.mask))
    weights = writer.emit("Softmax", scores, axis=3)
    if node.safe.value.data:
        zero = writer.number(0.0, real, "zero")
        weights = writer.emit("Where", writer.emit("IsNaN", weights), zero, weights)
    result = writer.emit("Transpose", writer.emit("MatMul", weights, value), perm=[0, 2, 1, 3])
    element = element_of(node.result.type)
    return result if element == real else writer.emit("Cast", result, to=code_of(element))


def _repeated(writer: Writer, name: str, shape: Sequence[int], members: int) -> str:
    """Returns a tensor [images, heads, ...] with each head repeated."""
    images, heads, *rest = shape
    apart = writer.reshaped(name, [images, heads, 1, *rest])
    spread = writer.emit("Expand", apart, writer.ints([images, heads, members, *rest]))
    return writer.reshaped(spread, [images, heads * members, *rest])


_HEADS_FIRST = ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])


def _wide(writer: Writer, value: SSAValue) -> str:
    """Returns a float value in the type that it is computed in."""
    element = element_of(value.type)
    assert is_float(element)
    real = compute_type(element)
    name = writer.name(value)
    return name if real == element else writer.emit("Cast", name, to=code_of(real))
