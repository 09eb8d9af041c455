"""The statements of backends about themselves: claims, memories, and estimates of time."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from glow.glow_dialects.claims import Claim, Elements, Quantized, Schema, claims, same_type
from glow.glow_dialects.glow import activation, arithmetic
from glow.glow_dialects.glow.attention import AttentionOp
from glow.glow_dialects.glow.base import Node
from glow.glow_dialects.glow.convolution import ConvolutionOp
from glow.glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from glow.glow_dialects.glow.pooling import MaxPoolOp
from glow.glow_dialects.glow.reduction import ReduceSumOp
from glow.glow_dialects.glow.shape import ReshapeOp, TransposeOp
from glow.glow_dialects.glow.transposed import TransposedConvolutionOp
from glow.glow_dialects.glow_cpu.blocked import (
    BlockedConvolutionOp,
    BlockedDepthwiseConvolutionOp,
    LaneSumConvolutionOp,
)
from glow.glow_dialects.machine import MachineDescription
from glow.glow_dialects.operator import Call, element_of, shape_of, with_shape
from glow.glow_dialects.operators import OPERATORS
from glow.glow_dialects.python_values import Python, to_attribute
from glow.glow_dialects.quant import QuantizedType
from glow.glow_dialects.work import OperatorWork, operations_of, products_of, work_of
from glow.interface.backend import Backend, DeviceMemory, Rates, Stage, find_backend
from glow.interface.program import Program
from glow.lowering.kernels.claims import kernel_claims
from glow.runtime.cpu_rates import clock, cpu_rates
from glow.tests.support.seeds import generator
from glow.tools.conformance.cases import Case
from glow.tools.conformance.plan import plan
from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness, bf16, f16, f32, f64, i8, i32
from xdsl.ir import Attribute

U8 = IntegerType(8, Signedness.UNSIGNED)


class Table(Backend):
    """A backend that is nothing but its claims."""

    name = "table"

    def __init__(self, *claimed: Claim):
        self.claimed = claimed

    def claims(self) -> Sequence[Claim]:
        return self.claimed

    def stages(self) -> Sequence[Stage]:
        return ()

    def compile(self, stages: Mapping[str, ModuleOp]) -> Program:
        raise NotImplementedError


def call(
    operator: type[Node],
    *shapes: Sequence[int],
    elements: Sequence[Attribute] = (f32,),
    results: Sequence[Attribute] = (),
    **properties: Python,
) -> Call:
    types = [with_shape(e, s) for s, e in zip(shapes, itertools.cycle(elements), strict=False)]
    attributes = {name: to_attribute(value) for name, value in properties.items()}
    for name, definition in operator.get_irdl_definition().properties.items():
        if definition.default_value is not None:
            attributes.setdefault(name, definition.default_value)
    return Call(operator, tuple(types), tuple(results), attributes)


# schemas: scale and zero point of i8 and u8
@pytest.mark.parametrize(
    ("element", "admitted"),
    [
        (QuantizedType(i8, f32, 0.1, 3), {Schema.ASYMMETRIC}),
        (QuantizedType(U8, f32, 0.25, 128), {Schema.ASYMMETRIC}),
        (QuantizedType(U8, f32, 0.25), {Schema.ASYMMETRIC, Schema.SYMMETRIC_UINT8}),
        (QuantizedType(i8, f32, 0.1, -128), {Schema.ASYMMETRIC, Schema.SYMMETRIC_UINT8}),
        (
            QuantizedType(i8, f32, [0.1, 0.25], axis=0),
            {Schema.ASYMMETRIC, Schema.SYMMETRIC, Schema.SYMMETRIC_UINT8},
        ),
        (QuantizedType(i8, f32, [8.0, 2.0**-20], axis=1), set(Schema)),
    ],
    ids=lambda v: str(v) if isinstance(v, QuantizedType) else str(len(v)),
)
def test_schemas(element: QuantizedType, admitted: set[Schema]):
    assert {schema for schema in Schema if schema.admits(element)} == admitted
    for schema in Schema:
        fits = schema in admitted
        assert Quantized(element.storage, schema, per_axis=True).admits(element) == fits
        alone = fits and not element.is_per_axis
        assert Quantized(element.storage, schema).admits(element) == alone
        assert not Quantized(i32, schema, per_axis=True).admits(element)
    assert not Quantized(i8).admits(i8)


def test_the_names_of_schemas_are_those_of_quantization():
    from glow.quantization.schemas import SCHEMAS

    assert set(Schema) == set(SCHEMAS)


def test_the_last_type_stands_for_further_ones():
    product = Elements((U8, i8, i32), (i32,))
    sizes = {"strides": [1], "pads": [0, 0], "dilations": [1]}
    shapes = ((1, 2, 5), (3, 2, 3), (3,))

    def conv(*elements: Attribute, result: Attribute | None = None) -> Call:
        results = () if result is None else (with_shape(result, (1, 3, 3)),)
        return call(ConvolutionOp, *shapes, elements=elements, results=results, **sizes)

    assert product.admits(conv(U8, i8, i32))
    assert product.admits(conv(U8, i8, i32, result=i32))
    assert not product.admits(conv(U8, i8, i32, result=f32))
    assert not product.admits(conv(i8, i8, i32))
    assert str(product) == "(u8, i8, i32) -> i32"
    (floats,) = same_type(f32)
    assert floats.admits(conv(f32, f32, f32, result=f32))
    assert not floats.admits(conv(f32, f32, f16))
    assert str(floats) == "f32"


def test_what_is_not_quantized_yet_may_be_a_float():
    q, sums = Quantized(i8, Schema.SYMMETRIC), Quantized(i32, Schema.SYMMETRIC)
    product = Elements((q, q, sums), (q,))
    x, point = QuantizedType(i8, f32, 0.1), QuantizedType(i8, f32, 0.1, 7)

    def admits(*elements: Attribute, result: Attribute = f32) -> bool:
        shapes, results = [(2, 5), (3, 5), (3,)], [with_shape(result, (2, 3))]
        c = call(FullyConnectedOp, *shapes, elements=elements, results=results)
        return product.admits(c)

    assert admits(x, x, QuantizedType(i32, f32, 0.01), result=x)
    assert admits(x, x, f32, result=f32)
    assert not admits(point, x, f32)
    assert not admits(x, x, i32)
    assert not admits(x, x, f32, result=point)
    assert not admits(f32, f32, f32)


def test_claims_are_alternatives():
    def is_long(c: Call) -> bool:
        return c.shape(0)[0] > 4

    backend = Table(
        *claims(arithmetic.AddOp, elements=same_type(f32)),
        *claims(arithmetic.AddOp, arithmetic.MulOp, elements=same_type(i32, f64), when=is_long),
        *claims(activation.ReluOp),
    )

    def keeps(operator: type[Node], element: Attribute, size: int) -> bool:
        c = call(operator, *[[size]] * 2, elements=[element])
        assert backend.keeps(c) == backend.supports(c)
        return backend.keeps(c)

    assert keeps(arithmetic.AddOp, f32, 3)
    assert not keeps(arithmetic.AddOp, i32, 3)
    assert keeps(arithmetic.AddOp, i32, 5)
    assert keeps(arithmetic.MulOp, f64, 5)
    assert not keeps(arithmetic.MulOp, f32, 5)
    assert not keeps(arithmetic.SubOp, f32, 5)
    assert keeps(activation.ReluOp, bf16, 1)


def cases_of_all_operators() -> list[Case]:
    subjects = plan(find_backend("interpreter"), int(generator().integers(2**32)))
    return [case for subject in subjects for case in subject.cases]


def test_the_claims_of_the_cpu_are_its_kernels():
    backend = find_backend("cpu")
    machine = MachineDescription(int8_dots=())
    assert {c.operator for c in kernel_claims(machine)} < set(OPERATORS)
    assert not any(c.operator is TransposedConvolutionOp for c in backend.claims())


def test_every_case_has_work_and_takes_time():
    cpu, interpreter = find_backend("cpu"), find_backend("interpreter")
    for case in cases_of_all_operators():
        work = work_of(case.call)
        assert work.operations >= 2 * products_of(case.call) >= 0
        nothing = work == OperatorWork(0, 0)
        assert all((b.cost(case.call) == 0) == nothing for b in (cpu, interpreter))


def test_float_operators_between_conversions_work_as_floats_do():
    stored = QuantizedType(i8, f32, 0.25)

    def quantized(t: Attribute) -> Attribute:
        return with_shape(stored, shape_of(t)) if element_of(t) == f32 else t

    for case in cases_of_all_operators():
        real = case.call
        types = [element_of(t) for t in (*real.operands, *real.results)]
        if all(t == f32 for t in types):
            operands, results = (tuple(map(quantized, s)) for s in (real.operands, real.results))
            work = work_of(Call(real.operator, operands, results, real.properties))
            assert work.operations == work_of(real).operations
            assert 4 * work.bytes == work_of(real).bytes


@pytest.mark.parametrize("seed", range(3))
def test_products_of_convolutions(seed: int, rng: np.random.Generator):
    n, c, o, k, stride = (int(v) for v in rng.integers(1, 6, 5))
    x, y = k + int(rng.integers(0, 9)), k + int(rng.integers(0, 9))
    windows = len(range(0, x - k + 1, stride)) * len(range(0, y - k + 1, stride))
    steps: Any = {"strides": [stride] * 2, "dilations": [1, 1]}
    conv = call(ConvolutionOp, (n, c, x, y), (o, c, k, k), (o,), pads=[0] * 4, **steps)
    assert products_of(conv) == n * o * c * k * k * windows
    group = call(
        ConvolutionOp, (n, 6, x, y), (4, 3, k, k), (4,), pads=[0] * 4, **{**steps, "group": 2}
    )
    assert products_of(group) == n * 4 * 3 * k * k * windows
    blocked = call(BlockedConvolutionOp, (n, c, x, y, 8), (o, c, k, k, 8, 8), (o, 8), **steps)
    assert products_of(blocked) == n * o * c * 64 * k * k * windows
    plain = call(BlockedConvolutionOp, (n, c, x, y), (o, c, k, k, 8), (o, 8), **steps)
    assert products_of(plain) == n * o * c * 8 * k * k * windows
    sums = call(LaneSumConvolutionOp, (n, c, x, y, 8), (3, c, k, k, 8), (3,), **steps)
    assert products_of(sums) == n * 3 * c * 8 * k * k * windows
    depthwise = call(BlockedDepthwiseConvolutionOp, (n, c, x, y, 8), (c, k, k, 8), (c, 8), **steps)
    assert products_of(depthwise) == n * c * 8 * k * k * windows


def test_work_of_other_operators():
    x = (2, 3, 8, 10)
    assert products_of(call(MatMulOp, (5, 3, 7), (5, 7, 2))) == 5 * 3 * 7 * 2
    turned = call(MatMulOp, (7, 3), (2, 7), transpose_lhs=True, transpose_rhs=True)
    assert work_of(turned) == OperatorWork(2 * 3 * 7 * 2, 4 * (21 + 14 + 6))
    assert products_of(call(FullyConnectedOp, (3, 7), (2, 7), (2,))) == 42
    attention = call(AttentionOp, (1, 7, 2, 4), (1, 9, 2, 4), (1, 9, 2, 3))
    assert products_of(attention) == 2 * 7 * 9 * (4 + 3)
    pool: Any = {"kernel": [2, 3], "strides": [2, 5], "pads": [0] * 4, "dilations": [1, 1]}
    assert operations_of(call(MaxPoolOp, x, **pool)) == 2 * 3 * 4 * 2 * 6
    assert operations_of(call(ReduceSumOp, x, axes=[1])) == 480
    assert work_of(call(TransposeOp, x, permutation=[3, 2, 1, 0])) == OperatorWork(480, 2 * 4 * 480)
    half = call(arithmetic.AddOp, x, x, elements=[f16])
    assert work_of(half) == OperatorWork(480, 3 * 2 * 480)
    # x * (1 + erf(x / sqrt(2))) / 2
    assert operations_of(call(activation.GeluOp, x)) > 3 * 480
    reshape = call(ReshapeOp, x, results=[with_shape(f32, (480,))])
    assert work_of(reshape) == OperatorWork(0, 0)


def test_a_node_takes_the_longer_of_computing_and_moving():
    class Slow(Table):
        def rates(self, call: Call) -> Rates:
            return Rates(operations=1e3, bytes=1e4, overhead=0.5)

    add, product = call(arithmetic.AddOp, (10,), (10,)), call(MatMulOp, (10, 10), (10, 10))
    assert Slow().cost(add) == pytest.approx(120 / 1e4 + 0.5)
    assert Slow().cost(product) == pytest.approx(2000 / 1e3 + 0.5)
    assert Table().cost(product) == pytest.approx(2000e-9)
    assert Table().memories() == (DeviceMemory("host", None),)


def test_the_rates_of_the_cpu_follow_from_its_vectors():
    def speed(machine: MachineDescription, element: Attribute, threads: int = 1) -> float:
        product = call(MatMulOp, (5, 8), (8, 5), elements=[element])
        return cpu_rates(machine, product, threads).operations

    wide, narrow = MachineDescription(512, 32, True), MachineDescription(128, 16, False)
    assert speed(wide, f32) == pytest.approx(8 * speed(narrow, f32))
    assert speed(wide, f32, threads=2) == pytest.approx(2 * speed(wide, f32))
    assert speed(wide, f64) == pytest.approx(speed(wide, f32) / 2)
    assert speed(wide, f16) == speed(wide, f32)
    assert clock() > 1e8
    backend = find_backend("cpu")
    (memory,) = backend.memories()
    assert memory.alignment == 64
    long, short = (call(MatMulOp, (n, 64), (64, 64)) for n in (640, 64))
    assert backend.cost(long) == pytest.approx(10 * backend.cost(short))
