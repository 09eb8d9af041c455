"""
Random numbers.

Each is a function of its index, of the number of the call and of a key (`glow.random_bits`). With
the attribute `seed`, the key follows from it, so that the sequence of calls of a compiled model
always begins in the same way. Without, it differs from model to model and from process to process.
"""

from __future__ import annotations

from math import pi

import numpy as np
from xdsl.dialects.builtin import f32, f64, i1, i32
from xdsl.ir import Attribute, SSAValue

from ....errors import ModelError
from ....glow_dialects.elements import WORD, is_float
from ....glow_dialects.glow.activation import ClipOp
from ....glow_dialects.glow.arithmetic import (
    AddOp,
    CosOp,
    DivOp,
    LogOp,
    MulOp,
    SqrtOp,
)
from ....glow_dialects.glow.generic import GenericOp
from ....glow_dialects.glow.indexing import CumSumOp
from ....glow_dialects.glow.logic import LessEqualOp, LessOp, SelectOp, ShiftRightOp
from ....glow_dialects.glow.normalization import SoftmaxOp
from ....glow_dialects.glow.random import RandomBitsOp
from ....glow_dialects.glow.reduction import ReduceSumOp
from ....glow_dialects.operator import to_attribute
from ..builder import element, rank, shape
from ..element_types import check_shape, element_of_onnx
from ..node import OnnxNode, converter

_BITS = 24
"""Random bits in a number: as many as an f32 has."""


class Randomness:
    """The random numbers of a node."""

    def __init__(self, node: OnnxNode):
        build = node.build
        self._build = build
        state = build.random_state()
        number = build.next_random()
        parts = [build.slice(state, [i], [1]) for i in range(3)]
        key, own, self._call = parts
        if node.has("seed"):
            self._key, self._stream = (build.splat(n, WORD, [1]) for n in (_word(node), number))
        else:
            self._key, self._stream = key, build.with_number(AddOp, own, number)

    def uniform(self, sizes: tuple[int, ...], second: bool = False) -> SSAValue:
        """Returns numbers f32 of at least 0 and below 1, multiples of 2**-24."""
        build = self._build
        count = int(np.prod(sizes))
        formula = to_attribute(f"y[i] = ui32(i) for i < {count}")
        t = GenericOp.result_type([], {"formula": formula}, [count], WORD)
        index = build.op(GenericOp, result=t, formula=formula)
        given = [build.broadcast(v, [count]) for v in (self._call, self._key, self._stream)]
        bits = build.op(RandomBitsOp, index, *given, second=second)
        whole = build.cast(build.with_number(ShiftRightOp, bits, 32 - _BITS), i32)
        # all of them are small enough for a signed conversion, which machines have
        return build.reshape(build.with_number(MulOp, build.cast(whole, f32), 2.0**-_BITS), sizes)

    def normal(self, sizes: tuple[int, ...]) -> SSAValue:
        """Returns numbers f32 with mean 0 and variance 1 (Box and Muller 1958)."""
        build = self._build
        # the logarithm takes numbers above 0
        first = build.with_number(AddOp, self.uniform(sizes), 2.0**-_BITS)
        radius = build.chain(build.with_number(MulOp, build.op(LogOp, first), -2.0), SqrtOp)
        angle = build.with_number(MulOp, self.uniform(sizes, second=True), 2 * pi)
        return build.op(MulOp, radius, build.op(CosOp, angle))


def _word(node: OnnxNode) -> int:
    """Returns the seed as 32 bits; a float is not rounded."""
    seed = node.attr("seed")
    return int(np.float32(seed).view(np.uint32)) if isinstance(seed, float) else seed % 2**32


def _type(node: OnnxNode, default: Attribute) -> Attribute:
    code = node.attr("dtype")
    return default if code is None else element_of_onnx(code, "the result")


def _scaled(
    node: OnnxNode, numbers: SSAValue, scale: float, shift: float, t: Attribute
) -> SSAValue:
    build = node.build
    if not is_float(t):
        raise ModelError(f"expected a result of floats, found {t}")
    wide = build.cast(numbers, f64) if t == f64 else numbers
    return build.cast(build.with_number(AddOp, build.with_number(MulOp, wide, scale), shift), t)


