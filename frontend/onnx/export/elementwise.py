"""Operators on each element, and constants."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute

from ....glow_dialects.elements import is_float, is_minifloat, is_unsigned, num_elements
from ....glow_dialects.glow import activation as a
from ....glow_dialects.glow import arithmetic as m
from ....glow_dialects.glow import integer_parts as p
from ....glow_dialects.glow import inverse_functions as f
from ....glow_dialects.glow import logic as g
from ....glow_dialects.glow.base import Node
from ....glow_dialects.glow.constant import ConstantOp, SplatOp
from ....glow_dialects.operator import element_of, shape_of
from ....semantics.arrays import constant_of, numpy_dtype
from ..problems import Unsupported
from .writer import Writer, code_of, exporter

LARGEST_SPLAT = 4096
"""Elements up to which a splat is written as a constant."""

_PLAIN: dict[type[Node], str] = {
    m.AddOp: "Add",
    m.SubOp: "Sub",
    m.MulOp: "Mul",
    m.DivOp: "Div",
    m.MaximumOp: "Max",
    m.MinimumOp: "Min",
    m.PowOp: "Pow",
    m.NegOp: "Neg",
    m.AbsOp: "Abs",
    m.SqrtOp: "Sqrt",
    m.ReciprocalOp: "Reciprocal",
    m.ExpOp: "Exp",
    m.LogOp: "Log",
    m.SinOp: "Sin",
    m.CosOp: "Cos",
    m.FloorOp: "Floor",
    m.CeilOp: "Ceil",
    m.RoundEvenOp: "Round",
    m.SignOp: "Sign",
    a.ReluOp: "Relu",
    a.PReluOp: "PRelu",
    a.SigmoidOp: "Sigmoid",
    a.TanhOp: "Tanh",
    a.ErfOp: "Erf",
    a.SoftplusOp: "Softplus",
    a.HardSwishOp: "HardSwish",
    f.AsinOp: "Asin",
    f.AcosOp: "Acos",
    f.AtanOp: "Atan",
    f.SinhOp: "Sinh",
    f.AsinhOp: "Asinh",
    f.AcoshOp: "Acosh",
    f.AtanhOp: "Atanh",
    g.EqualOp: "Equal",
    g.LessOp: "Less",
    g.LessEqualOp: "LessOrEqual",
    g.SelectOp: "Where",
}
_BITS: dict[type[Node], tuple[str, str]] = {
    g.AndOp: ("And", "BitwiseAnd"),
    g.OrOp: ("Or", "BitwiseOr"),
    g.XorOp: ("Xor", "BitwiseXor"),
    g.NotOp: ("Not", "BitwiseNot"),
}
_WITH_NUMBERS: dict[type[Node], tuple[str, tuple[str, ...]]] = {
    a.LeakyReluOp: ("LeakyRelu", ("alpha",)),
    a.EluOp: ("Elu", ("alpha",)),
    a.HardSigmoidOp: ("HardSigmoid", ("alpha", "beta")),
}


def hint_of(node: Node) -> str:
    return node.results[0].name_hint or ""


@exporter(*_PLAIN)
def plain(writer: Writer, node: Node) -> str:
    return writer.emit(_PLAIN[type(node)], *writer.inputs(node), hint=hint_of(node))


@exporter(*_BITS)
def bits(writer: Writer, node: Node) -> str:
    logical, bitwise = _BITS[type(node)]
    operator = logical if element_of(node.operands[0].type) == i1 else bitwise
    return writer.emit(operator, *writer.inputs(node), hint=hint_of(node))


@exporter(*_WITH_NUMBERS)
def with_numbers(writer: Writer, node: Node) -> str:
    operator, names = _WITH_NUMBERS[type(node)]
    numbers = {name: node.call.get(name) for name in names}
    return writer.emit(operator, *writer.inputs(node), hint=hint_of(node), **numbers)


@exporter(m.RemOp)
def remainder(writer: Writer, node: m.RemOp) -> str:
    return writer.emit("Mod", *writer.inputs(node), hint=hint_of(node), fmod=1)


@exporter(g.ShiftRightOp, g.ShiftLeftOp)
def shift(writer: Writer, node: g.ShiftRightOp | g.ShiftLeftOp) -> str:
    """Writes a shift. Signed numbers are shifted since opset 28."""
    if not is_unsigned(element_of(node.result.type)):
        writer.needs(28)
    direction = "RIGHT" if isinstance(node, g.ShiftRightOp) else "LEFT"
    return writer.emit("BitShift", *writer.inputs(node), hint=hint_of(node), direction=direction)


@exporter(m.MultiplyAddOp)
def multiply_add(writer: Writer, node: m.MultiplyAddOp) -> str:
    """Writes a fused multiply-add as two operators; ONNX has none that rounds once."""
    first, second, third = writer.inputs(node)
    return writer.emit("Add", writer.emit("Mul", first, second), third, hint=hint_of(node))


@exporter(p.MultiplyAddPairsOp, p.MultiplyAddBytesOp, p.MultiplyAddQuadsOp)
def multiply_add_parts(writer: Writer, node: p.PartsTernary) -> str:
    raise Unsupported("products of the parts of integers")


@exporter(g.BitcastOp)
def bitcast(writer: Writer, node: g.BitcastOp) -> str:
    raise Unsupported(f"the bits of {node.operands[0].type} as {node.result.type}")


@exporter(a.GeluOp)
def gelu(writer: Writer, node: a.GeluOp) -> str:
    approximate = "tanh" if node.approximate.value.data else "none"
    return writer.emit("Gelu", *writer.inputs(node), hint=hint_of(node), approximate=approximate)


@exporter(a.ClipOp)
def clip(writer: Writer, node: a.ClipOp) -> str:
    bounds = [
        "" if bound is None else writer.number(bound, node.result.type, "bound")
        for bound in a.clip_bounds(node.call)
    ]
    return writer.emit("Clip", *writer.inputs(node), *bounds, hint=hint_of(node))


@exporter(g.CastOp)
def cast(writer: Writer, node: g.CastOp) -> str:
    target = element_of(node.result.type)
    rules: dict[str, int | str] = {}
    if is_minifloat(target):
        rules["saturate"] = int(node.saturate.value.data)
        if node.rounding.data != "up":
            writer.needs(24)
            rules["round_mode"] = node.rounding.data
    to = code_of(target)
    return writer.emit("Cast", *writer.inputs(node), hint=hint_of(node), to=to, **rules)


@exporter(ConstantOp)
def constant(writer: Writer, node: ConstantOp) -> str:
    array = constant_of(node.result)
    assert array is not None
    code = code_of(element_of(node.result.type))
    return writer.constant(array, hint_of(node) or "constant", code)


@exporter(SplatOp)
def splat(writer: Writer, node: SplatOp) -> str:
    array = constant_of(node.result)
    assert array is not None
    hint, code = hint_of(node) or "splat", code_of(element_of(node.result.type))
    shape = shape_of(node.result.type)
    if num_elements(shape) <= LARGEST_SPLAT:
        return writer.constant(array, hint, code)
    one = writer.constant(array[(slice(0, 1),) * array.ndim].reshape(()), hint, code)
    return writer.emit("Expand", one, writer.ints(shape), hint=hint)


def zeros(writer: Writer, element: Attribute, size: int) -> str:
    """Returns a list of zeros."""
    dtype = np.dtype(np.float32)
    if is_float(element):
        dtype = numpy_dtype(element)
    return writer.constant(np.zeros(size, dtype), "zeros")