def _shape(node: OnnxNode) -> tuple[int, ...]:
    if not node.proto.op_type.endswith("Like"):
        sizes = node.ints("shape")
        if sizes is None:
            raise ModelError("expected an attribute 'shape', found none")
        check_shape(sizes, "result", node.build.max_elements)
        return tuple(sizes)
    return shape(node.input(0))


def _like(node: OnnxNode) -> Attribute:
    return element(node.input(0)) if node.proto.op_type.endswith("Like") else f32


@converter("RandomUniform", "RandomUniformLike")
def random_uniform(node: OnnxNode) -> SSAValue:
    low, high = float(node.attr("low")), float(node.attr("high"))
    numbers = Randomness(node).uniform(_shape(node))
    return _scaled(node, numbers, high - low, low, _type(node, _like(node)))


@converter("RandomNormal", "RandomNormalLike")
def random_normal(node: OnnxNode) -> SSAValue:
    numbers = Randomness(node).normal(_shape(node))
    scale, mean = float(node.attr("scale")), float(node.attr("mean"))
    return _scaled(node, numbers, scale, mean, _type(node, _like(node)))


@converter("Bernoulli")
def bernoulli(node: OnnxNode) -> SSAValue:
    """
    Returns 1 with the given probabilities. (The definition that ONNX gives by other operators, in
    version 1.23, returns 0 with these.)
    """
    build, x = node.build, node.input(0)
    numbers = build.cast(Randomness(node).uniform(shape(x)), element(x))
    return build.cast(build.op(LessOp, numbers, x), _type(node, element(x)))


@converter("Multinomial")
def multinomial(node: OnnxNode) -> SSAValue:
    """Returns for each sample how many classes lie below a random part of the probabilities."""
    build, x = node.build, node.input(0)
    if rank(x) != 2 or not shape(x)[1]:
        raise ModelError(f"expected the logarithms of probabilities of classes, found {x.type}")
    (batch, classes), samples = shape(x), int(node.attr("sample_size"))
    check_shape([batch, samples], "result", build.max_elements)
    sums = build.op(CumSumOp, build.op(SoftmaxOp, build.cast(x, f32), axis=1), axis=1)
    parts = Randomness(node).uniform((batch, samples))
    passed = build.elementwise(
        LessEqualOp,
        build.reshape(sums, [batch, 1, classes]),
        build.reshape(parts, [batch, samples, 1]),
    )
    count = build.op(ReduceSumOp, build.cast(passed, i32), axes=[2], keep_dims=False)
    # rounding may leave the sum of all probabilities below 1
    return build.cast(build.op(ClipOp, count, min=0, max=classes - 1), _type(node, i32))


@converter("Dropout")
def dropout_by_attribute(node: OnnxNode) -> list[SSAValue]:
    return _kept(node)


@converter("Dropout", since=12)
def dropout(node: OnnxNode) -> list[SSAValue]:
    """Returns zeros with a probability, and larger elements otherwise, if this is training."""
    build, x = node.build, node.input(0)
    if node.optional(2) is None or not node.known_number(2):
        return _kept(node)
    given = node.optional(1)
    ratio = build.splat(0.5, f32, []) if given is None else build.reshape(given, [])
    numbers = Randomness(node).uniform(shape(x))
    wide = build.cast(ratio, f32)
    mask = build.elementwise(LessEqualOp, wide, numbers)
    rest = build.op(AddOp, build.splat(1, f32, []), build.with_number(MulOp, wide, -1.0))
    scale = build.cast(build.op(DivOp, build.splat(1, f32, []), rest), element(x))
    kept = build.elementwise(MulOp, x, scale)
    zero = build.splat_like(0, x)
    return [build.op(SelectOp, mask, kept, zero), mask]


def _kept(node: OnnxNode) -> list[SSAValue]:
    """Returns the input itself, with a mask that is true everywhere."""
    x = node.input(0)
    if not node.output_used(1):
        return [x]
    # before opset 10 the mask had the element type of the input
    mask = i1 if node.opset >= 10 else element(x)
    return [x, node.build.splat(1, mask, shape(x))]
